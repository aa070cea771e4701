"""That a limit is kept is a proof.

Nothing at a thousand times the sampling is beyond what was certified, and what breaks a limit is refused.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import (
    Braking,
    FourierBasis,
    FourierTrajectory,
    LimitSettings,
    Move,
    PayloadSettings,
    PiecewiseTrajectory,
    Playback,
    SampledTrajectory,
    Succession,
    make_profile,
)
from joint_dynamics.excitation.assessment import keeps
from joint_dynamics.excitation.constraint import certified_margins, certified_within_limits
from joint_dynamics.excitation.constraints import TorqueBound
from joint_dynamics.excitation.limits import MotionLimits, parameters_with_payload
from joint_dynamics.excitation.majorants import point_acceleration, torque_bounds
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.excitation.trajectory import JointPieces
from joint_dynamics.robot import PER_JOINT, RobotModel

RATE = 10.0
"""Samples per second of a search for motions as here: 20 per cycle of the highest harmonic."""
LIMITS = LimitSettings(
    height=[-0.6, 1.6], radius=[0, 1.3], torque=25, payload=PayloadSettings(1), viscous_friction=0.5, coulomb_friction=2
)
KINDS = ('series', 'series from a posture', 'move', 'points', 'pieces', 'succession', 'braking', 'braking pieces')
RADIUS = 0.05


def fourier(arm, rng, posture=False):
    basis = FourierBasis(
        rng.uniform(3, 8), int(rng.integers(1, 6)), int(rng.integers(1, 4)), rng.uniform(0.3, 2), not posture
    )
    size = 0.5 * rng.uniform(0.2, 1) / np.tile(np.arange(1, basis.harmonics + 1), 2)
    coefficients = np.column_stack([rng.uniform(-1, 1, arm.n), rng.standard_normal((arm.n, basis.count - 1)) * size])
    return FourierTrajectory(arm.joint_names, basis, coefficients, rng.uniform(-1, 1, arm.n) if posture else None)


def pieces(arm, rng):
    joints = []
    for _ in range(arm.n):
        joint = JointPieces(rng.uniform(-1, 1))
        for _ in range(int(rng.integers(1, 6))):
            joint.wait(rng.uniform(0, 0.3))
            joint.move_to(rng.uniform(-1.5, 1.5), rng.uniform(0.3, 2.5), rng.uniform(1, 6))
        joints.append(joint)
    return PiecewiseTrajectory(arm.joint_names, joints)


def draw(arm, kind, rng):
    """A motion of the kind, without any regard to limits."""
    if kind.startswith('series'):
        return fourier(arm, rng, kind != 'series')
    if kind == 'move':
        return Move(arm.joint_names, rng.uniform(-1, 1, arm.n), rng.uniform(-1, 1, arm.n), rng.uniform(0.5, 3))
    if kind == 'pieces':
        return pieces(arm, rng)
    if kind == 'braking':
        series = fourier(arm, rng)
        return Braking(
            series, rng.uniform(0, series.duration), MotionLimits.of(arm, LIMITS), lead=rng.uniform(0.0, 0.3)
        )
    if kind == 'braking pieces':
        motion = pieces(arm, rng)
        return Braking(
            motion, rng.uniform(0, motion.duration), MotionLimits.of(arm, LIMITS), lead=rng.uniform(0.0, 0.3)
        )
    if kind == 'points':
        q = 0.4 * rng.standard_normal((int(rng.integers(4, 9)), arm.n))
        time = np.cumsum(rng.uniform(0.1, 0.6, len(q)))
        dq = 0.5 * rng.standard_normal(q.shape)
        return SampledTrajectory(arm.joint_names, time, q, dq, rng.standard_normal(q.shape))
    series = fourier(arm, rng)
    motion = pieces(arm, rng)
    return Succession([series, Move(arm.joint_names, series.posture, motion.position(0.0)[0], 1.5), motion])


def both_sides(trajectory, rate):
    """States at `rate` Hz and at both sides of every knot, (joints, samples) each."""
    knots = trajectory.knots
    middle = (knots[1:] + knots[:-1]) / 2
    inner = np.linspace(0, trajectory.duration, int(trajectory.duration * rate) + 2)
    parts = [
        trajectory.motion(inner),
        trajectory.one_sided(knots[:-1], middle),
        trajectory.one_sided(knots[1:], middle),
    ]
    return [np.concatenate([part[k] for part in parts], axis=1) for k in range(3)]


def sampled_margins(arm, limits, trajectory, rate):
    """Margins at the samples, by the robot's own regressor and, for the places, by the arm's own trigonometry."""
    found = MotionLimits.of(arm, limits)
    q, dq, ddq = both_sides(trajectory, rate)
    torque = arm.inverse_dynamics(q.T, dq.T, ddq.T, parameters_with_payload(arm, limits)).T
    a, b, c = q
    out = np.array([np.cos(a), np.sin(a), 0 * a])
    up = np.array([0.0, 0.0, 1.0])[:, None]
    second = 0.5 * up + 0.4 * out
    third = second + 0.4 * (np.cos(b) * out - np.sin(b) * up)
    last = third + 0.4 * (np.cos(b + c) * out - np.sin(b + c) * up)
    tip = last + 0.05 * (np.sin(b + c) * out + np.cos(b + c) * up)
    base = np.array([-0.2, 0.0, 0.0])[:, None]
    distance = min(
        np.linalg.norm(one - other, axis=0).min() - 2 * RADIUS
        for one, other in ((base, third), (base, last), (second, last))
    )
    radius = np.hypot(tip[0], tip[1])
    half = found.half_range[:, None]
    return {
        'position': 1 - (np.abs(q - found.middle[:, None]) / half).max(),
        'velocity': 1 - (np.abs(dq) / found.velocity[:, None]).max(),
        'acceleration': 1 - (np.abs(ddq) / found.acceleration[:, None]).max(),
        'torque': 1 - (np.abs(torque) / found.torque[:, None]).max(),
        'radius': min(radius.min(), 1.3 - radius.max()) / 0.65,
        'height': min(tip[2].min() + 0.6, 1.6 - tip[2].max()) / 1.1,
        'clearance': (distance - 0.01) / 0.01,
    }


@pytest.fixture(scope='module')
def constraints(arm):
    return all_constraints(arm, LIMITS)


@pytest.mark.parametrize('kind', KINDS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_nothing_at_a_thousand_times_the_sampling_is_beyond_what_was_certified(arm, constraints, kind, seed):
    trajectory = draw(arm, kind, np.random.default_rng(seed))
    certified = certified_margins(arm, trajectory, constraints)
    sampled = sampled_margins(arm, LIMITS, trajectory, 1000 * RATE)
    assert set(certified) == set(sampled)
    for name, margin in certified.items():
        # what the samples give has rounding of its own
        assert margin <= sampled[name] + 1e-9, name
        # a joint at rest may need its Coulomb friction, 2 of 25 N·m, in either direction, which no sample at speed zero
        # shows
        slack = 0.01 + (2 * 2.0 / 25.0 if name == 'torque' else 0.0)
        assert margin >= sampled[name] - slack, name


@pytest.mark.parametrize('kind', KINDS)
def test_the_torque_without_coulomb_friction_is_certified_to_a_hundredth_of_a_percent(arm, kind):
    limits = replace(LIMITS, coulomb_friction=0.0)
    for seed in range(3):
        trajectory = draw(arm, kind, np.random.default_rng(seed))
        certified = certified_margins(arm, trajectory, all_constraints(arm, limits))['torque']
        assert certified <= sampled_margins(arm, limits, trajectory, 1000 * RATE)['torque'] + 1e-9 <= certified + 1.1e-4


@pytest.mark.parametrize('kind', KINDS)
def test_bounds_of_the_derivatives_are_bounds(arm, kind):
    for seed in range(4):
        trajectory = draw(arm, kind, np.random.default_rng(seed))
        knots = trajectory.knots
        knots = knots[np.append(True, np.diff(knots) > 1e-3)]
        t = np.concatenate([np.linspace(a, b, 4) for a, b in itertools.pairwise(knots)])
        begin, end = t[:-1], t[1:]
        begin, end = begin[end > begin], end[end > begin]
        bounds = trajectory.majorants(begin, end)
        middle = (begin + end) / 2
        for share in np.linspace(0, 1, 23):
            q, dq, ddq = trajectory.one_sided(begin + share * (end - begin), middle)
            for values, bound in ((q, bounds[0]), (dq, bounds[1]), (ddq, 2 * bounds[2])):
                assert np.all(np.abs(values) <= bound * (1 + 1e-9) + 1e-9)
        # the third and fourth derivative by differences of the second, whose error is that of rounding over the step
        h = (end - begin) / 20
        before, here, after = (trajectory.one_sided(middle + k * h, middle)[2] for k in (-1, 0, 1))
        size = 1e-13 * trajectory.magnitude()[2][:, None]
        assert np.all(np.abs(after - before) / (2 * h) <= 6 * bounds[3] * (1 + 1e-6) + size / h)
        assert np.all(np.abs(after - 2 * here + before) / h**2 <= 24 * bounds[4] * (1 + 1e-6) + 4 * size / h**2)


@pytest.mark.parametrize('kind', ['acceleration', 'clearance', 'height', 'position', 'radius', 'torque', 'velocity'])
def test_a_limit_that_is_broken_between_the_samples_only_is_seen(arm, kind):
    """The limit is put half way between the worst sample of a grid and the worst there is."""
    wide = LimitSettings(
        safety_factor=1, velocity=50, acceleration=500, torque=500, height=[-5, 5], radius=[-1, 5], clearance=0.001
    )
    found = 0
    for seed in range(12):
        trajectory = fourier(arm, np.random.default_rng(seed)).without_repetition()
        grid = np.linspace(0, trajectory.duration, int(RATE * trajectory.duration))
        coarse, fine = (
            float(_extreme(arm, kind, trajectory, times))
            for times in (grid, np.linspace(0, trajectory.duration, 40001))
        )
        limit = (coarse + fine) / 2
        if abs(coarse - fine) < 1e-4 * abs(limit) or (kind == 'clearance' and limit < 0.01):
            continue
        changed = {
            'position': {'lower': -limit, 'upper': limit},
            'height': {'height': [None, limit]},
            'radius': {'radius': [None, limit]},
        }.get(kind, {kind: limit})
        constraints = [one for one in all_constraints(arm, replace(wide, **changed)) if one.kind == kind]
        assert keeps(arm, trajectory, grid, constraints)
        assert not certified_within_limits(arm, trajectory, constraints)
        assert certified_margins(arm, trajectory, constraints)[kind] < 0
        found += 1
    assert found >= 3


@pytest.mark.parametrize('kind', ['acceleration', 'torque', 'height', 'clearance'])
def test_a_limit_that_is_just_kept_is_not_called_broken(arm, kind):
    """A few millionths of the limit are left: less than the precision of a margin, and yet the sign is right."""
    wide = LimitSettings(
        safety_factor=1.0, velocity=50.0, acceleration=500.0, torque=500.0, height=[-5, 5], clearance=0.001
    )
    found = 0
    for seed in range(8):
        trajectory = fourier(arm, np.random.default_rng(seed)).without_repetition()
        fine = np.linspace(0, trajectory.duration, 200001)
        limit = float(_extreme(arm, kind, trajectory, fine))
        if kind == 'clearance' and limit < 0.02:
            continue
        # the proof takes 10 µm off a distance; what 200,000 samples may miss is far below the rest
        limit = limit - 2e-5 if kind == 'clearance' else limit + 5e-6 * abs(limit)
        changed = {kind: [None, limit]} if kind == 'height' else {kind: limit}
        constraints = [one for one in all_constraints(arm, replace(wide, **changed)) if one.kind == kind]
        assert certified_within_limits(arm, trajectory, constraints)
        assert 0 <= certified_margins(arm, trajectory, constraints)[kind] < 1e-3
        found += 1
    assert found >= 3


def test_a_motion_given_to_reach_its_limits_exactly_is_within_them(arm):
    limits = MotionLimits.of(arm, LimitSettings())
    of_a = (limits.lower, limits.upper, limits.velocity, limits.acceleration)
    start, stop, speed, acceleration = (float(limit[0]) for limit in of_a)
    options = {'joint': 'a', 'start': start, 'stop': stop, 'speeds': [speed], 'acceleration': acceleration}
    _, assessment = make_profile(arm, 'constant_speed', options, LimitSettings(clearance=None), posture=[0, 0, 0.2])
    assert assessment.feasible
    for kind in ('position', 'velocity', 'acceleration'):
        assert abs(assessment.margins[kind]) <= 1e-9
    options['speeds'] = [float(limits.velocity[0]) * (1 + 1e-8)]
    with pytest.raises(JointDynamicsError, match='found velocity exceeded'):
        make_profile(arm, 'constant_speed', options, LimitSettings(clearance=None), posture=[0, 0, 0.2])


def _extreme(arm, kind, trajectory, times):
    """What a limit of this kind would have to be for the worst of the samples to be just within it."""
    motion = RobotMotion(arm, *trajectory.motion(times))
    if kind in ('position', 'velocity', 'acceleration'):
        return np.abs({'position': motion.q, 'velocity': motion.dq, 'acceleration': motion.ddq}[kind]).max()
    if kind == 'torque':
        return np.abs(arm.inverse_dynamics(motion.q.T, motion.dq.T, motion.ddq.T)).max()
    point = motion.frames.point(2, np.array([0.4, 0, 0.05]))
    if kind == 'height':
        return point[2].max()
    if kind == 'radius':
        return np.hypot(point[0], point[1]).max()
    base, places = np.array([-0.2, 0, 0])[:, None], [motion.frames.point(k, np.array([0.4, 0, 0])) for k in range(3)]
    return min(
        np.linalg.norm(a - b, axis=0).min() - 2 * RADIUS
        for a, b in ((base, places[1]), (base, places[2]), (places[0], places[2]))
    )


SLIDER = """<robot name="slider">{links}
<joint name="x" type="prismatic"><parent link="base"/><child link="l1"/><origin rpy="0.3 0.2 0"/><axis xyz="0 1
0"/><limit lower="-0.5" upper="0.5" velocity="1" effort="200"/></joint> <joint name="spin" type="continuous"><parent
link="l1"/><child link="l2"/><origin xyz="0.3 0 0.1"/><axis xyz="0 0.6 0.8"/><limit velocity="3" effort="40"/></joint>
<joint name="y" type="prismatic"><parent link="l2"/><child link="l3"/><origin xyz="0.1 0.2 0"/><axis xyz="1 0 0"/><limit
lower="-0.3" upper="0.4" velocity="1" effort="90"/></joint> <joint name="held" type="revolute"><parent link="l3"/><child
link="l4"/><origin xyz="0.1 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="20"/></joint>
<joint name="w" type="revolute"><parent link="l4"/><child link="l5"/><origin xyz="0.2 0 0"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" velocity="2" effort="20"/></joint></robot>"""
LINK = """<link name="{name}"><inertial><origin xyz="0.1 0.05 -0.02"/><mass value="2"/>
  <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.002" ixz="0.001"
iyz="-0.003"/></inertial></link>"""


@pytest.fixture(scope='module')
def slider():
    """Slides, a joint without limits, and one that is locked."""
    text = SLIDER.format(links=''.join(LINK.format(name=name) for name in ('base', 'l1', 'l2', 'l3', 'l4', 'l5')))
    return RobotModel.from_urdf(text, joints=['x', 'spin', 'y', 'w'], locked={'held': 0.4})


@pytest.mark.parametrize('seed', range(6))
def test_slides_joints_without_limits_and_locked_joints(slider, seed):
    limits = LimitSettings(height=[-3, 3], radius=[0, 3])
    rng = np.random.default_rng(seed)
    trajectory = fourier(slider, rng)
    certified = certified_margins(slider, trajectory, all_constraints(slider, limits))
    q, dq, ddq = both_sides(trajectory.without_repetition(), 1000 * RATE)
    found = MotionLimits.of(slider, limits)
    assert found.upper[1] == pytest.approx(np.pi)
    torque = slider.inverse_dynamics(q.T, dq.T, ddq.T).T
    sampled = 1 - (np.abs(torque) / found.torque[:, None]).max()
    assert certified['torque'] <= sampled + 1e-9 <= certified['torque'] + 1.1e-4
    for values, limit, kind in ((dq, found.velocity, 'velocity'), (ddq, found.acceleration, 'acceleration')):
        sampled = 1 - (np.abs(values) / limit[:, None]).max()
        assert certified[kind] <= sampled + 1e-9 <= certified[kind] + 1.1e-4


def test_coupled_drives_count(coupled):
    limits = LimitSettings(torque_limit=False, velocity=3.0)
    assert certified_margins(coupled, fourier(coupled, np.random.default_rng(0)), all_constraints(coupled, limits))
    rng = np.random.default_rng(3)
    parameters = rng.uniform(0, 1, len(coupled.parameter_names))
    bound = TorqueBound(coupled, parameters, np.full(6, 300.0))
    for seed in range(4):
        trajectory = fourier(coupled, np.random.default_rng(seed)).without_repetition()
        q, dq, ddq = both_sides(trajectory, 500 * RATE)
        sampled = 1 - np.abs(coupled.inverse_dynamics(q.T, dq.T, ddq.T, parameters)).max() / 300.0
        certified = certified_margins(coupled, trajectory, [bound])['torque']
        assert certified <= sampled + 1e-9
        # at most the Coulomb friction of what rests, both signs of it
        assert certified >= sampled - 0.02


def test_distances_of_bodies_are_certified_for_cylinders_too(ur5e):
    limits = LimitSettings(floor=-0.3)
    clearance = [one for one in all_constraints(ur5e, limits) if one.kind == 'clearance']
    rng = np.random.default_rng(4)
    for _ in range(4):
        basis = FourierBasis(5.0, 2, 1, 1.0, True)
        trajectory = FourierTrajectory(ur5e.joint_names, basis, 0.7 * rng.standard_normal((6, 5)))
        certified = certified_margins(ur5e, trajectory, clearance)['clearance']
        t = np.linspace(0, trajectory.duration, 3000)
        pairs = len(clearance[0].pairs)
        q = trajectory.motion(t)[0]
        sampled = min(clearance[0].distances(np.full(len(t), k), q).min() for k in range(pairs))
        assert certified <= (sampled - 0.01) / 0.01
        # the nearest of 3000 samples may itself be a few tenths of a millimetre above the smallest distance
        assert certified >= (sampled - 0.01) / 0.01 - 0.06


def test_a_repeated_motion_costs_and_says_what_one_period_does(arm, constraints):
    series = fourier(arm, np.random.default_rng(1))
    assert certified_margins(arm, series.repeated(50), constraints) == certified_margins(
        arm, series.repeated(1), constraints
    )
    whole = Succession([series.without_repetition()] * 20)
    assert certified_margins(arm, whole, constraints) == certified_margins(
        arm, series.without_repetition(), constraints
    )


def test_what_is_sent_is_played_within_the_limits_too(arm):
    """Points at 100 Hz with quintics between them, as a trajectory controller plays them, are checked as such."""
    series = fourier(arm, np.random.default_rng(2)).without_repetition()
    margins = certified_margins(
        arm, series, all_constraints(arm, LimitSettings(velocity=50, acceleration=500, torque=500.0))
    )
    assert margins['acceleration'] > 0
    top = (1 - margins['acceleration']) * 500
    for share, fits in ((1.01, True), (0.98, False)):
        limits = LimitSettings(velocity=50, acceleration=share * top, torque=500.0, clearance=None)
        samples = series.sample(100.0)
        again = SampledTrajectory(series.joint_names, samples.time, samples.q, samples.dq, samples.ddq)
        if fits:
            Playback(arm, limits, again)
        else:
            with pytest.raises(JointDynamicsError, match='found acceleration exceeded'):
                Playback(arm, limits, again)


@pytest.mark.parametrize('name', ['arm', 'slider'])
def test_torque_and_place_change_no_faster_than_their_bounds(name, request):
    """Parameter by parameter, so that no term stands in for another.

    Differences over [t − h, t + h] are derivatives at some time within it, by the mean value theorem.
    """
    model = request.getfixturevalue(name)
    h = 1e-3
    for seed in range(2):
        trajectory = fourier(model, np.random.default_rng(seed)).without_repetition()
        t = np.linspace(0, trajectory.duration, 60)
        t = t[np.abs(t[:, None] - trajectory.knots).min(axis=1) > h]
        states = [trajectory.motion(t + k * h) for k in (-1, 0, 1)]
        q = trajectory.majorants(t - h, t + h)
        rows = [model.regressor(*(one.T for one in state)) for state in states]
        for column, kind in enumerate(model.parameter_names):
            if column % PER_JOINT >= 10:
                continue
            parameters = np.zeros(len(model.parameter_names))
            parameters[column] = 1.0
            bound = torque_bounds(model.chain, parameters, q)
            before, here, after = (one[:, :, column].T for one in rows)
            size = 1e-14 * bound[0]
            assert np.all(np.abs(here) <= bound[0] + size), kind
            assert np.all(np.abs(after - before) / (2 * h) <= bound[1] + size / h), kind
            assert np.all(np.abs(after - 2 * here + before) / h**2 <= 2 * bound[2] + 4 * size / h**2), kind
        for link in range(model.n):
            for offset in (np.zeros(3), np.array([0.3, -0.2, 0.5])):
                places = [RobotMotion(model, *state).frames.point(link, offset) for state in states]
                fastest = point_acceleration(model.chain, link, offset, q)
                change = np.linalg.norm(places[2] - 2 * places[1] + places[0], axis=0) / h**2
                assert np.all(change <= fastest + 1e-14 / h**2)


@pytest.mark.parametrize('kind', ['series', 'move', 'pieces', 'braking'])
def test_the_proof_stands_on_its_bounds_and_not_on_how_finely_it_begins(arm, constraints, kind):
    """Begun with nothing but the ends of whole pieces.

    Where a bound were too small, what lies between would be missed.
    """
    for seed in range(5):
        trajectory = draw(arm, kind, np.random.default_rng(seed)).without_repetition()
        sampled = sampled_margins(arm, LIMITS, trajectory, 200 * RATE)
        for one in constraints:
            least = one.certified(arm, trajectory, trajectory.knots[:-1], trajectory.knots[1:])
            assert one.scale * least <= sampled[one.kind] + 1e-9, one.kind


def test_what_is_left_of_taylor_counts():
    """Two waves whose fourth and fifth derivatives vanish together at the middle of the interval.

    Only what is left remains.
    """
    basis = FourierBasis(4.0, 2, 2, 1.0, True)
    trajectory = FourierTrajectory(['a'], basis, np.array([[0.0, 0.0, 0.0, 1.0, -1.0 / 16]]))
    middle, half, w = basis.ramp + basis.period, 0.2, 2 * np.pi / basis.period
    bound = 24 * trajectory.majorants(np.array([middle - half]), np.array([middle + half]))[4, 0, 0]
    y = w * np.linspace(-half, half, 101)
    largest = np.abs(w**4 * (np.cos(y) - np.cos(2 * y))).max()
    assert largest > 0.05 * w**4
    assert largest <= bound <= 10 * largest


def test_distances_are_certified_from_the_ends_of_a_swing(arm):
    """The forearm swings past the base between two postures that are well clear of it."""
    clearance = next(one for one in all_constraints(arm, LimitSettings(clearance=0.3)) if one.kind == 'clearance')
    move = Move(arm.joint_names, [0.0, 1.2, 0.9], [0.0, 2.4, 1.6], 2.0)
    t = np.linspace(0, 2, 4001)
    q = move.motion(t)[0]
    along = np.min([clearance.distances(np.full(len(t), pair), q) for pair in range(len(clearance.pairs))], axis=0)
    assert along.min() < min(along[0], along[-1]) - 0.02
    least = clearance.certified(arm, move, np.array([0.0]), np.array([2.0]))
    assert 0.03 * least + 0.3 <= along.min()
    assert 0.03 * least + 0.3 >= along.min() - 0.005 * 0.3 - 1e-4
