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

"""The folder of a calibration: steps survive, nothing is overwritten, commands run inside it."""

import json

import pytest

from joint_dynamics.calibration.folder import CalibrationFolder
from joint_dynamics.calibration.terminal import Terminal
from joint_dynamics.errors import JointDynamicsError


@pytest.fixture
def terminal():
    """One that answers yes to everything."""
    return Terminal(yes=True, quiet=True)


def test_finished_steps_are_resumed(tmp_path, terminal):
    CalibrationFolder(tmp_path / 'one', terminal).finish('look', rate=500.0)
    assert CalibrationFolder(tmp_path / 'one', terminal, resume=True).steps == {'look': {'rate': 500.0}}


def test_new_calibration_spares_an_earlier_one(tmp_path, terminal):
    CalibrationFolder(tmp_path / 'one', terminal).finish('look', rate=500.0)
    with pytest.raises(JointDynamicsError, match='--resume'):
        CalibrationFolder(tmp_path / 'one', terminal)


@pytest.mark.parametrize('text', [None, '[]', '{"steps": 3}', 'nothing'])
def test_resume_needs_a_calibration(tmp_path, terminal, text):
    if text is not None:
        (tmp_path / 'calibration.json').write_text(text)
    with pytest.raises(JointDynamicsError, match='resume'):
        CalibrationFolder(tmp_path, terminal, resume=True)


def test_steps_are_kept_in_a_second_file(tmp_path, terminal):
    copy = tmp_path / 'steps.json'
    CalibrationFolder(tmp_path / 'one', terminal, copy=str(copy)).finish('plan', motions={})
    assert json.loads(copy.read_text())['steps'] == {'plan': {'motions': {}}}


def test_command_runs_in_the_folder(tmp_path, terminal):
    folder = CalibrationFolder(tmp_path / 'one', terminal)
    (folder.path / 'robot.urdf').write_text('no robot')
    with pytest.raises(JointDynamicsError, match='gains'):
        folder.command('gains', '--robot', 'robot.urdf')
    assert folder.command('gains', '--robot', 'robot.urdf', accepted=(0, 2)) == 2


def test_module_in_the_folder_is_not_imported(tmp_path, terminal):
    folder = CalibrationFolder(tmp_path / 'one', terminal)
    (folder.path / 'argparse.py').write_text('raise SystemExit(99)')
    assert folder.command('--version') == 0
