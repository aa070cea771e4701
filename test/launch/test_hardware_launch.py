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

"""All nodes beside a driver: they come up by themselves, command nothing, and stop cleanly."""

import pytest

pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")
pytest.importorskip('launch_pytest', reason="ROS 2's launch_pytest is not installed")

import launch_pytest
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

NODES = ('excitation', 'identifier', 'estimator', 'feedforward')


@launch_pytest.fixture
def hardware(description_of, dynamics_file):
    """With a dynamics description, in a namespace."""
    return description_of('hardware', namespace='cell', preset='ros2_control', description_file=str(dynamics_file))


@launch_pytest.fixture
def hardware_without_description(description_of):
    """Without a dynamics description: the nodes that need one wait for the identifier's."""
    return description_of('hardware', preset='kinova_gen3')


class Driver:
    """What a driver publishes: robot_description latched, joint states while spinning."""

    def __init__(self, ros, namespace=''):
        self.robot = RobotModel.load(ur5e_urdf())
        ros.probe.create_publisher(String, f'{namespace}/robot_description', LATCHED).publish(
            String(data=ur5e_urdf().read_text())
        )
        self.publisher = ros.probe.create_publisher(JointState, f'{namespace}/joint_states', 10)
        self.clock = ros.probe.get_clock()
        ros.probe.create_timer(0.01, self.publish)

    def publish(self):
        names = self.robot.joint_names[::-1]
        message = JointState(
            name=list(names), position=[0.3] * len(names), velocity=[0.0] * len(names), effort=[1.0] * len(names)
        )
        message.header.stamp = self.clock.now().to_msg()
        self.publisher.publish(message)


@pytest.mark.launch(fixture=hardware)
def test_nodes_come_up_and_nothing_is_commanded(ros, exits):
    commands = ros.listen(JointTrajectory, '/cell/joint_trajectory_controller/joint_trajectory')
    arrays = ros.listen(DiagnosticArray, '/diagnostics')
    Driver(ros, '/cell')
    for node in NODES:
        ros.until_state(f'/cell/{node}', 'active')
    ros.until(
        lambda: (
            {f'/cell/{node}' for node in NODES}
            <= {status.name.partition(':')[0] for array in arrays for status in array.status}
        ),
        what='diagnostics of every node',
    )
    assert not commands
    yield
    assert exits == dict.fromkeys(NODES, 0)


@pytest.mark.launch(fixture=hardware_without_description)
def test_what_needs_a_description_waits_for_the_identifier(ros, exits):
    arrays = ros.listen(DiagnosticArray, '/diagnostics')
    Driver(ros)
    for node in ('excitation', 'identifier'):
        ros.until_state(f'/{node}', 'active')
    waiting = 'waiting for topic /identifier/dynamics_description'
    for node in ('estimator', 'feedforward'):
        ros.until(
            lambda node=node: any(
                status.name == f'/{node}: state' and status.message == waiting
                for array in arrays
                for status in array.status
            ),
            what=f'{node} {waiting}',
        )
        assert ros.state(f'/{node}') == 'unconfigured'
    yield
    assert exits == dict.fromkeys(NODES, 0)
