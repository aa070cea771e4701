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

"""The simulated robot from outside: what a driver gives, what controllers take, and how simulated time flows."""

import json
import subprocess
import sys

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration, Time  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState, Temperature  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from joint_dynamics.nodes.framework.tables import LATCHED, RELIABLE_SENSOR  # noqa: E402
from joint_dynamics.nodes.simulator.node import SimulatorNode  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors  # noqa: E402

JOINTS = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint', 'wrist_2_joint', 'wrist_3_joint')


def start(ros, **parameters):
    """An active simulator in this process, five times faster than the wall where the machine can."""
    node = ros.node(SimulatorNode, **{'real_time_factor': 5.0, **parameters})
    assert node.trigger_configure().name == 'SUCCESS'
    assert node.trigger_activate().name == 'SUCCESS'
    return node


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


def run_until(ros, node, time):
    ros.until(lambda: node.simulated.time >= time, what=f'{time} s of simulated time')


def trajectory(names, *points):
    """A message of (time, positions, velocities or None, effort or None)."""
    message = JointTrajectory(joint_names=list(names))
    for time, q, dq, effort in points:
        point = JointTrajectoryPoint(
            positions=list(q), time_from_start=Duration(sec=int(time), nanosec=round(time % 1 * 1e9))
        )
        if dq is not None:
            point.velocities = list(dq)
        if effort is not None:
            point.effort = list(effort)
        message.points.append(point)
    return message


def test_it_gives_what_a_driver_gives(ros):
    states, motors = (ros.listen(JointState, topic, RELIABLE_SENSOR) for topic in ('joint_states', 'motor_states'))
    clocks = ros.listen(Clock, '/clock', 1000)
    warm = ros.listen(Temperature, 'elbow_joint/temperature')
    truths = ros.listen(String, 'simulator/truth', LATCHED)
    node = start(ros, temperature=31.0)
    run_until(ros, node, 1.2)
    ros.until(lambda: warm and states and clocks)
    late = ros.listen(String, 'robot_description', LATCHED)
    ros.until(lambda: late, what='the latched description')
    assert RobotModel.from_urdf(late[0].data).joint_names == JOINTS
    for message in (states[0], motors[0]):
        assert tuple(message.name) == JOINTS
        assert len(message.position) == len(message.velocity) == len(message.effort) == 6
    times = np.array([seconds(message.header.stamp) for message in states])
    np.testing.assert_allclose(np.diff(times), 0.002, atol=1e-9)
    assert seconds(clocks[0].clock) >= 1.0
    assert np.abs(np.array(states[5].position) - np.array(motors[5].position)).max() < 0.01
    assert warm[0].header.frame_id == 'elbow_joint'
    assert warm[0].temperature == pytest.approx(31.0, abs=0.5)
    truth = json.loads(truths[-1].data)
    assert truth['joint_names'] == list(JOINTS)
    np.testing.assert_allclose(truth['stiffness'], FlexibleJointRobot(seed=0).truth.stiffness)


def test_effort_is_a_current_or_a_torque_by_parameter(ros):
    efforts = {}
    for unit in ('current', 'torque'):
        node = start(ros, namespace=unit, effort=unit, motor_effort=unit, motor_side='shaft')
        states, motors = (
            ros.listen(JointState, f'{unit}/{topic}', RELIABLE_SENSOR) for topic in ('joint_states', 'motor_states')
        )
        ros.until(lambda states=states, motors=motors: states and motors)
        efforts[unit] = np.array(states[0].effort)
        assert motors[0].position[2] == pytest.approx(101.0 * states[0].position[2], abs=0.5)
        node.trigger_deactivate()
    gain = FlexibleJointRobot(seed=0).nominal_gains
    holding = np.abs(efforts['torque']) > 5.0
    assert holding.any()
    np.testing.assert_allclose(efforts['torque'][holding], (efforts['current'] * gain)[holding], rtol=0.2)


def test_a_trajectory_is_followed_in_any_joint_order(ros):
    node = start(ros)
    publisher = ros.publisher(JointTrajectory, 'joint_trajectory_controller/joint_trajectory')
    goal = node.simulated.truth.position + np.array([0.1, -0.05, 0.1, 0.2, -0.2, 0.3])
    publisher.publish(trajectory(JOINTS[::-1], (1.0, goal[::-1], np.zeros(6), None)))
    ros.until(lambda: node.controllers.busy, what='the trajectory')
    ros.until(lambda: not node.controllers.busy, what='its end')
    run_until(ros, node, node.simulated.time + 1.0)
    assert np.abs(node.simulated.truth.position - goal).max() < 2e-3


def test_stamped_trajectory_starts_at_its_stamp(ros):
    node = start(ros)
    publisher = ros.publisher(JointTrajectory, 'simulator/joint_trajectory')
    q = node.simulated.truth.position
    message = trajectory(JOINTS, (0.5, q, None, np.ones(6)), (1.0, q, None, 3 * np.ones(6)))
    begin = node.simulated.time + 2.0
    message.header.stamp = Time(sec=int(begin + 1.0), nanosec=round(begin % 1 * 1e9))
    publisher.publish(message)
    ros.until(lambda: node.controllers.busy, what='the trajectory')
    ahead = round((begin + 0.75) * node.simulated.rate) - node.simulated.ticks
    np.testing.assert_allclose(node.controllers.commands(ahead + 1).effort[-1], 2.0, atol=0.02)


def test_rejected_trajectory_changes_nothing(ros):
    node = start(ros)
    publisher = ros.publisher(JointTrajectory, 'simulator/joint_trajectory')
    for message, reason in (
        (trajectory(JOINTS), 'points'),
        (trajectory(JOINTS, (1.0, [0.0] * 5, None, None)), 'positions'),
        (trajectory(JOINTS, (1.0, [0.0] * 6, [1.0] * 6, None)), 'at rest'),
    ):
        publisher.publish(message)
        ros.until(lambda reason=reason: reason in node.diagnostics.message('commands'), what=f'the reason: {reason}')
        assert not node.controllers.busy


def test_efforts_act_as_in_forward_command_controller(ros):
    node = start(ros, controller='forward_effort_controller', effort_joints=list(JOINTS[::-1]))
    publisher = ros.publisher(Float64MultiArray, 'forward_effort_controller/commands')
    gravity = node.simulated.model.gravity(node.simulated.truth.position)
    publisher.publish(Float64MultiArray(data=gravity[::-1].tolist()))
    ros.until(lambda: np.array_equal(node.controllers.commands(1).effort[0], gravity), what='the efforts')
    run_until(ros, node, node.simulated.time + 0.5)
    np.testing.assert_array_equal(node.controllers.commands(1).effort[0], gravity)
    publisher.publish(Float64MultiArray(data=[float('nan')] * 6))
    ros.until(lambda: 'dropped' in node.diagnostics.message('commands'), what='the drop')
    np.testing.assert_array_equal(node.controllers.commands(1).effort[0], gravity)
    publisher.publish(Float64MultiArray(data=[0.0] * 5))
    ros.until(lambda: node.controllers.active == 'none', what='the deactivation')
    assert 'deactivated' in node.diagnostics.message('commands')
    assert node.parameters['controller'] == 'none'
    q = node.simulated.truth.position
    run_until(ros, node, node.simulated.time + 0.5)
    assert np.abs(node.simulated.truth.position - q).max() < 2e-3
    assert ros.set_parameter('simulator', 'controller', 'forward_effort_controller').successful
    assert node.controllers.active == 'forward_effort_controller'


def test_it_adds_gravity_as_a_ur_does(ros):
    node = start(ros, controller='forward_effort_controller', add_gravity=True)
    publisher = ros.publisher(Float64MultiArray, 'forward_effort_controller/commands')
    publisher.publish(Float64MultiArray(data=[0.0] * 6))
    gravity = node.simulated.model.gravity(node.simulated.truth.position)
    ros.until(lambda: np.abs(node.controllers.commands(1).effort[0] - gravity).max() < 0.5, what='gravity')
    assert ros.set_parameter('simulator', 'add_gravity', False).successful
    np.testing.assert_array_equal(node.controllers.commands(1).effort[0], np.zeros(6))


def test_it_is_the_robot_behind_a_topic_based_hardware_interface(ros):
    node = start(ros, controller='joint_commands')
    publisher = ros.publisher(JointState, 'joint_commands')
    goal = node.simulated.truth.position + 0.02
    publisher.publish(JointState(name=list(JOINTS[::-1]), position=goal[::-1].tolist()))
    ros.until(lambda: np.array_equal(node.controllers.commands(1).q[0], goal), what='the command')
    run_until(ros, node, node.simulated.time + 1.5)
    assert np.abs(node.simulated.truth.position - goal).max() < 2e-3


def test_settings_take_effect_while_time_flows(ros):
    node = start(ros)
    truth = node.simulated.truth
    mass, stiffness = truth.parameters[14 * 5 + 9], truth.stiffness
    for name, value in (
        ('payload_com', [0.0, 0.0, 0.05]),
        ('payload_mass', 2.0),
        ('wear_duration', 0.2),
        ('wear.elbow_joint', 1.0),
        ('heating.wrist_1_joint', 400.0),
        ('external_torque.shoulder_pan_joint', 5.0),
    ):
        assert ros.set_parameter('simulator', name, value).successful
    # A payload, a worn joint, a hot one and a push, within one simulated second.
    run_until(ros, node, node.simulated.time + 1.0)
    truth = node.simulated.truth
    assert truth.parameters[14 * 5 + 9] == pytest.approx(mass + 2.0)
    assert truth.stiffness[2, 0] == pytest.approx(0.75 * stiffness[2, 0])
    assert truth.temperature[3] > 25.5
    assert node.simulated.step().transmission_torque[0, 0] == pytest.approx(-5.0, abs=2.5)
    assert ros.set_parameter('simulator', 'payload_mass', 0.0).successful
    assert node.simulated.truth.parameters[14 * 5 + 9] == pytest.approx(mass)


@pytest.mark.parametrize(
    ('parameters', 'reason'),
    [
        ({'robot_file': '/does/not/exist.urdf'}, 'readable file'),
        ({'position': [0.0, 1.0]}, 'position'),
        ({'effort_joints': ['a']}, 'any order'),
    ],
)
def test_a_robot_that_cannot_be_built_says_why(ros, parameters, reason):
    node = ros.node(SimulatorNode, **parameters)
    assert node.trigger_configure().name == 'FAILURE'
    assert reason in node.diagnostics.message('state')


def followed(ros, namespace, factor):
    """Joint states of a simulation that waits for their echo: at full speed a listener in Python would lose some."""
    given = {'real_time_factor': factor, 'seed': 5, 'follow_topics': ['echo'], 'publish_clock': True}
    node = ros.node(SimulatorNode, namespace=namespace, **given)
    echo, states = ros.probe.create_publisher(JointState, f'{namespace}/echo', 10), []

    def take(message):
        states.append(message)
        echo.publish(message)

    ros.probe.create_subscription(JointState, f'{namespace}/joint_states', take, RELIABLE_SENSOR)
    assert node.trigger_configure().name == 'SUCCESS'
    states_of = next(one for one in node.publishers if one.topic_name.endswith('/joint_states'))
    ros.until(lambda: states_of.get_subscription_count() and echo.get_subscription_count())
    node.trigger_activate()
    ros.until(lambda: len(states) > 400, what='samples')
    node.trigger_deactivate()
    return states


def test_the_same_seed_gives_the_same_samples_at_any_speed(ros):
    runs = [followed(ros, 'slow', 20.0), followed(ros, 'fast', 0.0)]
    for a, b in zip(*(states[:400] for states in runs), strict=True):
        assert a.header.stamp == b.header.stamp
        assert a.position == b.position
        assert a.effort == b.effort


def test_time_stands_while_inactive_and_goes_on_where_it_was(ros):
    node = start(ros)
    run_until(ros, node, 0.2)
    assert ros.transition('simulator', 'deactivate')
    stood = node.simulated.time
    ros.state('simulator')
    assert node.simulated.time == stood
    assert ros.transition('simulator', 'activate')
    # One batch at most at a time: nothing is made up for.
    ros.until(lambda: node.simulated.time > stood)
    assert node.simulated.time <= stood + 0.5


def test_it_never_runs_further_ahead_of_those_it_follows(ros):
    node = start(ros, real_time_factor=0.0, follow_topics=['estimator/joint_torques'], max_lead=0.05)
    answers = ros.publisher(JointState, 'estimator/joint_torques')
    # Before the first message it waits for nobody.
    run_until(ros, node, 0.1)
    node.trigger_deactivate()
    for upto in (node.simulated.time + 0.1, node.simulated.time + 0.3):
        message = JointState()
        message.header.stamp = Time(sec=int(upto + 1.0), nanosec=round(upto % 1 * 1e9))
        answers.publish(message)
        ros.until(
            lambda upto=upto: node.pace.followers.get('estimator/joint_torques', 0) >= upto - 1e-6, what='the answer'
        )
        if not node.is_active:
            node.trigger_activate()
        ros.until(lambda: node.pace.waiting_for == 'estimator/joint_torques', what='the wait')
        ros.until(lambda upto=upto: node.simulated.time > upto + 0.04, what='the lead')
        assert node.simulated.time <= upto + 0.05 + 1e-6
    ros.probe.destroy_publisher(answers)
    # Who is gone need not be waited for.
    run_until(ros, node, node.simulated.time + 0.2)


def test_reset_puts_it_back_at_rest(ros):
    node = start(ros)
    q = node.simulated.truth.position
    node.simulated.place(q + 0.5)
    assert ros.trigger('simulator/reset').success
    assert np.abs(node.simulated.truth.position - q).max() < 1e-3


def test_names_can_carry_a_prefix(ros):
    node = start(ros, tf_prefix='left_', trajectory_controller='left_controller')
    assert node.simulated.joint_names == tuple(f'left_{joint}' for joint in JOINTS)
    np.testing.assert_allclose(node.simulated.truth.position[1], -1.2, atol=1e-3)
    ros.until(
        lambda: ros.probe.count_subscribers('left_controller/joint_trajectory') == 1, what='its trajectory controller'
    )


def test_process_in_a_namespace_starts_and_ends_cleanly(ros):
    states = ros.listen(JointState, 'cell/joint_states', RELIABLE_SENSOR)
    before = ros.probe.get_clock().now().nanoseconds * 1e-9
    process = ros.process(
        'joint_dynamics.nodes.simulator.node', namespace='/cell', parameters={'autostart': True, 'publish_clock': False}
    )
    ros.until(lambda: len(states) > 50, what='samples')
    # Without /clock the stamps are the wall's.
    # A tick ahead at most, and the clock itself may be set meanwhile; however long a busy machine took for it.
    now = ros.probe.get_clock().now().nanoseconds * 1e-9
    assert all(before - 1.0 <= seconds(state.header.stamp) <= now + 1.0 for state in states)
    status, output = ros.stop(process)
    assert status == 0, output
    assert 'Traceback' not in output


@pytest.mark.parametrize(
    ('given', 'published'),
    [({}, True), ({'namespace': 'one'}, False), ({'namespace': 'a', 'publish_clock': True}, True)],
)
def test_clock_in_a_namespace_is_published_on_request(ros, given, published):
    assert ros.node(SimulatorNode, **given).parameters['publish_clock'] is published


def test_leave_writes_output_and_calls_exit_functions():
    program = (
        'import atexit, threading, time\nfrom joint_dynamics.python_process import leave\n'
        "atexit.register(print, 'exit function')\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\nprint('last words')\nleave(3)"
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 3
    assert done.stdout.splitlines() == ['last words', 'exit function']


def test_drives_and_inertials_are_chosen_by_parameter(ros):
    node = start(ros, inertia_error=0.2, seed=7)
    twin = FlexibleJointRobot(seed=7, errors=ModelErrors(inertia=0.2))
    np.testing.assert_array_equal(node.simulated.drives.stiffness, twin.drives.stiffness)
    np.testing.assert_array_equal(node.simulated.truth.links.mass, twin.truth.links.mass)


def test_the_speed_can_be_changed_while_it_runs(ros):
    node = start(ros, real_time_factor=0.001)
    run_until(ros, node, 0.002)
    assert ros.set_parameter('simulator', 'real_time_factor', 0.0).successful
    # At a thousandth of real time this would take minutes.
    run_until(ros, node, 0.5)
