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

"""Benches are run by hand; here they are imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / 'bench'
MODULES = [*sorted(BENCH.glob('*.py')), *sorted((BENCH / 'published').glob('[!_]*.py'))]


def test_every_bench_can_be_imported(tmp_path):
    pytest.importorskip('rclpy')
    names = ['.'.join(path.relative_to(BENCH).with_suffix('').parts) for path in MODULES]
    script = f'import importlib\nfor name in {names!r}: importlib.import_module(name)'
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(BENCH), *sys.path])}
    run = subprocess.run([sys.executable, '-c', script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
