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

"""The demonstration: a simulated robot is calibrated over ROS 2, wears, is estimated and fed forward.

Each node is its own process, and the robot is calibrated by `joint-dynamics calibrate`, as a real one is.
"""

from __future__ import annotations

from dataclasses import dataclass

from joint_dynamics.settings import Settings, setting


@dataclass(frozen=True)
class DemoSettings(Settings):
    """The robot of the demonstration."""

    SECTION = 'demo'

    seed: int = setting(0, 'seed of the simulated robot: drives, laws, inertials, tool', lower=0)
