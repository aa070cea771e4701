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

"""The real controller manager and its controllers, on the simulated robot behind topic-based hardware."""

import json
import os
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")
pytest.importorskip('launch_pytest', reason="ROS 2's launch_pytest is not installed")

import launch_pytest
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch_ros.actions import Node
from std_msgs.msg import String

from joint_dynamics.arm import Arm
from joint_dynamics.control.effort_gains import controller_parameters, effort_gains
from joint_dynamics.excitation import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.files import coefficients
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

try:
    from control_msgs import msg as messages
    from controller_manager_msgs import srv as services
except ImportError:
    messages = services = None

PACKAGES = ('controller_manager', 'joint_trajectory_controller', 'joint_state_topic_hardware_interface')


def installed(package):
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


MISSING = [package for package in PACKAGES if not installed(package)]
if services is None:
    MISSING.insert(0, 'control_msgs and controller_manager_msgs')
# A mark, not a skip of the module: with launch_pytest's collector that one takes the tests of the whole folder along.
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f'not installed: {", ".join(MISSING)}')

HOME = np.array([0.0, -np.pi / 2, 0.6, -np.pi / 2, 0.3, 0.0])
CONTROLLER = 'joint_trajectory_controller'
RATE = 200.0
TIMEOUT = 2.0  # of joint states, s: on a busy machine they come late


def with_hardware(urdf):
    """The URDF with a ros2_control block: positions by topics, as the simulated robot takes and tells them."""
    tree = ElementTree.fromstring(urdf)
    system = ElementTree.SubElement(tree, 'ros2_control', name='simulated', type='system')
    hardware = ElementTree.SubElement(system, 'hardware')
    plugin = ElementTree.SubElement(hardware, 'plugin')
    plugin.text = 'joint_state_topic_hardware_interface/JointStateTopicSystem'
    for name, value in (
        ('joint_commands_topic', '/joint_commands'),
        ('joint_states_topic', '/hardware/joint_states'),
        ('trigger_joint_command_threshold', '-1'),
    ):
        ElementTree.SubElement(hardware, 'param', name=name).text = value
    for name in RobotModel.from_urdf(urdf).joint_names:
        joint = ElementTree.SubElement(system, 'joint', name=name)
        ElementTree.SubElement(joint, 'command_interface', name='position')
        for state in ('position', 'velocity', 'effort'):
            ElementTree.SubElement(joint, 'state_interface', name=state)
    return ElementTree.tostring(tree, encoding='unicode')


def played_motion(robot):
    waves = 0.08 * np.random.default_rng(0).standard_normal((robot.n, 4))
    return FourierTrajectory(robot.joint_names, FourierBasis(3.0, 2, 1, 0.8, True), np.column_stack([HOME, waves]))


def system(description_of, tmp_path, output, repeats, rate=100.0):
    """The simulated robot, a controller manager with its controllers, and all nodes, with a motion to play."""
    robot = RobotModel.from_urdf(ur5e_description())
    (tmp_path / 'summary.json').write_text(json.dumps({'trajectory': coefficients(played_motion(robot))}))
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(with_hardware(ur5e_description()))
    controllers = tmp_path / 'controllers.yaml'
    controllers.write_text(yaml.safe_dump(controller_parameters(effort_gains(Arm(robot), 1.0 / RATE))))
    preset = Path(__file__).parents[2] / 'config' / 'ros2_control' / 'nodes.yaml'
    excitation = {
        'trajectory_file': str(tmp_path / 'summary.json'),
        'repeats': repeats,
        'state_timeout': TIMEOUT,
        'tracking_error': 1.0,
        'output': output,
        'rate': rate,
    }
    parameters = {**yaml.safe_load(preset.read_text()), '/**/excitation': {'ros__parameters': excitation}}
    (tmp_path / 'nodes.yaml').write_text(yaml.safe_dump(parameters))
    simulator = Node(
        package='joint_dynamics',
        executable='simulator',
        parameters=[
            {
                'autostart': True,
                'publish_clock': False,
                'effort': 'torque',
                'controller': 'joint_commands',
                'robot_file': str(urdf),
                'position': HOME.tolist(),
            }
        ],
        remappings=[('joint_states', 'hardware/joint_states')],
    )
    # As a driver's: it knows its broadcaster; the type of the trajectory controller is in the file of the gains.
    broadcaster = {'joint_state_broadcaster.type': 'joint_state_broadcaster/JointStateBroadcaster'}
    manager = Node(
        package='controller_manager',
        executable='ros2_control_node',
        parameters=[{'update_rate': round(RATE), **broadcaster}],
    )
    spawner = Node(
        package='controller_manager',
        executable='spawner',
        arguments=[
            'joint_state_broadcaster',
            CONTROLLER,
            '--param-file',
            str(controllers),
            '--controller-manager-timeout',
            '120',
        ],
    )
    description = description_of(
        'hardware', params_file=str(tmp_path / 'nodes.yaml'), initial_joint_controller=CONTROLLER
    )
    return LaunchDescription([*description.entities, simulator, manager, spawner])


@launch_pytest.fixture
def ros2_control(description_of, tmp_path):
    return system(description_of, tmp_path, 'action', 100)


@launch_pytest.fixture
def by_topic(description_of, tmp_path):
    # Of 20,000 points the topic loses the most, of 1500 some on a busy machine; 300 arrive.
    return system(description_of, tmp_path, 'topic', 5, 20.0)


def switched(ros, on=(), off=()):
    request = services.SwitchController.Request(
        activate_controllers=list(on),
        deactivate_controllers=list(off),
        strictness=services.SwitchController.Request.STRICT,
    )
    return ros.call(services.SwitchController, '/controller_manager/switch_controller', request).ok


def begun(ros):
    """Wait until the arm can be moved; return the controller's states, and the excitation's present status."""
    states = ros.listen(messages.JointTrajectoryControllerState, f'/{CONTROLLER}/controller_state', 10000)
    statuses = ros.listen(String, '/excitation/status', LATCHED)
    ros.until_state('/excitation', 'active')
    ros.until(lambda: states and statuses and statuses[-1].data == 'ready', what='the controller and the motion')
    return states, lambda: statuses[-1].data


def started(ros, status):
    # After a stop it takes a moment until the arm rests.
    ros.until(lambda: ros.trigger('/excitation/start').success, what='a start')
    ros.until(lambda: status().startswith('playing'), what='the motion')


def stopped_in_motion(ros, states, status):
    """Start the motion and stop it while it is fast; check that the reference of the controller does not jump."""

    def speed(state):
        return np.abs(state.reference.velocities).max()

    started(ros, status)
    played = len(states)
    ros.until(lambda: len(states) > played and speed(states[-1]) > 0.2, what='an instant of fast motion')
    answer = ros.trigger('/excitation/stop')
    assert 'at rest in' in answer.message, answer.message
    ros.until(lambda: speed(states[-1]) == 0.0, what='rest')
    reference = np.array([state.reference.positions for state in states[played:]])
    stamps = np.array([state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in states[played:]])
    steps = np.abs(np.diff(reference, axis=0)).max(axis=1)
    speeds = np.array([speed(state) for state in states[played:]])
    # A braking is nowhere faster than the motion; points between which the controller interpolates are 10 ms apart.
    assert speeds.max() < 1.05 * np.abs(played_motion(RobotModel.from_urdf(ur5e_description())).sample(500.0).dq).max()
    # On a path no step is longer than its speed times the time between the two samples; stamps are those of the
    # update's begin, whose jitter is a share of the period. The search for the delay is exact to 1 mrad.
    allowed = np.maximum(speeds[1:], speeds[:-1]) * (np.diff(stamps) + 1.0 / RATE) + 2.5e-3
    assert (steps <= allowed).all(), (steps - allowed).max()


@pytest.mark.launch(fixture=by_topic)
def test_a_stop_by_topic_does_not_make_the_reference_jump(ros, exits):
    stopped_in_motion(ros, *begun(ros))
    yield
    assert {name: code for name, code in exits.items() if code} == {}


@pytest.mark.launch(fixture=ros2_control)
def test_excitation_on_a_real_controller(ros, exits):
    """It starts when the controller has accepted, stops without a jump of its reference, and names its deactivation."""
    states, status = begun(ros)
    stopped_in_motion(ros, states, status)
    started(ros, status)
    assert switched(ros, off=[CONTROLLER])
    ros.until(lambda: status().startswith('stopped: '), what='the end')
    assert 'deactivat' in status()
    yield
    assert {name: code for name, code in exits.items() if code} == {}


@pytest.mark.launch(fixture=ros2_control)
def test_a_controller_manager_that_is_killed_is_named(ros, exits, ros2_control):
    states, status = begun(ros)
    started(ros, status)
    ros.until(lambda: np.abs(states[-1].reference.velocities).max() > 0.1, what='motion')
    (manager,) = (
        entity
        for entity in ros2_control.entities
        if isinstance(entity, Node) and entity.node_executable == 'ros2_control_node'
    )
    ros.watchers.clear()
    os.kill(manager.process_details['pid'], signal.SIGKILL)
    ros.until(lambda: status().startswith('stopped: '), what='the end')
    # Either is missed first: its joint states, or the state of its controller.
    assert 'joint states of' in status() or 'controller' in status()
    yield
    assert exits.pop('ros2_control_node') == -signal.SIGKILL
    assert {name: code for name, code in exits.items() if code} == {}
