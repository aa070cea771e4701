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

"""Results of the loops of IRLS and I-IRLS, written out with dense matrices for two links."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.regression.irls import cleaned, irls, reweight, whitened
from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque
from joint_dynamics.identification.regression.triangles import triangulate

DEVIATION = np.array([0.5, 0.1])


@pytest.fixture(scope='module')
def problem(two_links, observed):
    """Two runs with correlated noise, one row in twenty wrong, no parallel filter; joint 2 rests now and then."""
    rng = np.random.default_rng(11)
    runs = [observed(1, 700), observed(2, 500)]
    plain = Problem(two_links, runs)
    chi = rng.normal(size=plain.columns)
    made = []
    for run in runs:
        noise = rng.normal(size=run.q.shape) @ np.array([[1.0, 0.6], [0.0, 0.8]])
        noise += (rng.random(noise.shape) < 0.05) * rng.choice([-1, 1], noise.shape) * 25
        made.append(replace(run, tau=full_rate_torque(plain, run, chi) + noise * DEVIATION))
    return Problem(two_links, made, rest_speed=0.05)


@pytest.fixture(scope='module')
def found(problem, first):
    return reweight(problem, first)


def system(estimate):
    """Whitened rows (rows, b), right side and weights (rows,) of an estimate, and those not whitened."""
    blocks = list(whitened(estimate.problem.blocks(), estimate.noise))
    A = np.concatenate([block.rows.transpose(0, 2, 1).reshape(-1, block.rows.shape[1]) for block in blocks])
    y = np.concatenate([block.tau.ravel() for block in blocks])
    return A, y, np.concatenate([weight.ravel() for weight in estimate.weights])


@pytest.mark.parametrize('known', [[], [1, 4]])
def test_solution_is_of_kept_rows_with_known_columns(problem, first, known):
    """Known columns have no deviation, and do not count when the excitation is judged."""
    fixed = np.isin(np.arange(problem.columns), known)
    given = replace(first, chi=np.where(fixed, first.chi + 0.3, first.chi))
    estimate = reweight(problem, given, fixed=fixed)
    solution = estimate.solution
    np.testing.assert_array_equal(solution.chi[fixed], given.chi[fixed])
    np.testing.assert_array_equal(solution.inflation[fixed], 1.0)
    assert not solution.inverse[fixed].any() and not solution.inverse[:, fixed].any()
    A, y, weight = system(estimate)
    assert set(np.unique(weight)) == {0.0, 1.0}
    A, y = A[weight > 0], y[weight > 0]
    y = y - A[:, fixed] @ given.chi[fixed]
    free = A[:, ~fixed]
    np.testing.assert_allclose(solution.chi[~fixed], np.linalg.lstsq(free, y, rcond=None)[0], rtol=1e-6, atol=1e-9)
    inverse = np.linalg.inv(free.T @ free)
    np.testing.assert_allclose(solution.inverse[np.ix_(~fixed, ~fixed)], inverse, rtol=1e-6, atol=1e-12)
    scaled = free / np.linalg.norm(free, axis=0)
    inflation = np.sqrt(np.diag(np.linalg.inv(scaled.T @ scaled)))
    np.testing.assert_allclose(solution.inflation[~fixed], inflation, rtol=1e-6)
    assert solution.condition_number == pytest.approx(np.linalg.cond(scaled), rel=1e-6)
    np.testing.assert_array_equal(solution.sigma, estimate.noise.sigma)
    np.testing.assert_array_equal(solution.rest_sigma, estimate.noise.rest_sigma)


def test_a_stay_counts_as_one_row_and_rows_left_out_not_at_all(problem, first):
    estimate = reweight(problem, first, fixed=np.zeros(problem.columns, dtype=bool))
    solution, weight = estimate.solution, system(estimate)[2]
    scale = np.concatenate([block.scale.ravel() for block in problem.blocks()])
    assert solution.rows == triangulate(whitened(problem.blocks(), estimate.noise), estimate.weights).rows
    assert solution.rows <= weight.sum() and scale.min() < 1.0


def test_weights_are_those_of_the_normalised_residuals(found):
    """Except rows at the threshold: the last estimate hardly moved."""
    again = []
    for block in found.problem.blocks():
        residual = block.tau - np.einsum('jbs,b->js', block.rows, found.solution.chi)
        deviation = np.where(block.resting, found.noise.rest_sigma[:, None], found.noise.sigma[:, None])
        white = residual / deviation
        both = ~block.resting.any(axis=0)
        values, vectors = np.linalg.eigh(found.noise.correlation)
        white[:, both] = (vectors / np.sqrt(values)) @ vectors.T @ white[:, both]
        again.append(np.abs(white) <= 4.0)
    again = np.concatenate(again, axis=1)
    weights = np.concatenate(found.weights, axis=1)
    assert np.mean(again != weights) < 1e-3
    wrong = 100 * (1 - weights.mean())
    assert found.rejected_percent == pytest.approx(wrong) and 3 < wrong < 12
    assert found.converged


@pytest.mark.parametrize('threshold', [1.5, 2.5, 4.0])
def test_the_noise_is_that_of_the_rows_kept(problem, first, threshold):
    """Deviations and correlation of moving rows; a normal law cut at T deviations is narrower by a known factor."""
    found = reweight(problem, first, threshold)
    rows, still = [], []
    for block in found.problem.blocks():
        rows.append(block.tau - np.einsum('jbs,b->js', block.rows, found.solution.chi))
        still.append(block.resting)
    residual, kept = np.concatenate(rows, axis=1), ~np.concatenate(still, axis=1)
    kept &= np.concatenate(found.weights, axis=1) > 0
    inside = np.random.default_rng(0).normal(size=1_000_000)
    cut = inside[np.abs(inside) <= threshold].std()
    for j in range(2):
        own = residual[j, kept[j]]
        free = len(own) - found.problem.columns / 2
        # the factor is that of a million samples; the last sweep changed the estimate by up to a hundredth
        assert found.noise.sigma[j] == pytest.approx(np.sqrt(own @ own / free) / cut, rel=5e-3)
        assert found.noise.sigma[j] == pytest.approx(DEVIATION[j], rel=0.1 if threshold > 2 else 0.2)
    together = kept.all(axis=0)
    assert found.noise.correlation[0, 1] == pytest.approx(np.corrcoef(residual[:, together])[0, 1], abs=0.01)
    np.testing.assert_array_equal(np.diag(found.noise.correlation), 1.0)


@pytest.fixture(scope='module')
def spiky(two_links, observed):
    """Behind a parallel filter, with spikes on three samples in a hundred; where they are, and the parameters."""
    rng = np.random.default_rng(21)
    runs = [observed(seed, size, factor=4) for seed, size in ((1, 1200), (2, 900))]
    plain = Problem(two_links, runs)
    chi, made, places = rng.normal(size=plain.columns), [], []
    for run in runs:
        # torque jumps with the sign of a speed, and the filter mixes neighbours: no Coulomb friction
        chi[[name.startswith('Fc') for name in plain.names]] = 0.0
        spikes = rng.random(run.q.shape) < 0.03
        noise = rng.normal(size=run.q.shape) + spikes * rng.choice([-1, 1], run.q.shape) * 30
        made.append(replace(run, tau=full_rate_torque(plain, run, chi) + noise * DEVIATION))
        places.append(spikes)
    return Problem(two_links, made), places, chi


def test_replacing_and_reweighting_converge_together(spiky):
    problem, places, chi = spiky
    found = irls(problem, wls(triangulate(problem.blocks())))
    clean, wrong = cleaned(problem, found.solution.chi)
    for mask, spikes in zip(wrong, places, strict=True):
        np.testing.assert_array_equal(mask, spikes)
    assert found.converged
    again = reweight(clean, found.solution, start=found)
    deviation = np.sqrt(np.diag(found.solution.inverse))
    assert np.abs((again.solution.chi - found.solution.chi) / deviation).max() < 2e-2
    tau = [np.concatenate([block.tau for block in one.blocks()], axis=1) for one in (clean, found.problem)]
    np.testing.assert_allclose(tau[0], tau[1], atol=0.02 * DEVIATION.min())
    assert np.abs((found.solution.chi - chi) / np.sqrt(np.diag(found.covariance()))).max() < 5


def test_the_covariance_is_of_the_rows_kept_alone(found):
    """Of white noise it is near (AᵀA)⁻¹; rejected rows have no part in it."""
    ratio = np.diag(found.covariance()) / np.diag(found.solution.inverse)
    assert ratio.min() > 0.2 and ratio.max() < 5 and 0.6 < np.median(ratio) < 1.7
    blocks = list(found.problem.blocks())
    runs = [observation.tau.copy() for observation in found.problem.observations]
    for block, weight in zip(blocks, found.weights, strict=True):
        # a whitened sample counts for both joints: only rejected by both, it may hold anything
        out = (weight == 0).all(axis=0)
        runs[block.observation][block.kept][out] += 1e3
    other = replace(found, problem=found.problem.with_torque(runs))
    assert any((weight == 0).all(axis=0).any() for weight in found.weights)
    np.testing.assert_allclose(other.covariance(), found.covariance(), rtol=1e-9, atol=1e-15)
