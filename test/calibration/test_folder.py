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

import io
import json

import pytest

from joint_dynamics.calibration.folder import CalibrationFolder
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.terminal import Terminal


@pytest.fixture
def terminal():
    """One that answers yes to everything."""
    return Terminal(yes=True)


def test_finished_steps_and_settings_are_resumed(tmp_path, terminal):
    CalibrationFolder(tmp_path / 'one', terminal, {'preset': 'simulation', 'tests': [('friction', 'a')]}).finish('look')
    again = CalibrationFolder(tmp_path / 'one', terminal, {'namespace': 'left'}, resume=True)
    assert again.steps == {'look': {}}
    assert (again.settings.preset, again.settings.namespace) == ('simulation', 'left')
    assert [tuple(each) for each in again.settings.tests] == [('friction', 'a')]


def test_new_calibration_spares_an_earlier_one(tmp_path, terminal):
    CalibrationFolder(tmp_path / 'one', terminal, {})
    with pytest.raises(JointDynamicsError, match='--resume'):
        CalibrationFolder(tmp_path / 'one', terminal, {})


@pytest.mark.parametrize('text', [None, '[]', '{"steps": 3}', '{"settings": {"colour": 1}, "steps": {}}', 'nothing'])
def test_resume_needs_a_calibration(tmp_path, terminal, text):
    if text is not None:
        (tmp_path / 'calibration.json').write_text(text)
    with pytest.raises(JointDynamicsError, match='resume'):
        CalibrationFolder(tmp_path, terminal, {}, resume=True)


def test_steps_are_in_the_file_of_json(tmp_path):
    path = tmp_path / 'steps.json'
    CalibrationFolder(tmp_path / 'one', Terminal(json_file=str(path)), {}).finish('plan', motions={})
    assert json.loads(path.read_text())['steps'] == {'plan': {'motions': {}}}


@pytest.fixture
def folder(tmp_path, terminal):
    """A new calibration."""
    return CalibrationFolder(tmp_path / 'one', terminal, {})


def test_command_runs_in_the_folder(folder):
    (folder.path / 'robot.urdf').write_text('no robot')
    with pytest.raises(JointDynamicsError, match='gains'):
        folder.command('gains', '--robot', 'robot.urdf')
    assert folder.command('gains', '--robot', 'robot.urdf', accepted=(0, 2)) == 2


def test_results_of_a_command_are_kept(folder):
    (folder.path / 'argparse.py').write_text('raise SystemExit(99)')  # never imported from here
    assert folder.command('--version', accepted=(0, 2)) == 0
    assert 'joint-dynamics 0.' in (folder.path / 'logs' / 'commands.txt').read_text()


@pytest.mark.parametrize(('typed', 'tries'), [('y\ny\n', 3), ('n\n', 1)])
def test_refused_motion_is_played_again_when_asked_for(monkeypatch, tmp_path, typed, tries):
    pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)
    from joint_dynamics.calibration.procedure import insist

    refused = iter([JointDynamicsError('not at the start')] * 2)
    played = []

    def play():
        played.append(True)
        for refusal in refused:
            raise refusal
        return tmp_path

    class Person(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr('sys.stdin', Person(typed))
    if tries == 3:
        assert insist(play, Terminal(), lambda ready: None) == tmp_path
    else:
        with pytest.raises(JointDynamicsError):
            insist(play, Terminal(), lambda ready: None)
    assert len(played) == tries
