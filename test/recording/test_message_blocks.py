"""Messages read in blocks are those that rosbags reads one by one, every bit, from both storages."""

import numpy as np
import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.bag import read_bag
from joint_dynamics.recording.message_blocks import BLOCK, LAYOUTS, CdrLayout, TopicBlocks
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
        self.written, self.blocks = {}, 0

    def add(self, quantity, stamp, names, values, source='input', replaces=False):
        sample = (int(stamp), tuple(names), np.asarray(values, dtype=np.float64).tobytes(), replaces)
        self.written.setdefault((source, quantity), []).append(sample)

    def add_block(self, quantity, stamps, names, values, source='input', replaces=False):
        self.blocks += 1
        assert values.shape == (len(stamps), len(names))
        for stamp, row in zip(stamps, values, strict=True):
            self.add(quantity, stamp, names, row, source, replaces)


def one_by_one(path, settings, store):
    log = Log(settings)
    with Reader(path) as reader:
        for connection, received, raw in reader.messages():
            log.add_message(connection.topic, store.deserialize_cdr(raw, connection.msgtype), received)
    return log


def in_blocks(path, settings):
    log = Log(settings)
    read_bag(path, log)
    return log


def check(path, settings, store, blocks=True):
    expected, found = one_by_one(path, settings, store), in_blocks(path, settings)
    assert found.written.keys() == expected.written.keys()
    for key, samples in expected.written.items():
        assert found.written[key] == samples, key
    assert found.counts == expected.counts
    assert bool(found.blocks) == blocks
    return found


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
    names, found = motion.names, []
    found.append(('/names', 'control_msgs/msg/Keys', 0, messages.keys(1, [f'{name}/velocity' for name in names])))
    for k, stamp in enumerate(motion.stamps(150.0)[:300].tolist()):
        received = stamp + 1000 + int(rng.integers(900))
        for topic in ('/joint_states', '/motor_states', '/link_states'):
            message = messages.joint_state(stamp, names, numbers(rng, 3), numbers(rng, 3), numbers(rng, 3))
            message.header.frame_id = 'base'
            found.append((topic, JOINT_STATE, received, message))
        temperature = messages.temperature(stamp if k % 3 else 0, 'elbow', rng.uniform(20, 60))
        found.append(('/elbow/temperature', 'sensor_msgs/msg/Temperature', received, temperature))
        found.append(('/efforts', 'std_msgs/msg/Float64MultiArray', received, messages.array(numbers(rng, 3))))
        values = [numbers(rng, 3) for _ in names]
        interfaces = [('load', 'current', 'other')] * 3
        dynamic = messages.dynamic(stamp, names, interfaces, values)
        found.append(('/dynamic', 'control_msgs/msg/DynamicJointState', received, dynamic))
        broadcast = messages.values(stamp, numbers(rng, 3))
        found.append(('/values', 'control_msgs/msg/Float64Values', received, broadcast))
    return found


@pytest.mark.parametrize(('storage', 'compression'), [('MCAP', 'STORAGE'), ('MCAP', 'MESSAGE'), ('SQLITE3', None)])
def test_every_input_form_from_both_storages(tmp_path, write_bag, rows, store, storage, compression):
    path = write_bag(tmp_path / 'run', rows, storage, compression)
    if compression == 'MESSAGE':
        expected = in_blocks(write_bag(tmp_path / 'plain', rows, storage), ALL).written
        assert in_blocks(path, ALL).written == expected
        return
    found = check(path, ALL, store)
    assert found.counts['/joint_states'] == 300
    # each of the stateless topics in one block; the broadcaster's values wait for names and come one by one
    assert found.blocks == 3 + 3 + 2 + 1 + 1 + 2


def test_a_bag_of_several_blocks_and_of_overlapping_chunks(tmp_path, store, messages, motion):
    """Chunks whose times overlap are merged by rosbags itself."""
    rng = np.random.default_rng(1)
    stamps = motion.start + 1_000_000 * np.arange(2 * BLOCK + 10)
    for name, order in (('sorted', stamps), ('mixed', rng.permutation(stamps))):
        with Writer(tmp_path / name, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=store)
            for stamp in order.tolist():
                message = messages.joint_state(stamp, motion.names, numbers(rng, 3))
                writer.write(connection, stamp, _raw(store, message))
        assert check(tmp_path / name, None, store).blocks == 3


def _raw(store, message, little_endian=True):
    types, stamp = store.types, message.header.stamp
    time = types['builtin_interfaces/msg/Time'](sec=stamp.sec, nanosec=stamp.nanosec)
    header = types['std_msgs/msg/Header'](stamp=time, frame_id=message.header.frame_id)
    real = types[JOINT_STATE](
        header=header, name=message.name, position=message.position, velocity=message.velocity, effort=message.effort
    )
    return bytes(store.serialize_cdr(real, JOINT_STATE, little_endian=little_endian))


class Topic:
    """Messages of /joint_states fed to `TopicBlocks`, and the same one by one."""

    def __init__(self, store):
        self.store, self.blocks, self.single = store, Log(None), Log(None)
        self.topic = TopicBlocks(self.blocks, '/joint_states', JOINT_STATE, store)

    def add(self, received, raw):
        self.topic.add(received, raw)
        self.single.add_message('/joint_states', self.store.deserialize_cdr(raw, JOINT_STATE), received)

    def same(self):
        self.topic.flush()
        return self.blocks.written == self.single.written and self.blocks.counts == self.single.counts


@pytest.mark.parametrize('little_endian', [True, False])
@pytest.mark.parametrize('names', [('a',), ('shoulder', 'elbow', 'wrist'), ('ü', 'long_name_of_a_joint')])
def test_both_byte_orders_and_any_padding(store, messages, names, little_endian):
    rng = np.random.default_rng(2)
    topic = Topic(store)
    for k in range(50):
        values = [numbers(rng, len(names)) for _ in range(3)]
        raw = bytearray(_raw(store, messages.joint_state(10**9 + k, names, *values), little_endian))
        layout = CdrLayout(bytes(raw), JOINT_STATE, store.fielddefs)
        for place in layout.padding:
            raw[place] = rng.integers(256)
        topic.add(k, bytes(raw))
    assert topic.same()
    assert topic.blocks.blocks == 3


def test_publishers_that_take_turns_and_messages_that_change(store, messages):
    """Names, lengths, frames and what is empty may change at any time; the order of the samples stays."""
    rng = np.random.default_rng(3)
    forms = [
        (('a', 'b'), 2, 2, 0, ''),
        (('c',), 1, 0, 1, 'frame'),
        (('b', 'a'), 2, 2, 0, ''),
        (('a', 'b'), 2, 2, 0, 'other'),
        (('d', 'b'), 2, 2, 0, ''),
        ((), 0, 0, 0, ''),
    ]
    topic = Topic(store)
    for pattern in (
        [0] * 40,
        [1, 0] * 20,
        [0, 2] * 20,
        [3] * 40,
        [4] * 20,
        [5] * 20,
        rng.integers(6, size=300).tolist(),
    ):
        for form in pattern:
            names, *counts, frame = forms[form]
            message = messages.joint_state(int(rng.integers(2)), names, *(numbers(rng, count) for count in counts))
            message.header.frame_id = frame
            topic.add(int(rng.integers(10**9)), _raw(store, message))
    assert topic.same()
    assert topic.blocks.blocks > 0


def test_a_topic_of_too_many_layouts_is_read_message_by_message(store, messages):
    topic = Topic(store)
    for repeat in range(3):
        for k in range(3 * LAYOUTS):
            for stamp in range(10):
                message = messages.joint_state(stamp + 1, [f'joint_{k:02}'], [float(repeat)])
                topic.add(stamp, _raw(store, message))
        topic.topic.flush()
    assert topic.same()
    assert topic.blocks.blocks == LAYOUTS


def test_what_contradicts_itself_is_refused_as_before(store, messages):
    log = Log(None)
    topic = TopicBlocks(log, '/joint_states', JOINT_STATE, store)
    for k in range(20):
        topic.add(k, _raw(store, messages.joint_state(k + 1, ('a', 'b'), (1.0, 2.0), (3.0,))))
    with pytest.raises(JointDynamicsError, match=r'expected as many values as names .* found 2 names and 1'):
        topic.flush()


def test_damaged_bytes_among_good_ones_reach_the_library(store, messages):
    good = _raw(store, messages.joint_state(1, ('a', 'b'), (1.0, 2.0)))
    for place in (0, 1, 12, 20):
        bad = bytearray(good)
        bad[place] = 0xFF
        topic = TopicBlocks(Log(None), '/joint_states', JOINT_STATE, store)
        with pytest.raises(Exception) as expected:
            store.deserialize_cdr(bytes(bad), JOINT_STATE)
        for k in range(20):
            topic.add(k, bytes(bad) if k == 11 else good)
        with pytest.raises(type(expected.value)):
            topic.flush()


def test_the_layout_of_every_standard_message_is_that_of_the_library(messages):
    """Nested messages, arrays and sequences of numbers and of strings: every number at its place."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    dimension = types['std_msgs/msg/MultiArrayDimension']
    layout = types['std_msgs/msg/MultiArrayLayout'](
        dim=[dimension(label='x', size=3, stride=4), dimension(label='four', size=5, stride=6)], data_offset=7
    )
    message = types['std_msgs/msg/Float64MultiArray'](layout=layout, data=np.array([1.5, -2.5]))
    kind = 'std_msgs/msg/Float64MultiArray'
    raw = bytes(store.serialize_cdr(message, kind))
    found = CdrLayout(raw, kind, store.fielddefs)
    block = np.frombuffer(raw, dtype=np.uint8)[None]
    indices = [found.message.layout.dim[0].size, found.message.layout.dim[1].stride, found.message.layout.data_offset]
    assert [int(found.integers(block, index)[0]) for index in indices] == [3, 6, 7]
    np.testing.assert_array_equal(found.numbers(block, found.message.data), [[1.5, -2.5]])
    assert [item.label for item in found.message.layout.dim] == ['x', 'four']
