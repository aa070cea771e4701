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

"""The feedforward node over DDS: efforts in trajectories, refusals and their reasons."""

import inspect
import time
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import yaml

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration  # noqa: E402
from builtin_interfaces.msg import Time as TimeMessage  # noqa: E402
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState, Temperature  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from joint_dynamics.arm import Arm  # noqa: E402
from joint_dynamics.control import FillSettings, Law, create, fill_effort, interface  # noqa: E402
from joint_dynamics.control import Path as Motion  # noqa: E402
from joint_dynamics.description import DynamicsDescription  # noqa: E402
from joint_dynamics.nodes.feedforward.node import FeedforwardNode  # noqa: E402
from joint_dynamics.nodes.feedforward.parameters import FILL_ROWS, GONE, PARAMETERS  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402
from joint_dynamics.settings import declarations  # noqa: E402
from joint_dynamics.simulation import ur5e_urdf  # noqa: E402

HOME = np.array([0.0, -1.2, 1.4, -1.7, -1.5, 0.3])
NODE = '/feedforward'


@pytest.fixture(scope='session')
def model():
    return RobotModel.from_urdf(ur5e_urdf())


@pytest.fixture(scope='session')
def description(model, tmp_path_factory):
    joints = {}
    for k, name in enumerate(model.joint_names):
        size = 1.0 if k < 3 else 0.3
        joints[name] = {
            'rotor_inertia': {'value': 0.9 * size},
            'drive_gain': {'value': 12.0},
            'stiffness': {'coefficients': [2e4 * size, 1e8]},
            'friction': {
                'parameters': {'F_C0': 7.0 * size, 'F_C1': 1e-3, 'F_S': 8.0 * size, 'F_V1': 6.0 * size},
                'maxwell_slip': {'operators': 4, 'presliding': 5e-4},
            },
            'backlash': {'values': [5e-4]},
        }
    path = tmp_path_factory.mktemp('description') / 'dynamics.yaml'
    DynamicsDescription({'robot': {'joint_names': list(model.joint_names)}, 'joints': joints}).save(path)
    return path


class Robot:
    """A robot that stands still, and talks when it is told to; it keeps its trajectories."""

    def __init__(self, ros, conditions, names):
        self.ros, self.names, self.q = ros, list(names), HOME.copy()
        self.states = ros.probe.create_publisher(JointState, 'joint_states', 10)
        self.reference = ros.probe.create_publisher(JointTrajectory, f'{NODE}/reference', 10)
        self.trajectories = ros.listen(JointTrajectory, f'{NODE}/joint_trajectory')
        self.heard = ros.listen(JointState, 'joint_states')
        self.conditions = conditions

    def say(self, q=None, dq=None, names=None, stamp=None):
        order = names or self.names[::-1]
        values = {name: (self.q if q is None else q)[k] for k, name in enumerate(self.names)}
        message = JointState(name=order, position=[values[name] for name in order])
        message.velocity = [0.0] * len(order) if dq is None else [float(dq[self.names.index(name)]) for name in order]
        message.header.stamp = stamp or self.ros.probe.get_clock().now().to_msg()
        self.states.publish(message)

    def talk(self, seconds, q=None, until=None, **state):
        """Talk at 200 Hz or less for so long, or until a condition is met (then return what it was).

        Anew once the last was heard here, or was lost: said faster than a busy machine hears them, states wait their
        turn, and all of them are old when it comes.
        """
        end = time.monotonic() + (seconds if until is None else self.ros.PATIENCE)
        while time.monotonic() < end:
            self.heard.clear()
            self.say(q, **state)
            pause = time.monotonic() + 0.004
            while (now := time.monotonic()) < pause or (not self.heard and now < pause + 0.5):
                self.ros.executor.spin_once(timeout_sec=0.001)
            value = until() if until is not None else None
            if value:
                return value
        if until is not None:
            self.ros.give_up(f'talked {self.ros.PATIENCE:g} s in vain: {inspect.getsource(until).strip()}')
        return None

    def status(self, name):
        """The last (level, message) of one condition."""
        return self.conditions.of('feedforward', name)

    def want(self, points, names=None, wait=True):
        message = JointTrajectory(joint_names=names or self.names)
        for seconds, *rows in points:
            point = JointTrajectoryPoint(time_from_start=Duration(sec=int(seconds), nanosec=int(seconds % 1 * 1e9)))
            for kind, row in zip(('positions', 'velocities', 'accelerations'), rows, strict=False):
                setattr(point, kind, [float(value) for value in row])
            message.points.append(point)
        if wait:
            self.ros.until(lambda: self.reference.get_subscription_count() > 0, what='a listener to ~/reference')
        self.reference.publish(message)


@pytest.fixture
def robot(ros, conditions, model):
    return Robot(ros, conditions, model.joint_names)


@pytest.fixture
def start(ros, description):
    """A configured and active node in this process."""

    def make(activate=True, **parameters):
        # A busy machine may keep both ends of the topics from their core for longer than the 50 ms of the default.
        parameters.setdefault('timeout', 1.0)
        node = ros.node(FeedforwardNode, robot_file=str(ur5e_urdf()), description_file=str(description), **parameters)
        assert ros.transition(NODE, 'configure'), node.diagnostics.message('state')
        if activate:
            assert ros.transition(NODE, 'activate'), node.diagnostics.message('state')
        return node

    return make


GOAL = HOME + np.array([0.4, 0.3, -0.2, 0.1, 0.2, -0.3])


WAY = ((0.0, HOME, np.zeros(6)), (1.5, GOAL, np.zeros(6)))


def rows_of(message):
    """Times (P,) s and effort (P, n) of a trajectory."""
    times = [point.time_from_start.sec + point.time_from_start.nanosec * 1e-9 for point in message.points]
    return np.array(times), np.array([list(point.effort) for point in message.points])


def filled(robot, points=WAY, **options):
    """Times and effort of the next trajectory."""
    count = len(robot.trajectories)
    robot.want(points, **options)
    robot.talk(0, until=lambda: len(robot.trajectories) > count)
    return rows_of(robot.trajectories[-1])


def test_a_trajectory_gets_the_effort_of_the_law(ros, start, robot, model, description):
    node = start(False, law='adaptive_friction')
    robot.talk(0.3)
    assert not robot.trajectories
    assert ros.transition(NODE, 'activate')
    robot.talk(0.2)
    order = list(model.joint_names[::-1])
    times, effort = filled(robot, [(0.0, HOME[::-1], np.zeros(6)), (1.5, GOAL[::-1], np.zeros(6))], names=order)
    message = robot.trajectories[0]
    assert message.joint_names == list(model.joint_names)
    assert times[0] == 0 and times[-1] == pytest.approx(1.5)
    for point in message.points:
        assert len(point.positions) == len(point.velocities) == len(point.accelerations) == len(point.effort) == 6
    ends = [list(message.points[k].positions) for k in (0, -1)]
    np.testing.assert_allclose(ends, [HOME, GOAL], atol=1e-9)
    law = create('adaptive_friction', Arm.from_description(model, DynamicsDescription.load(description)))
    expected = fill_effort(law, Motion([0.0, 1.5], [HOME, GOAL], np.zeros((2, 6))))
    np.testing.assert_allclose(times, expected.time, atol=1e-9)
    np.testing.assert_allclose(effort, expected.effort, atol=1e-9)
    assert robot.talk(0, until=lambda: node.diagnostics.message('trajectory') == 'published')


def test_the_hysteresis_continues_in_the_next_trajectory(start, robot):
    start(law='adaptive_friction', start_tolerance=1.0)
    robot.talk(0.2)
    near = HOME + 0.3 * (GOAL - HOME)
    there, back = (((0.0, a, np.zeros(6)), (0.4, b, np.zeros(6))) for a, b in ((HOME, near), (near, HOME)))
    _, first = filled(robot, there)
    robot.talk(0.5)
    filled(robot, back)
    robot.talk(0.5)
    _, second = filled(robot, there)
    # At first the sliders were undeformed; later friction still points the other way.
    assert np.abs(first[0] - second[0]).max() > 1.0
    np.testing.assert_allclose(first[-1], second[-1], atol=1e-6)


def test_alpha_and_temperature_of_the_moment_count(ros, start, robot):
    node = start(law='adaptive_friction', inputs=['joint_states', 'temperatures'])
    robot.talk(0, until=lambda: robot.status('law')[0] == DiagnosticStatus.WARN)
    source = ros.probe.create_publisher(Float64MultiArray, 'friction_parameters', 10)
    warm = [ros.probe.create_publisher(Temperature, f'{name}/temperature', 10) for name in robot.names]
    middle = {}
    for alpha in (1.0, 0.5):

        def told(alpha=alpha):
            source.publish(Float64MultiArray(data=[alpha, 0.01] * 6))
            for publisher in warm:
                publisher.publish(Temperature(temperature=30.0))
            fresh = node.robot_state.fresh('friction_scale', node.clock_time())
            return np.all(fresh[:, 0] == alpha) and robot.status('law')[0] == DiagnosticStatus.OK

        robot.talk(0, until=told)
        node.follower.clear()
        times, effort = filled(robot)
        np.testing.assert_array_equal(node.law.friction.alpha, np.tile([alpha, 0.01], (6, 1)))
        middle[alpha] = [np.interp(0.75, times, effort[:, j]) for j in range(6)]
    # In steady slip in the middle: half of the Coulomb level, in the direction of motion.
    difference = np.subtract(middle[1.0], middle[0.5])
    level = np.array([7.0, 7.0, 7.0, 2.1, 2.1, 2.1])
    np.testing.assert_allclose(difference, 0.5 * level * np.sign(GOAL - HOME), rtol=0.5)
    source.publish(Float64MultiArray(data=[1.0] * 5))
    robot.talk(0, until=lambda: 'friction_parameters' in robot.status('reference')[1])


def test_current_and_order_of_the_controller(start, robot, model):
    names = [*model.joint_names[3:], *model.joint_names[:3]]
    start(command_joints=names, output='current')
    robot.talk(0.2)
    _, effort = filled(robot, [(0.0, HOME), (1.0, HOME)])
    assert robot.trajectories[-1].joint_names == names
    np.testing.assert_allclose(effort[-1], np.roll(model.gravity(HOME), 3) / 12.0, atol=1e-9)


@pytest.mark.parametrize(
    ('law', 'options', 'points', 'expected'),
    [
        (
            'flexible_joint',
            {'interpolation': 'as_given'},
            [(0.0, HOME, np.zeros(6)), (2.0, HOME + 0.2, np.zeros(6))],
            '4 times differentiable',
        ),
        ('computed_torque', {}, [(0.0, HOME + 0.5), (2.0, HOME)], 'start within'),
        ('computed_torque', {}, [], 'points'),
        ('computed_torque', {}, [(0.0, HOME)], 'two points'),
        ('computed_torque', {'effort_limit__shoulder_lift_joint': 5.0}, [(2.0, GOAL)], 'shoulder_lift_joint'),
    ],
)
def test_an_impossible_trajectory_is_refused_with_the_reason(start, robot, law, options, points, expected):
    start(law=law, **options)
    robot.talk(0.2)
    robot.want(points)
    robot.talk(0, until=lambda: expected in robot.status('reference')[1])
    assert robot.status('reference')[0] == DiagnosticStatus.ERROR
    assert not robot.trajectories


def test_without_fresh_joint_states_there_is_no_trajectory(ros, start, robot):
    node = start()
    robot.want([(1.0, HOME)])
    ros.until(lambda: 'has not arrived yet' in robot.status('reference')[1], what='the reason')
    now = ros.probe.get_clock().now().to_msg().sec
    for ahead, remedy in ((-20, 'old'), (3600, 'ahead')):

        def refused(remedy=remedy):
            robot.want([(1.0, HOME)])
            return remedy in robot.status('reference')[1]

        robot.talk(0, until=refused, stamp=TimeMessage(sec=now + ahead))
    robot.talk(
        0, np.full(6, np.nan), until=lambda: robot.want([(1.0, HOME)]) or 'finite' in robot.status('reference')[1]
    )
    assert not robot.trajectories and node.follower.path is None


class Tantrum(Law):
    """A law of somebody else: holds 5 N·m until it fails."""

    fails = False

    def effort_along(self, motion):
        if Tantrum.fails:
            raise RuntimeError('no more')
        return np.full(motion[:, 0].shape, 5.0)


def test_a_law_of_another_package_that_fails_sends_nothing(monkeypatch, start, robot):
    points = [EntryPoint('tantrum', f'{__name__}:Tantrum', interface.GROUP)]
    monkeypatch.setattr(EntryPoint, 'load', lambda self: Tantrum)
    monkeypatch.setattr(interface, 'entry_points', lambda group: points)
    monkeypatch.setattr(Tantrum, 'fails', False)
    start(law='tantrum')
    robot.talk(0.2)
    _, effort = filled(robot, [(0.0, HOME), (0.5, HOME)])
    np.testing.assert_array_equal(effort, 5.0)
    monkeypatch.setattr(Tantrum, 'fails', True)
    robot.want([(0.0, HOME), (0.5, HOME)])
    robot.talk(0, until=lambda: 'no more' in robot.status('reference')[1])
    assert len(robot.trajectories) == 1


def test_the_region_of_alpha_is_that_of_the_estimator():
    from joint_dynamics.nodes.estimator.parameters import TUNING

    ours, theirs = ({row.name: row.default for row in rows} for rows in (PARAMETERS, TUNING))
    for name, other in (
        ('alpha_lower', 'friction_lower'),
        ('alpha_upper', 'friction_upper'),
        ('viscous_share', 'viscous_share'),
    ):
        assert ours[name] == theirs[other]


def test_every_setting_of_a_filled_trajectory_is_a_parameter():
    assert {row.name for row in FILL_ROWS} == set(declarations(FillSettings))


def test_a_compensation_that_would_run_away_is_refused(ros, start):
    node = start(False, law='adaptive_friction', friction_gain__elbow_joint=1.2)
    assert not ros.transition(NODE, 'activate')
    assert 'elbow_joint in positive direction' in node.diagnostics.message('state')
    assert ros.set_parameter(NODE, 'check_compensation', False).successful
    assert ros.transition(NODE, 'activate')


@pytest.mark.parametrize(
    ('parameters', 'expected'),
    [
        ({'law': 'joint_torque_feedback'}, '0.3.0'),
        ({'mode': 'trajectory'}, 'mode: expected no such parameter since 0.3.0'),
        ({'kp__elbow_joint': 400.0}, 'kp.elbow_joint: expected no such parameter since 0.3.0'),
        ({'command_joints': ['elbow_joint', 'knee']}, 'command_joints'),
        ({'law': 'adaptive_friction', 'use_description': False}, 'friction model'),
    ],
)
def test_a_parameter_that_does_not_fit_is_named(ros, description, parameters, expected):
    node = ros.node(FeedforwardNode, robot_file=str(ur5e_urdf()), description_file=str(description), **parameters)
    assert not ros.transition(NODE, 'configure')
    assert expected in node.diagnostics.message('state')


def test_no_parameter_is_both_there_and_gone():
    assert not {row.name for row in PARAMETERS} & set(GONE)
    assert all('controller_plugin.md' in reason for reason in GONE.values())


@pytest.mark.slow
def test_simulated_time_that_goes_back_is_a_new_beginning(ros, start, robot):
    clock = ros.probe.create_publisher(Clock, '/clock', 10)
    node = start(use_sim_time=True)
    now = [100.0]

    def tick():
        now[0] += 0.005
        stamp = TimeMessage(sec=int(now[0]), nanosec=int(now[0] % 1 * 1e9))
        clock.publish(Clock(clock=stamp))
        robot.say(stamp=stamp)
        for _ in range(8):
            ros.executor.spin_once(timeout_sec=0.0005)

    def known():
        return not node.robot_state.fault('position', node.clock_time())

    ros.until(lambda: tick() or known())
    robot.want([(100.0, GOAL)])
    ros.until(lambda: tick() or robot.trajectories)
    assert node.follower.path is not None
    now[0] = 10.0
    ros.until(lambda: tick() or node.follower.path is None)
    ros.until(lambda: tick() or known())
    robot.want([(1.0, GOAL)])
    ros.until(lambda: tick() or len(robot.trajectories) > 1)


@pytest.mark.parametrize(
    'path', sorted(Path(__file__).parents[2].glob('config/feedforward/*.yaml')), ids=lambda path: path.stem
)
def test_the_wirings_can_be_configured(ros, description, path):
    section = yaml.safe_load(path.read_text(encoding='utf-8').replace('$(var tf_prefix)', ''))['/**/feedforward'][
        'ros__parameters'
    ]
    values = {}
    for name, value in section.items():
        values.update(
            {f'{name}__{joint}': item for joint, item in value.items()} if isinstance(value, dict) else {name: value}
        )
    node = ros.node(FeedforwardNode, robot_file=str(ur5e_urdf()), description_file=str(description), **values)
    assert ros.transition(NODE, 'configure'), node.diagnostics.message('state')
    assert not node.parameters.unknown()


def test_an_arm_beside_the_first_point_is_taken_there_gently(start, robot):
    node = start(law='computed_torque')
    beside = HOME + np.array([0.0, 0.0, 0.0, 0.015, -0.019, 0.0])
    robot.talk(0, q=beside, until=lambda: np.array_equal(node.robot_state.position, beside))
    robot.want([(0.0, HOME, np.zeros(6)), (4.0, HOME, np.zeros(6))])
    robot.talk(0, q=beside, until=lambda: robot.trajectories)
    np.testing.assert_allclose(node.follower.path.at(0.0)[0], beside, atol=1e-12)
    robot.talk(0, q=beside, until=lambda: 'wrist_2_joint was -0.019 rad' in robot.status('reference')[1])
    np.testing.assert_allclose(robot.trajectories[-1].points[0].positions, beside, atol=1e-12)
