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

"""The adaptive law: stable for every gain, adapting only in motion that separates its parameters."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.estimation import FrictionEstimator

PERIOD = 1e-3
LAW_PERIOD = 2e-3  # s, of the written-out law
LAW_FLOOR = np.array([[0.3, 0.1], [0.2, 0.05]])  # of mean(Y²), of two joints
LAW = {
    'rate': np.array([0.8, 0.5]), 'lower': np.array([0.5, -0.2]), 'upper': np.array([1.4, 0.3]),
    'omega_min': 0.05, 'hold': 0.02, 'information': 0.05, 'memory': 1.0,
}  # fmt: skip


def regressor(seconds, level=6.0, speed=1.5, seed=0):
    """(N, 2) of F H and ω of a joint that goes to and fro with changing speed.

    H by a soft sign, with its hysteresis left out.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds / PERIOD)) * PERIOD
    omega = speed * sum(rng.uniform(0.3, 1) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in (0.21, 0.37, 0.53))
    return np.stack([level * np.tanh(omega / 0.02), omega], axis=1)


def run(estimator, Y, truth, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    f = Y @ truth + rng.normal(0, noise, len(Y)) if noise else Y @ truth
    return np.array([estimator.update(f[k : k + 1], Y[k, :1], Y[k, 1:])[0] for k in range(len(Y))])


def test_a_factor_that_is_known_is_taken_within_its_bounds():
    estimator = FrictionEstimator(2)
    estimator.set_coulomb(1, 1.3)
    assert estimator.parameters.tolist() == [[1.0, 0.0], [1.3, 0.0]]
    estimator.set_coulomb(1, 9.0)
    assert estimator.parameters[1, 0] == estimator.upper[1, 0] and estimator.saturated[1, 0]
    held = FrictionEstimator(2, rate=[0.0, 1.0])
    held.set_coulomb(1, 1.3)
    assert held.parameters.tolist() == [[1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize('truth', [[1.2, 0.03], [0.8, -0.04], [1.0, 0.0]])
def test_it_finds_wear_and_excess_viscous_friction(truth):
    estimator = FrictionEstimator(1, initial=[0.47, 0.04])
    run(estimator, regressor(30.0), np.array(truth), noise=0.3)
    assert estimator.parameters[0] == pytest.approx(truth, abs=0.02)
    deviation = np.sqrt(np.diag(estimator.covariance[0]))
    assert np.all(np.abs(estimator.parameters[0] - truth) < 5 * deviation + 0.02)
    assert not estimator.saturated.any()


@given(rate=st.floats(0.0, 1e9), scale=st.floats(1e-3, 1e3), seed=st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_no_gain_makes_it_unstable(rate, scale, seed):
    """Without noise, the prediction error after a step has the sign of the one before, and is smaller.

    It never overshoots.
    """
    estimator = FrictionEstimator(
        1, rate=rate, initial=[0.6, 0.0], lower=[-9.0, -9.0], upper=[9.0, 9.0], information=0.0
    )
    Y = regressor(1.5, level=6.0 * scale, speed=scale, seed=seed)
    truth = np.array([1.2, 0.3])
    for first, second in Y:
        f = np.array([first * truth[0] + second * truth[1]])
        before = estimator.update(f, [first], [second])[0]
        after = (f - estimator.predict(np.array([first]), np.array([second])))[0]
        assert abs(after) <= abs(before) * (1 + 1e-9) + 1e-12
        assert after * before >= -1e-12 * scale**2
    assert np.isfinite(estimator.parameters).all()


def test_constant_speed_passes_the_published_condition_alone():
    """A joint that only ever turns at one speed, viscous friction 2 N·m·s/rad more.

    α cannot be told, so nothing may move.
    """
    ours = FrictionEstimator(1, upper=[1.5, 5.0])
    published = FrictionEstimator(1, upper=[1.5, 5.0], information=0.0)
    for _ in range(8000):
        for estimator in (ours, published):
            estimator.update([6.0 + 2.0], [6.0], [1.0])
    assert ours.parameters[0] == pytest.approx([1.0, 0.0])
    assert not ours.excited.any()
    # The published one explains the torque, with the wrong parameters.
    assert published.predict(np.array([6.0]), np.array([1.0]))[0] == pytest.approx(8.0, abs=0.01)
    assert abs(published.parameters[0, 1] - 2.0) > 0.2
    # With motion that tells them apart, ours finds it.
    run(ours, regressor(30.0), np.array([1.0, 2.0]))
    assert ours.parameters[0] == pytest.approx([1.0, 2.0], abs=0.02)


class AdaptiveLaw:
    """The adaptive law of one joint: α += Γ Y e/(1 + YᵀΓ Y), Γ = T rate/mean(Y²), within the bounds of `LAW`."""

    def __init__(self, floor):
        self.alpha, self.floor, self.mean = np.array([0.5, 0.1]), floor, np.zeros(4)
        self.seen, self.adapted, self.still = 0, 0, math.inf
        self.informative = self.active = False

    def update(self, f, Y, allowed):
        """Take the friction, Y and the permission of a sample; return the prediction error, 0 of a broken one."""
        error = f - self.alpha @ Y
        sane = abs(error) < 1e9 and np.isfinite(Y).all()
        if not sane:
            Y, error = np.zeros(2), 0.0
        self.still = 0 if abs(Y[1]) >= LAW['omega_min'] else self.still + 1
        moving = sane and self.still <= round(LAW['hold'] / LAW_PERIOD) and allowed
        if moving:
            self.seen += 1
            products = np.array([Y[0] ** 2, Y[1] ** 2, Y[0] * Y[1], error**2])
            self.mean += (products - self.mean) / min(self.seen, LAW['memory'] / LAW_PERIOD)
        gain = LAW_PERIOD * LAW['rate'] / np.maximum(self.mean[:2], self.floor)
        self.informative = bool(
            self.seen >= 0.3 / LAW_PERIOD
            and self.mean[0] > 0
            and 1 - abs(self.mean[2]) / math.sqrt(self.mean[0] * self.mean[1]) >= LAW['information']
        )
        self.active = moving and self.informative
        if self.active:
            step = gain * Y * error / (1 + gain @ Y**2)
            self.alpha = np.clip(self.alpha + step, LAW['lower'], LAW['upper'])
            self.adapted += 1
        return error

    def covariance(self):
        """(2, 2): inverse of 12/(upper − lower)² on the diagonal + N_eff mean(Y Yᵀ)/mean(e²)."""
        weight = min(self.seen, LAW['memory'] / LAW_PERIOD) * LAW_PERIOD / 0.1 / self.mean[3]
        matrix = self.mean[[[0, 2], [2, 1]]]
        return np.linalg.inv(np.diag(12.0 / (LAW['upper'] - LAW['lower']) ** 2) + weight * matrix)


def two_joints():
    """Friction (N, 2), Y (N, 2, 2) and permission (N, 2) of two joints: a slow stretch, and broken samples."""
    rng, t = np.random.default_rng(4), np.arange(4000) * LAW_PERIOD
    omega = np.stack([np.sin(3 * t) + 0.5 * np.sin(7 * t), 0.8 * np.sin(2 * t)], axis=1)
    omega[1000:1400] = 0.04
    coulomb = np.array([5.0, 3.0]) * np.tanh(omega / 0.1)
    friction = coulomb * [1.2, 2.0] + omega * 0.05 + rng.normal(0, 0.3, omega.shape)
    friction[500, 0] = np.inf
    friction[600, 1], coulomb[700, 0], omega[800, 1] = 1e9, np.nan, -np.inf
    return friction, np.stack([coulomb, omega], axis=2), rng.random(omega.shape) < 0.9


def test_the_adaptive_law_is_as_printed():
    estimator = FrictionEstimator(2, LAW_PERIOD, initial=[0.45, 0.1], floor=LAW_FLOOR, **LAW)
    laws = [AdaptiveLaw(floor) for floor in LAW_FLOOR]
    np.testing.assert_array_equal(estimator.parameters, [law.alpha for law in laws])
    for friction, Y, allowed in zip(*two_joints(), strict=True):
        error = estimator.update(friction, *Y.T, allowed)
        expected = [law.update(*sample) for law, *sample in zip(laws, friction, Y, allowed, strict=True)]
        assert error == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_array_equal(estimator.excited, [law.active for law in laws])
        np.testing.assert_allclose(estimator.parameters, [law.alpha for law in laws], rtol=1e-9)
        np.testing.assert_array_equal(estimator.informative, [law.informative for law in laws])
    np.testing.assert_allclose(estimator.noise, [math.sqrt(law.mean[3]) for law in laws], rtol=1e-9)
    np.testing.assert_allclose(estimator.excitation, [law.adapted * LAW_PERIOD for law in laws], rtol=1e-12)
    assert min(law.adapted for law in laws) > 1000
    np.testing.assert_array_equal(estimator.saturated, [[False, False], [True, True]])
    for law, saturated in zip(laws, estimator.saturated, strict=True):
        np.testing.assert_array_equal((law.alpha == LAW['lower']) | (law.alpha == LAW['upper']), saturated)
    np.testing.assert_allclose(estimator.covariance, [law.covariance() for law in laws], rtol=1e-9)


def test_reset_stays_within_the_bounds_and_forgets_the_motion():
    estimator = FrictionEstimator(2, LAW_PERIOD, initial=[0.45, 0.1], floor=LAW_FLOOR, **LAW)
    for friction, Y, allowed in zip(*two_joints(), strict=True):
        estimator.update(friction, *Y.T, allowed)
    estimator.reset([9.0, -9.0])
    np.testing.assert_array_equal(estimator.parameters, [[1.4, -0.2]] * 2)
    assert estimator.saturated.all()
    estimator.reset([0.0, 0.1])
    np.testing.assert_array_equal(estimator.saturated, [[True, False]] * 2)
    assert not (estimator.excitation.any() or estimator.noise.any() or estimator.informative.any())
