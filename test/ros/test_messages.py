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

"""Joint states from arrays, and trajectories as arrays."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces.messages import MAX_POINTS, duration, joint_state, trajectory_arrays

FIELDS = ('position', 'velocity', 'effort')


def message_of(names, sizes):
    rng = np.random.default_rng(0)
    message = JointState(name=list(names))
    message.header.stamp.sec, message.header.stamp.nanosec = int(rng.integers(2**31)), int(rng.integers(10**9))
    for field, size in zip(FIELDS, sizes, strict=True):
        setattr(message, field, rng.normal(size=size).tolist())
    return message


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
