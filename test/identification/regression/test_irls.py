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

"""IRLS: gross outliers are replaced, what does not belong is left out, the rest weighed by the joint covariance."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import filter_plan, observe
from joint_dynamics.identification.regression.irls import Noise, cleaned, find_outliers, irls, whitened
from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque
from joint_dynamics.identification.regression.triangles import triangulate


def problem_of(model, recordings, rest_speed=0.01):
    plan = filter_plan(recordings, IdentificationSettings())
    return Problem(model, [observe(recording, plan) for recording in recordings], rest_speed=rest_speed)


def first_of(problem):
    return wls(triangulate(problem.blocks()))


def with_outliers(recording, seed, share=0.1):
    rng = np.random.default_rng(seed)
    wrong = rng.random(recording.tau.shape) < share
    size = rng.choice([-1, 1], wrong.shape) * rng.uniform(5, 20, wrong.shape) * recording.tau.std(axis=0)
    return replace(recording, tau=recording.tau + wrong * size), wrong


@pytest.fixture(scope='module')
def recording(true_robot):
    return true_robot.record(1, duration=20.0)


@pytest.fixture(scope='module')
def problem(ur, recording):
    return problem_of(ur, [recording])


def test_gross_outliers_hardly_move_the_parameters(ur, recording, problem):
    dirty = problem_of(ur, [with_outliers(recording, 5)[0]])
    clean = irls(problem, first_of(problem))
    found = irls(dirty, first_of(dirty))
    deviation = np.sqrt(np.diag(clean.covariance()))
    moved = (found.solution.chi - clean.solution.chi) / deviation
    # losing a tenth of the data alone moves each parameter by a third of its deviation
    assert np.sqrt(np.mean(moved**2)) < 0.5
    assert np.median(np.abs(moved)) < 0.5
    assert np.abs(moved).max() < 1.5
    assert np.sqrt(np.mean(((first_of(dirty).chi - clean.solution.chi) / deviation) ** 2)) > 20


def test_clean_data_are_left_alone(problem):
    solution = first_of(problem)
    assert cleaned(problem, solution.chi, gross=1e3)[0] is problem
    # except at reversals: the sign of the filtered speed is a sample early or late there
    assert np.mean(cleaned(problem, solution.chi)[1][0]) < 1e-4


def test_identify_by_irls(ur, true_robot):
    recording, unseen = true_robot.record(3, duration=20.0), true_robot.record(4, duration=10.0)
    dirty, _ = with_outliers(recording, 3)
    result = identify(ur, [dirty], [unseen], IdentificationSettings(method='irls'))
    plain = identify(ur, [recording], [unseen])
    assert result.validation[0].residual_percent()[1] < 1.5 * plain.validation[0].residual_percent()[1]
    assert result.details.irls['converged']
    # the fit shows the torque as measured, outliers and all
    assert result.training[0].residual_percent()[1] > 10


def test_noise_is_whitened_sample_by_sample(blocks, system):
    rows, tau, resting, scale = system
    N, _, SAMPLES = rows.shape
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(N, 9))
    noise = Noise(np.array([0.5, 1.0, 2.0]), np.array([3.0, 4.0, 5.0]), np.corrcoef(mixing))
    white = list(whitened(blocks(rows, tau, resting, scale), noise))
    found_rows, found_tau = (
        np.concatenate([getattr(block, name) for block in white], axis=-1) for name in ('rows', 'tau')
    )
    assert all(block.resting is None and block.scale is None for block in white)
    for k in range(SAMPLES):
        still = resting[:, k]
        deviation = np.where(still, noise.rest_sigma, noise.sigma)
        # a joint at rest stands alone, with its stay's weight
        C = np.where(np.logical_or.outer(still, still), np.eye(N), noise.correlation)
        values, vectors = np.linalg.eigh(C)
        root = (vectors * np.maximum(values, 0.05) ** -0.5) @ vectors.T * scale[:, k][:, None]
        np.testing.assert_allclose(
            found_rows[:, :, k], root @ (rows[:, :, k] / deviation[:, None]), rtol=1e-8, atol=1e-9
        )
        np.testing.assert_allclose(found_tau[:, k], root @ (tau[:, k] / deviation), rtol=1e-8, atol=1e-9)
    plain = Noise(noise.sigma, None, noise.correlation)
    block = next(blocks(rows, tau, resting, scale))
    np.testing.assert_array_equal(plain.deviations(block), np.tile(noise.sigma[:, None], 50))


NORMAL = 1.4826  # of a normal distribution: deviation over the median of its absolute values
SIZES = (600, 250)


@pytest.fixture
def of_residuals(two_links, observed):
    """A function (residuals, factor) -> problem, parameters: torques are what these predict, and the residuals."""

    def make(residuals, **filtered):
        runs = [observed(seed, len(one), **filtered) for seed, one in enumerate(residuals)]
        plain = Problem(two_links, runs)
        chi = np.random.default_rng(9).normal(size=plain.columns)
        # the torque of joint 1 is three hundred times that of joint 2
        chi[[name.endswith('_1') for name in plain.names]] *= 300.0
        predicted = [full_rate_torque(plain, run, chi) for run in runs]
        runs = [
            replace(run, tau=torque + residual)
            for run, torque, residual in zip(runs, predicted, residuals, strict=True)
        ]
        return Problem(two_links, runs), chi, predicted

    return make


@pytest.mark.parametrize('gross', [None, 2.0, 3.5])
def test_outliers_are_judged_by_the_scatter_of_all_runs(of_residuals, gross):
    rng = np.random.default_rng(3)
    # the second run scatters three times as much, and joint 2 a hundred times
    residuals = [scale * rng.normal(size=(size, 2)) * [0.01, 1.0] for size, scale in zip(SIZES, (1, 3), strict=True)]
    residuals[0][::40] *= 30.0
    problem, chi, _ = of_residuals(residuals)
    wrong, found = find_outliers(problem, chi, *(() if gross is None else (gross,)))
    limit = (gross or 5.0) * NORMAL * np.median(np.abs(np.concatenate(residuals)), axis=0)
    for mask, ours, truth in zip(wrong, found, residuals, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(mask, np.abs(truth) > limit)
        assert mask.any() and not mask.all()


def test_of_data_without_noise_rounding_does_not_stand_out(of_residuals):
    """Residuals of a ten-millionth of a joint's torque are none, whatever that joint's size; a thousandth is one."""
    residuals = [np.zeros((size, 2)) for size in SIZES]
    problem, chi, predicted = of_residuals(residuals)
    size = np.sqrt(np.mean([np.mean(torque**2, axis=0) for torque in predicted], axis=0))
    for share, expected in ((1e-7, False), (1e-6, False), (1e-5, True), (1e-3, True)):
        for residual in residuals:
            residual[10] = share * size
        problem, chi, _ = of_residuals(residuals)
        wrong, _ = find_outliers(problem, chi)
        for mask in wrong:
            np.testing.assert_array_equal(mask[10], expected)
            assert not np.delete(mask, 10, axis=0).any()


def nearby_mean(residual, mask, half):
    """Residual with its masked samples replaced by the mean of the good ones within the filter's reach, 0 without."""
    replaced = residual.copy()
    assert half % 2 == 0
    for k, j in np.argwhere(mask):
        reach = slice(k - half // 2, k + half // 2 + 1)
        good = residual[reach, j][~mask[reach, j]]
        replaced[k, j] = good.mean() if len(good) else 0.0
    return replaced


def test_outliers_become_prediction_plus_nearby_residual(of_residuals):
    """The mean residual of the good samples within the filter's reach; the prediction without any."""
    rng = np.random.default_rng(4)
    residuals = [rng.normal(size=(size, 2)) + np.linspace(-2, 2, size)[:, None] for size in (900, 1200)]
    bad = [np.zeros((900, 2), dtype=bool), np.zeros((1200, 2), dtype=bool)]
    bad[0][[100, 101, 300, 700], [0, 0, 1, 0]] = True
    # a long stretch with a single good sample in it, of one joint
    bad[1][400:700, 1] = True
    bad[1][550, 1] = False
    residuals = [np.where(mask, 60.0 * np.sign(one), one) for mask, one in zip(bad, residuals, strict=True)]
    problem, chi, predicted = of_residuals(residuals, factor=5, cutoff=3.8)
    clean, wrong = cleaned(problem, chi)
    for index, (mask, residual) in enumerate(zip(wrong, residuals, strict=True)):
        np.testing.assert_array_equal(mask, bad[index])
        decimator = problem.observations[index].decimator
        expected = decimator.apply(predicted[index] + nearby_mean(residual, mask, decimator.half)).T
        found = np.concatenate([block.tau for block in clean.blocks() if block.observation == index], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    # the parameters and their columns are those of the problem
    assert clean.names == problem.names
    for one, other in zip(clean.blocks(), problem.blocks(), strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
