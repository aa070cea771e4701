"""IRLS: what does not belong is left out, and what is left is weighed by the joint covariance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.preparation.observations import filter_plan, observe
from joint_dynamics.identification.regression.irls import Noise, WeightedEstimate, compensated, irls, whitened
from joint_dynamics.identification.regression.least_squares import solve, triangulate, wls
from joint_dynamics.identification.regression.outliers import cleaned
from joint_dynamics.identification.regression.problem import Problem


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


def test_outliers_of_one_joint_at_a_time_move_the_parameters_less(ur, recording, problem):
    rng = np.random.default_rng(8)
    dirty, wrong = with_outliers(recording, 8, share=1.0)
    which = (rng.random(len(wrong)) < 0.1)[:, None] & (rng.integers(6, size=len(wrong))[:, None] == np.arange(6))
    found, clean = (
        irls(part, first_of(part))
        for part in (problem_of(ur, [replace(recording, tau=np.where(which, dirty.tau, recording.tau))]), problem)
    )
    assert which.any(axis=1).mean() == pytest.approx(0.1, abs=0.01)
    moved = np.abs(found.solution.chi - clean.solution.chi) / np.sqrt(np.diag(clean.covariance()))
    assert np.sqrt(np.mean(moved**2)) < 0.25
    assert np.mean(moved < 0.5) > 0.95


def test_clean_data_are_left_alone(problem):
    solution = first_of(problem)
    assert cleaned(problem, solution.chi, gross=1e3)[0] is problem
    # but for reversals, where the sign of the filtered speed is a sample early or late
    assert np.mean(cleaned(problem, solution.chi)[1][0]) < 1e-4


def test_rows_without_a_parallel_filter_are_left_out_by_weights(ur, recording):
    plain = problem_of(ur, [recording])
    observation = replace(plain.observations[0], decimator=None)
    part = slice(0, len(observation.q), 10)
    names = ('time', 'q', 'dq', 'ddq', 'theta', 'dtheta', 'ddtheta', 'tau')
    thin = replace(observation, **{name: getattr(observation, name)[part] for name in names})
    wrong = np.random.default_rng(3).random(thin.tau.shape) < 0.05
    dirty = Problem(ur, [replace(thin, tau=thin.tau + 50 * wrong * thin.tau.std(axis=0))], rest_speed=0.01)
    found = irls(dirty, first_of(dirty))
    assert np.concatenate(found.weights, axis=1)[wrong.T].max() == 0.0
    assert found.trace[-1]['replaced_samples_percent'] == 0.0


def test_a_correlated_noise_costs_less_than_with_wls(ur, true_robot):
    rng = np.random.default_rng(11)
    shared, errors = np.array([1.0, 1.0, 0.8, 0.3, 0.3, 0.3]), {'wls': [], 'irls': []}
    for seed in range(4):
        recording = true_robot.record(seed, duration=15.0, noise=0.002)
        common = lfilter([0.1], [1.0, -0.9], rng.normal(size=(len(recording.time), 1)), axis=0) * shared
        problem = problem_of(ur, [replace(recording, tau=recording.tau + 4 * common)], rest_speed=0.0)
        first = first_of(problem)
        errors['wls'].append(first.chi - true_robot.base)
        errors['irls'].append(irls(problem, first).solution.chi - true_robot.base)
    scale = np.std(errors['wls'], axis=0) + 1e-12
    wls_error, irls_error = (np.sqrt(np.mean((np.array(errors[name]) / scale) ** 2)) for name in ('wls', 'irls'))
    assert irls_error < 0.7 * wls_error


def test_identify_by_irls(ur, true_robot):
    recording, unseen = true_robot.record(3, duration=20.0), true_robot.record(4, duration=10.0)
    dirty, _ = with_outliers(recording, 3)
    result = identify(ur, [dirty], [unseen], IdentificationSettings(method='irls'))
    plain = identify(ur, [recording], [unseen])
    assert result.validation[0].residual_percent()[1] < 1.5 * plain.validation[0].residual_percent()[1]
    assert result.details.irls['loops'][-1]['replaced_samples_percent'] == pytest.approx(10.0, abs=0.5)
    # the fit shows the torque as measured, outliers and all
    assert result.training[0].residual_percent()[1] > 10


def test_rows_left_out_are_told_in_percent():
    weights = [np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), np.ones((2, 2))]
    assert WeightedEstimate(None, None, None, weights).rejected_percent == pytest.approx(30.0)
    assert WeightedEstimate(None, None, None, []).rejected_percent == 100.0


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


def test_known_columns_go_to_the_other_side(dense, blocks, system):
    rows, tau, _, _ = system
    N, _, _ = rows.shape
    triangles = triangulate(blocks(rows, tau))
    fixed, values = np.array([False, True, False, False, True, False]), np.arange(6.0)
    found = solve(compensated(triangles, fixed, values), np.ones(N))
    A, y = dense(rows, tau, np.ones_like(tau))
    expected = np.linalg.lstsq(A[:, ~fixed], y - A[:, fixed] @ values[fixed], rcond=None)[0]
    np.testing.assert_allclose(found.chi[~fixed], expected, rtol=1e-7)
    # what has no column left is shown by nothing but rounding
    np.testing.assert_allclose(found.chi[fixed], 0.0, atol=1e-12)
    np.testing.assert_array_equal(triangles.factors, triangulate(blocks(rows, tau)).factors)
