"""The feedforward node over DDS: what goes out, what does not, and why."""

import array
import inspect
import os
import signal
import time
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
from joint_dynamics.control import Controller, ControlLoop, InterfaceConfiguration, create, interface  # noqa: E402
from joint_dynamics.control import Path as Motion  # noqa: E402
from joint_dynamics.description import DynamicsDescription  # noqa: E402
from joint_dynamics.nodes.feedforward.node import FeedforwardNode  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402
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
    """A robot that stands still, and talks when it is told to; whatever it is commanded is written down."""

    def __init__(self, ros, conditions, names):
        self.ros, self.names, self.q = ros, list(names), HOME.copy()
        self.states = ros.probe.create_publisher(JointState, 'joint_states', 10)
        self.reference = ros.probe.create_publisher(JointTrajectory, f'{NODE}/reference', 10)
        self.commands = ros.listen(Float64MultiArray, f'{NODE}/commands')
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

    def hold(self, condition):
        """Talk and ask to be held where it is until a condition is met.

        One request alone may meet a node that has not heard of the robot yet.
        """
        self.talk(0, until=lambda: self.want([(0.1, HOME)]) or condition())

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


@pytest.fixture
def process(ros, description):
    """The node streaming, in a process of its own."""

    def make(module='joint_dynamics.nodes.feedforward.node', **options):
        files = {'robot_file': ur5e_urdf(), 'description_file': description}
        return ros.process(module, parameters={**files, 'mode': 'streaming', 'autostart': 'true', **options})

    return make


def last(robot):
    return np.array(robot.commands[-1].data)


def test_streaming_follows_the_law_and_says_nothing_unless_active(ros, start, robot, model):
    node = start(False, mode='streaming', law='computed_torque')
    robot.talk(0.3)
    assert not robot.commands
    assert ros.transition(NODE, 'activate')
    # Nothing is desired yet: gravity, and the reason.
    robot.talk(0, until=lambda: robot.commands and np.allclose(last(robot), model.gravity(HOME), atol=1e-3))
    robot.talk(0, until=lambda: 'reference position' in robot.status('command')[1])
    assert robot.status('command')[0] == DiagnosticStatus.WARN
    # Held where it is by a trajectory of one point in the future, then moved by set points.
    robot.want([(0.2, HOME)])
    robot.talk(0, until=lambda: robot.status('command') == (DiagnosticStatus.OK, 'follows the law'))
    acceleration = np.array([0.5, -0.2, 0.3, 0, 0, 0.1])
    parameters = model.parameters.reshape(6, 14).copy()
    parameters[:, 10] = node.loop.arm.rotor_inertia
    expected = model.inverse_dynamics(HOME, np.zeros(6), acceleration, parameters.ravel())

    def moved():
        robot.want([(0.0, HOME, np.zeros(6), acceleration)])
        return np.allclose(last(robot), expected, atol=1e-6)

    robot.talk(0, until=moved)
    count = len(robot.commands)
    assert ros.transition(NODE, 'deactivate')
    ros.until(lambda: len(robot.commands) > count and not last(robot).any(), what='zero at the end')
    robot.talk(0.2)
    way = np.array([message.data for message in robot.commands])
    limits = model.limits.effort
    assert np.isfinite(way).all()
    assert (np.abs(way) <= limits).all()
    assert not way[-1].any()
    count = len(robot.commands)
    robot.talk(0.3)
    assert len(robot.commands) == count


def test_commands_come_in_the_order_of_the_controller_and_in_its_unit(ros, start, robot, model):
    """And, while somebody listens, with their names, the last one of a deactivation too."""
    names = [*model.joint_names[3:], *model.joint_names[:3]]
    start(mode='streaming', command_joints=names, output='current')
    named = ros.listen(JointState, f'{NODE}/joint_commands')
    expected = np.roll(model.gravity(HOME), 3) / 12.0
    robot.talk(0, until=lambda: robot.commands and np.allclose(last(robot), expected, atol=1e-4))
    robot.talk(0, until=lambda: named and np.allclose(named[-1].effort, expected, atol=1e-4))
    assert named[-1].name == names
    assert ros.transition(NODE, 'deactivate')
    ros.until(lambda: not np.any(named[-1].effort), what='zero at the end')


def test_a_robot_that_goes_silent_gets_the_safe_command_and_the_reason(ros, start, robot, model):
    start(mode='streaming', safe_command='zero', ramp_time=0.2, effort_rate__elbow_joint=2000.0)
    robot.hold(lambda: robot.commands and np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    ros.until(lambda: not last(robot).any(), what='zero after the silence')
    ros.until(lambda: 'old' in robot.status('command')[1], what='the reason')
    # It comes back by itself, as gently.
    robot.talk(0, until=lambda: np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    # Late samples are as bad as none.
    past = TimeMessage(sec=ros.probe.get_clock().now().to_msg().sec - 2)
    robot.talk(0, until=lambda: 'old' in robot.status('command')[1] and not last(robot).any(), stamp=past)
    # So are those from the future, however fresh they arrive.
    robot.talk(0, until=lambda: np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    now = ros.probe.get_clock().now().to_msg().sec
    for ahead, remedy in ((3600, 'are the clocks of the machines the same?'), (200_000, 'set use_sim_time alike')):
        robot.talk(
            0,
            until=lambda remedy=remedy: remedy in robot.status('command')[1] and not last(robot).any(),
            stamp=TimeMessage(sec=now + ahead),
        )
        assert 'ahead of the clock here' in robot.status('command')[1]
    robot.talk(0, until=lambda: np.allclose(last(robot), model.gravity(HOME), atol=1e-6))


def test_positions_that_flip_are_not_acted_on(start, robot, model):
    gains = {f'{gain}__{name}': value for gain, value in (('kp', 400.0), ('kd', 40.0)) for name in model.joint_names}
    start(mode='streaming', law='adaptive_friction', feedback=True, **gains)
    robot.hold(lambda: robot.status('command') == (DiagnosticStatus.OK, 'follows the law'))
    robot.talk(0, until=lambda: np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    count = len(robot.commands)
    flips = iter(range(10**6))

    def flip():
        robot.q = HOME + (0.4 if next(flips) % 2 else -0.4)
        return 'jumped by' in robot.status('command')[1]

    robot.talk(0, until=flip)
    way = np.array([message.data for message in robot.commands[count:]])
    np.testing.assert_allclose(way, np.tile(model.gravity(HOME), (len(way), 1)), atol=1e-6)
    robot.q = HOME
    robot.talk(0, until=lambda: robot.status('command') == (DiagnosticStatus.OK, 'follows the law'))


@pytest.mark.parametrize(
    ('q', 'expected'), [(np.full(6, np.nan), 'not a finite number'), (HOME + 1.0, 'distance from the desired position')]
)
def test_bad_joint_states_are_not_acted_on(start, robot, model, q, expected):
    start(mode='streaming', safe_command='zero')
    robot.hold(lambda: robot.commands and np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    robot.talk(0, q, until=lambda: expected in robot.status('command')[1] and not last(robot).any())
    assert all(np.isfinite(message.data).all() for message in robot.commands)


class Tantrum(Controller):
    """A law of somebody else: holds 5 N·m until it is told to fail."""

    fails = False

    def on_configure(self, setup):
        self._joint_names = setup.arm.joint_names

    def command_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, ['effort'])

    def state_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, ['position'])

    def reference_interface_configuration(self):
        return InterfaceConfiguration()

    def update(self, time, period):
        if Tantrum.fails:
            raise RuntimeError('no more')
        self.command['effort'] = 5.0


def test_an_exception_in_a_plugin_ends_with_zero(monkeypatch, ros, start, robot):
    from importlib.metadata import EntryPoint

    points = [EntryPoint('tantrum', f'{__name__}:Tantrum', interface.GROUP)]
    monkeypatch.setattr(EntryPoint, 'load', lambda self: Tantrum)
    monkeypatch.setattr(interface, 'entry_points', lambda group: points)
    monkeypatch.setattr(Tantrum, 'fails', False)
    start(mode='streaming', law='tantrum')
    robot.talk(0, until=lambda: robot.commands and np.allclose(last(robot), 5.0))
    monkeypatch.setattr(Tantrum, 'fails', True)
    robot.talk(0, until=lambda: not last(robot).any())
    robot.talk(
        0, until=lambda: robot.status('command') == (DiagnosticStatus.ERROR, 'the law raised RuntimeError: no more')
    )
    monkeypatch.setattr(Tantrum, 'fails', False)
    robot.talk(0.3)
    assert not last(robot).any()
    assert ros.transition(NODE, 'deactivate')
    assert ros.transition(NODE, 'activate')
    robot.talk(0, until=lambda: np.allclose(last(robot), 5.0))


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_with_gravity_held(ros, robot, process, model, number):
    process = process(hold_time=0.2)
    robot.talk(0, until=lambda: robot.commands and np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    count = len(robot.commands)
    process.send_signal(number)
    # It may take samples until it has noticed; from then on none.
    ros.until(lambda: process.poll() is not None, what='the end')
    status, output = ros.stop(process, number)
    assert status == 0, output
    for _ in range(200):
        ros.executor.spin_once(timeout_sec=0.0005)
    way = np.array([message.data for message in robot.commands])[count:]
    assert len(way) > 50
    np.testing.assert_allclose(way, np.tile(model.gravity(HOME), (len(way), 1)), atol=1e-6)


@pytest.mark.parametrize(
    'options', [{'on_shutdown': 'zero'}, {'safe_command': 'zero', 'hold_time': 0.1}], ids=['asked for', 'safe']
)
def test_a_signal_ends_with_zero_where_that_is_wanted(ros, robot, process, model, options):
    process = process(**options)
    robot.talk(0.1)
    robot.talk(
        0,
        until=lambda: (
            robot.want([(0.0, HOME, np.zeros(6), np.zeros(6))])
            or (robot.commands and np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
        ),
    )
    status, output = ros.stop(process, signal.SIGTERM)
    assert status == 0, output
    ros.until(lambda: not last(robot).any(), what='zero at the end')


def test_how_it_ends_is_not_changed_while_it_runs(ros, start):
    start(mode='streaming')
    assert not ros.set_parameter(NODE, 'on_shutdown', 'zero').successful


def test_shutting_down_ends_with_gravity_held(ros, start, robot, model):
    start(mode='streaming', hold_time=0.1)
    robot.talk(0, until=lambda: robot.commands and np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    assert ros.transition(NODE, 'active_shutdown')
    assert ros.state(NODE) == 'finalized'

    def ended():
        """Whether nothing more comes; what was sent before may be on its way for long on a busy machine."""
        count = len(robot.commands)
        robot.talk(0.2)
        return len(robot.commands) == count

    ros.until(ended, what='the last command')
    np.testing.assert_allclose(last(robot), model.gravity(HOME), atol=1e-6)


DEFECT = """
import sys
from joint_dynamics.nodes.feedforward.node import FeedforwardNode
from joint_dynamics.nodes.framework.run import run


class Defective(FeedforwardNode):
    def _take_trajectory(self, message):
        raise RuntimeError('a defect')


sys.exit(run(Defective))
"""


def test_a_defect_of_the_node_itself_ends_with_gravity_held(ros, robot, process, model, tmp_path, monkeypatch):
    (tmp_path / 'defective_feedforward.py').write_text(DEFECT, encoding='utf-8')
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])]))
    process = process('defective_feedforward')
    robot.talk(0, until=lambda: robot.commands and np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    # It may end, and must not end the test.
    ros.processes.remove(process)
    robot.want([(0.2, HOME)])
    status, output = process.ended()
    assert status != 0
    assert 'RuntimeError: a defect' in output
    for _ in range(200):
        ros.executor.spin_once(timeout_sec=0.0005)
    np.testing.assert_allclose(last(robot), model.gravity(HOME), atol=1e-6)


def test_trajectory_mode_fills_in_what_the_law_says(ros, start, robot, model, description):
    # It asks once, and how old states may be is not the question: a busy machine delivers them late.
    node = start(law='adaptive_friction')
    goal = HOME + np.array([0.4, 0.3, -0.2, 0.1, 0.2, -0.3])
    robot.talk(0.2)
    order = list(model.joint_names[::-1])
    robot.want([(0.0, HOME[::-1], np.zeros(6)), (1.5, goal[::-1], np.zeros(6))], names=order)
    robot.talk(0, until=lambda: robot.trajectories)
    message = robot.trajectories[0]
    assert message.joint_names == list(model.joint_names)
    times = np.array([point.time_from_start.sec + point.time_from_start.nanosec * 1e-9 for point in message.points])
    assert times[0] == 0
    assert times[-1] == pytest.approx(1.5)
    rows = {
        kind: np.array([list(getattr(point, kind)) for point in message.points])
        for kind in ('positions', 'velocities', 'accelerations', 'effort')
    }
    assert all(values.shape == (len(times), 6) for values in rows.values())
    np.testing.assert_allclose(rows['positions'][[0, -1]], [HOME, goal], atol=1e-9)
    arm = Arm.from_description(model, DynamicsDescription.load(description))
    loop = ControlLoop(create('adaptive_friction'), arm)
    loop.activate()
    path = Motion([0.0, 1.5], [HOME, goal], np.zeros((2, 6)))
    for time_, effort in ((t, loop.evaluate_along(path.at(t), 0.0, 0.002)) for t in np.linspace(0, 1.5, 751)):
        line = [np.interp(time_, times, rows['effort'][:, j]) for j in range(6)]
        np.testing.assert_allclose(line, effort, atol=0.35)
    assert not robot.commands
    assert robot.talk(0, until=lambda: node.diagnostics.message('trajectory') == 'published')


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
        ('computed_torque', {}, [], 'points with positions'),
    ],
)
def test_a_trajectory_that_cannot_be_is_refused_with_the_reason(ros, start, robot, law, options, points, expected):
    start(law=law, **options)
    robot.talk(0.2)
    robot.want(points)
    robot.talk(0, until=lambda: expected in robot.status('reference')[1])
    assert robot.status('reference')[0] == DiagnosticStatus.ERROR
    assert not robot.trajectories


def test_without_fresh_joint_states_there_is_no_trajectory(ros, start, robot):
    start()
    robot.want([(1.0, HOME)])
    ros.until(lambda: 'has not come yet' in robot.status('reference')[1], what='the reason')
    assert not robot.trajectories


def test_the_estimator_s_friction_counts(ros, start, robot, model):
    node = start(mode='streaming', law='adaptive_friction')
    source = ros.probe.create_publisher(Float64MultiArray, 'friction_parameters', 10)
    warm = ros.probe.create_publisher(Temperature, 'elbow_joint/temperature', 10)
    speed = np.full(6, 0.5)
    commands = {}
    for alpha in (1.0, 0.5):

        def steady(alpha=alpha):
            source.publish(Float64MultiArray(data=[alpha, 0.01] * 6))
            warm.publish(Temperature(temperature=30.0))
            robot.want([(0.0, robot.q, speed, np.zeros(6))], wait=False)
            robot.q = robot.q + 1e-4
            return node.loop.gate.weight == 1 and np.allclose(node.loop.controller.friction.alpha[:, 0], alpha)

        robot.talk(0, until=steady, dq=speed)
        count = len(robot.commands)
        robot.talk(0, until=lambda count=count, steady=steady: steady() and len(robot.commands) > count + 20, dq=speed)
        commands[alpha] = last(robot)
    difference = commands[1.0] - commands[0.5]
    level = node.loop.arm.friction.level(model.inverse_dynamics(robot.q, speed, np.zeros(6)))
    np.testing.assert_allclose(difference, 0.5 * level, rtol=0.02, atol=0.3)
    source.publish(Float64MultiArray(data=[1.0] * 5))
    robot.talk(0, until=lambda: 'friction_parameters: expected 6 rows of 2 values' in robot.status('reference')[1])


def test_before_a_trajectory_comes_it_is_said_whether_alpha_is_there(ros, start, robot):
    start(law='adaptive_friction', inputs=['joint_states', 'temperatures'])
    robot.talk(0, until=lambda: 'is missing or old: going on without' in robot.status('law')[1])
    assert robot.status('law')[0] == DiagnosticStatus.WARN
    source = ros.probe.create_publisher(Float64MultiArray, 'friction_parameters', 10)
    warm = [ros.probe.create_publisher(Temperature, f'{name}/temperature', 10) for name in robot.names]

    def there():
        source.publish(Float64MultiArray(data=[1.0, 0.01] * 6))
        for publisher in warm:
            publisher.publish(Temperature(temperature=30.0))
        return robot.status('law') == (DiagnosticStatus.OK, 'adaptive_friction')

    robot.talk(0, until=there)


def test_the_region_of_alpha_is_that_of_the_estimator():
    from joint_dynamics.nodes.estimator.parameters import TUNING
    from joint_dynamics.nodes.feedforward.parameters import PARAMETERS

    ours, theirs = ({row.name: row.default for row in rows} for rows in (PARAMETERS, TUNING))
    for name, other in (
        ('alpha_lower', 'friction_lower'),
        ('alpha_upper', 'friction_upper'),
        ('viscous_share', 'viscous_share'),
    ):
        assert ours[name] == theirs[other]


def test_a_compensation_that_would_run_away_is_refused_unless_told_otherwise(ros, start):
    node = start(False, law='adaptive_friction', friction_gain__elbow_joint=1.2)
    assert not ros.transition(NODE, 'activate')
    assert 'expected none that would run away, found elbow_joint in positive direction' in node.diagnostics.message(
        'state'
    )
    assert ros.set_parameter(NODE, 'check_compensation', False).successful
    assert ros.transition(NODE, 'activate')


@pytest.mark.parametrize(
    ('parameters', 'expected'),
    [
        ({'law': 'joint_torque_feedback', 'mode': 'trajectory'}, 'expected streaming'),
        ({'command_joints': ['elbow_joint', 'knee']}, 'command_joints'),
        ({'law': 'adaptive_friction', 'use_description': False}, 'friction model'),
    ],
)
def test_what_does_not_fit_is_refused_when_configured(ros, description, parameters, expected):
    node = ros.node(FeedforwardNode, robot_file=str(ur5e_urdf()), description_file=str(description), **parameters)
    assert not ros.transition(NODE, 'configure')
    assert expected in node.diagnostics.message('state')


def test_a_joint_that_the_description_calls_wrong_is_named_in_the_diagnostics(ros, start, model, description, tmp_path):
    plain = start(False)
    assert plain.diagnostics.message('description') == ''
    ros.remove(plain)
    document, path = DynamicsDescription.load(description).document, tmp_path / 'doubted.yaml'
    verdict = {'state': 'wrong', 'error': 2.0, 'why': 'the sign of a torque is turned', 'help': 'mend it'}
    document['provenance'] = {'joints': {model.joint_names[2]: verdict}}
    DynamicsDescription(document).save(path)
    node = ros.node(FeedforwardNode, robot_file=str(ur5e_urdf()), description_file=str(path))
    assert ros.transition(NODE, 'configure'), node.diagnostics.message('state')
    assert node.diagnostics.level('description') == DiagnosticStatus.WARN
    line = node.diagnostics.message('description')
    assert all(part in line for part in (model.joint_names[2], verdict['why'], verdict['help']))


@pytest.mark.slow
def test_simulated_time_that_goes_back_is_a_new_beginning(ros, start, robot, model):
    clock = ros.probe.create_publisher(Clock, '/clock', 10)
    node = start(mode='streaming', use_sim_time=True, safe_command='zero')
    now = [100.0]

    def tick(q=None):
        now[0] += 0.005
        stamp = TimeMessage(sec=int(now[0]), nanosec=int(now[0] % 1 * 1e9))
        clock.publish(Clock(clock=stamp))
        robot.say(q, stamp=stamp)
        # One callback each: clock, joint states, command, diagnostics, and those left from before.
        for _ in range(8):
            ros.executor.spin_once(timeout_sec=0.0005)

    ros.until(lambda: tick() or (robot.commands and 'reference position' in node.loop.fallback_reason))
    robot.want([(0.2, HOME)])
    ros.until(lambda: tick() or np.allclose(last(robot), model.gravity(HOME), atol=1e-6))
    # Simulated time stands still: nothing gets old.
    count = len(robot.commands)
    pause = time.monotonic() + 0.3
    while time.monotonic() < pause:
        ros.executor.spin_once(timeout_sec=0.01)
    np.testing.assert_allclose(last(robot), model.gravity(HOME), atol=1e-6)
    assert len(robot.commands) <= count + 5
    now[0] = 10.0
    ros.until(lambda: tick() or (not last(robot).any() and 'reference position' in node.loop.fallback_reason))
    robot.want([(0.2, HOME)])
    ros.until(lambda: tick() or np.allclose(last(robot), model.gravity(HOME), atol=1e-6))


def test_it_follows_the_state_of_a_trajectory_controller(ros, start, robot, model):
    control_msgs = pytest.importorskip('control_msgs.msg', reason='control_msgs comes with a ROS 2 installation only')
    start(mode='streaming', reference='controller_state')
    source = ros.probe.create_publisher(control_msgs.JointTrajectoryControllerState, 'controller_state', 10)
    message = control_msgs.JointTrajectoryControllerState(joint_names=robot.names)
    acceleration = np.array([0.0, 0.4, 0, 0, 0, 0])
    message.reference = JointTrajectoryPoint(
        positions=array.array('d', HOME), velocities=[0.0] * 6, accelerations=acceleration.tolist()
    )

    def followed():
        source.publish(message)
        return robot.status('command')[1] == 'follows the law'

    robot.talk(0, until=followed)
    assert np.abs(last(robot) - model.gravity(HOME)).max() > 0.1


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
    assert not node.parameters.unknown() or all('.' in name for name in node.parameters.unknown())
    assert ros.transition(NODE, 'configure'), node.diagnostics.message('state')
    assert not node.parameters.unknown()


@pytest.mark.parametrize('mode', ['streaming', 'trajectory'])
def test_an_arm_that_stands_beside_the_first_point_is_taken_there_gently_and_that_is_said(ros, start, robot, mode):
    node = start(mode=mode, law='computed_torque')
    beside = HOME + np.array([0.0, 0.0, 0.0, 0.015, -0.019, 0.0])
    robot.talk(0, q=beside, until=lambda: np.array_equal(node.loop.state['position'], beside))
    robot.want([(0.0, HOME, np.zeros(6)), (4.0, HOME, np.zeros(6))])
    robot.talk(0, q=beside, until=lambda: node.follower.path is not None)
    np.testing.assert_allclose(node.follower.path.at(0.0)[0], beside, atol=1e-12)
    expected = 'wrist_2_joint was -0.019 rad from its first point'
    robot.talk(0, q=beside, until=lambda: robot.status('reference')[1].startswith(expected))
    if mode == 'trajectory':
        robot.talk(0, q=beside, until=lambda: robot.trajectories)
        np.testing.assert_allclose(robot.trajectories[-1].points[0].positions, beside, atol=1e-12)
