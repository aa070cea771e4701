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

"""JointStateReader agrees with rclpy; broken messages are left to rclpy. Joint states and trajectories as arrays."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces.messages import MAX_POINTS, duration, joint_state, trajectory_arrays
from joint_dynamics.recording.joint_state_bytes import LAYOUTS, JointStateReader

FIELDS = ('position', 'velocity', 'effort')


def message_of(names, sizes, frame_id='', seed=0):
    rng = np.random.default_rng(seed)
    message = JointState(name=list(names))
    message.header.frame_id = frame_id
    message.header.stamp.sec, message.header.stamp.nanosec = int(rng.integers(2**31)), int(rng.integers(10**9))
    for field, size in zip(FIELDS, sizes, strict=True):
        setattr(message, field, rng.normal(size=size).tolist())
    return message


STORE = get_typestore(Stores.ROS2_JAZZY)


def encoded(message, order):
    """Return the message as plain CDR in byte order `order`, serialised by rosbags."""
    types = STORE.types
    stamp = types['builtin_interfaces/msg/Time'](message.header.stamp.sec, message.header.stamp.nanosec)
    rosbags_message = types['sensor_msgs/msg/JointState'](
        types['std_msgs/msg/Header'](stamp, message.header.frame_id),
        list(message.name),
        *(np.array(getattr(message, field), float) for field in FIELDS),
    )
    return bytes(STORE.serialize_cdr(rosbags_message, 'sensor_msgs/msg/JointState', little_endian=order == '<'))


def assert_same(found, message):
    assert found is not None
    assert found.header.stamp == (message.header.stamp.sec, message.header.stamp.nanosec)
    assert found.header.frame_id == message.header.frame_id
    assert found.name == tuple(message.name)
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(found, field), getattr(message, field))


@given(
    st.lists(st.text('abcdäö/_', max_size=9), max_size=8),
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8)),
    st.text('abcä', max_size=9),
)
def test_reader_agrees_with_rclpy(names, sizes, frame_id):
    message = message_of(names, sizes, frame_id)
    data = serialize_message(message)
    assert deserialize_message(data, JointState) == message
    assert_same(JointStateReader().read(data), message)
    for order in '<>':
        data = encoded(message, order)
        assert deserialize_message(data, JointState) == message
        assert_same(JointStateReader().read(data), message)


def test_reader_handles_changing_layouts():
    reader = JointStateReader()
    # Messages of equal length that differ in names, fields or byte order, and a longer one.
    messages = [
        message_of(('a', 'b'), (2, 0, 2)),
        message_of(('b', 'a'), (2, 0, 2)),
        message_of(('a', 'b'), (0, 2, 2)),
        message_of(('a', 'b'), (2, 2, 0), seed=1),
        message_of(('a', 'b', 'c'), (3, 3, 3)),
    ]
    for message, order in itertools.product(messages * 2, '<>'):
        assert_same(reader.read(encoded(message, order)), message)
    # More layouts than the reader remembers.
    for k in range(3 * LAYOUTS):
        names = [f'joint_{j}' for j in range(k)]
        assert_same(reader.read(encoded(message_of(names, (k, k, k)), '<')), message_of(names, (k, k, k)))


@pytest.mark.parametrize('order', '<>')
def test_truncated_messages_are_left_to_rclpy(order):
    """Truncated anywhere, with the layout unknown to the reader and known."""
    data = encoded(message_of(('a', 'bc'), (2, 2, 2), 'base'), order)
    reader = JointStateReader()
    for layout_is_known in (False, True):
        for end in range(len(data)):
            assert reader.read(data[:end]) is None, (layout_is_known, end)
        assert reader.read(data) is not None


def test_malformed_messages_are_left_to_rclpy():
    good = encoded(message_of(('a', 'bc'), (2, 2, 2)), '<')
    # An unknown encoding.
    assert JointStateReader().read(b'\0\7' + good[2:]) is None
    # A name without terminator, a name that is not UTF-8, and a count of names beyond the length of the message.
    for place, value in ((good.index(b'a\0'), b'aa'), (good.index(b'bc\0'), b'\xff\xfe\0'), (20, b'\xff\xff\xff\x7f')):
        assert JointStateReader().read(good[:place] + value + good[place + len(value) :]) is None


def test_joint_state_holds_the_arrays():
    expected = message_of(('a', 'b'), (2, 0, 2))
    found = joint_state(expected.header.stamp, ('a', 'b'), np.array(expected.effort), np.array(expected.position))
    assert deserialize_message(serialize_message(found), JointState) == expected


def trajectory(count, **sizes):
    rng = np.random.default_rng(3)
    points = [
        JointTrajectoryPoint(
            **{field: rng.normal(size=size).tolist() for field, size in sizes.items()}, time_from_start=duration(k / 8)
        )
        for k in range(count)
    ]
    return JointTrajectory(joint_names=['a', 'b', 'c'], points=points)


@pytest.mark.parametrize('fields', [(), ('velocities',), ('velocities', 'accelerations', 'effort')])
def test_trajectory_arrays_hold_the_points(fields):
    message = trajectory(5, positions=3, **dict.fromkeys(fields, 3))
    times, found = trajectory_arrays(message)
    np.testing.assert_array_equal(times, np.arange(5) / 8)
    assert set(found) == {'positions', *fields}
    for field, array in found.items():
        np.testing.assert_array_equal(array, [getattr(point, field) for point in message.points])


@pytest.mark.parametrize(
    'message',
    [
        trajectory(0, positions=3),
        trajectory(MAX_POINTS + 1),
        trajectory(3, velocities=3),
        trajectory(3, positions=2),
        trajectory(3, positions=3, velocities=2),
        JointTrajectory(joint_names=['a', 'b', 'c'], points=trajectory(1, positions=3).points + trajectory(1).points),
        JointTrajectory(points=trajectory(2).points),
    ],
    ids=['no points', 'too many', 'no positions', 'few positions', 'few velocities', 'positions end', 'no joints'],
)
def test_trajectories_without_one_number_per_joint_are_refused(message):
    with pytest.raises(JointDynamicsError):
        trajectory_arrays(message)
