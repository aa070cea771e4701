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
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.bag import CONTROL_MSGS, STANDARD, read_bag, typestore
from joint_dynamics.recording.joint_state_bytes import LAYOUTS, JointStateReader
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


def test_a_bag_of_several_chunks(tmp_path, store, messages, motion):
    rng = np.random.default_rng(1)
    with Writer(tmp_path / 'run', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=store)
        for stamp in (motion.start + 1_000_000 * np.arange(9000)).tolist():
            message = messages.joint_state(stamp, motion.names, numbers(rng, 3))
            writer.write(connection, stamp, _raw(store, message))
    assert check(tmp_path / 'run', None, store).counts == {'/joint_states': 9000}


def _raw(store, message, little_endian=True):
    types, stamp = store.types, message.header.stamp
    time = types['builtin_interfaces/msg/Time'](sec=stamp.sec, nanosec=stamp.nanosec)
    header = types['std_msgs/msg/Header'](stamp=time, frame_id=message.header.frame_id)
    real = types[JOINT_STATE](
        header=header, name=message.name, position=message.position, velocity=message.velocity, effort=message.effort
    )
    return bytes(store.serialize_cdr(real, JOINT_STATE, little_endian=little_endian))


def same(view, message):
    """Whether the reader and rosbags read the same, the bits of all numbers."""
    values = [[getattr(each, field) for field in ('position', 'velocity', 'effort')] for each in (view, message)]
    bits = [[np.asarray(field, dtype=np.float64).tobytes() for field in fields] for fields in values]
    stamp = message.header.stamp
    return (
        view.header == ((stamp.sec, stamp.nanosec), message.header.frame_id)
        and list(view.name) == list(message.name)
        and bits[0] == bits[1]
    )


@pytest.mark.parametrize('little_endian', [True, False])
@pytest.mark.parametrize('names', [('a',), ('shoulder', 'elbow', 'wrist'), ('ü', 'long_name_of_a_joint'), ()])
def test_both_byte_orders(store, messages, names, little_endian):
    rng, reader = np.random.default_rng(2), JointStateReader()
    for k in range(20):
        values = [numbers(rng, len(names)) for _ in range(3)]
        raw = _raw(store, messages.joint_state(10**9 + k, names, *values), little_endian)
        assert same(reader.read(raw), store.deserialize_cdr(raw, JOINT_STATE))


def test_publishers_that_take_turns_and_messages_that_change(store, messages):
    """Names, lengths, frames and empty fields may change at any time."""
    rng, reader = np.random.default_rng(3), JointStateReader()
    forms = [
        (('a', 'b'), 2, 2, 0, ''),
        (('c',), 1, 0, 1, 'frame'),
        (('b', 'a'), 2, 2, 0, ''),
        (('a', 'b'), 2, 2, 0, 'other'),
        ((), 0, 0, 0, ''),
        *(((f'joint_{k:02}',), 1, 0, 0, '') for k in range(2 * LAYOUTS)),
    ]
    for form in rng.integers(len(forms), size=400):
        names, *counts, frame = forms[form]
        message = messages.joint_state(int(rng.integers(2)), names, *(numbers(rng, count) for count in counts))
        message.header.frame_id = frame
        raw = _raw(store, message)
        assert same(reader.read(raw), store.deserialize_cdr(raw, JOINT_STATE))


def test_what_contradicts_itself_is_refused(tmp_path, write_bag, messages):
    rows = [
        ('/joint_states', JOINT_STATE, k + 1, messages.joint_state(k + 1, 'ab', (1.0, 2.0), (3.0,))) for k in range(9)
    ]
    with pytest.raises(JointDynamicsError, match=r'expected as many values as names .* found 2 names and 1'):
        read_bag(write_bag(tmp_path / 'run', rows), Log(None))


def test_damaged_bytes_reach_the_library(store, messages):
    good, reader = _raw(store, messages.joint_state(1, ('a', 'b'), (1.0, 2.0))), JointStateReader()
    assert reader.read(good) is not None
    for place in (1, 12, 20):
        bad = bytearray(good)
        bad[place] = 0xFF
        with pytest.raises(Exception, match=''):
            store.deserialize_cdr(bytes(bad), JOINT_STATE)
        assert reader.read(bytes(bad)) is None
    assert reader.read(good[:-1]) is None
    # rclpy serializes into more bytes than it fills
    assert same(reader.read(good + bytes(8)), store.deserialize_cdr(good, JOINT_STATE))


@pytest.mark.parametrize('distribution', [Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY, Stores.LATEST])
def test_standard_messages_are_those_of_the_distribution(distribution):
    expected = get_typestore(distribution).fielddefs
    found = typestore(Topic('/joint_states', JOINT_STATE, '', '')).fielddefs
    assert set(STANDARD) <= set(found)
    for name, fields in found.items():
        assert fields == expected[name], name


def test_a_definition_in_the_bag_goes_before_ours():
    """Except standard messages."""
    text = f'std_msgs/Header header\nstring[] keys\nfloat64 further\n{"=" * 80}\nMSG: std_msgs/Header\nfloat64 other\n'
    fields = typestore(Topic('/names', 'control_msgs/msg/Keys', 'ros2msg', text)).fielddefs
    assert [name for name, _ in fields['control_msgs/msg/Keys'][1]] == ['header', 'keys', 'further']
    assert fields['std_msgs/msg/Header'] == get_typestore(Stores.ROS2_JAZZY).fielddefs['std_msgs/msg/Header']


def test_a_bag_without_definitions_is_read_by_ours():
    assert set(CONTROL_MSGS) <= set(typestore(Topic('/names', 'control_msgs/msg/Keys', '', '')).fielddefs)
