"""Trajectories read from the bytes of their transport: what rclpy reads, and a refusal for anything else."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_typestore
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces import trajectory_bytes
from joint_dynamics.nodes.interfaces.trajectory_bytes import MAX_POINTS, read_trajectory

FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


def message_of(sizes, count, names=('a', 'bc', 'def'), frame_id='', seed=0):
    rng = np.random.default_rng(seed)
    message = JointTrajectory(joint_names=list(names))
    message.header.frame_id, message.header.stamp.sec, message.header.stamp.nanosec = frame_id, 7, 500_000_000
    for k in range(count):
        point = JointTrajectoryPoint(time_from_start=Duration(sec=k // 10, nanosec=k % 10 * 100_000_000))
        for name, size in zip(FIELDS, sizes, strict=True):
            setattr(point, name, rng.normal(size=size).tolist())
        message.points.append(point)
    return message


def assert_same(data):
    message, found = deserialize_message(data, JointTrajectory), read_trajectory(data)
    points = found.points()
    assert found.joint_names == tuple(message.joint_names) == points.joint_names
    assert (found.sec, found.nanosec) == (message.header.stamp.sec, message.header.stamp.nanosec)
    assert found.frame_id == message.header.frame_id
    times = [point.time_from_start.sec + point.time_from_start.nanosec * 1e-9 for point in message.points]
    np.testing.assert_array_equal(points.time, times)
    for values, name in zip((points.q, points.dq, points.ddq), FIELDS, strict=False):
        rows = [list(getattr(point, name)) for point in message.points]
        if rows[0]:
            np.testing.assert_array_equal(values, rows)
        else:
            assert values is None


@given(
    st.integers(1, 7), st.lists(st.booleans(), min_size=3, max_size=3), st.integers(1, 12), st.text('aä', max_size=9),
    st.lists(st.text('abcdefgh', max_size=9), max_size=4), st.integers(1, 4),
)  # fmt: skip
def test_it_reads_what_rclpy_reads(size, given_fields, count, frame_id, names, block):
    sizes = [size, *(size * each for each in given_fields)]
    before, trajectory_bytes.BLOCK = trajectory_bytes.BLOCK, block
    try:
        assert_same(serialize_message(message_of(sizes, count, names, frame_id)))
    finally:
        trajectory_bytes.BLOCK = before


def test_the_other_byte_order_is_read_as_well():
    little = serialize_message(message_of((2, 2, 0, 0), 3, ('a', 'b'), 'x'))
    # Trailing bytes of rclpy's, which nothing says the number of, are cut before the reader of rosbags sees them.
    whole = next(little[:end] for end in range(len(little)) if readable(little[:end]))
    store, kind = get_typestore(Stores.ROS2_JAZZY), 'trajectory_msgs/msg/JointTrajectory'
    big = bytes(store.serialize_cdr(store.deserialize_cdr(whole, kind), kind, little_endian=False))
    assert big[:2] == b'\0\0'
    expected, found = read_trajectory(little), read_trajectory(big)
    assert (found.joint_names, found.stamp, found.frame_id) == (expected.joint_names, expected.stamp, expected.frame_id)
    for name in ('time', 'q', 'dq'):
        np.testing.assert_array_equal(getattr(found.points(), name), getattr(expected.points(), name))


def test_a_set_point_is_one_point_at_time_0():
    assert read_trajectory(serialize_message(message_of((3, 3, 3, 0), 1))).is_set_point
    assert not read_trajectory(serialize_message(message_of((3, 3, 3, 0), 2))).is_set_point
    assert not read_trajectory(serialize_message(JointTrajectory())).is_set_point
    later = message_of((3, 0, 0, 0), 1)
    later.points[0].time_from_start.nanosec = 1
    assert not read_trajectory(serialize_message(later)).is_set_point


@pytest.mark.parametrize('which', [0, 1, 2, 3, 5, 8])
def test_points_that_differ_are_refused_by_name(which):
    message = message_of((3, 3, 0, 0), 9)
    message.points[which].velocities = [0.0]
    with pytest.raises(JointDynamicsError, match=r'as many velocities at every point, found \[1, 3\]'):
        read_trajectory(serialize_message(message)).points()


def test_none_without_positions_and_too_many_are_refused():
    with pytest.raises(JointDynamicsError, match='points with positions, found none'):
        read_trajectory(serialize_message(JointTrajectory())).points()
    with pytest.raises(JointDynamicsError, match='points with positions, found none'):
        read_trajectory(serialize_message(message_of((0, 3, 0, 0), 4))).points()
    data = bytearray(serialize_message(message_of((3, 0, 0, 0), 2)))
    head = len(serialize_message(message_of((3, 0, 0, 0), 0))) - 4
    data[head : head + 4] = (MAX_POINTS + 1).to_bytes(4, 'little')
    with pytest.raises(JointDynamicsError, match=f'at most {MAX_POINTS} points, found {MAX_POINTS + 1}'):
        read_trajectory(bytes(data)).points()


def test_a_message_that_ends_early_is_refused_wherever_it_ends():
    data = serialize_message(message_of((3, 3, 0, 3), 7))
    points = read_trajectory(data).points()
    whole = next(end for end in range(len(data) + 1) if readable(data[:end]))
    # rclpy appends bytes to what it serializes: what it had estimated too much.
    assert whole > len(data) // 2
    np.testing.assert_array_equal(read_trajectory(data[:whole]).points().q, points.q)
    assert all(readable(data[:end]) for end in range(whole, len(data)))


def test_a_message_that_announces_more_than_it_has_asks_for_no_memory():
    """50,000 points of 10,000 values, as the first one has, would be 4 GB for each field."""
    data = bytearray(serialize_message(message_of((10_000, 10_000, 0, 0), 2)))
    head = len(serialize_message(message_of((3, 0, 0, 0), 0))) - 4
    data[head : head + 4] = MAX_POINTS.to_bytes(4, 'little')
    tracemalloc.start()
    try:
        with pytest.raises(JointDynamicsError, match='expected a'):
            read_trajectory(bytes(data)).points()
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def readable(data):
    try:
        read_trajectory(data).points()
    except JointDynamicsError:
        return False
    return True


@given(st.data())
def test_nothing_but_a_refusal_comes_of_bytes_that_are_wrong(data):
    whole = serialize_message(message_of((3, 3, 0, 0), 5))
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    try:
        message = read_trajectory(bytes(changed))
        message.is_set_point  # noqa: B018
        message.points()
    except JointDynamicsError:
        pass
