"""The loop of the controller plugin: what the node commands, from shared arrays; faults become outcomes."""

import copy
import gc
import math
import subprocess
import sys

import numpy as np
import pytest
import yaml

from joint_dynamics.arm import Arm
from joint_dynamics.control import Controller, ControlLoop, InterfaceConfiguration, Path, interface
from joint_dynamics.control.hosted_loop import HostedLoop, Outcome
from joint_dynamics.control.hosted_parameters import parameters_of
from joint_dynamics.control.interface import STATES
from joint_dynamics.control.loop_parameters import GivenValues, build_loop
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

ROW = {quantity: k for k, quantity in enumerate(STATES)}
PERIOD = 2e-3
HOME = np.array([0.0, -1.2, 1.4, -1.7, -1.5, 0.3])


@pytest.fixture(autouse=True)
def collector():
    """The host of a controller manager turns the garbage collector off for good; a test must not."""
    yield
    gc.enable()
    gc.unfreeze()


@pytest.fixture
def document(law_document):
    return copy.deepcopy(law_document)


@pytest.fixture
def host(document):
    """A hosted loop with these parameters, activated."""

    def make(activate=True, **given):
        made = HostedLoop(ur5e_urdf().read_text(), yaml.safe_dump(DynamicsDescription(document).document), given)
        if activate:
            made.activate()
        return made

    return make


def gains(robot, **values):
    return {f'{name}.{joint}': value for name, value in values.items() for joint in robot.joint_names}


@pytest.fixture(scope='module')
def motion(robot):
    points = HOME + np.random.default_rng(3).uniform(-0.3, 0.3, (3, robot.n)).cumsum(axis=0)
    zero = np.zeros_like(points)
    path = Path([0.0, 0.6, 1.2], points, zero, zero)
    return path.sample(np.arange(0.0, path.end, PERIOD))


def feed(host, time, motion, q=None, **state):
    """Write one instant of a motion, tracked but for what is given."""
    host.clock[:] = time, PERIOD
    host.reference[:3], host.reference_time[0] = motion[:3], time
    given = {'position': motion[0] if q is None else q, 'velocity': motion[1], **state}
    for quantity, values in given.items():
        host.state[ROW[quantity]], host.state_time[ROW[quantity]] = values, time


def node_torques(robot, document, motion, measured, alpha, temperature, given):
    """What the node's streaming mode commands: its loop, its inputs written joint by joint, its step."""
    loop = build_loop(
        GivenValues(parameters_of(given['law']), given, robot.joint_names), robot, DynamicsDescription(document)
    )
    loop.activate()
    names, torques = robot.joint_names, []
    for k, instant in enumerate(motion):
        time = k * PERIOD
        loop.state.write('position', measured[k], time, names)
        loop.state.write('velocity', instant[1], time, names)
        if k % 50 == 0:
            for column, quantity in enumerate(('friction_scale', 'viscous_excess')):
                loop.state.write(quantity, alpha[k][:, column], time)
        for joint, name in enumerate(names):
            if k % 100 == joint:
                loop.state.write('temperature', [temperature[k, joint]], time, [name])
        for quantity, values in zip(('position', 'velocity', 'acceleration'), instant, strict=False):
            loop.reference.write(quantity, values, time)
        torques.append(loop.step(time, PERIOD))
    return np.array(torques)


@pytest.mark.parametrize('law', ['computed_torque', 'adaptive_friction'])
@pytest.mark.parametrize('output', ['effort', 'current'])
def test_node_and_plugin_give_the_same_torque(robot, motion, document, host, law, output):
    rng = np.random.default_rng(11)
    measured = motion[:, 0] + 1e-4 * rng.standard_normal(motion[:, 0].shape)
    alpha = 1.0 + 0.2 * rng.standard_normal((len(motion), robot.n, 2)) * [1.0, 0.05] - [0.0, 1.0]
    temperature = 30.0 + rng.uniform(0, 8, (len(motion), robot.n))
    given = {'law': law, 'output': output, 'feedback': True, **gains(robot, kp=400.0, kd=40.0, ki=50.0)}
    expected = node_torques(robot, document, motion, measured, alpha, temperature, given)
    made = host(**given)
    seen = np.full(robot.n, np.nan)
    worst = 0.0
    for k, instant in enumerate(motion):
        slow = {}
        if k % 50 == 0:
            slow = {'friction_scale': alpha[k][:, 0], 'viscous_excess': alpha[k][:, 1]}
        if k % 100 < robot.n:
            seen[k % 100] = temperature[k, k % 100]
            slow['temperature'] = seen
        feed(made, k * PERIOD, instant, measured[k], **slow)
        made.step()
        worst = max(worst, np.abs(made.command - expected[k]).max())
    assert worst <= 1e-9
    assert np.abs(expected).max() > 20.0 / (12.0 if output == 'current' else 1.0)
    assert np.ptp(expected[-200:], axis=0).max() > 0.1


@pytest.mark.parametrize('output', ['effort', 'current'])
def test_effort_that_is_asked_for_is_added_before_the_gate_in_the_unit_of_the_law(motion, host, output):
    plain, more = (host(law='computed_torque', output=output) for _ in range(2))
    for k in range(400):
        for made in (plain, more):
            feed(made, k * PERIOD, motion[0])
        more.reference[3], more.reference_time[1] = [np.nan, 2.0, -1.0, 0.0, 0.5, 1e6], k * PERIOD
        assert [made.step() for made in (plain, more)] == [Outcome.LAW] * 2
    added = (more.command - plain.command) * (more.loop.arm.drive_gain if output == 'current' else 1.0)
    # 400 steps are longer than the ramp at the beginning.
    assert added[:5] == pytest.approx([0.0, 2.0, -1.0, 0.0, 0.5], abs=1e-9)
    assert more.command[5] == pytest.approx(more.loop.gate.limit[5])


def test_a_reference_that_gets_old_leads_to_gravity_and_says_so(motion, host):
    made = host(law='computed_torque')
    follow(made, motion, 300)
    for k in range(300, 700):
        feed(made, k * PERIOD, motion[0])
        made.reference_time[0] = 299 * PERIOD
        outcome = made.step()
    assert outcome == Outcome.SAFE
    assert 'reference position of shoulder_pan_joint is' in made.reason
    assert made.command == pytest.approx(made.loop.arm.rigid.gravity(motion[0][0]))
    assert made.safe == pytest.approx(made.command)


def play_effort(made, motion, effort, steps, first=0, q=None):
    """Step with an effort reference alone; return the commands."""
    found = []
    for k in range(first, first + steps):
        stale = made.reference[:3].copy(), made.reference_time[0]
        feed(made, k * PERIOD, motion[0], q)
        made.reference[:3], made.reference_time[0] = stale
        made.reference[3], made.reference_time[1] = effort, k * PERIOD
        assert made.step() == Outcome.LAW, made.reason
        found.append(made.command.copy())
    return np.array(found)


def test_an_effort_alone_takes_over_without_a_step_and_gives_back_without_one(motion, host):
    """From the law to an effort PID of somebody else's, as when feedforward is switched off under a load, and back."""
    motion, effort = motion, np.array([1.0, -2.0, 0.5, 0.0, 0.3, -0.1])
    made = host(law='computed_torque', handover_time=1.0)
    follow(made, motion, 400)
    law = made.command.copy()
    assert np.abs(law).max() > 20.0
    taken = play_effort(made, motion, effort, 800, 400)
    # The references of before are in force until they are too old, with the effort added; then the difference fades
    # linearly, 1 s long.
    old = round(made.loop.settings.timeout / PERIOD)
    steps = np.abs(np.diff(np.vstack([law + effort, taken]), axis=0)).max(axis=0)
    assert (steps <= np.abs(law) * PERIOD / 1.0 + 1e-9).all()
    assert taken[old + 1 + 250] == pytest.approx(effort + 0.5 * law, abs=2 * np.abs(law).max() * PERIOD)
    assert taken[-1] == pytest.approx(effort, abs=1e-12)
    back = follow(made, motion, 800, 1200)
    # The effort is gone when it is too old; its own step is the other controller's.
    steps = np.diff(np.vstack([taken[-1], back]), axis=0)
    assert (np.abs(np.delete(steps, old, axis=0)).max(axis=0) <= np.abs(law) * PERIOD / 1.0 + 1e-2).all()
    assert back[-1] == pytest.approx(law)


def take_over(made, q, measured=np.nan, left=np.nan):
    """Activate as a host does that says how the joints stand."""
    made.state[ROW['position']], made.state[ROW['effort']], made.left[:] = q, measured, left
    made.activate()
    return made.command.copy()


def follow(made, motion, steps, first=0):
    """Step with the first instant of a motion as the reference; return the commands."""
    found = []
    for k in range(first, first + steps):
        feed(made, k * PERIOD, motion[0])
        assert made.step() == Outcome.LAW, made.reason
        found.append(made.command.copy())
    return np.array(found)


@pytest.mark.parametrize('output', ['effort', 'current'])
@pytest.mark.parametrize('source', ['measured', 'left'])
def test_it_takes_over_from_the_effort_that_is_on_the_joints(motion, host, source, output):
    """The arm was held by a controller that this one knows nothing of; friction bears a part of its weight."""
    made = host(False, law='computed_torque', handover_time=1.0, output=output)
    arm = made.loop.arm
    speed = np.full(6, 1e-6)
    gravity = arm.rigid.gravity(motion[0][0])
    held = gravity + [0.3, -0.5, 0.4, -0.2, 0.1, 0.6] * arm.friction_torque(np.ones(6), speed, gravity)
    assert np.abs(held - gravity).max() > 1.0
    commanded = held / (arm.drive_gain if output == 'current' else 1.0)
    begin = take_over(made, motion[0][0], **{source: commanded if source == 'left' else held})
    assert begin == pytest.approx(commanded)
    found = follow(made, motion, 800)
    rest = np.abs(commanded - found[-1])
    steps = np.abs(np.diff(np.vstack([begin, found]), axis=0))
    assert (steps <= rest * PERIOD / 1.0 + 1e-9).all()
    assert found[250] == pytest.approx(0.5 * (commanded + found[-1]), abs=2 * rest.max() * PERIOD)
    # The law as it is without what was before.
    assert found[-1] == pytest.approx(follow(host(law='computed_torque', output=output), motion, 800)[-1])
    # Once: what stood there is not there the next time.
    made.deactivate()
    made.activate()
    assert not made.command.any()


@pytest.mark.parametrize('what', ['zeros', 'of another posture', 'not known', 'one joint not known'])
def test_it_begins_at_gravity_where_nothing_tells_what_is_on_the_joints(motion, host, what):
    made = host(False, law='computed_torque')
    q = motion[0][0]
    gravity = made.loop.arm.rigid.gravity(q)
    left = {
        'zeros': np.zeros(6),
        'of another posture': made.loop.arm.rigid.gravity(q + 1.0),
        'not known': np.full(6, np.nan),
        'one joint not known': np.where(np.arange(6) == 2, np.nan, gravity),
    }[what]
    measured = left if what != 'of another posture' else np.zeros(6)
    begin = take_over(made, q, measured, left)
    assert begin == pytest.approx(gravity)
    assert made.safe == pytest.approx(gravity)
    # The law comes within the ramp time, not the hand-over's.
    ramp = made.loop.settings.ramp_time
    found = follow(made, motion, round(ramp / PERIOD) + 1)
    rest = np.abs(found[-1] - gravity)
    assert (np.abs(np.diff(np.vstack([begin, found]), axis=0)) <= rest * PERIOD / ramp + 1e-9).all()
    assert found[-1] == pytest.approx(follow(host(law='computed_torque'), motion, 800)[-1])


def test_it_begins_at_zero_where_that_is_safe_or_nothing_is_known(motion, host):
    q = motion[0][0]
    held = np.array([1.0, -30.0, -12.0, -3.0, 0.5, 0.1])
    assert not take_over(host(False, law='computed_torque'), np.full(6, np.nan), held, held).any()
    assert not take_over(host(False, law='computed_torque', safe_command='zero'), q).any()
    # The robot adds gravity itself: what it measures has it, what it is commanded has not.
    made = host(False, law='computed_torque', gravity=False)
    assert not take_over(made, q).any()
    assert take_over(made, q, held) == pytest.approx(held - made.loop.arm.rigid.gravity(q))


def test_a_fault_while_it_takes_over_makes_no_step(motion, host):
    """The first references are late, and some in between: to gravity for as long, and back."""
    made = host(False, law='computed_torque', handover_time=1.0)
    gravity = made.loop.arm.rigid.gravity(motion[0][0])
    held = gravity + 5.0
    commands = [take_over(made, motion[0][0], held)]
    lost = {5: 5, 120: 20}  # the step at which it is over: how many it took
    faults = {end - 1 - k for end, count in lost.items() for k in range(count)}
    for k in range(900):
        feed(made, k * PERIOD, motion[0])
        if k in faults:
            made.state[ROW['velocity']] = 100.0
        assert made.step() == (Outcome.SAFE if k in faults else Outcome.LAW)
        commands.append(made.command.copy())
    law = commands[-1]
    steps = np.abs(np.diff(commands, axis=0))
    # Fading is 1 s long, the way to gravity and back half a second; both at once at most. What has faded during a
    # fault, and what the gate had left of it, is missing when it is over: a tenth of the difference here.
    allowed = PERIOD * (np.abs(held - law) / 1.0 + (np.abs(held - gravity) + np.abs(law - gravity)) / 0.5)
    count = np.array([1 + lost.get(k, 0) for k in range(len(steps))])
    assert (steps <= count[:, None] * allowed + 1e-9).all()
    assert law == pytest.approx(follow(host(law='computed_torque'), motion, 800)[-1])


def test_an_effort_alone_is_passed_on_within_the_limits_only(robot, motion, host):
    made = host(law='computed_torque', handover_time=0.0)
    limit, rate = made.loop.gate.limit, made.loop.gate.rate
    last = None
    for effort in (np.full(6, 1e9), np.full(6, -1e9)):
        found = play_effort(made, motion, effort, 400, 0 if last is None else 400)
        assert found[-1] == pytest.approx(np.sign(effort) * limit)
        whole = found if last is None else np.vstack([last, found])
        assert (np.abs(np.diff(whole, axis=0)) <= rate * PERIOD * (1 + 1e-9)).all()
        last = found[-1]
    # Not where the state is not as it should be, nor when the effort gets old, nor when one of them is not a number.
    fast = 10.0 * robot.limits.velocity
    for change in (
        lambda time: made.state.__setitem__(ROW['velocity'], fast),
        lambda time: made.reference_time.__setitem__(1, time - 1.0),
        lambda time: made.reference[3].__setitem__(2, np.nan),
    ):
        made.activate()
        play_effort(made, motion, np.zeros(6), 300)
        feed(made, 300 * PERIOD, motion[0])
        made.reference_time[:] = np.nan, 300 * PERIOD
        change(300 * PERIOD)
        assert made.step() == Outcome.SAFE
        assert made.reason


def test_a_bad_reference_is_no_missing_one(motion, host):
    """A position that is asked for and not near the arm leads to gravity, whatever effort is asked for beside it."""
    made = host(law='computed_torque')
    for k in range(300):
        feed(made, k * PERIOD, motion[0], motion[0][0] + 1.0)
        made.reference[3], made.reference_time[1] = 3.0, k * PERIOD
        outcome = made.step()
    assert outcome == Outcome.SAFE
    assert made.command == pytest.approx(made.loop.arm.rigid.gravity(motion[0][0] + 1.0))


class Faulty(Controller):
    """Gives zeros for a while, then what it was told to."""

    THEN = 0.0

    def on_configure(self, setup):
        self._joint_names, self.left = setup.arm.joint_names, 100

    def on_activate(self):
        self.left = 100

    def command_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, ['effort'])

    def state_interface_configuration(self):
        return InterfaceConfiguration()

    def update(self, time, period):
        self.left -= 1
        if self.left < 0 and isinstance(self.THEN, Exception):
            raise self.THEN
        self.command['effort'] = 0.0 if self.left >= 0 else self.THEN


@pytest.fixture
def faulty(monkeypatch):
    """The law `faulty`, which is as bad as is said."""
    points = interface.entry_points

    class Point:
        name, value = 'faulty', 'somewhere:Faulty'

        def __init__(self, then):
            self.load = lambda: type('Faulty', (Faulty,), {'THEN': then})

    def install(then):
        point = Point(then)
        # One law more than are installed.
        monkeypatch.setattr(
            interface, 'entry_points', lambda **how: [point] if how.get('name') == 'faulty' else [*points(**how), point]
        )

    return install


@pytest.mark.parametrize(
    ('then', 'said'), [(RuntimeError('broken'), 'RuntimeError: broken'), (np.nan, 'not finite'), (np.inf, 'not finite')]
)
def test_a_law_that_fails_is_a_failure_and_the_safe_command_is_gravity(motion, host, faulty, then, said):
    faulty(then)
    made = host(law='faulty')
    outcomes = []
    for k in range(130):
        feed(made, k * PERIOD, motion[0])
        outcomes.append(made.step())
        assert np.isfinite(made.command).all()
    assert outcomes == [Outcome.LAW] * 100 + [Outcome.FAILED] * 30
    assert said in made.reason
    assert made.safe == pytest.approx(made.loop.arm.rigid.gravity(motion[0][0]))
    made.activate()
    feed(made, 1.0, motion[0])
    assert made.step() == Outcome.LAW


def test_a_law_that_fails_at_rest_is_refused_before_it_runs(host, faulty, monkeypatch):
    faulty(RuntimeError('cold'))
    monkeypatch.setattr(Faulty, 'on_activate', lambda self: setattr(self, 'left', 0))
    with pytest.raises(JointDynamicsError, match='a torque at rest, found that the law raised RuntimeError: cold'):
        host(law='faulty')


FIRST_STEP = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from joint_dynamics.control import Controller, InterfaceConfiguration, interface
from joint_dynamics.control.hosted_loop import HostedLoop
from joint_dynamics.control.interface import STATES

class Zero(Controller):
    def on_configure(self, setup):
        self._joint_names = setup.arm.joint_names
    def command_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, ['effort'])
    def state_interface_configuration(self):
        return InterfaceConfiguration()
    def update(self, time, period):
        self.command['effort'] = 0.0

class Point:
    name, value = 'zero', 'somewhere:Zero'
    load = lambda self: Zero

interface.entry_points = lambda **how: [Point()]
built, compile_it = [], Dispatcher.compile
Dispatcher.compile = lambda self, signature: (built.append(self.py_func.__name__), compile_it(self, signature))[1]
host = HostedLoop(sys.argv[1], sys.argv[2], {'law': 'zero'})
built.clear()
rows = list(STATES)
for quantity in ('position', 'velocity', 'effort'):
    host.state[rows.index(quantity)] = 0.1
host.activate()
host.clock[:] = 0.0, 1e-3
for quantity in ('position', 'velocity'):
    host.state[rows.index(quantity)], host.state_time[rows.index(quantity)] = 0.0, 0.0
host.reference[:3], host.reference_time[0] = 0.0, 0.0
assert host.step() == 1, host.reason
print(*built)
"""


def test_the_first_step_of_a_law_in_python_compiles_and_loads_nothing(document):
    text = yaml.safe_dump(DynamicsDescription(document).document)
    command = [sys.executable, '-c', FIRST_STEP, ur5e_urdf().read_text(), text]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ''), done.stderr


def test_a_compiled_step_makes_no_object(motion, host):
    made = host(law='adaptive_friction')
    assert made.entry and made.table and gc.isenabled()
    follow(made, motion, 50)
    before = gc.get_count()[0]
    for k in range(50, 250):
        feed(made, k * PERIOD, motion[k])
        made.step()
    assert gc.get_count()[0] - before < 10


def test_the_arrays_stay_where_they_are(motion, host):
    made = host(False)
    names = ('clock', 'state', 'state_time', 'reference', 'reference_time', 'command', 'safe')
    before = {name: getattr(made, name).__array_interface__['data'] for name in names}
    for _ in range(2):
        made.activate()
        feed(made, 0.0, motion[0])
        made.step()
        made.deactivate()
    assert made.step() == Outcome.CLOSED
    assert before == {name: getattr(made, name).__array_interface__['data'] for name in names}
    assert all(getattr(made, name).flags['C_CONTIGUOUS'] for name in names)


def test_warming_up_leaves_no_trace_in_the_law(robot, host, document):
    made = host(False, law='adaptive_friction')
    fresh = build_loop(
        GivenValues(parameters_of('adaptive_friction'), {'law': 'adaptive_friction'}, robot.joint_names),
        robot,
        DynamicsDescription(document),
    )
    for name in ('alpha', 'temperature'):
        assert np.array_equal(getattr(made.loop.controller.friction, name), getattr(fresh.controller.friction, name))


class MotorSpring(Faulty):
    """Commands what the motor encoder shows, in N·m."""

    def state_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, ['motor_position', 'motor_velocity'])

    def update(self, time, period):
        self.command['effort'] = self.state['motor_position'] + 10.0 * self.state['motor_velocity']


def test_motor_signals_are_reflected_by_ratio_and_offset(robot, motion, host, faulty, monkeypatch):
    faulty(None)
    monkeypatch.setattr(interface.entry_points(name='faulty')[0], 'load', lambda: MotorSpring)
    ratios, offsets = np.linspace(50, 100, 6), np.linspace(-0.1, 0.1, 6)
    given = {
        **{f'gear_ratio.{name}': ratio for name, ratio in zip(robot.joint_names, ratios, strict=True)},
        **{f'zero_offset.{name}': offset for name, offset in zip(robot.joint_names, offsets, strict=True)},
    }
    made = host(law='faulty', **given)
    speed = np.full(6, 0.02)
    for k in range(300):
        motor = (motion[0][0] - offsets) * ratios
        feed(made, k * PERIOD, motion[0], motor_position=motor, motor_velocity=speed * ratios)
        assert made.step() == Outcome.LAW
    assert made.command == pytest.approx(motion[0][0] + 10.0 * speed)


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({'law': 'flexible_joint'}, 'which needs jerk and snap'),
        ({'law': 'talk'}, "found 'talk'"),
        ({'ramp_time': 100.0}, 'ramp_time: expected'),
        ({'joints': ['elbow']}, 'elbow'),
        ({'law': 'adaptive_friction', 'friction_gain.elbow_joint': 1.2}, 'expected none that would run away'),
    ],
)
def test_what_does_not_fit_is_refused(host, given, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        host(**given)


def test_what_is_misspelt_is_remarked(host):
    made = host(**{'friction_gain.elbow_jiont': 0.5, 'update_rate': 500})
    assert [remark for remark in made.remarks if 'not known' in remark] == [
        'parameter friction_gain.elbow_jiont is not known; meant friction_gain.elbow_joint?'
    ]


def test_the_urdf_alone_will_do(robot):
    made = HostedLoop(ur5e_urdf().read_text(), '', {'use_description': False})
    assert isinstance(made.loop, ControlLoop)
    assert np.array_equal(made.loop.arm.rotor_inertia, Arm(robot).rotor_inertia)


def test_a_host_has_the_joints_in_the_order_given(robot, collector):
    text = ur5e_urdf().read_text()
    given = {'use_description': False, 'law': 'computed_torque'}
    names = tuple(robot.joint_names)
    assert HostedLoop(text, '', given).joint_names == names
    turned = HostedLoop(text, '', {**given, 'joints': list(names), 'mounting': [math.pi, 0.0, 0.0]})
    assert turned.joint_names == names
    down, up = (host.loop.arm.rigid.gravity(np.full(6, 0.4)) for host in (turned, HostedLoop(text, '', given)))
    assert np.abs(down - up).max() > 1.0


def test_a_host_of_some_of_the_joints(robot, collector):
    names = tuple(robot.joint_names)
    given = {'use_description': False, 'law': 'computed_torque', 'joints': list(names[:4])}
    expected = RobotModel.load(ur5e_urdf().read_text(), joints=list(names[:4])).joint_names
    assert HostedLoop(ur5e_urdf().read_text(), '', given).joint_names == expected != names
