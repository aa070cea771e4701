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

"""Covariance of estimates under correlated noise: the sandwich formula, and the coverage of its intervals."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom, norm

from joint_dynamics.identification.regression.covariance import correlated_variance, samples_per_independent, sandwich
from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate


def correlated(rng, rows, memory):
    """Return autoregressive noise of standard deviation 1: e_k = memory · e_{k−1} + w_k."""
    return np.sqrt(1 - memory**2) * lfilter([1.0], [1.0, -memory], rng.standard_normal(rows + 200))[200:]


@pytest.mark.parametrize('memory', [0.0, 0.8])
def test_intervals_cover_nineteen_in_twenty(memory):
    """95 % of the estimates lie within 1.96 standard deviations, for white noise and for correlated noise.

    The bounds allow for the scatter of 150 trials.
    """
    rng = np.random.default_rng(11)
    inside, trials, columns, samples = 0, 150, 4, 600
    for _ in range(trials):
        rows = np.array([[correlated(rng, samples, 0.95) for _ in range(columns)]])
        noise = correlated(rng, samples, memory)[None]
        block = Block(rows, noise, noise, 0)
        solution = wls(triangulate([block]))
        z = solution.chi / np.sqrt(np.diag(sandwich(lambda block=block: [block], solution)))
        inside += np.count_nonzero(np.abs(z) < 1.96)
    low, high = binom.interval(0.999, trials, 0.95)
    assert low / trials - 0.02 <= inside / (columns * trials) <= min(1.0, high / trials)


def test_sandwich_equals_the_dense_formula(dense, blocks, system):
    """The covariance from blocks of samples is M (Σ_j s_j² A_jᵀ A_j) M of the whole matrix, and symmetric."""
    rows, tau, _, _ = system
    N, B, samples = rows.shape
    solution = wls(triangulate(blocks(rows, tau)))
    factor = np.broadcast_to(1.0 / solution.sigma[:, None], tau.shape)
    A, y = dense(rows, tau, factor)
    M = np.linalg.inv(A.T @ A)
    meat = np.zeros((B, B))
    for j in range(N):
        joint = slice(j * samples, (j + 1) * samples)
        normal, residual = A[joint].T @ A[joint], y[joint] - A[joint] @ solution.chi
        meat += correlated_variance(residual, normal, M) * normal
    found = sandwich(lambda: blocks(rows, tau), solution)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, M @ meat @ M, rtol=1e-6, atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize('memory', [0.0, 0.5, 0.9])
def test_mean_of_correlated_noise_counts_effective_samples(memory):
    """The mean of noise e_k = φ e_{k−1} + w_k has the variance σ²/N (1 + φ)/(1 − φ).

    95 % of 400 means lie within the interval; the bounds allow for their scatter.
    """
    noise = lfilter([1.0], [1.0, -memory], np.random.default_rng(0).normal(size=(400, 4500)))[:, 500:]
    ratio = np.array([samples_per_independent(row) for row in noise])
    assert np.mean(ratio) == pytest.approx((1 + memory) / (1 - memory), rel=0.1)
    within = np.abs(noise.mean(axis=1)) < norm.ppf(0.975) * np.sqrt(noise.var(axis=1) * ratio / noise.shape[1])
    assert binom.ppf(0.001, 400, 0.95) / 400 <= np.mean(within) <= binom.ppf(0.999, 400, 0.95) / 400


def one_way(rng, F, offset, holding):
    """Block of 400 samples in one direction with rests: offset + F + 3 ω in motion, offset + holding at rest."""
    resting = np.arange(400) % 50 < 10
    dq = np.where(resting, 0.0, 1.0 + 0.5 * np.sin(np.arange(400) / 9.0))[None]
    scale = np.where(resting, 1.0 / np.sqrt(10.0), 1.0)[None]
    rows = np.stack([np.sign(dq), np.ones_like(dq), dq], axis=1)
    tau = offset + np.where(resting, holding, F + 3.0 * dq) + 0.1 * rng.standard_normal(dq.shape)
    return Block(rows, tau, dq, 0, resting=resting[None], scale=scale)


def test_offset_from_rest_is_uncertain_by_friction():
    """A joint turns in one direction only and rests in between; its torque offset is known from the rests alone.

    In motion the torque contains offset + F, at rest offset + h. The holding friction h, uniform in ± F, is the same in
    every rest, so it does not show as scatter. The fit returns F − h as Coulomb friction and offset + h as offset. The
    interval ± 1.96 (F − h)/√3 contains the error h if h < 0.531 F, which has the probability 0.765.
    """
    rng = np.random.default_rng(5)
    F, offset = 2.0, 0.5
    inside = without_band = 0
    for _ in range(200):
        holding = rng.uniform(-F, F)
        block = one_way(rng, F, offset, holding)
        solution = wls(triangulate([block]))
        error = np.abs(solution.chi - [F, offset, 3.0])
        V = sandwich(lambda block=block: [block], solution, np.abs(solution.chi[:1]))
        inside += error[1] < 1.96 * np.sqrt(V[1, 1])
        plain = sandwich(lambda block=block: [block], solution)
        without_band += error[1] < 1.96 * np.sqrt(plain[1, 1])
        # Viscous friction is determined in motion, so the friction at rest leaves its variance unchanged.
        assert V[2, 2] == pytest.approx(plain[2, 2], rel=1e-3)
    assert without_band < 20
    assert binom.ppf(0.001, 200, 0.765) <= inside <= binom.ppf(0.999, 200, 0.765)
