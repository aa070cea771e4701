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

"""`joint-dynamics calibrate` over DDS, beside the simulated robot in another process."""

import json
import signal
import sys

import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from joint_dynamics.description import DynamicsDescription  # noqa: E402
from joint_dynamics.nodes.framework.tables import STATUS  # noqa: E402

QUICK = """
excitation:
  limits: {floor: -0.6}
  fourier: {period: 6.0, harmonics: 4, starts: 1, candidates: 4}
"""
LONG = 900.0  # s, longest calibration on a busy machine; only a test that fails waits so long
ROBOT = {
    'real_time_factor': 2.0,
    'position': '[0.0, -1.57, 0.6, -1.57, 0.3, 0.0]',
    'follow_topics': '[/identifier/heard]',
    'max_lead': 0.5,
    'effort': 'current',
    'motor_side': 'reflected',
    'autostart': 'true',
}


@pytest.fixture
def calibrate(ros, tmp_path):
    """A function that starts the command in a process, beside a simulated robot."""
    (tmp_path / 'quick.yaml').write_text(QUICK)
    ros.process('joint_dynamics.nodes.simulator.node', parameters=ROBOT)

    def start(*options):
        words = options or (
            '--preset',
            'simulation',
            '--controller',
            'simulator',
            '--sim-time',
            '--config',
            'quick.yaml',
        )
        words = [*words, '--yes', '--out', str(tmp_path / 'out'), '--json', str(tmp_path / 'shown.json')]
        return ros.start([sys.executable, '-m', 'joint_dynamics', 'calibrate', *words], 'calibrate', cwd=tmp_path)

    return start


@pytest.mark.slow
def test_calibration_interrupted_and_resumed(ros, calibrate, tmp_path):
    """Ctrl-C while the robot moves keeps the recording; `--resume` plays again, with the first options."""
    out = tmp_path / 'out'
    statuses = ros.listen(String, '/excitation/status', STATUS)
    process = calibrate()
    ros.until(lambda: statuses and statuses[-1].data.startswith('playing'), 'the robot to move', LONG)
    ros.processes.remove(process)
    process.send_signal(signal.SIGINT)
    ros.until(lambda: process.poll() is not None, 'the command to end', LONG)
    assert process.returncode == 130, process.last_words
    assert any(message.data.startswith('stopped') for message in statuses)
    assert (out / 'recordings' / 'learn' / 'metadata.yaml').is_file()
    assert set(json.loads((out / 'calibration.json').read_text())['steps']) == {'look', 'plan'}

    again = calibrate('--resume')  # and no other option
    ros.until(lambda: again.poll() is not None, 'the calibration to end', LONG)
    assert again.returncode == 0, again.last_words
    shown = json.loads((tmp_path / 'shown.json').read_text())
    steps = shown['steps']
    assert shown['status'] == 0 and any('validated on judge' in line for line in shown['lines'])
    assert set(steps) == {'look', 'plan', 'move', 'identify', 'hand over'}
    assert DynamicsDescription.load(out / 'dynamics.yaml').joint_names
    assert str(out / 'dynamics.yaml') in steps['hand over']['lines'][0]


def test_second_publisher_is_found_before_anything_moves(ros, calibrate, tmp_path):
    ros.probe.create_publisher(JointState, '/joint_states', 10)
    statuses = ros.listen(String, '/excitation/status', STATUS)
    process = calibrate()
    ros.processes.remove(process)
    ros.until(lambda: process.poll() is not None, 'the command to end', LONG)
    assert process.returncode == 2, process.last_words
    assert '/probe' in process.output
    assert not (tmp_path / 'out' / 'motions').exists()
    assert all(message.data == 'no motion yet' for message in statuses)
