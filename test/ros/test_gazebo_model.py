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

"""Beside a simulator with rigid joints the node gives motor side, current and temperature.

By joint name and in its own order.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState, Temperature

from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, STALE
from joint_dynamics.nodes.gazebo_model.node import GazeboModelNode
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf
from joint_dynamics.simulation.motor_side import MotorSideModel


@pytest.fixture
def node(ros):
    node = ros.node(GazeboModelNode, '/gz', robot_file=str(ur5e_urdf()), autostart=True)
    ros.until(lambda: node.is_active)
    return node


def state(joints, seconds, q, dq):
    message = JointState(name=list(joints), position=list(q), velocity=list(dq))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(seconds * 1e9), 10**9)
    return message


def test_motor_states_and_temperatures(ros, node):
    joints = node.robot.joint_names
    motor = ros.listen(JointState, '/gz/motor_states')
    warm = [ros.listen(Temperature, f'/gz/{joint}/temperature') for joint in joints]
    publisher = ros.publisher(JointState, '/gz/joint_states')
    q, dq = np.arange(6) * 0.1, np.zeros(6)
    publisher.publish(state(('gripper', *joints[::-1]), 7.5, [9.0, *q[::-1]], [0.0, *dq[::-1]]))
    ros.until(lambda: motor and all(warm))
    expected = MotorSideModel(RobotModel.load(ur5e_urdf())).step(7.5, q, dq)
    assert tuple(motor[0].name) == joints
    np.testing.assert_allclose(motor[0].position, expected.theta)
    np.testing.assert_allclose(motor[0].effort, expected.current)
    assert (motor[0].header.stamp.sec, motor[0].header.stamp.nanosec) == (7, 500_000_000)
    assert [messages[0].header.frame_id for messages in warm] == list(joints)
    assert {messages[0].temperature for messages in warm} == {25.0}


@pytest.mark.parametrize(('q', 'dq'), [([0.0] * 6, []), ([float('nan')] * 6, [0.0] * 6)])
def test_states_that_cannot_be_used_are_reported(ros, node, q, dq):
    publisher = ros.publisher(JointState, '/gz/joint_states')
    publisher.publish(state(node.robot.joint_names, 1.0, q, dq))
    ros.until(lambda: node.diagnostics.level('inputs') == ERROR)
    assert 'expected' in node.diagnostics.message('inputs')


def test_a_gazebo_that_falls_silent_is_missed(ros, node):
    publisher = ros.publisher(JointState, '/gz/joint_states')
    assert node.diagnostics.message('inputs') == 'no message yet on joint_states'
    for begin in (1.0, 0.5):  # the second one's time begins anew
        publisher.publish(state(node.robot.joint_names, begin, [0.0] * 6, [0.0] * 6))
        ros.until(lambda: node.diagnostics.level('inputs') == OK)
        ros.until(lambda: node.diagnostics.level('inputs') == STALE)
        assert node.diagnostics.message('inputs') == 'silent: joint_states'
