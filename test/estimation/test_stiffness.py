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

"""Stiffness online: ordinary least squares as a limit, the thesis's experiment, changes, standstill, broken input."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.estimation import StiffnessEstimator
from joint_dynamics.estimation.spring import elastic
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.signals.state_estimator import StateEstimator


def virtual_torque(joint, friction_error=1.05, window=0.05):
    """(φ, τ_E) from the measured signals by the motor side [M3 eq 17], friction model 5 % wrong.

    The time they belong to.
    """
    smoother = StateEstimator(3, joint.period, window=window)
    pairs = np.full((joint.time.size, 2), np.nan)
    for k, sample in enumerate(
        np.stack([joint.q, joint.theta, joint.motor_torque - friction_error * joint.friction], axis=1)
    ):
        value, first, second = smoother.update(sample)
        if smoother.ready:
            pairs[k] = value[1] - value[0], value[2] - joint.inertia * second[1] - joint.damping * (first[1] - first[0])
    return pairs


def run(estimator, pairs, report=()):
    """Feed one joint; return its coefficients after the samples `report`."""
    found = {}
    for k, (phi, torque) in enumerate(pairs):
        estimator.update([phi], [torque])
        if k in report:
            found[k] = estimator.coefficients[0].copy()
    return found


@pytest.fixture(scope='module')
def pairs(bang_joint):
    return virtual_torque(bang_joint)


@pytest.mark.parametrize(('order', 'prior'), [(1, 1e9), (2, 1e9), (3, 1e4)])
def test_without_forgetting_it_is_batch_least_squares(order, prior):
    """Plain least squares to 1e-9 where the prior is as good as none.

    With three terms that is beyond double precision, so with its prior.
    """
    rng = np.random.default_rng(order)
    n, samples = 4, 3000
    phi = rng.uniform(-2e-3, 2e-3, (samples, n))
    torque = 2e4 * phi + 3e9 * phi**3 + rng.normal(0, 0.3, phi.shape)
    estimator = StiffnessEstimator(n, order, mu=1.0, gate=0.0, change_share=np.inf, initial_covariance=prior)
    for row in zip(phi, torque, strict=True):
        estimator.update(*row)
    for j in range(n):
        W = np.stack([(phi[:, j] / 1e-3) ** (2 * p + 1) for p in range(order)], axis=1)
        rows, y = (
            (W, torque[:, j])
            if order < 3
            else (np.vstack([W, np.eye(order) / prior**0.5]), np.append(torque[:, j], np.zeros(order)))
        )
        batch = np.linalg.lstsq(rows, y, rcond=None)[0] / 1e-3 ** (2 * np.arange(order) + 1)
        assert estimator.coefficients[j] == pytest.approx(batch, rel=1e-9)
        scaled = np.linalg.inv(rows.T @ rows)
        unit = 1e-3 ** (2 * np.arange(order) + 1)
        assert estimator.covariance[j] == pytest.approx(scaled / np.outer(unit, unit), rel=1e-6)


def test_thesis_experiment(bang_joint, pairs, nrmse):
    reach = np.abs(bang_joint.phi).max()
    for estimator in (StiffnessEstimator(1), StiffnessEstimator.thesis()):
        found = run(estimator, pairs, (9999, 34999))
        assert nrmse(found[9999], bang_joint.stiffness, reach) >= 95.2
        assert nrmse(found[34999], bang_joint.stiffness, reach) >= 96.6


@pytest.fixture(scope='module')
def three(joint):
    """Three seeds of the experiment, as three joints of one robot: the joints and their pairs (N, 3, 2)."""
    joints = [joint(seed=seed) for seed in range(3)]
    return joints, np.stack([virtual_torque(one) for one in joints], axis=1)


def test_halved_torque_is_detected_and_learnt(three, nrmse):
    joints, pairs = three
    pairs = pairs.copy()
    pairs[10000:, :, 1] *= 0.5
    estimator = StiffnessEstimator(3)
    # Five seconds in which the joint moves, waits not counted.
    after = [
        10000 + int(np.searchsorted(np.cumsum(np.abs(one.dtheta[10000:]) > 0.01) * one.period, 5.0)) for one in joints
    ]
    found = []
    for pair in pairs:
        estimator.update(pair[:, 0], pair[:, 1])
        found.append(estimator.coefficients)
    for j, one in enumerate(joints):
        reach, half = np.abs(one.phi).max(), tuple(0.5 * k for k in one.stiffness)
        assert nrmse(found[9999][j], one.stiffness, reach) >= 95.2
        assert nrmse(found[after[j]][j], half, reach) >= 90.0
        assert nrmse(found[34999][j], half, reach) >= 94.0


def test_a_map_that_has_changed_is_learnt_anew_from_what_it_is(three):
    """Within 5 %, says its deviation; the other joints are left alone."""
    _, pairs = three
    estimator = StiffnessEstimator(3)
    for pair in pairs[:10000]:
        estimator.update(pair[:, 0], pair[:, 1])
    before, deviation = estimator.coefficients, estimator.standard_deviation
    kept = estimator.snapshot()
    estimator.reopen(1, 0.55 * estimator.alpha[1])
    np.testing.assert_allclose(estimator.coefficients, before * [[1.0], [0.55], [1.0]], rtol=1e-12)
    assert (estimator.standard_deviation[1] > deviation[1]).all()
    np.testing.assert_array_equal(estimator.standard_deviation[[0, 2]], deviation[[0, 2]])
    estimator.restore(kept)
    np.testing.assert_array_equal(estimator.coefficients, before)


def test_beyond_its_reach_a_curve_goes_on_along_its_tangent():
    """As one that is described does; so it is learnt, too."""
    described = TorsionalStiffness([[2e3, 5e8], [1e4, 1e9]], [1e-3, np.inf])
    phi = np.linspace(-3e-3, 3e-3, 61)[:, None] * [1.0, 0.5]
    estimator = StiffnessEstimator(2, initial_coefficients=described.coefficients, reach=described.reach)
    np.testing.assert_allclose(estimator.torque(phi), described.torque(phi), rtol=1e-12, atol=1e-12)
    # the same of one sample, compiled
    alpha, work = described.coefficients[0], np.empty((2, 2))
    of_one = np.array([elastic(alpha, one, described.reach[0], work) for one in phi[:, 0]])
    np.testing.assert_allclose(of_one[:, 0], described.torque(phi)[:, 0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(of_one[:, 1], described.stiffness(phi)[:, 0], rtol=1e-12)
    learner = StiffnessEstimator(2, scale=1e-3, reach=described.reach, initial_covariance=1e12)
    for row in np.tile(phi, (3, 1)):
        learner.update(row, described.torque(row))
    np.testing.assert_allclose(learner.coefficients, described.coefficients, rtol=1e-5)


def test_a_friction_error_at_low_torque_is_no_jump():
    """3 N·m are over half of the torque of one second, and a seventh of its long-term rms."""
    estimator, rng, jumped = StiffnessEstimator(1, period=2e-3), np.random.default_rng(5), False
    t = np.arange(0.0, 7.0, 2e-3)
    working = t < 6.0
    phi = np.where(working, 1.5e-3 * np.sin(2.0 * t), 2.4e-4 + 3e-5 * np.sin(20.0 * t))
    friction = np.where(working, 0.0, 3.0 * np.sign(np.cos(20.0 * t)))
    for one, torque in zip(phi, 2e4 * phi + friction + rng.normal(0.0, 0.05, t.size), strict=True):
        estimator.update([one], [torque])
        jumped |= bool(estimator.states['jumped'][0])
    assert not jumped


def test_a_described_map_is_in_force_until_enough_is_learnt(bang_joint, pairs, nrmse):
    """Two joints with the same description and samples; of the second nothing is kept."""
    phi, reach, described = np.full(2, -2.2e-4), np.abs(bang_joint.phi).max(), np.array([4.7e3, 1.5e10])
    estimator = StiffnessEstimator(
        2, keep=[True, False], initial_coefficients=described, initial_covariance=[200.0, 200.0]
    )
    before = estimator.covariance[0], estimator.variance(phi)[0], estimator.noise[0]
    estimator.update(phi, np.full(2, 0.87))  # of the wrong sign, as Gazebo gave it where its clock had stood still
    assert estimator.excited.all() and not estimator.reliable.any()
    assert estimator.coefficients[1, 0] < 0
    rng = np.random.default_rng(0)
    for angle in reach * np.sin(5.0 * bang_joint.period * np.arange(10000)):
        estimator.update(np.full(2, angle), np.full(2, rng.normal(0.0, 5.0)))
        assert not estimator.reliable.any()
    assert (estimator.excitation > 5.0).all()
    np.testing.assert_allclose(estimator.coefficients[0], described, rtol=1e-12)
    np.testing.assert_array_equal(estimator.known, [estimator.coefficients[0], [np.nan, np.nan]])
    np.testing.assert_array_equal(estimator.covariance[0], before[0])
    assert (estimator.variance(phi)[0], estimator.noise[0]) == before[1:]
    assert estimator.torque(phi)[0] == pytest.approx(described @ [phi[0], phi[0] ** 3])
    for angle, torque in pairs:
        estimator.update(np.full(2, angle), np.full(2, torque))
    assert estimator.reliable.all()
    np.testing.assert_array_equal(estimator.known, estimator.coefficients)
    assert all(nrmse(found, bang_joint.stiffness, reach) >= 95.0 for found in estimator.coefficients)


DESCRIBED = TorsionalStiffness([1.2e4, 6e8])


def learn_beside_shape(reference, phi, torque, keeps=True):
    """Return the curve (2,) learnt of a described one, with or without the shape of `reference`; 2 ms per sample."""
    estimator = StiffnessEstimator(
        1, period=2e-3, initial_coefficients=DESCRIBED.coefficients, initial_covariance=[2e3, 200.0], keep=True
    )
    reference = [reference * [1e-3, 1e-9]] if keeps else None
    for angle, value in zip(phi, torque, strict=True):
        estimator.update([angle], [value], reference=reference)
    return TorsionalStiffness(estimator.coefficients[0])


def test_a_narrow_range_changes_the_factor_not_the_shape():
    """A softer spring bent by 4 to 6 mrad, its torque 1 % off now and then: below 1 mrad within 1 % all the same."""
    time = np.arange(0.0, 15.0, 2e-3)
    phi, small = 5e-3 + 1e-3 * np.sin(2.0 * time), np.linspace(1e-4, 1e-3, 10)
    torque = 0.7 * DESCRIBED.torque(phi) * (1.0 + 0.01 * np.sin(0.7 * time) + 0.01 * np.tanh(4e3 * (phi - 5e-3)))
    for keeps in (True, False):
        learnt = learn_beside_shape(DESCRIBED.coefficients, phi, torque, keeps)
        off = np.abs(learnt.torque(small) / (0.7 * DESCRIBED.torque(small)) - 1.0).max()
        assert off < 0.01 if keeps else off > 0.05


def test_a_wide_range_changes_the_shape():
    """The usual curve follows over half a minute, as in the estimator: a wrong shape goes in minutes, not seconds."""
    time = np.arange(0.0, 240.0, 8e-3)
    phi, true = 3e-3 * np.sin(3.0 * time) * np.sin(0.7 * time), TorsionalStiffness([0.7e4, 12e8])
    estimator = StiffnessEstimator(
        1, period=8e-3, initial_coefficients=DESCRIBED.coefficients, initial_covariance=[2e3, 200.0], keep=True
    )
    usual = estimator.alpha.copy()
    for angle, value in zip(phi, true.torque(phi), strict=True):
        estimator.update([angle], [value], reference=usual)
        usual += 8e-3 / 30.0 * (estimator.alpha - usual) * estimator.excited
    at = np.linspace(5e-4, 3e-3, 26)
    np.testing.assert_allclose(estimator.torque(at[:, None])[:, 0], true.torque(at), rtol=0.05)


KINDS = ('noise', 'constant', 'zero', 'nan', 'huge', 'steps', 'sine', 'alternating', 'tiny', 'mixed')


def ugly(kind, rng, samples):
    """Pairs (samples, 2) of one kind that no robot should give."""
    noise = rng.normal(size=(samples, 2)) * [1e-3, 20.0]
    if kind == 'constant':
        return np.tile(noise[:1], (samples, 1))
    if kind == 'zero':
        return np.zeros((samples, 2))
    if kind == 'nan':
        noise[rng.random((samples, 2)) < 0.5] = np.nan
        return noise
    if kind == 'huge':
        return noise * 10.0 ** rng.uniform(-12, 300, (samples, 1))
    if kind == 'steps':
        return np.repeat(noise[: samples // 500 + 1], 500, axis=0)[:samples]
    if kind == 'sine':
        return np.sin(np.arange(samples) * 1e-2)[:, None] * [1e-3, -20.0]
    if kind == 'alternating':
        return np.where(np.arange(samples) % 2 == 0, 1.0, -1.0)[:, None] * [1.0, 1e8]
    if kind == 'tiny':
        return noise * 1e-200
    noise[rng.random((samples, 2)) < 0.01] = np.inf
    noise[samples // 2 :] *= 1e-6
    return noise


@pytest.mark.parametrize(
    'make',
    [StiffnessEstimator, StiffnessEstimator.thesis, lambda n: StiffnessEstimator(n, 3, mu=0.9, delta=1e-3, gate=0.0)],
)
def test_a_million_ugly_samples_leave_it_finite(make):
    """Ten kinds of input at once on 50 joints, a million joint samples in all.

    Finite, symmetric, positive definite, bounded.
    """
    rng = np.random.default_rng(2)
    samples, copies = 20000 // 3, 5
    data = np.stack([ugly(kind, rng, samples) for kind in KINDS for _ in range(copies)], axis=1)
    estimator = make(len(KINDS) * copies)
    with np.errstate(all='raise', under='ignore'):
        for row in data:
            estimator.update(row[:, 0], row[:, 1])
    assert np.isfinite(estimator.coefficients).all()
    P = estimator.covariance
    assert np.isfinite(P).all()
    assert pytest.approx(P.transpose(0, 2, 1), rel=1e-12) == P
    root = np.sqrt(np.diagonal(P, axis1=1, axis2=2))
    assert (root > 0).all()
    assert np.linalg.eigvalsh(P / (root[:, :, None] * root[:, None, :])).min() > -1e-9


@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_a_lasting_error_stays_in_the_deviation(sign):
    """Lost motion of 0.08 mrad is not taken off; every sample states a deviation of 0.05 mrad."""
    estimator, bare = StiffnessEstimator(1, 1), StiffnessEstimator(1, 1)
    rng = np.random.default_rng(3)
    for one in 2e-3 * np.sin(6.0 * np.arange(0.0, 30.0, 1e-3)):
        seen, torque = one + sign * 8e-5 * np.sign(one), 1e4 * one + rng.normal(0.0, 0.2)
        estimator.update([seen], [torque], unknown=min(5e-5 / max(abs(seen), 1e-6), 0.3))
        bare.update([seen], [torque])
    np.testing.assert_array_equal(estimator.coefficients, bare.coefficients)
    error, phi = estimator.coefficients[0, 0] - 1e4, np.array([1e-3])
    assert abs(error) <= 2.0 * estimator.standard_deviation[0, 0] < 1.5 * abs(error)
    assert abs(error) > 5.0 * bare.standard_deviation[0, 0]
    relative = np.sqrt(estimator.variance(phi)) / estimator.torque(phi)
    np.testing.assert_allclose(relative, estimator.standard_deviation[0] / estimator.coefficients[0])


def level(s, error, torque, window, floor, share):
    """Update the levels of one joint with an excited sample; return whether its error has jumped."""
    s.seen += 1
    s.short += (error - s.short) / min(s.seen, window)
    s.level += (torque**2 - s.level) / min(s.seen, window)
    s.usual += (s.level - s.usual) / min(s.seen, 20.0 * window)
    s.long += (min(max(s.short, floor), 2.0 * s.long) - s.long) / min(s.seen, 20.0 * window)
    return s.seen >= window and s.short > max(share**2 * max(s.level, s.usual), 9.0 * s.long)


def jumping_samples():
    """φ, τ and relative uncertainty (3001,) of a cubic stiffness that falls to 40 %; three samples are broken."""
    rng, t = np.random.default_rng(9), np.arange(3001) * 2e-3
    phi = 1.2e-3 * np.sin(5 * t) + rng.normal(0, 1e-6, len(t))
    y = 1.2e4 * phi + 8e8 * phi**3 + rng.normal(0, 0.3, len(t))
    y[2000:] *= 0.4
    phi[300], y[301], phi[302] = np.nan, 2e9, 3.0
    return phi, y, np.where(rng.random(len(t)) < 0.95, rng.uniform(0.0, 0.32, len(t)), np.inf)


def opened(P, alpha, floor):
    """Covariance after a jump: P + (α αᵀ + diag(0.3 α)²)/floor, with eigenvalues of 100 at most."""
    P = P + (np.outer(alpha, alpha) + np.diag((0.3 * alpha) ** 2)) / floor
    values, vectors = np.linalg.eigh(P / 100.0)
    return 100.0 * vectors @ np.diag(np.minimum(values, 1.0)) @ vectors.T


def learn_by_the_formulas(estimator, textbook, s, mu, floor):
    """Update estimator and written-out state s with every sample; check error and excitation at each."""
    for k, (phi, y, unknown) in enumerate(zip(*jumping_samples(), strict=True)):
        found = estimator.update([phi], [y], unknown)
        active = 2e-4 <= abs(phi) < 1.0 and abs(y) < 1e9 and unknown <= 0.3
        assert estimator.excited[0] == active
        error = 0.0
        if active:
            x = phi / 1e-3
            s.P, s.alpha, error, weighed = textbook(np.array([x, x**3]), y, s.P, s.alpha, mu, 0.0)
            s.sums = mu * s.sums + [(unknown * y) ** 2, y**2]
            s.excited, s.last = s.excited + 1, s.long
            if level(s, weighed, y, 50, floor, 0.3):
                s.P, s.seen, s.short, s.level = opened(s.P, s.alpha, floor), 0, 0.0, 0.0
                s.jumps.append(k)
        assert found[0] == pytest.approx(error, rel=1e-6, abs=1e-9)


def test_a_stiffness_with_jumps_by_the_formulas(textbook):
    """Usual and present level, the covariance opened where it jumps; broken samples teach nothing."""
    estimator = StiffnessEstimator(
        1, 2, period=2e-3, scale=1e-3, mu=0.995, change_share=0.3, change_window=0.1, noise=0.2,
        initial_covariance=100.0, initial_coefficients=[1e4, 1e9],
    )  # fmt: skip
    s = SimpleNamespace(seen=0, short=0.0, level=0.0, long=0.04, usual=0.0, sums=np.zeros(2), excited=0, jumps=[])
    s.alpha, s.P = np.array([10.0, 1.0]), 100.0 * np.eye(2)
    learn_by_the_formulas(estimator, textbook, s, 0.995, 0.04)
    assert len(s.jumps) == 1 and 2000 < s.jumps[0] < 2100
    unit, known = 1e-3 ** np.array([1, 3]), math.sqrt(s.sums[0] / s.sums[1])
    np.testing.assert_allclose(estimator.coefficients[0], s.alpha / unit, rtol=1e-6)
    np.testing.assert_allclose(estimator.covariance[0], s.P / np.outer(unit, unit), rtol=1e-6)
    np.testing.assert_allclose(estimator.noise, math.sqrt(s.last), rtol=1e-6)
    np.testing.assert_allclose(estimator.excitation, s.excited * 2e-3, rtol=1e-9)
    expected = np.sqrt(np.diag(s.P) * s.last + (known * s.alpha) ** 2) / unit
    np.testing.assert_allclose(estimator.standard_deviation[0], expected, rtol=1e-6)
    estimator.reset()
    np.testing.assert_allclose(estimator.coefficients, [[1e4, 1e9]], rtol=1e-12)
    assert not (estimator.excitation.any() or estimator.excited.any())
