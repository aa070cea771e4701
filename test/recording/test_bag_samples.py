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

"""The samples of a bag are those of the messages that rosbags reads, every bit, from both storages."""

import numpy as np
import pytest
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.recording.bag import DEFINITIONS, read_bag, typestore
from joint_dynamics.recording.mcap_file import Topic
from joint_dynamics.recording.samples import Samples

JOINT_STATE = 'sensor_msgs/msg/JointState'
ALL = {
    'joint_states': 'joint_states',
    'motor_states': 'motor_states',
    'link_states': 'link_states',
    'temperatures': '/{joint}/temperature',
    'arrays': [{'topic': 'efforts', 'quantity': 'torque', 'joints': ['shoulder', 'elbow', 'wrist']}],
    'dynamic_joint_states': {'topic': 'dynamic', 'interfaces': {'current': 'current', 'load': 'load'}},
    'state_interfaces': {'values': 'values', 'names': 'names', 'interfaces': {'velocity': 'velocity'}},
}


class Log(Samples):
    """Writes down every sample, the bits of its values, by source and quantity."""

    def __init__(self, settings):
        super().__init__(None, settings)
        self.written = {}

    def add(self, quantity, stamp, names, values, source='input', replaces=False):
        sample = (int(stamp), tuple(names), np.asarray(values, dtype=np.float64).tobytes(), replaces)
        self.written.setdefault((source, quantity), []).append(sample)


def by_rosbags(path, settings, store):
    log = Log(settings)
    with Reader(path) as reader:
        for connection, received, raw in reader.messages():
            log.add_message(connection.topic, store.deserialize_cdr(raw, connection.msgtype), received)
    return log


def by_read_bag(path, settings):
    log = Log(settings)
    read_bag(path, log)
    return log


def check(path, settings, store):
    expected, log = by_rosbags(path, settings, store), by_read_bag(path, settings)
    assert log.written.keys() == expected.written.keys()
    for key, samples in expected.written.items():
        assert log.written[key] == samples, key
    assert log.counts == expected.counts
    return log


def numbers(rng, count):
    """Every kind of number, with NaN of any bits among them."""
    values = rng.standard_normal(count)
    values[rng.random(count) < 0.2] = np.nan
    values[rng.random(count) < 0.1] = -0.0
    values.view(np.uint64)[rng.random(count) < 0.1] = 0x7FF8_0000_DEAD_BEEF
    return values


@pytest.fixture
def rows(messages, motion):
    """Rows of every input form, in 300 instants, received with other times than their stamps."""
    rng = np.random.default_rng(0)
    names = motion.names
    found = [('/names', 0, messages.keys(1, [f'{name}/velocity' for name in names]))]
    for k, stamp in enumerate(motion.stamps(150.0)[:300].tolist()):
        received = stamp + 1000 + int(rng.integers(900))
        for topic in ('/joint_states', '/motor_states', '/link_states'):
            message = messages.joint_state(stamp, names, numbers(rng, 3), numbers(rng, 3), numbers(rng, 3))
            message.header.frame_id = 'base'
            found.append((topic, received, message))
        temperature = messages.temperature(stamp if k % 3 else 0, 'elbow', rng.uniform(20, 60))
        found.append(('/elbow/temperature', received, temperature))
        found.append(('/efforts', received, messages.array(numbers(rng, 3))))
        values = [numbers(rng, 3) for _ in names]
        found.append(('/dynamic', received, messages.dynamic(stamp, names, [('load', 'current', 'other')] * 3, values)))
        found.append(('/values', received, messages.values(stamp, numbers(rng, 3))))
    return [(topic, message.kind, received, message) for topic, received, message in found]


@pytest.mark.parametrize(('storage', 'compression'), [('MCAP', 'STORAGE'), ('MCAP', 'MESSAGE'), ('SQLITE3', None)])
def test_every_input_form_from_both_storages(tmp_path, write_bag, rows, store, storage, compression):
    path = write_bag(tmp_path / 'run', rows, storage, compression)
    if compression == 'MESSAGE':
        expected = by_read_bag(write_bag(tmp_path / 'plain', rows, storage), ALL).written
        assert by_read_bag(path, ALL).written == expected
        return
    assert check(path, ALL, store).counts['/joint_states'] == 300


@pytest.mark.parametrize('distribution', [Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY, Stores.LATEST])
def test_standard_messages_are_those_of_the_distribution(distribution):
    expected, found = get_typestore(distribution).fielddefs, typestore().fielddefs
    assert set(DEFINITIONS) <= set(found)
    for name in set(found) & set(expected):
        assert found[name] == expected[name], name


def test_a_definition_in_the_bag_goes_before_ours():
    text = f'std_msgs/Header header\nstring[] keys\nfloat64 further\n{"=" * 80}\nMSG: std_msgs/Header\nfloat64 other\n'
    fields = typestore(Topic('/names', 'control_msgs/msg/Keys', 'ros2msg', text)).fielddefs
    assert [name for name, _ in fields['control_msgs/msg/Keys'][1]] == ['header', 'keys', 'further']
    assert [name for name, _ in fields['std_msgs/msg/Header'][1]] == ['other']
