"""Gross outliers of the torque: which samples they are, and what is put in their place."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.regression.outliers import cleaned, find_outliers
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque

NORMAL = 1.4826  # of a normal distribution: deviation over the median of its absolute values
SIZES = (600, 250)


@pytest.fixture
def of_residuals(two_links, observed):
    """A function (residuals, factor) -> problem, parameters: torques are what these predict, and the residuals."""

    def make(residuals, factor=None, scale=(1.0, 1.0)):
        runs = [observed(seed, len(one), factor=factor) for seed, one in enumerate(residuals)]
        plain = Problem(two_links, runs)
        chi = np.random.default_rng(9).normal(size=plain.columns)
        # torques of very different size at the two joints
        predicted = [full_rate_torque(plain, run, chi) for run in runs]
        runs = [
            replace(run, tau=torque + residual)
            for run, torque, residual in zip(runs, predicted, residuals, strict=True)
        ]
        return Problem(two_links, runs), chi, predicted

    return make


@pytest.mark.parametrize('gross', [None, 2.0, 3.5])
def test_what_is_far_from_the_prediction_is_wrong_by_the_scatter_of_all_observations(of_residuals, gross):
    rng = np.random.default_rng(3)
    # the second run scatters three times as much, and joint 2 a hundred times
    residuals = [scale * rng.normal(size=(size, 2)) * [0.01, 1.0] for size, scale in zip(SIZES, (1, 3), strict=True)]
    residuals[0][::40] *= 30.0
    problem, chi, _ = of_residuals(residuals)
    wrong, found = find_outliers(problem, chi, *(() if gross is None else (gross,)))
    limit = (gross or 5.0) * NORMAL * np.median(np.abs(np.concatenate(residuals)), axis=0)
    for mask, ours, truth in zip(wrong, found, residuals, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-9, atol=1e-12)
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


def test_in_their_place_comes_the_prediction_and_what_it_misses_nearby(of_residuals):
    """Where the prediction is off by as much all around, it is off by that much there, too; good samples stay."""
    rng = np.random.default_rng(4)
    off = [np.where(np.arange(size) < size // 2, 0.5, -0.3)[:, None] * [1.0, 2.0] for size in SIZES]
    residuals = [level.copy() for level in off]
    places = [[30, 31, 200, size - 20] for size in SIZES]
    for residual, place in zip(residuals, places, strict=True):
        residual[place, 0] += 50.0 * rng.choice([-1, 1], len(place))
        residual[place[:2], 1] -= 40.0
    problem, chi, predicted = of_residuals(residuals, factor=5)
    clean, wrong = cleaned(problem, chi)
    for index, (mask, place) in enumerate(zip(wrong, places, strict=True)):
        assert np.flatnonzero(mask[:, 0]).tolist() == place
        assert np.flatnonzero(mask[:, 1]).tolist() == place[:2]
        expected = problem.observations[index].decimator.apply(predicted[index] + off[index]).T
        found = np.concatenate([block.tau for block in clean.blocks() if block.observation == index], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    # the parameters and their columns are those of the problem
    assert clean.names == problem.names
    for one, other in zip(clean.blocks(), problem.blocks(), strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_what_is_nearby_is_within_the_reach_of_the_filter(of_residuals):
    """A residual that drifts: the mean over the filter's reach is the drift there, the mean over all is not."""
    size = 600
    drift = np.linspace(-3.0, 3.0, size)[:, None] * [1.0, 1.0]
    residuals = [drift.copy()]
    residuals[0][150] += 200.0
    problem, chi, predicted = of_residuals(residuals, factor=5)
    clean, wrong = cleaned(problem, chi)
    assert np.flatnonzero(wrong[0][:, 0]).tolist() == [150]
    expected = problem.observations[0].decimator.apply(predicted[0] + drift).T
    found = np.concatenate([block.tau for block in clean.blocks()], axis=1)
    # a window of an even number of samples is centred half a sample off
    np.testing.assert_allclose(found, expected, atol=6.0 / size)


def test_in_the_midst_of_wrong_samples_the_prediction_stands(of_residuals):
    size = 600
    residuals = [np.zeros((size, 2))]
    reach = slice(200, 400)
    residuals[0][reach] = 7.0
    residuals[0] += 1e-3 * np.random.default_rng(5).normal(size=(size, 2))
    problem, chi, predicted = of_residuals(residuals, factor=5)
    assert problem.observations[0].decimator.half < 100
    clean, wrong = cleaned(problem, chi)
    assert wrong[0][reach].all()
    found = np.concatenate([block.tau for block in clean.blocks()], axis=1)
    np.testing.assert_allclose(found, problem.observations[0].decimator.apply(predicted[0]).T, atol=5e-3)


def test_without_a_parallel_filter_nothing_is_replaced(of_residuals):
    residuals = [1e-3 * np.random.default_rng(6).normal(size=(size, 2)) for size in SIZES]
    residuals[0][7] = 9.0
    problem, chi, _ = of_residuals(residuals)
    assert find_outliers(problem, chi)[0][0][7].all()
    clean, wrong = cleaned(problem, chi)
    assert clean is problem
    assert [mask.shape for mask in wrong] == [residual.shape for residual in residuals]
    assert not any(mask.any() for mask in wrong)


def test_the_threshold_is_the_one_asked_for(of_residuals):
    residuals = [np.random.default_rng(7).normal(size=(size, 2)) for size in SIZES]
    problem, chi, _ = of_residuals(residuals, factor=5)
    for gross in (1.0, 2.5):
        for mask, other in zip(cleaned(problem, chi, gross)[1], find_outliers(problem, chi, gross)[0], strict=True):
            np.testing.assert_array_equal(mask, other)
