"""The loop: what reaches a robot whatever comes in."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from joint_dynamics.arm import Arm
from joint_dynamics.control import ControlLoop, InterfaceConfiguration, LoopSettings, create
from joint_dynamics.control.interface import REFERENCES, STATES
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, MaxwellSlip, TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

T = 0.002


def run(loop, path, feed, start, steps, **state):
    for k in range(steps):
        time = start + k * T
        feed(loop, path.at(time), time, **state)
        out = loop.step(time, T)
    return time + T, out


def test_before_activation_and_after_there_is_no_command(make_loop, path, feed):
    loop = make_loop(activate=False)
    assert (loop.fallback_reason, loop.warning) == ('not active', '')
    feed(loop, path.at(0.0), 0.0)
    assert loop.step(0.0, T) is None
    loop.activate()
    _, out = run(loop, path, feed, 0.5, 400)
    assert np.abs(out).max() > 1
    way = list(loop.deactivate(T))
    np.testing.assert_array_equal(way[-1], 0)
    assert loop.step(9.0, T) is None


def test_activation_forgets_what_was_before(make_loop, path, feed):
    loop = make_loop()
    time, _ = run(loop, path, feed, 0.5, 400)
    list(loop.deactivate())
    loop.activate()
    out = loop.step(time, T)
    assert 'has not come yet' in loop.fallback_reason
    np.testing.assert_array_equal(out, 0)


@pytest.mark.parametrize('safe', ['gravity', 'zero'])
def test_every_fault_has_a_reason_and_ends_at_the_safe_command(make_loop, path, feed, safe):
    loop = make_loop('computed_torque', settings=LoopSettings(safe=safe))
    time, _ = run(loop, path, feed, 0.5, 400)
    assert loop.fallback_reason == ''
    stand = path.at(time)
    for name, change in {
        'position of elbow_joint is not a finite': ('state', 'position', np.where(np.arange(6) == 2, np.nan, stand[0])),
        'distance from the desired position of shoulder_pan_joint': ('reference', 'position', stand[0] + 0.6),
        'speed of shoulder_pan_joint is -10': ('state', 'velocity', np.full(6, -10.0)),
        'desired speed of wrist_3_joint': ('reference', 'velocity', np.where(np.arange(6) == 5, 9.0, 0)),
        'desired position of elbow_joint': ('reference', 'position', np.where(np.arange(6) == 2, 9.0, stand[0])),
        'acceleration of wrist_1_joint is not a finite': (
            'reference',
            'acceleration',
            np.where(np.arange(6) == 3, np.inf, 0),
        ),
    }.items():
        for _ in range(300):
            feed(loop, stand, time)
            getattr(loop, change[0]).write(change[1], change[2], time)
            out = loop.step(time, T)
            time += T
            assert name in loop.fallback_reason
        gravity = loop.arm.rigid.gravity(loop.state['position'])
        if np.isfinite(gravity).all():
            np.testing.assert_allclose(out, gravity if safe == 'gravity' else 0, atol=1e-9)
        else:
            assert np.isfinite(out).all()
    for _ in range(30):
        out = loop.step(time, T)
        time += T
    assert 'old' in loop.fallback_reason
    for _ in range(500):
        feed(loop, stand, time)
        out = loop.step(time, T)
        time += T
    assert loop.fallback_reason == ''
    assert loop.gate.weight == 1


@pytest.mark.parametrize('side', ['link', 'motor'])
def test_joint_states_later_than_the_gains_bear_are_refused_until_they_are_not(make_loop, path, feed, side):
    """400 1/s² and 40 1/s bear 32.4 ms; a late sample alone is none, and without the PID there is nothing to bear."""
    law, closed = ('flexible_joint', {'feedback_side': side}) if side == 'motor' else ('computed_torque', {})
    loop = make_loop(law, feedback=True, kp=np.full(6, 400.0), kd=np.full(6, 40.0), **closed)
    bare = make_loop()
    time = 0.5

    def late(by, seconds):
        nonlocal time
        reasons = set()
        for _ in range(round(seconds / T)):
            motion = path.at(time)
            for one in (loop, bare):
                feed(one, motion, time - by)
                for row, quantity in enumerate(REFERENCES):
                    one.reference.write(quantity, motion[row], time)
                one.step(time, T)
            reasons.add(loop.fallback_reason)
            assert bare.fallback_reason == ''
            time += T
        return reasons

    assert late(0.0, 1.0) == {''}
    assert loop.delay == pytest.approx(T / 2, rel=0.5)
    # A pause, and what is late for good but not too late.
    assert late(0.045, 0.1) == {''}
    assert late(0.030, 5.0) == {''}
    assert loop.delay == pytest.approx(0.031, abs=5e-4)
    reasons = late(0.045, 5.0)
    assert any('joint states reach the torque 0.032' in reason and 'bear 0.0324 s' in reason for reason in reasons)
    assert '' not in late(0.045, 0.1)
    late(0.0, 2.0)
    assert loop.fallback_reason == ''


def test_a_robot_that_adds_gravity_itself_gets_zero_as_the_safe_command(make_loop, path, feed):
    loop = make_loop('computed_torque', settings=LoopSettings(holds_gravity=False), gravity=False)
    time, _ = run(loop, path, feed, 0.5, 400)
    for k in range(400):
        out = loop.step(time + k * T, T)
    np.testing.assert_array_equal(out, 0)


def test_one_joint_that_stays_away_is_noticed_by_name(make_loop, path, feed):
    loop = make_loop('computed_torque')
    time, _ = run(loop, path, feed, 0.5, 100)
    names = list(loop.arm.joint_names)
    for _ in range(100):
        motion = path.at(time)
        for quantity, values in zip(('position', 'velocity', 'acceleration'), motion, strict=False):
            loop.reference.write(quantity, values, time)
        loop.state.write(
            'position', [*motion[0][5:2:-1], *motion[0][1::-1], 7.0], time, [*names[5:2:-1], *names[1::-1], 'gripper']
        )
        loop.step(time, T)
        time += T
    np.testing.assert_array_equal(np.delete(loop.state['position'], 2), np.delete(motion[0], 2))
    assert 'position of elbow_joint is' in loop.fallback_reason
    assert 'old' in loop.fallback_reason


def test_slow_inputs_may_be_missing_and_that_is_said(make_loop, path, feed):
    loop = make_loop('adaptive_friction')
    run(loop, path, feed, 0.5, 400)
    assert loop.fallback_reason == ''
    assert 'viscous_excess of shoulder_pan_joint is missing' in loop.warning
    run(loop, path, feed, 1.3, 10, friction_scale=np.ones(6), viscous_excess=np.zeros(6))
    assert loop.warning == ''


def raise_it(law):
    raise ZeroDivisionError('one over nothing')


@pytest.mark.parametrize(
    ('behave', 'expected'),
    [
        (raise_it, 'the law raised ZeroDivisionError: one over nothing'),
        (lambda law: law.command['effort'].fill(np.nan), 'not finite'),
        (lambda law: law.command.clear(), 'not finite'),
        (lambda law: law.command.__setitem__('effort', np.zeros(3)), 'ValueError'),
        (lambda law: law.command.__setitem__('torque', np.zeros(6)), 'KeyError'),
    ],
)
def test_a_law_that_fails_ends_with_zero_for_good(arm, path, feed, given_law, behave, expected):
    law = given_law()
    loop = ControlLoop(law, arm)
    loop.activate()
    time, out = run(loop, path, feed, 0.5, 400)
    np.testing.assert_allclose(out, np.minimum(50.0, arm.effort_limit))
    law.behave = behave
    time, _ = run(loop, path, feed, time, 1)
    law.behave = lambda law: None
    time, out = run(loop, path, feed, time, 260)
    assert expected in loop.fallback_reason
    np.testing.assert_allclose(out, 0, atol=1e-9)
    loop.activate()
    _, out = run(loop, path, feed, time, 400)
    assert out.max() == 50.0


@pytest.mark.parametrize('shipped', [True, False])
def test_a_step_of_the_same_moment_changes_nothing(make_loop, arm, path, feed, given_law, shipped):
    """As of a simulated clock that ticks more slowly than the steps come."""
    loop = make_loop() if shipped else ControlLoop(given_law(), arm)
    loop.activate()
    time, out = run(loop, path, feed, 0.5, 400)
    last, outcome = time - T, loop.advance(time, T)
    assert loop.fallback_reason == ''
    out = loop.gate.last.copy()
    for _ in range(3):
        feed(loop, path.at(time + 0.1), time)
        assert loop.advance(time, 0.0) == outcome
        np.testing.assert_array_equal(loop.gate.last, out)
        assert loop.fallback_reason == ''
    for later, period in ((time, -T), (last, 0.0), (time + T, 0.0), (time + T, np.nan)):
        np.testing.assert_array_equal(loop.step(later, period), out)
        assert loop.fallback_reason == f'time does not go on: {period} s since the last step'
        # It stays so as long as the moment does.
        np.testing.assert_array_equal(loop.step(later, 0.0), out)
        assert 'time does not go on' in loop.fallback_reason


def test_a_law_cannot_change_what_was_measured(arm, path, feed, given_law):
    loop = ControlLoop(given_law(lambda law: law.state['position'].fill(0.0)), arm)
    loop.activate()
    time, _ = run(loop, path, feed, 0.5, 10)
    np.testing.assert_array_equal(loop.state['position'], path.at(time - T)[0])


@pytest.mark.parametrize(
    ('claims', 'expected'),
    [
        ({'command': InterfaceConfiguration(('elbow_joint/effort',))}, 'not found for shoulder_pan_joint'),
        ({'command': InterfaceConfiguration(('knee/effort',))}, "'knee/effort'"),
        ({'command': InterfaceConfiguration()}, 'one command'),
        ({'state': InterfaceConfiguration(('elbow_joint/colour',))}, "'elbow_joint/colour'"),
    ],
)
def test_claims_that_cannot_be_met_are_refused(arm, given_law, claims, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        ControlLoop(given_law(**claims), arm)


def test_settings_that_cannot_be_are_refused(arm, given_law):
    with pytest.raises(JointDynamicsError, match='safe'):
        ControlLoop(given_law(), arm, LoopSettings(safe='fingers crossed'))
    with pytest.raises(JointDynamicsError, match='rate limits'):
        ControlLoop(given_law(), arm, LoopSettings(effort_rate=10.0))
    loop = ControlLoop(given_law(), arm, LoopSettings(effort_limit=1e9))
    np.testing.assert_array_equal(loop.gate.limit, arm.effort_limit)


def everything(law, arm):
    """A loop with every input the laws have, feedback on."""
    loop = ControlLoop(create(law), arm, LoopSettings(), {'feedback': True, 'kp': 400.0, 'kd': 40.0, 'ki': 50.0})
    loop.activate()
    return loop


def check(loop, out, last, period):
    if not loop.gate.is_open:
        assert out is None
        return last
    assert np.isfinite(out).all()
    assert (np.abs(out) <= loop.gate.limit).all()
    time = min(period, loop.gate.max_period) if period > 0 else 0.0
    assert (np.abs(out - last) <= loop.gate.rate * time + 1e-9).all()
    return out


class Adversary(RuleBasedStateMachine):
    """Hypothesis looks for the sequence of inputs that gets a bad command through."""

    numbers = st.floats(allow_nan=True, allow_infinity=True, width=64) | st.floats(-3, 3)

    @initialize(
        law=st.sampled_from(['computed_torque', 'adaptive_friction', 'flexible_joint', 'joint_torque_feedback'])
    )
    def start(self, law):
        robot = RobotModel.from_urdf(ur5e_urdf())
        friction = FrictionModel(
            {'F_C0': np.full(6, 5.0), 'F_C1': 1e-3, 'F_S': 6.0, 'F_V1': 6.0, 'F_T1': 0.1}, MaxwellSlip(6, 5e-4)
        )
        arm = Arm(robot, rotor_inertia=np.ones(6), friction=friction, stiffness=TorsionalStiffness([2e4, 1e8]))
        self.loop = everything(law, arm)
        self.q = np.array([0.1, -1.0, 1.0, 0.2, 0.3, 0.4])
        self.time, self.last = 0.0, np.zeros(6)

    @rule(quantity=st.sampled_from(list(STATES)), joint=st.integers(0, 5), value=numbers, late=st.floats(0, 0.2))
    def write_state(self, quantity, joint, value, late):
        values = self.q.copy() if 'position' in quantity else np.zeros(6)
        values[joint] = value
        self.loop.state.write(quantity, values, self.time - late)

    @rule(quantity=st.sampled_from(list(REFERENCES)), joint=st.integers(0, 5), value=numbers)
    def write_reference(self, quantity, joint, value):
        values = self.q.copy() if quantity == 'position' else np.zeros(6)
        values[joint] = value
        self.loop.reference.write(quantity, values, self.time)

    @rule(steps=st.integers(1, 300))
    def good(self, steps):
        for _ in range(steps):
            self.time += T
            for quantity in self.loop.state.quantities:
                self.loop.state.write(quantity, self.q if 'position' in quantity else np.zeros(6), self.time)
            for quantity in self.loop.reference.quantities:
                self.loop.reference.write(quantity, self.q if quantity == 'position' else np.zeros(6), self.time)
            self.last = check(self.loop, self.loop.step(self.time, T), self.last, T)

    @rule(period=st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 0.1))
    def step(self, period):
        self.time += period if 0 < period < 1 else 0.0
        self.last = check(self.loop, self.loop.step(self.time, period), self.last, period)

    @rule()
    def restart(self):
        for out in self.loop.deactivate(T):
            self.last = out
        assert (self.last == 0).all()
        assert self.loop.step(self.time, T) is None
        self.loop.activate()

    @invariant()
    def says_why(self):
        if hasattr(self, 'loop') and self.loop.gate.failure:
            assert self.loop.fallback_reason


TestAdversary = Adversary.TestCase
TestAdversary.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_a_joint_without_an_effort_limit_is_refused(given_law):
    free = RobotModel.from_urdf(ur5e_urdf().read_text().replace('effort="28"', 'effort="0"'))
    assert not np.isfinite(free.limits.effort).all()
    arm = Arm(free)
    with pytest.raises(JointDynamicsError, match='finite torque limits'):
        ControlLoop(given_law(), arm)
    assert ControlLoop(given_law(), arm, LoopSettings(effort_limit=20.0)).gate.limit.max() == 20.0


@pytest.mark.parametrize(
    ('settings', 'options', 'holds'),
    [({}, {}, True), ({'safe': 'zero'}, {}, False), ({'holds_gravity': False}, {'gravity': False}, False)],
)
def test_an_end_that_holds_goes_to_the_safe_command_and_stays(make_loop, path, feed, settings, options, holds):
    loop = make_loop('computed_torque', settings=LoopSettings(**settings), **options)
    time, last = run(loop, path, feed, 0.5, 400)
    gravity = loop.arm.rigid.gravity(loop.state['position']) if holds else np.zeros(6)
    way = list(loop.end_holding(0.2, T))
    for out in way:
        assert (np.abs(out) <= loop.gate.limit).all()
        assert (np.abs(out - last) <= loop.gate.rate * T + 1e-9).all()
        last = out
    held = int(0.2 / T)
    np.testing.assert_allclose(way[-held:], np.tile(gravity, (held, 1)), atol=1e-9)
    assert loop.step(time, T) is None
    assert list(loop.end_holding(0.2, T)) == []
    loop.activate()
    np.testing.assert_array_equal(loop.gate.last, 0)


def test_a_law_that_has_failed_ends_at_zero(arm, path, feed, given_law):
    law = given_law()
    loop = ControlLoop(law, arm)
    loop.activate()
    time, _ = run(loop, path, feed, 0.5, 400)
    law.behave = raise_it
    run(loop, path, feed, time, 1)
    np.testing.assert_array_equal(list(loop.end_holding(0.1, T))[-1], 0)


def test_what_is_out_of_bounds_is_said_of_the_first_that_is(make_loop, path, feed, robot):
    """Position, distance, desired and measured speed, in this order, each with its bounds and its margin."""
    settings = LoopSettings(tracking=0.2, velocity_margin=1.5, position_margin=0.1, jump_margin=10.0)
    name, limits = robot.joint_names[3], robot.limits

    def said(desired=0.0, off=0.0, speed=0.0, measured=0.0):
        loop = make_loop('computed_torque', settings=settings)
        motion = path.at(0.0)
        motion[0, 3] += desired
        motion[1, 3] = speed
        position, velocity = motion[0].copy(), np.zeros(6)
        position[3] += off
        velocity[3] = measured
        feed(loop, motion, 0.0, position=position, velocity=velocity)
        loop.step(0.0, 0.002)
        return loop.fallback_reason

    assert said() == ''
    top = limits.velocity[3] * 1.5
    assert said(off=0.19) == '' and said(speed=0.99 * top) == '' and said(measured=-0.99 * top) == ''
    there = path.at(0.0)[0, 3]
    high = limits.upper[3] + 0.1
    assert said(desired=high - there - 0.01) == ''
    for given, value, low, up in (
        ({'desired': high - there + 0.01}, high + 0.01, limits.lower[3] - 0.1, high),
        ({'off': -0.25}, -0.25, -0.2, 0.2), ({'speed': 1.1 * top}, 1.1 * top, -top, top),
        ({'measured': -1.1 * top}, -1.1 * top, -top, top),
    ):  # fmt: skip
        text = said(**given)
        assert text.endswith(f' of {name} is {value:.6g}, allowed are {low:.6g} … {up:.6g}'), text


@pytest.mark.parametrize('references', [('velocity',), ('position', 'velocity')])
def test_where_no_position_is_desired_none_is_looked_at(arm, given_law, references):
    """Neither its limits nor how far the arm is from it; of the desired speed the limit, as ever."""

    def follow(law):
        law.command['effort'] = 10.0 * law.reference['velocity']

    loop = ControlLoop(given_law(follow, references=references), arm, LoopSettings(tracking=0.1, safe='zero'))
    looked_at = references[0] == 'position'
    loop.activate()
    first = arm.joint_names[0]

    def step(k, position, velocity):
        loop.state.write('position', np.zeros(6), k * T)
        loop.reference.write('position', position, k * T)
        loop.reference.write('velocity', velocity, k * T)
        return loop.step(k * T, T)

    loop.step(0.0, T)
    assert loop.fallback_reason == f'state position of {first} has not come yet'
    loop.state.write('position', np.zeros(6), 0.0)
    loop.step(0.0, T)
    assert loop.fallback_reason == f'reference {references[0]} of {first} has not come yet'
    limit = arm.robot.limits
    far, speed = limit.upper + 10.0, np.linspace(-0.5, 0.5, 6)
    for k in range(300):
        out = step(k, far, speed)
    if looked_at:
        assert loop.fallback_reason.startswith(f'desired position of {first} is {far[0]:.6g}, allowed are ')
        np.testing.assert_array_equal(out, 0.0)
    else:
        assert loop.fallback_reason == ''
        np.testing.assert_allclose(out, 10.0 * speed)
    step(300, np.full(6, 0.2), speed)
    wrong = f'distance from the desired position of {arm.joint_names[0]} is -0.2, allowed are -0.1 … 0.1'
    assert loop.fallback_reason == (wrong if looked_at else '')
    step(301, np.zeros(6), 100.0 * np.eye(6)[3])
    assert loop.fallback_reason.startswith(f'desired speed of {arm.joint_names[3]} is 100, allowed are ')


def test_slow_inputs_that_are_not_there_are_named(make_loop, arm):
    loop = make_loop('computed_torque', friction='static')
    said = f'temperature of {arm.joint_names[0]} is missing or old: going on without'
    assert loop.refresh_inputs(0.0) == said == loop.warning
    loop.state.write('temperature', np.full(6, 30.0), 0.0)
    assert loop.refresh_inputs(0.0) == '' == loop.warning
    loop.state.write('temperature', [31.0] * 5, 9.0, [name for name in arm.joint_names if name != arm.joint_names[2]])
    assert loop.refresh_inputs(11.0) == said.replace(arm.joint_names[0], arm.joint_names[2])
