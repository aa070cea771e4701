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

"""The modules of the tests that make robots, motions and corruptions, for benches: `test/` is no package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parents[1] / 'test'


def from_tests(path: str) -> ModuleType:
    """Return the module of a file in `test/`, under a name of its own by which its classes can be pickled."""
    name = f'test_{path.removesuffix(".py").replace("/", "_")}'
    spec = importlib.util.spec_from_file_location(name, TESTS / path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
