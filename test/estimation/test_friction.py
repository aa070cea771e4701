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


def test_the_adaptive_law_is_as_printed():
    """Gains by mean(Y²), normalised step, clipped to the bounds; two joints, broken samples too."""
    rng = np.random.default_rng(4)
    n, period, memory, hold, information, omega_min = 2, 2e-3, 1.0, 0.02, 0.05, 0.05
    rate, floor = np.array([0.8, 0.5]), np.array([[0.3, 0.1], [0.2, 0.05]])
    lower, upper = np.array([0.5, -0.2]), np.array([1.4, 0.3])
    estimator = FrictionEstimator(
        n, period, rate=rate, initial=[0.45, 0.1], lower=lower, upper=upper, omega_min=omega_min, hold=hold,
        information=information, memory=memory, floor=floor,
    )  # fmt: skip
    alpha = np.tile([0.5, 0.1], (n, 1))
    np.testing.assert_array_equal(estimator.parameters, alpha)
    mean, seen, still, adapted = np.zeros((n, 4)), np.zeros(n), np.full(n, round(hold / period) + 1), np.zeros(n)
    informative = [False] * n
    t = np.arange(4000) * period
    omega = np.stack([np.sin(3 * t) + 0.5 * np.sin(7 * t), 0.8 * np.sin(2 * t)], axis=1)
    omega[1000:1400] = 0.04
    coulomb = np.array([5.0, 3.0]) * np.tanh(omega / 0.1)
    friction = coulomb * [1.2, 2.0] + omega * 0.05 + rng.normal(0, 0.3, omega.shape)
    friction[500, 0] = np.inf
    friction[600, 1], coulomb[700, 0], omega[800, 1] = 1e9, np.nan, -np.inf
    allowed = rng.random(omega.shape) < 0.9
    for k in range(len(t)):
        error = estimator.update(friction[k], coulomb[k], omega[k], allowed[k])
        for j in range(n):
            Y, f = np.array([coulomb[k, j], omega[k, j]]), friction[k, j]
            expected = f - alpha[j] @ Y
            sane = bool(abs(expected) < 1e9 and np.isfinite(Y).all())
            if not sane:
                Y, expected = np.zeros(2), 0.0
            still[j] = 0 if abs(Y[1]) >= omega_min else still[j] + 1
            moving = sane and still[j] <= round(hold / period) and allowed[k, j]
            if moving:
                seen[j] += 1
                products = np.array([Y[0] ** 2, Y[1] ** 2, Y[0] * Y[1], expected**2])
                mean[j] += (products - mean[j]) / min(seen[j], memory / period)
            gain = period * rate / np.maximum(mean[j, :2], floor[j])
            informative[j] = bool(
                seen[j] >= 0.3 / period
                and mean[j, 0] > 0
                and 1 - abs(mean[j, 2]) / math.sqrt(mean[j, 0] * mean[j, 1]) >= information
            )
            active = moving and informative[j]
            if active:
                alpha[j] += gain * Y * expected / (1 + gain @ Y**2)
                alpha[j] = np.clip(alpha[j], lower, upper)
                adapted[j] += 1
            assert estimator.excited[j] == active
            assert error[j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(estimator.parameters, alpha, rtol=1e-9)
        np.testing.assert_array_equal(estimator.informative, informative)
    np.testing.assert_allclose(estimator.noise, np.sqrt(mean[:, 3]), rtol=1e-9)
    np.testing.assert_allclose(estimator.excitation, adapted * period, rtol=1e-12)
    assert adapted.min() > 1000
    at_bound = (np.array(alpha) == lower) | (np.array(alpha) == upper)
    np.testing.assert_array_equal(estimator.saturated, at_bound)
    assert at_bound[1].all() and not at_bound[0].any()
    for j in range(n):
        weight = min(seen[j], memory / period) * period / 0.1 / mean[j, 3]
        matrix = np.array([[mean[j, 0], mean[j, 2]], [mean[j, 2], mean[j, 1]]])
        P = np.linalg.inv(np.diag(12.0 / (upper - lower) ** 2) + weight * matrix)
        np.testing.assert_allclose(estimator.covariance[j], P, rtol=1e-9)
    estimator.reset([9.0, -9.0])
    np.testing.assert_array_equal(estimator.parameters, [[1.4, -0.2]] * 2)
    assert estimator.saturated.all()
    estimator.reset([0.0, 0.1])
    np.testing.assert_array_equal(estimator.saturated, [[True, False]] * 2)
    assert not (estimator.excitation.any() or estimator.noise.any() or estimator.informative.any())
