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

"""Margins of motions: no sample is beyond a proved or checked margin, and a broken limit is refused."""

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
from joint_dynamics.excitation.collision import NEAR_DISTANCE
from joint_dynamics.excitation.constraint import CHECK_RATE, TOLERANCE, motion_margins, within_limits
from joint_dynamics.excitation.limits import MotionLimits, parameters_with_payload
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.excitation.trajectory import JointPieces, largest

RATE = 10.0  # Hz, sampling of a search for these motions: 20 samples per cycle of the highest harmonic
FINE = 400 * RATE  # Hz, of the samples that stand for the truth
LIMITS = LimitSettings(
    height=[-0.6, 1.6], radius=[0, 1.3], torque=25, payload=PayloadSettings(1), viscous_friction=0.5, coulomb_friction=2
)
KINDS = ('series', 'series from a posture', 'move', 'points', 'pieces', 'succession', 'braking', 'braking pieces')
RADIUS = 0.05  # m, of the spheres of the arm
PROVED = ('position', 'velocity', 'acceleration')


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


def missed_by_samples(trajectory, limits, rate):
    """Largest share of a limit by which a peak of position, speed or acceleration exceeds samples at `rate`."""
    knots = trajectory.knots
    bounds = trajectory.derivative_bounds((knots[1:] + knots[:-1]) / 2).max(axis=2)
    scales = (limits.half_range, limits.velocity, limits.acceleration)
    return [(bounds[order + 1] / scale).max() / rate**2 / 8 for order, scale in enumerate(scales)]


@pytest.mark.parametrize('kind', KINDS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_fine_sample_is_beyond_a_margin(arm, constraints, kind, seed):
    trajectory = draw(arm, kind, np.random.default_rng(seed))
    margins = motion_margins(arm, trajectory, constraints)
    sampled = sampled_margins(arm, LIMITS, trajectory, FINE)
    sampled['clearance'] = min(sampled['clearance'], NEAR_DISTANCE / 0.01)
    assert set(margins) == set(sampled)
    missed = dict(zip(PROVED, missed_by_samples(trajectory, MotionLimits.of(arm, LIMITS), FINE), strict=True))
    # a joint at rest may need its Coulomb friction, 2 of 25 N·m, in either direction
    slack = {'torque': 2 * 2.0 / 25.0}
    for one in constraints:
        reserve = 0.0 if one.kind in PROVED else one.scale * one.reserve
        # the samples have rounding of their own; what a checked margin misses grows with the amplitude
        assert margins[one.kind] <= sampled[one.kind] + reserve * max(0.0, -sampled[one.kind]) + 1e-9, one.kind
        tolerance = TOLERANCE + missed[one.kind] if one.kind in PROVED else 2 * reserve + slack.get(one.kind, 0.0)
        assert margins[one.kind] >= sampled[one.kind] - tolerance - 1e-9, one.kind


@pytest.mark.parametrize('order', range(3))
@pytest.mark.parametrize('cycles', [1, 3, 10])
def test_a_peak_midway_between_two_samples_is_bounded(order, cycles):
    """A cosine, sampled at steps of any length: somewhere in the sweep its peaks fall midway between two samples."""
    basis = FourierBasis(1.0, cycles, 1, 1.0, True)
    coefficients = np.zeros((1, basis.count))
    coefficients[0, -1] = 1.0
    trajectory = FourierTrajectory(['a'], basis, coefficients)
    w = 2 * np.pi * cycles
    peak = w**order
    for tolerance in np.geomspace(1e-4, 10.0, 40) * peak:
        bound = largest(trajectory, order, np.zeros(1), np.ones(1), tolerance)[0]
        assert peak * (1 - 1e-12) <= bound


@pytest.mark.parametrize('kind', KINDS)
def test_derivative_bounds_are_bounds(arm, kind):
    for seed in range(4):
        trajectory = draw(arm, kind, np.random.default_rng(seed))
        knots = trajectory.knots
        knots = knots[np.append(True, np.diff(knots) > 1e-3)]
        middle = (knots[1:] + knots[:-1]) / 2
        bounds = trajectory.derivative_bounds(middle)
        length = knots[1:] - knots[:-1]
        h = length / 200
        for share in np.linspace(0.01, 0.99, 51):
            t = knots[:-1] + share * length
            before, here, after = (trajectory.one_sided(t + k * h, middle) for k in (-1, 0, 1))
            assert np.all(np.abs(here[1]) <= bounds[0] * (1 + 1e-9) + 1e-9)
            assert np.all(np.abs(here[2]) <= bounds[1] * (1 + 1e-9) + 1e-9)
            # differences over [t − h, t + h] are derivatives at some time within it; the rounding of ddq over the step
            size = 1e-12 * np.abs(here[2]).max() + 1e-12
            third = np.abs(after[2] - before[2]) / (2 * h)
            fourth = np.abs(after[2] - 2 * here[2] + before[2]) / h**2
            assert np.all(third <= bounds[2] * (1 + 1e-6) + size / h)
            assert np.all(fourth <= bounds[3] * (1 + 1e-6) + 4 * size / h**2)


def test_motion_exactly_at_its_limits_is_within_them(arm):
    limits = MotionLimits.of(arm, LimitSettings())
    of_a = (limits.lower, limits.upper, limits.velocity, limits.acceleration)
    start, stop, speed, acceleration = (float(limit[0]) for limit in of_a)
    options = {'joint': 'a', 'start': start, 'stop': stop, 'speeds': [speed], 'acceleration': acceleration}
    _, assessment = make_profile(arm, 'constant_speed', options, LimitSettings(clearance=None), posture=[0, 0, 0.2])
    assert assessment.feasible
    for kind in ('position', 'velocity', 'acceleration'):
        assert abs(assessment.margins[kind]) <= 2 * TOLERANCE
    options['speeds'] = [float(limits.velocity[0]) * (1 + 1e-5)]
    with pytest.raises(JointDynamicsError, match='velocity'):
        make_profile(arm, 'constant_speed', options, LimitSettings(clearance=None), posture=[0, 0, 0.2])


@pytest.mark.parametrize('least', [0.01, 0.1])
def test_clearance_is_that_of_every_checked_sample(ur5e, least):
    """Measured at some samples and bounded at all others, yet the smallest distance is that of all samples."""
    limits = LimitSettings(floor=-0.3, clearance=least)
    clearance = next(one for one in all_constraints(ur5e, limits) if one.kind == 'clearance')
    rng = np.random.default_rng(4)
    for _ in range(4):
        basis = FourierBasis(2.0, 2, 1, 0.5, True)
        trajectory = FourierTrajectory(ur5e.joint_names, basis, 0.7 * rng.standard_normal((6, 5)))
        found = motion_margins(ur5e, trajectory, [clearance])['clearance']
        t = np.linspace(0, trajectory.duration, int(trajectory.duration * CHECK_RATE) + 1)
        every = clearance.distances(RobotMotion(ur5e, *trajectory.motion(t))).min()
        expected = min(every - least, NEAR_DISTANCE) - 0.03 * clearance.reserve
        assert found * least == pytest.approx(expected, abs=1e-5)


def test_a_repeated_motion_has_the_margins_of_one_period(arm, constraints):
    series = fourier(arm, np.random.default_rng(1))
    once = motion_margins(arm, series.repeated(1), constraints)
    assert motion_margins(arm, series.repeated(50), constraints) == once


def test_points_sent_are_checked_as_quintics_between_them(arm):
    """Points at 100 Hz with quintics between them, as a trajectory controller plays them, are checked as such."""
    series = fourier(arm, np.random.default_rng(2)).without_repetition()
    wide = LimitSettings(velocity=50, acceleration=500, torque=500.0)
    top = (1 - motion_margins(arm, series, all_constraints(arm, wide))['acceleration']) * 500
    for share, fits in ((1.01, True), (0.98, False)):
        limits = LimitSettings(velocity=50, acceleration=share * top, torque=500.0, clearance=None)
        samples = series.sample(100.0)
        again = SampledTrajectory(series.joint_names, samples.time, samples.q, samples.dq, samples.ddq)
        if fits:
            Playback(arm, limits, again)
        else:
            with pytest.raises(JointDynamicsError, match='acceleration'):
                Playback(arm, limits, again)


def test_non_finite_motion_keeps_no_limit(arm, constraints):
    series = fourier(arm, np.random.default_rng(3)).without_repetition()
    series.coefficients[1, 2] = np.nan
    for one in constraints:
        assert np.isnan(motion_margins(arm, series, [one])[one.kind])
        assert not within_limits(arm, series, [one])


def test_motions_of_more_than_an_hour_are_refused(arm, constraints):
    move = Move(arm.joint_names, [0.0, 0.0, 0.0], [0.1, 0.1, 0.1], 3601.0)
    with pytest.raises(JointDynamicsError, match='3601'):
        motion_margins(arm, move, constraints)
