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

"""The identifier's recordings on disk: written as they come, kept through kill, restart, refusal and a full disk."""

import errno
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from mcap.writer import Writer
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState

from joint_dynamics.nodes.identifier.node import IdentifierNode, Saving
from joint_dynamics.recording import load_recording
from joint_dynamics.recording.inputs import FLOAT64_VALUES, KEYS
from joint_dynamics.recording.mcap_file import McapFile

SETTINGS = {'joint_states': {'topic': '/x/joint_states', 'effort': 'torque'}}
START = 1_700_000_000_000_000_000  # ns
PERIOD = 4_000_000  # ns


def position(k):
    return float(np.sin(0.01 * k) + 1e-9 * k)


@pytest.fixture
def parameters(hinge, tmp_path):
    return {'robot_file': hinge, 'autostart': True, 'output_folder': str(tmp_path / 'out'), 'reliable_inputs': True}


@pytest.fixture
def source(ros):
    """Publishes a smooth motion of the joint, message by message; `count`: how many there were."""

    class Source:
        def __init__(self):
            self.publisher, self.count = ros.probe.create_publisher(JointState, '/x/joint_states', 5000), 0

        def connect(self):
            ros.until(self.publisher.get_subscription_count)

        def publish(self, number):
            for _ in range(number):
                message = JointState(
                    name=['hinge'], position=[position(self.count)], velocity=[0.1], effort=[0.3 * self.count]
                )
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(START + self.count * PERIOD, 10**9)
                self.publisher.publish(message)
                self.count += 1

    return Source()


def saved(folder):
    with Reader(folder) as reader:
        return [bytes(data) for _, _, data in reader.messages()]


@pytest.mark.slow
def test_killed_node_leaves_its_recording(ros, parameters, source, tmp_path):
    out = tmp_path / 'out'
    process = ros.process(
        'joint_dynamics.nodes.identifier.node',
        namespace='/x',
        parameters={**parameters, 'autostart': 'true', 'reliable_inputs': 'true'},
    )
    ros.until_state('/x/identifier', 'active')
    source.connect()
    assert ros.trigger('/x/identifier/start_recording').success
    file = out / 'recording_1' / 'recording_1_0.mcap'

    def enough():
        source.publish(5)
        return len(list(McapFile(file).messages())) > 300

    ros.until(enough, what='messages on disk while the recording goes on')
    assert ros.stop(process, signal.SIGKILL)[0] == -signal.SIGKILL

    recording = load_recording(out / 'recording_1', SETTINGS)
    assert recording.samples > 300
    np.testing.assert_array_equal(recording.q[:, 0], [position(k) for k in range(recording.samples)])
    assert any('never ended' in note for note in recording.notes)

    node = ros.node(IdentifierNode, '/x', **parameters)
    ros.until(lambda: node.is_active)
    source.connect()
    assert ros.trigger('/x/identifier/start_recording').message == 'recording 2 started'
    source.publish(100)
    ros.until(lambda: node.recording.counts.get('joint_states') == 100)
    assert ros.trigger('/x/identifier/stop_recording').message.endswith(f'saved as {out / "recording_2"}')
    assert len(saved(out / 'recording_2')) == 100


def test_the_bytes_saved_are_those_that_came(ros, parameters, source, tmp_path):
    node = ros.node(IdentifierNode, '/x', **parameters)
    ros.until(lambda: node.is_active)
    heard = []
    ros.probe.create_subscription(JointState, '/x/joint_states', heard.append, 5000, raw=True)
    ros.until(lambda: source.publisher.get_subscription_count() == 2)
    assert ros.trigger('/x/identifier/start_recording').success
    source.publish(60)
    ros.until(lambda: len(heard) == 60 and node.recording.counts.get('joint_states') == 60)
    assert ros.trigger('/x/identifier/stop_recording').success
    assert saved(tmp_path / 'out' / 'recording_1') == heard


def test_a_full_disk_is_one_clear_error_and_the_node_goes_on(ros, parameters, source, monkeypatch):
    node = ros.node(IdentifierNode, '/x', **parameters)
    ros.until(lambda: node.is_active)
    source.connect()
    assert ros.trigger('/x/identifier/start_recording').success

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Writer, 'add_message', full)
        source.publish(100)
        ros.until(lambda: node.recording.counts.get('joint_states') == 100)
    assert 'No space left on device; it continues in memory only' in node.diagnostics.message('recording')
    assert node.is_active
    stopped = ros.trigger('/x/identifier/stop_recording')
    assert stopped.success
    assert 'saved as' not in stopped.message
    assert '100 on joint_states' in stopped.message
    assert ros.trigger('/x/identifier/start_recording').message == 'recording 2 started'
    assert not node.diagnostics.message('recording')


def test_a_folder_that_cannot_be_written_refuses_the_start(ros, parameters, source, tmp_path):
    (tmp_path / 'out').write_text('a file')
    node = ros.node(IdentifierNode, '/x', **parameters)
    ros.until(lambda: node.is_active)
    answer = ros.trigger('/x/identifier/start_recording')
    assert not answer.success
    assert 'expected a folder that can be written' in answer.message
    assert ros.set_parameter('/x/identifier', 'save_recordings', False).successful
    assert ros.trigger('/x/identifier/start_recording').success


def test_earlier_interface_names_are_in_the_recording(tmp_path):
    saving = Saving(SimpleNamespace(diagnostics=SimpleNamespace(clear=lambda name: None)))
    saving.write('/names', KEYS, b'names', 5)
    saving.write('/values', FLOAT64_VALUES, b'too early', 6)
    assert saving.begin(tmp_path, 0, 7) == 1
    saving.write('/values', FLOAT64_VALUES, b'values', 8)
    saving.end()
    assert saved(tmp_path / 'recording_1') == [b'names', b'values']
