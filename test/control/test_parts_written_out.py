"""Parts of the control put together from plain numbers: settings by name, gates, paths, gains, sampled joints."""

import gc
import math
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import ControlLoop, LoopSettings, Path, SafetyGate, create
from joint_dynamics.control.compensation import DirectionCheck, JointCheck, LimitCycle, limit_cycles
from joint_dynamics.control.computed_torque import ComputedTorque
from joint_dynamics.control.effort_gains import EffortGains, controller_parameters, effort_gains
from joint_dynamics.control.elastic_loop import ElasticJoints, SampledArm, elastic_joints
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.hosted_loop import HostedLoop
from joint_dynamics.control.hosted_parameters import parameters_of
from joint_dynamics.control.input_sample import FINE, JUMPED
from joint_dynamics.control.inputs import AgedInterfaces
from joint_dynamics.control.law_sample import DRIVEN
from joint_dynamics.control.loop_parameters import (
    GATE_PARAMETERS,
    LAW_PARAMETERS,
    OWN_DEFAULT,
    GivenValues,
    build_loop,
    foreign_parameters,
    law_values,
    loop_settings,
)
from joint_dynamics.control.trajectory import fill_effort, instants
from joint_dynamics.joint import FrictionModel, MaxwellSlip
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import Parameter
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture
def collector():
    """The host of a controller manager turns the garbage collector off for good; a test must not."""
    yield
    gc.enable()
    gc.unfreeze()


# ---- parameters


def test_every_parameter_of_the_gate_reaches_the_loop(robot):
    names = robot.joint_names
    given = {
        'ramp_time': 0.7, 'safe_command': 'zero', 'timeout': 0.11, 'slow_timeout': 12.0, 'tracking_tolerance': 0.33,
        'velocity_margin': 1.7, 'position_margin': 0.07, 'jump_margin': 0.013,
        **{f'effort_limit.{name}': 10.0 + k for k, name in enumerate(names) if k != 2},
        **{f'effort_rate.{name}': 900.0 + k for k, name in enumerate(names) if k not in (1, 2)},
    }  # fmt: skip
    values = GivenValues(parameters_of('computed_torque'), given, names)
    arm = Arm(robot)
    found = loop_settings(values, arm, False)
    own = arm.effort_limit
    assert found == LoopSettings(
        effort_limit=(10.0, 11.0, own[2], 13.0, 14.0, 15.0),
        effort_rate=(900.0, 50.0 * 11.0, 50.0 * own[2], 903.0, 904.0, 905.0),
        ramp_time=0.7, safe='zero', timeout=0.11, slow_timeout=12.0, tracking=0.33, velocity_margin=1.7,
        position_margin=0.07, jump_margin=0.013, holds_gravity=False,
    )  # fmt: skip
    assert loop_settings(values, arm, True).holds_gravity is True
    # a limit beyond the robot's own does not make its rate larger
    high = GivenValues(GATE_PARAMETERS, {f'effort_limit.{names[0]}': 1e4}, names)
    assert loop_settings(high, arm, True).effort_rate[0] == 50.0 * own[0]
    loop = build_loop(values, robot, None)
    assert loop.settings.holds_gravity and loop.settings.ramp_time == 0.7
    off = GivenValues(parameters_of('computed_torque'), {**given, 'gravity': False}, names)
    assert not build_loop(off, robot, None).settings.holds_gravity
    assert {field.name for field in fields(LoopSettings)} - {'max_period', 'holds_gravity'} == {
        {'safe_command': 'safe', 'tracking_tolerance': 'tracking'}.get(row.name, row.name) for row in GATE_PARAMETERS
    }


def test_a_payload_hangs_on_the_arm_of_the_loop(robot):
    given = {'payload_mass': 2.5, 'payload_center': [0.01, 0.02, 0.1]}
    loop = build_loop(GivenValues(parameters_of('computed_torque'), given, robot.joint_names), robot, None)
    expected = Arm(robot).with_payload(2.5, [0.01, 0.02, 0.1])
    np.testing.assert_array_equal(loop.arm.payload, expected.payload)
    bare = build_loop(GivenValues(parameters_of('computed_torque'), {}, robot.joint_names), robot, None)
    assert not bare.arm.payload.any()


def test_values_by_name_and_what_is_misspelt():
    rows = (Parameter('rate', 1.0, 'a rate'), Parameter('gain', 2.0, 'a gain', per_joint=True))
    values = GivenValues(rows, {'rat': 5.0, 'gain.b': 3.0, 'colour': 1, 'gains.a': 4.0}, ('a', 'b'))
    assert values['rate'] == 1.0 and values['gain.a'] == 2.0 and values['gain.b'] == 3.0
    assert values.per_joint('gain') == [2.0, 3.0] and values.per_joint('gain', ['b', 'a']) == [3.0, 2.0]
    assert values.misspelt == {'rat': 'rate', 'gains.a': 'gain.a'}


def test_parameters_of_a_law_of_another_package_have_its_name(robot):
    class Own(ComputedTorque):
        PARAMETERS = (
            Parameter('stiff', 3.0, 'how stiff'),
            Parameter('kind', OWN_DEFAULT, 'which', choices=(OWN_DEFAULT, 'x')),
            Parameter('gain', 2.0, 'a gain', per_joint=True),
        )

    rows = foreign_parameters('own', Own)
    assert [row.name for row in rows] == ['own_stiff', 'own_kind', 'own_gain']
    assert foreign_parameters('computed_torque', ComputedTorque) == []
    given = {'own_stiff': 4.0, 'own_gain.b': 5.0}
    values = GivenValues(rows, given, ('a', 'b'))
    assert law_values(values, 'own', Own, ('a', 'b')) == {'stiff': 4.0, 'gain': [2.0, 5.0]}
    assert law_values(GivenValues(rows, {'own_kind': 'x'}, ()), 'own', Own, ())['kind'] == 'x'
    shipped = GivenValues(LAW_PARAMETERS, {'gravity': False}, ('a',))
    assert law_values(shipped, 'computed_torque', ComputedTorque, ('a',))['gravity'] is False
    assert 'friction' not in law_values(shipped, 'computed_torque', ComputedTorque, ('a',))


def test_a_host_has_the_joints_in_the_order_given(robot, collector):
    text = ur5e_urdf().read_text()
    given = {'use_description': False, 'law': 'computed_torque'}
    names = tuple(robot.joint_names)
    assert HostedLoop(text, '', given).joint_names == names
    turned = HostedLoop(text, '', {**given, 'joints': list(names), 'mounting': [math.pi, 0.0, 0.0]})
    assert turned.joint_names == names
    down, up = (host.loop.arm.rigid.gravity(np.full(6, 0.4)) for host in (turned, HostedLoop(text, '', given)))
    assert np.abs(down - up).max() > 1.0


# ---- gate


def test_the_gate_step_by_step():
    """u = clip(clip(w u_law + (1 − w) u_safe, u(k−1) ± r T), ±u_max), w by T/t_ramp; every state it keeps."""
    limit, rate, ramp = np.array([10.0, 4.0]), np.array([100.0, 60.0]), 0.25
    gate = SafetyGate(limit, rate, ramp, max_period=0.05)
    gate.open()
    rng = np.random.default_rng(3)
    weight, last, law = 0.0, np.zeros(2), None
    for k in range(200):
        command = None if rng.random() < 0.3 else rng.uniform(-15, 15, 2)
        safe, period = rng.uniform(-12, 12, 2), rng.choice([0.0, -1.0, 0.01, 0.03, 0.2])
        if k == 50:
            safe[1] = np.nan
        fallback = bool(rng.random() < 0.2)
        if command is not None and not fallback:
            law = np.clip(command, -limit, limit)
        good = command is not None and not fallback
        T = min(period, 0.05) if period > 0 else 0.0
        weight = min(1.0, weight + T / ramp) if good else max(0.0, weight - T / ramp)
        rest = np.clip(np.nan_to_num(safe), -limit, limit)
        target = rest if law is None else weight * law + (1 - weight) * rest
        out = np.clip(np.clip(target, last - rate * T, last + rate * T), -limit, limit)
        found = gate.step(command, safe, period, fallback=fallback)
        np.testing.assert_allclose(found, out, atol=1e-12)
        np.testing.assert_allclose(gate.last, out, atol=1e-12)
        assert gate.weight == pytest.approx(weight)
        limited = np.abs(out - target) > 1e-12
        np.testing.assert_array_equal(gate.limited, limited | (np.abs(command) > limit) if good else limited)
        last = out
    ends = list(gate.close(0.01))
    steps = math.ceil(np.max(np.abs(last) / (rate * 0.01)))
    assert len(ends) == steps + 1 and not ends[-1].any() and not ends[-2].any()
    for before, after in zip([last, *ends], ends, strict=False):
        assert (np.abs(after - before) <= rate * 0.01 + 1e-12).all()
    assert (gate.is_open, gate.weight) == (False, 0.0) and not gate.last.any()
    assert gate.step(np.ones(2), np.zeros(2), 0.01) is None and list(gate.close(0.01)) == []


# ---- plausibility


def test_jumps_joint_by_joint():
    """A step beyond v T + margin is one, by the limit or a larger reported speed; over after 0.1 s without."""
    names = ('a', 'b')
    states = AgedInterfaces(names, {'position': 1e9, 'velocity': 1e9}, reach=[2.0, np.inf], margin=0.05)

    def accept(q, time, reported=(0.0, 1.0), joints=names):
        states.write('velocity', reported, time)
        states.write('position', q, time, joints)
        return [jump == FINE for jump in (jump_of_joint(states, k) for k in range(2))]

    assert accept([0.0, 0.0], 0.0) == [True, True]
    assert accept([0.24, 0.14], 0.1) == [True, True]
    assert accept([0.24, 0.5], 0.2) == [True, False]
    # joint 0 jumps by more than 2 · 0.1 + 0.05
    assert accept([0.5, 0.5], 0.25) == [False, False]
    assert accept([0.5, 0.5], 0.29) == [False, False]
    assert accept([0.5, 0.5], 0.31) == [False, True]
    assert accept([0.5, 0.5], 0.36) == [True, True]
    # a reported speed beyond the limit lets more through; one that is not a number, where no limit is, everything
    assert accept([1.0, 0.5], 0.46, reported=(5.0, 1.0)) == [True, True]
    assert accept([1.0, 9.0], 0.56, reported=(0.0, np.nan)) == [True, True]
    assert accept([np.nan, 9.0], 0.66) == [True, True]
    assert accept([9.0], 0.66, joints=('b',)) == [True, True]
    assert accept([1.0, 9.0], 0.66) == [True, True]
    # time that goes back is as long as time that goes on
    assert accept([1.2, 9.0], 0.56) == [True, True]


def jump_of_joint(states, joint):
    """FINE or JUMPED of one joint's position."""
    return FINE if np.isnan(states.inputs.jumps['jumped'][0, joint]) else JUMPED


def test_what_jumped_is_not_taken_over():
    states = AgedInterfaces(('a', 'b'), {'position': 1.0, 'velocity': 1.0}, reach=[2.0, 3.0], margin=0.05)
    states.write('position', [0.0, 0.0], 0.0)
    states.write('position', [0.1, 0.9], 0.1)
    np.testing.assert_array_equal(states['position'], [0.1, 0.0])
    assert states.why_invalid(('position',), 0.1, 'state').startswith('state position of b jumped by 0.9 rad in 0.1 s')
    states.write('position', [0.3], 0.15, ['a'])
    np.testing.assert_array_equal(states['position'], [0.1, 0.0])
    states.clear()
    states.write('position', [5.0, 6.0], 0.2, ['b', 'a'])
    np.testing.assert_array_equal(states['position'], [6.0, 5.0])
    assert states.why_invalid(('position',), 0.2, 'state') == ''


# ---- paths


@pytest.mark.parametrize('count', [1, 2, 3])
@pytest.mark.parametrize('smooth', [False, True])
def test_segments_meet_what_is_given_and_jump_above(count, smooth):
    rng = np.random.default_rng(6)
    t = np.array([0.3, 1.0, 1.4, 2.9])
    given = [rng.normal(size=(4, 2)) for _ in range(count)]
    for values in given[1:]:
        values[[0, -1]] = 0.0
    path = Path(t, *given, smooth=smooth)
    assert (path.start, path.end) == (0.3, 2.9)
    np.testing.assert_array_equal(path.times, t)
    for k, time in enumerate(t[:-1]):
        for before in (0.0, 1e-9):
            if k or not before:
                for d, values in enumerate(given):
                    np.testing.assert_allclose(path.at(time - before)[d], values[k], atol=1e-4)
    h = 1e-5
    for time in (0.5, 1.2, 2.0, 2.8):
        low, here, high = path.at(time - h), path.at(time), path.at(time + h)
        for d in range(4):
            np.testing.assert_allclose((high[d] - low[d]) / (2 * h), here[d + 1], rtol=1e-4, atol=1e-3)
    if smooth:
        for time in t[1:-1]:
            scale = np.abs(path.at(time)).max(axis=1, keepdims=True)
            np.testing.assert_allclose(path.at(time - 1e-9)[:4], path.at(time)[:4], atol=1e-5 * scale[:4].max())
    for time in (0.0, 0.29, 2.9, 9.0):
        assert not path.at(time)[1:].any()
        np.testing.assert_array_equal(path.at(time)[0], given[0][0 if time < 0.3 else -1])
    fine = path.sample(np.linspace(0.3, 2.8999, 4001))[:, 2]
    assert (path.largest_acceleration >= 0.97 * np.abs(fine).max(axis=0)).all()
    assert (path.largest_acceleration <= np.abs(fine).max(axis=0) * (1 + 3e-3) + 1e-9).all()


def test_a_path_of_points_alone_is_the_quintic_spline_at_its_knots():
    """Smooth, from positions: the derivatives at the points are those of scipy's quintic spline at rest at its ends."""
    from scipy.interpolate import make_interp_spline

    t, q = np.array([0.0, 0.7, 1.5, 2.0, 3.1]), np.array([[0.0], [1.0], [0.4], [-0.3], [0.2]])
    zero = np.zeros(1)
    spline = make_interp_spline(t, q, k=5, bc_type=([(1, zero), (2, zero)], [(1, zero), (2, zero)]))
    path = Path(t, q)
    for time in t[1:-1]:
        np.testing.assert_allclose(path.at(time)[:4, 0], [spline(time, nu=d)[0] for d in range(4)], atol=1e-9)


def test_steps_are_even_between_the_points():
    path = Path([0.0, 1.0, 1.25], np.zeros((3, 1)))
    np.testing.assert_allclose(instants(path, 0.3), [0.0, 0.25, 0.5, 0.75, 1.0, 1.25])
    np.testing.assert_allclose(instants(path, 0.25), [0.0, 0.25, 0.5, 0.75, 1.0, 1.25])
    np.testing.assert_allclose(instants(path, 5.0), [0.0, 1.0, 1.25])


def test_a_filled_trajectory_is_a_line_within_its_tolerance_through_the_fewest_points(make_loop, path):
    loop = make_loop('computed_torque')
    shares = []
    found = fill_effort(loop, path, period=0.01, tolerance=0.02, max_spacing=0.3, tell=shares.append)
    time = instants(path, 0.01)
    motion = path.sample(time)
    other = make_loop('computed_torque')
    effort = np.array([other.law_along(row, 0.0, 0.01) for row in motion])
    keep = np.searchsorted(time, found.time - 1e-9)
    np.testing.assert_allclose(found.effort, effort[keep], atol=1e-9)
    for row, name in enumerate(('q', 'dq', 'ddq')):
        np.testing.assert_allclose(getattr(found, name), motion[keep, row], atol=1e-9)
    assert np.diff(found.time).max() <= 0.3 + 1e-9 and {0.0, 2.5, 5.0} <= set(np.round(found.time, 9))
    line = np.stack([np.interp(time, found.time, found.effort[:, j]) for j in range(6)], axis=1)
    allowed = 0.02 * loop.gate.limit
    assert (np.abs(line - effort) <= allowed + 1e-9).all()
    assert shares == pytest.approx(np.arange(1, len(time) + 1) / len(time))
    for i, j in pairwise(keep):
        # one further would have been beyond the tolerance, the spacing, or a point of the path
        k = j + 1
        if j >= len(time) - 1 or time[j] in path.times or time[k] - time[i] > 0.3 + 1e-9:
            continue
        share = ((time[i + 1 : k] - time[i]) / (time[k] - time[i]))[:, None]
        off = np.abs(effort[i] + share * (effort[k] - effort[i]) - effort[i + 1 : k])
        assert (off > allowed).any()


# ---- compensation and gains


def curve(unloaded, speed):
    values = np.asarray(unloaded, dtype=float)
    return DirectionCheck(
        'j', 'positive', 20.0, 1.5, 0.3, 'mixed', (), True, False, speed, np.ones_like(speed), values, 0.1 * values,
        values,
    )  # fmt: skip


def test_the_cycle_of_coulomb_and_viscous_friction_is_four_over_pi_of_the_crossing():
    speed = np.linspace(1e-4, 3.0, 6000)
    over = curve(2.0 - 4.0 * speed, speed)
    (cycle,) = limit_cycles(over, over, 80.0, 0.2)
    V = 4 / math.pi * 0.5
    assert cycle.speed == pytest.approx(V, rel=1e-4) and cycle.stable is True
    assert cycle.amplitude == pytest.approx(V * math.sqrt(0.2 / 80.0), rel=1e-4)
    assert cycle.period == pytest.approx(2 * math.pi * math.sqrt(0.2 / 80.0))
    (bare,) = limit_cycles(over, over, 80.0)
    assert bare.amplitude is None and bare.period is None
    (unstable,) = limit_cycles(curve(-2.0 + 4.0 * speed, speed), curve(-2.0 + 4.0 * speed, speed))
    assert unstable.stable is False and unstable.speed == pytest.approx(V, rel=1e-4)
    # what one direction adds the other takes
    (mixed,) = limit_cycles(curve(3.0 - 4.0 * speed, speed), curve(1.0 - 4.0 * speed, speed))
    assert mixed.speed == pytest.approx(V, rel=1e-4)
    assert limit_cycles(curve(-1.0 - speed, speed), curve(-1.0 - speed, speed)) == []
    summary = JointCheck('j', over, over, (LimitCycle(1.0, True, 0.1, 0.5),)).summary()
    assert summary['limit_cycles'] == [{'speed': 1.0, 'stable': True, 'amplitude': 0.1, 'period': 0.5}]
    assert (summary['joint'], summary['temperature'], summary['runs_away']) == ('j', 20.0, True)
    k = int(np.argmax(over.excess))
    assert summary['directions'][0] == {
        'direction': 'positive', 'verdict': 'mixed', 'runs_away': True, 'might_run_away': False, 'crossings': [],
        'largest_excess': over.excess[k], 'at_speed': speed[k], 'at_load': 1.5, 'at_position': 0.3,
    }  # fmt: skip


def test_figures_of_gains_by_their_formulas():
    p, d = np.array([123456.0, 4.0]), np.array([6.0, 1.23456])
    smallest, largest, F = np.array([0.5, 0.1]), np.array([2.0, 0.3]), np.array([1.0, 0.0])
    gains = EffortGains(('a', 'b'), 0.01, p, d, smallest, largest, F, np.array([8.0, 2.0]))
    for k in range(2):
        assert gains.ratio[k] == pytest.approx(d[k] * 0.01 / smallest[k])
        assert gains.damping[k] == pytest.approx((d[k] + F[k]) / (2 * math.sqrt(p[k] * largest[k])))
        assert gains.sag[k] == pytest.approx([8.0, 2.0][k] / p[k])
    assert gains.as_parameters() == {
        'a': {'p': 123500.0, 'i': 0.0, 'd': 6.0, 'ff_velocity_scale': 0.0},
        'b': {'p': 4.0, 'i': 0.0, 'd': 1.235, 'ff_velocity_scale': 0.0},
    }
    assert EffortGains(('a', 'b'), 0.01, p, d, smallest, largest).sag.tolist() == [0.0, 0.0]


@pytest.mark.parametrize('delay', [0.0, 0.0031])
def test_gains_of_a_rigid_arm_by_their_formulas(robot, delay):
    """d T/I at most the ratio of the bound for that many periods; p from the damping where the inertia is largest."""
    arm = Arm(robot, rotor_inertia=np.full(6, 0.3))
    gains = effort_gains(arm, 0.002, ratio=0.3, damping=0.7, delay=delay)
    late = 1 if delay == 0.0 else 3
    bound = 2 * math.sin(math.pi / (4 * late + 2))
    assert (gains.ratio <= 0.3 * bound * (1 + 1e-9)).all() and gains.ratio.max() > 0.2 * bound
    np.testing.assert_allclose(gains.damping, 0.7)
    rng = np.random.default_rng(0)
    low, high = np.clip(robot.limits.lower, -np.pi, np.pi), np.clip(robot.limits.upper, -np.pi, np.pi)
    for q in rng.uniform(low, high, (60, 6)):
        M = arm.rigid.mass_matrix(q) + 0.3 * np.eye(6)
        free = 1 / np.diag(np.linalg.inv(M))
        assert (free > 0.97 * gains.smallest).all() and (np.diag(M) < 1.03 * gains.largest).all()
        assert (np.abs(arm.rigid.gravity(q)) <= 1.05 * gains.gravity + 0.2).all()
        assert np.linalg.eigvals(0.002 * np.linalg.inv(M) * gains.d).real.max() < 0.95 * bound


@pytest.mark.parametrize('feedback', ['link', 'motor'])
def test_the_radius_of_a_loop_is_how_fast_it_dies_away(feedback):
    """Against stepping the loop itself, its torque so many periods late."""
    rng = np.random.default_rng(5)
    K = np.array([4e3, 3e3])
    joints = ElasticJoints(K, np.array([2.0, 3.0]), np.array([1.0, 0.5]), np.diag([0.3, 0.2]), feedback)
    loop = joints.sampled(np.array([[0.6, 0.1], [0.1, 0.4]]), 0.002)
    p, d = np.array([30.0, 20.0]), np.array([3.0, 2.0])
    offset = 0 if feedback == 'link' else 2

    def dying(late):
        x, under_way = rng.normal(size=8), [np.zeros(2)] * late
        sizes = []
        for _ in range(6000):
            asked = -p * x[offset : offset + 2] - d * x[4 + offset : 6 + offset]
            under_way.append(asked)
            x = loop.A @ x + loop.B @ under_way.pop(0)
            sizes.append(np.linalg.norm(x / [1, 1, 1, 1, 100, 100, 100, 100]))
        return (max(sizes[-500:]) / max(sizes[-3500:-3000])) ** (1 / 3000)

    rates = [dying(late) for late in (0, 1, 2)]
    for late in (0, 1, 2):
        assert loop.spectral_radius(p, d, late) == pytest.approx(max(rates[: late + 1]), rel=2e-4)
    assert loop.stable(p, d) == all(loop.spectral_radius(f * p, f * d) < 1 for f in (1.0, 2.0))
    assert not loop.stable(1e4 * p, d)
    one = joints.alone(1)
    assert (one.stiffness, one.damping, one.viscous, one.rotors, one.feedback) == (3e3, 3.0, 0.5, 0.2, feedback)
    assert isinstance(loop, SampledArm)


def test_flexible_joints_are_those_at_their_softest_and_stiffest(make_arm):
    arm = make_arm(damping=np.array([5.0, 0.0, 5.0, 0.0, 5.0, 5.0]))
    limit = arm.robot.limits.effort
    slopes = arm.stiffness.stiffness(arm.deformation(np.linspace(0, 1, 33)[:, None] * limit))
    found = sorted(elastic_joints(arm, damping_ratio=0.1, feedback='motor'), key=lambda one: one.stiffness[0])
    inertia = np.diag(arm.rigid.mass_matrix(np.zeros(6)))
    rotors = np.diag(arm.rotor_torque(np.eye(6)))
    for one, K in zip(found, (slopes.min(axis=0), slopes.max(axis=0)), strict=True):
        np.testing.assert_allclose(one.stiffness, K)
        assumed = 0.2 * np.sqrt(K * inertia * rotors / (inertia + rotors))
        np.testing.assert_allclose(one.damping, np.where(arm.damping > 0, arm.damping, assumed))
        np.testing.assert_allclose(one.rotors, np.diag(rotors))
        np.testing.assert_allclose(one.viscous, np.where(arm.friction_described, 6.0, 0.0))
        assert one.feedback == 'motor'
    (stated,) = elastic_joints(arm, np.full(6, 1e4))
    assert stated.stiffness.tolist() == [1e4] * 6 and stated.feedback == 'link'
    falling = FrictionModel({'F_C0': np.full(6, 7.0), 'F_V1': np.array([3.0, -2.0, 1.0, 1.0, 1.0, 1.0])})
    scaled = make_arm(
        friction=falling, friction_scale=np.tile([0.5, 0.0], (6, 1)), friction_described=np.arange(6) != 3
    )
    (one,) = elastic_joints(scaled, np.full(6, 1e4))
    assert one.viscous.tolist() == [1.5, 0.0, 0.5, 0.0, 0.5, 0.5]


# ---- friction


def test_friction_along_the_desired_motion_by_its_formula(make_arm):
    """gain · (α1 F(τ_J) H + α2 ω + F_v(ω, T)): H of the desired angle, less of it where the motion stands."""
    rng = np.random.default_rng(4)
    arm = make_arm(kinematic_error=None)
    gain = np.array([1.0, 0.9, 0.8, 1.1, 1.2, 0.5])
    given = FrictionCompensation(arm, 'hysteresis', gain=gain, rest_gain=0.25)
    given.adapt(np.full(6, 1.3), np.full(6, 0.02))
    given.warm(np.array([20.0, 31.0, np.nan, 25.0, 26.0, 400.0]))
    expected_T = np.array([20.0, 31.0, arm.friction.parameters['T_0'][2], 25.0, 26.0, 0.0])
    expected_T[5] = arm.friction.parameters['T_max'][5]
    np.testing.assert_array_equal(given.temperature, expected_T)
    slip = MaxwellSlip(6, 5e-4)
    theta = np.zeros(6)
    for _ in range(50):
        theta = theta + 1e-4 * rng.normal(size=6)
        omega, load = 0.05 * rng.normal(size=6), 30.0 * rng.normal(size=6)
        H = slip.step(theta)
        H = H * (0.25 + 0.75 * np.minimum(np.abs(omega) / DRIVEN, 1.0))
        dry = 1.3 * arm.friction.dry(H, omega, load) + 0.02 * omega
        expected = gain * (dry + arm.friction.speed_part(H, omega, expected_T))
        np.testing.assert_allclose(given.torque(theta, theta, omega, load), expected, rtol=1e-9, atol=1e-9)
        in_slip = np.sign(omega)
        expected = gain * (
            1.3 * arm.friction.dry(in_slip, omega, load)
            + 0.02 * omega
            + arm.friction.speed_part(in_slip, omega, expected_T)
        )
        np.testing.assert_allclose(given.in_slip(theta, omega, load), expected, rtol=1e-9, atol=1e-9)
    given.adapt(np.array([9.0, 0.1, np.nan, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.03, -9.0, 9.0, np.nan]))
    np.testing.assert_array_equal(given.alpha[:, 0], [2.5, 0.4, 1.3, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(given.alpha[:, 1], [0.0, 0.0, 0.03, -0.05, 0.05, 0.02])
    smooth = FrictionCompensation(arm, 'static', smoothing=0.1)
    omega = np.linspace(-0.3, 0.3, 6)
    H = np.tanh(omega / 0.1)
    expected = arm.friction.dry(H, omega, np.zeros(6)) + arm.friction.speed_part(H, omega, smooth.temperature)
    np.testing.assert_allclose(smooth.torque(theta, None, omega, np.zeros(6)), expected, rtol=1e-9)
    none = FrictionCompensation(arm, 'none')
    assert not none.torque(theta, theta, omega, omega).any() and not none.in_slip(theta, omega, omega).any()


# ---- the loop


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


def test_an_end_that_holds_lasts_the_ramp_and_the_time_asked_for(make_loop, path, feed):
    loop = make_loop('computed_torque', settings=LoopSettings(ramp_time=0.125))
    for k in range(100):
        feed(loop, path.at(0.002 * k), 0.002 * k)
        loop.step(0.002 * k, 0.002)
    ends = list(loop.end_holding(0.0625, 0.015625))
    assert len(ends) == 13 and loop.fallback_reason == 'not active' and not loop.gate.is_open
    np.testing.assert_allclose(ends[-1], loop.safe_command, atol=1e-9)
    assert np.abs(ends[-1]).max() > 1.0 and list(loop.end_holding(0.05, 0.01)) == []


def test_what_is_added_goes_with_the_law_in_its_unit(make_arm, path, feed):
    arm = make_arm(friction=None)
    for output in ('effort', 'current'):
        commands = []
        for more in (0.0, 3.0):
            loop = ControlLoop(create('computed_torque'), arm, LoopSettings(), {'output': output})
            loop.activate()
            for k in range(400):
                loop.added[:] = more
                feed(loop, path.at(0.0), 0.002 * k)
                out = loop.step(0.002 * k, 0.002)
            commands.append(out)
        unit = np.ones(6) if output == 'effort' else arm.drive_gain
        np.testing.assert_allclose((commands[1] - commands[0]) * unit, 3.0, rtol=1e-6)
    assert isinstance(loop.arm.robot, RobotModel)


def test_the_plugin_and_what_precedes_it_in_the_parameter_file():
    one = np.ones(2)
    gains = EffortGains(('a', 'b'), 0.004, one, one, one, one)
    found = controller_parameters(gains, plugin={'law': 'flexible_joint', 'kd': {'a': 1.0, 'b': 2.0}})['/**']
    assert found['feedforward_controller']['ros__parameters'] == {
        'type': 'joint_dynamics_controllers/FeedforwardController', 'joints': ['a', 'b'], 'feedback': True,
        'kp': {'a': 400.0, 'b': 400.0}, 'ki': {'a': 0.0, 'b': 0.0}, 'kd': {'a': 1.0, 'b': 2.0},
        'law': 'flexible_joint',
    }  # fmt: skip
    assert found['feedforward_trajectory_controller']['ros__parameters'] == {
        'type': 'joint_trajectory_controller/JointTrajectoryController', 'joints': ['a', 'b'],
        'command_joints': ['feedforward_controller/a', 'feedforward_controller/b'],
        'command_interfaces': ['position', 'velocity', 'acceleration'],
        'state_interfaces': ['position', 'velocity'],
    }  # fmt: skip
    plain = found['plain_trajectory_controller']['ros__parameters']
    assert plain.pop('gains') == found['effort_trajectory_controller']['ros__parameters']['gains']
    assert plain == {
        **found['feedforward_trajectory_controller']['ros__parameters'], 'command_interfaces': ['effort']
    }  # fmt: skip
    manager = found['controller_manager']['ros__parameters']
    assert manager['update_rate'] == 250
    for name in ('feedforward_controller', 'feedforward_trajectory_controller', 'plain_trajectory_controller'):
        assert manager[name] == {'type': found[name]['ros__parameters']['type']}
    assert 'feedforward_controller' not in controller_parameters(gains)['/**']


def test_a_loop_remarks_what_its_law_does(make_loop):
    loop = make_loop('computed_torque')
    assert loop.remarks == loop.controller.remarks != loop.arm.remarks
    assert loop.remarks[-1].endswith(': not used by ComputedTorque')
    assert loop.beyond == loop.controller.beyond == ()


def test_a_host_of_some_of_the_joints(robot, collector):
    names = tuple(robot.joint_names)
    given = {'use_description': False, 'law': 'computed_torque', 'joints': list(names[:4])}
    expected = RobotModel.load(ur5e_urdf().read_text(), joints=list(names[:4])).joint_names
    assert HostedLoop(ur5e_urdf().read_text(), '', given).joint_names == expected != names


def test_where_its_bounds_are_equal_the_viscous_part_stays(make_arm):
    arm = make_arm(kinematic_error=None)
    fixed = FrictionCompensation(arm, 'static', alpha_bounds=([0.4, 0.01], [2.5, 0.01]), viscous_share=0.5)
    for excess in (-1.0, 1.0):
        fixed.adapt(np.ones(6), np.full(6, excess))
        np.testing.assert_array_equal(fixed.alpha, np.tile([1.0, 0.01], (6, 1)))
    free = FrictionCompensation(arm, 'static', alpha_bounds=([0.4, -0.01], [2.5, 0.01]), viscous_share=0.5)
    free.adapt(np.ones(6), np.full(6, 9.0))
    np.testing.assert_allclose(free.alpha[:, 1], 0.5 * arm.friction.viscous(np.ones(6)))
