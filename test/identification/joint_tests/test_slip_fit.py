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

"""Maxwell-slip found from a motion whose operators are known."""

import numpy as np
import pytest

from joint_dynamics.identification.joint_tests.slip_fit import LIMITS as RANGE
from joint_dynamics.identification.joint_tests.slip_fit import SlipData, fit_maxwell_slip
from joint_dynamics.joint import PeriodicMap

WIDTH = 1e-3
BACKLASH = PeriodicMap.constant(WIDTH)
LIMITS = np.array([0.06, 0.7])
SHARES = np.array([0.65, 0.35])
LEVEL = 5.0
VISCOUS = 8.0
INERTIA = 0.6
OFFSET = -0.4
RATE = 500.0


def hysteresis(theta, limits=LIMITS, shares=SHARES):
    """H of operators that all slip forward at first: springs whose ends give way, one sample after the other."""
    ends, H = WIDTH * limits, np.empty(len(theta))
    delta = ends.copy()
    for k, step in enumerate(np.diff(theta, prepend=theta[0])):
        delta = np.clip(delta + step, -ends, ends)
        H[k] = np.sum(shares * delta / ends)
    return H


def run(seed, samples=900, noise=0.0):
    """Reversals of all sizes about a slow swing; the first row at which every operator slips is known."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / RATE
    omega = 0.02 * np.sin(2 * np.pi * 0.9 * t) + 0.012 * np.sin(2 * np.pi * 2.3 * t + rng.uniform(0, 6)) + 0.004
    omega[:100] = 0.03
    theta = np.concatenate([[0.0], np.cumsum(omega)[:-1]]) / RATE
    alpha = np.gradient(omega, 1 / RATE)
    y = LEVEL * hysteresis(theta) + VISCOUS * omega + INERTIA * alpha + OFFSET + noise * rng.normal(size=samples)
    return SlipData(theta, omega, alpha, y).part(slice(90, None))


def fit(operators=2, noise=0.0):
    training, unseen = [run(1, noise=noise), run(2, noise=noise)], [run(3, noise=noise)]
    return fit_maxwell_slip(training, unseen, BACKLASH, operators)


@pytest.fixture(scope='module')
def searched():
    return fit()[0]


def test_the_search_finds_the_operators_that_made_the_torque(searched):
    np.testing.assert_allclose(searched.limits, LIMITS, rtol=0.03)
    np.testing.assert_allclose(searched.stiffness * searched.limits, SHARES, atol=0.02)
    levels = {'F_C': searched.F_C, 'F_V1': searched.F_V1}
    assert levels == pytest.approx({'F_C': LEVEL, 'F_V1': VISCOUS}, rel=0.02)
    assert searched.inertia == pytest.approx(INERTIA, rel=0.2)
    assert searched.offset == pytest.approx(OFFSET, abs=0.05)
    assert searched.estimation_percent > 99.5 and searched.validation_percent > 99.5


def test_limits_are_in_order_and_in_range(searched):
    for noise, operators in ((0.0, 2), (0.5, 3)):
        found = searched if noise == 0.0 else fit(noise=noise, operators=operators)[0]
        assert len(found.limits) == operators
        assert (np.diff(found.limits) > 0).all()
        assert found.limits.min() >= RANGE[0] * (1 - 1e-9) and found.limits.max() <= RANGE[1] * (1 + 1e-6)
        assert (found.stiffness >= 0).all() and found.stiffness @ found.limits == pytest.approx(1.0)


def test_the_search_is_repeatable(searched):
    again, static = fit()
    np.testing.assert_array_equal(again.limits, searched.limits)
    np.testing.assert_array_equal(again.stiffness, searched.stiffness)
    assert static.limits is None and static.estimation_percent < searched.estimation_percent


def test_the_torque_of_a_fit_is_that_of_its_operators(searched):
    unseen = run(3)
    np.testing.assert_allclose(searched.torque(unseen, BACKLASH), unseen.y, atol=0.03 * LEVEL)
