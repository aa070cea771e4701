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

"""The simulated robot and all nodes: states, topics, a motion on request, a clean stop."""

import time

import pytest

pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")
pytest.importorskip('launch_pytest', reason="ROS 2's launch_pytest is not installed")

import launch_pytest
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, Temperature
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.nodes.framework.tables import LATCHED, SENSOR
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

# Nothing is launched before this.
BEFORE = time.time()
NODES = ('simulator', 'excitation', 'identifier', 'estimator', 'feedforward')


@launch_pytest.fixture
def simulation(description_of, dynamics_file):
    """With a dynamics description, in a namespace."""
    return description_of('simulation', namespace='cell', publish_clock='true', description_file=str(dynamics_file))


@pytest.mark.launch(fixture=simulation)
def test_simulation(ros, exits):
    joints = RobotModel.load(ur5e_urdf()).joint_names
    states = ros.listen(JointState, '/cell/joint_states', SENSOR)
    motors = ros.listen(JointState, '/cell/motor_states', SENSOR)
    clock = ros.listen(Clock, '/clock', SENSOR)
    descriptions = ros.listen(String, '/cell/robot_description', LATCHED)
    warm = [ros.listen(Temperature, f'/cell/{joint}/temperature', SENSOR) for joint in joints]
    for node in NODES:
        ros.until_state(f'/cell/{node}', 'active')
    ros.until(lambda: states and motors and clock and descriptions and all(warm), what='topics')
    assert set(states[-1].name) == set(motors[-1].name) == set(joints)

    # The robot follows a trajectory that is sent to its controller.
    publisher = ros.probe.create_publisher(JointTrajectory, '/cell/joint_trajectory_controller/joint_trajectory', 10)
    ros.until(publisher.get_subscription_count, what='the controller')
    here = dict(zip(states[-1].name, states[-1].position, strict=True))
    goal = [here[joint] + 0.2 for joint in joints]
    publisher.publish(
        JointTrajectory(
            joint_names=list(joints),
            points=[JointTrajectoryPoint(positions=goal, velocities=[0.0] * 6, time_from_start=Duration(sec=1))],
        )
    )

    def arrived():
        now = dict(zip(states[-1].name, states[-1].position, strict=True))
        return max(abs(now[joint] - there) for joint, there in zip(joints, goal, strict=True)) < 0.02

    ros.until(arrived, what='the goal')
    yield
    assert exits == dict.fromkeys(NODES, 0)


@launch_pytest.fixture
def two_simulations(description_of):
    """Two robots in one graph, as two people would start them."""
    from launch import LaunchDescription

    left, right = (description_of('simulation', namespace=namespace) for namespace in ('left', 'right'))
    ready = type(left.entities[0])
    return LaunchDescription([*left.entities, *(each for each in right.entities if not isinstance(each, ready))])


@pytest.mark.launch(fixture=two_simulations)
def test_two_simulations_leave_time_alone(ros):
    clock = ros.listen(Clock, '/clock', SENSOR)
    arrays = ros.listen(DiagnosticArray, '/diagnostics', 1000)
    states = {robot: ros.listen(JointState, f'/{robot}/joint_states', SENSOR) for robot in ('left', 'right')}
    for namespace in states:
        for node in ('simulator', 'excitation', 'identifier'):
            ros.until_state(f'/{namespace}/{node}', 'active')
    ros.until(lambda: all(len(found) > 500 for found in states.values()), what='joint states of both')
    assert not clock
    assert not [status.message for array in arrays for status in array.status if 'time went back' in status.message]
    for found in states.values():
        stamps = [message.header.stamp.sec + message.header.stamp.nanosec * 1e-9 for message in found]
        assert stamps == sorted(stamps)
        # As the other nodes' clock has it, which is the wall's; a tick ahead at most, and it may be set meanwhile.
        assert stamps[0] >= BEFORE - 1.0
        assert stamps[-1] <= ros.probe.get_clock().now().nanoseconds * 1e-9 + 1.0
