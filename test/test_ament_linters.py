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

"""The linters of ROS, configured to agree with ruff; they run where a ROS installation brings them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.linter
def test_ament_flake8(monkeypatch):
    flake8 = pytest.importorskip('ament_flake8.main', reason='ament_flake8 comes with ROS')
    monkeypatch.chdir(ROOT)
    code, errors = flake8.main_with_errors(
        argv=['--config', str(ROOT / 'setup.cfg'), 'src', 'launch', 'test', 'examples']
    )
    assert code == 0, '\n'.join(errors)


@pytest.mark.linter
def test_ament_pep257(monkeypatch):
    """As numpydoc lays docstrings out (the code's own layout; ament's asks for the summary on a line of its own)."""
    pep257 = pytest.importorskip('ament_pep257.main', reason='ament_pep257 comes with ROS')
    monkeypatch.chdir(ROOT)
    ignored = ['D105', 'D401', 'D413', 'D416']
    arguments = ['--convention', 'numpy', '--add-ignore', *ignored, '--', 'src', 'launch', 'examples']
    assert pep257.main(argv=arguments) == 0


@pytest.mark.linter
def test_ament_copyright(monkeypatch):
    copyright_ = pytest.importorskip('ament_copyright.main', reason='ament_copyright comes with ROS')
    monkeypatch.chdir(ROOT)
    assert (
        copyright_.main(argv=['src', 'launch', 'test', 'examples', 'bench', 'tools', 'setup.py', 'ros2_control']) == 0
    )
