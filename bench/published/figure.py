# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""One headline figure of a paper: what is printed, and what has to be said of ours beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A row of the table.

    key: name of the measured value; '' where the figure cannot be measured here, and `why` says the reason. place:
    table, figure or section of the paper. published: as printed, with its unit. form: how ours is written. why: of what
    ours is, and why the two differ.
    """

    key: str
    place: str
    what: str
    published: str
    form: str
    why: str
