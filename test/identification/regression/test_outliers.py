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
def test_what_is_far_from_the_prediction_is_wrong_by_the_scatter_of_all_observations(of_residuals, gross):
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


def test_in_their_place_comes_the_prediction_and_what_it_misses_nearby(of_residuals):
    """The mean of what the good samples within the filter's reach are off; the prediction where there is none."""
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
        assert decimator.half % 2 == 0
        replaced = residual.copy()
        for k, j in np.argwhere(mask):
            reach = slice(k - decimator.half // 2, k + decimator.half // 2 + 1)
            good = residual[reach, j][~mask[reach, j]]
            replaced[k, j] = good.mean() if len(good) else 0.0
        expected = decimator.apply(predicted[index] + replaced).T
        found = np.concatenate([block.tau for block in clean.blocks() if block.observation == index], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    # the parameters and their columns are those of the problem
    assert clean.names == problem.names
    for one, other in zip(clean.blocks(), problem.blocks(), strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_without_a_parallel_filter_nothing_is_replaced(of_residuals):
    residuals = [1e-3 * np.random.default_rng(6).normal(size=(size, 2)) for size in SIZES]
    residuals[0][7] = 9.0
    problem, chi, _ = of_residuals(residuals)
    assert find_outliers(problem, chi)[0][0][7].all()
    clean, wrong = cleaned(problem, chi)
    assert clean is problem
    assert [mask.shape for mask in wrong] == [residual.shape for residual in residuals]
    assert not any(mask.any() for mask in wrong)
