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

"""The calibration after the motions: a correction is used with its proof, and the next step is named."""

import json

import numpy as np
import pytest
import yaml
from rosbags.typesys import Stores, get_typestore

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from joint_dynamics.calibration.folder import CalibrationFolder
from joint_dynamics.calibration.procedure import calibrate
from joint_dynamics.recording import BagWriter
from joint_dynamics.terminal import Terminal

KIND = 'sensor_msgs/msg/JointState'


def write_bag(path, names, time, q, tau):
    """A bag of /joint_states with the torque in `effort`."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = {name.rpartition('/')[2]: cls for name, cls in store.types.items()}
    path.mkdir(parents=True)
    writer = BagWriter(path)
    for stamp, *row in zip(np.rint(1e9 * time).astype(int) + 10**9, q, np.gradient(q, time, axis=0), tau, strict=True):
        header = types['Header'](types['Time'](*map(int, divmod(stamp, 10**9))), '')
        message = types['JointState'](header, list(names), *row)
        writer.write('/joint_states', KIND, int(stamp), bytes(store.serialize_cdr(message, KIND)))
    writer.close()


@pytest.fixture
def played(tmp_path, ur, ur_table, moving_arm):
    """A function (q, tau -> q, tau) that returns a calibration whose two motions are recorded so."""

    def made(change):
        terminal = Terminal('calibrate', yes=True, json_file=str(tmp_path / 'shown.json'))
        folder = CalibrationFolder(tmp_path / 'one', terminal, {'preset': 'simulation'})
        time, *motion = moving_arm
        for name, part in (('learn', slice(0, 1100)), ('judge', slice(1100, None))):
            values = change(*(array[part].copy() for array in motion))
            write_bag(folder.path / 'recordings' / name, ur.joint_names, time[part], *values)
        (folder.path / 'robot.urdf').write_text(yaml.safe_dump(ur_table))
        (folder.path / 'config.yaml').write_text('{}')
        folder.finish('look', rate=201.0)
        folder.finish('move', learn='recordings/learn', judge='recordings/judge')
        return folder, terminal

    return made


def shown(folder):
    return json.loads((folder.path.parent / 'shown.json').read_text())


def test_proven_correction_is_used_and_handed_over(played):
    folder, terminal = played(lambda q, tau: (q, tau * np.where(np.arange(6) == 1, -1.0, 1.0)))
    assert calibrate(folder, terminal) == 0
    assert yaml.safe_load((folder.path / 'config.yaml').read_text())['recording']['torque_sign'] == {'joint_2': -1.0}
    proof = next(table for table in shown(folder)['tables'] if 'unseen' in table['title'])
    before, after = next(row[1:] for row in proof['rows'] if row[0] == 'joint_2')
    assert after < 0.5 * before
    assert shown(folder)['verdict'].endswith('validated on judge')
    launch, *spawners = folder.steps['hand over']['lines']
    assert launch == f'ros2 launch joint_dynamics simulation.launch.py description_file:={folder.path}/dynamics.yaml'
    assert [str(folder.path / 'controllers.yaml') in line for line in spawners] == [True, True]


def test_unreliable_result_names_the_one_next_step(played):
    folder, terminal = played(lambda q, tau: (np.where(np.arange(6) < 3, q, q[:1]), tau))  # the wrist rests
    assert calibrate(folder, terminal) == 3
    assert 'excitation.fourier.period' in shown(folder)['next']
    assert 'identify' not in folder.steps
    assert not (folder.path / 'dynamics.yaml').exists()
