"""Criteria of excitation are what they stand for, with their gradients."""

import numpy as np
import pytest

from joint_dynamics.excitation.assessment import (
    log_condition,
    make_criterion,
    negative_log_det,
    weighted_blocks,
    with_information,
)

NAMES = ['XX_2', 'ZZR_1', 'MXR_2', 'MY_2', 'M_3', 'Fv_1', 'off_1']


@pytest.fixture
def W():
    rng = np.random.default_rng(3)
    return rng.standard_normal((40, 7)) * [1, 5, 0.1, 2, 1, 30, 1] + rng.standard_normal((40, 1))


def scaled_condition(W):
    return np.linalg.cond(W / np.linalg.norm(W, axis=0))


@pytest.mark.parametrize('name', ['condition_number', 'weighted_blocks', 'log_det'])
@pytest.mark.parametrize('sharpness', [1.0, 8.0, 64.0])
@pytest.mark.parametrize('information', [0.0, 0.3])
def test_gradients_are_derivatives(W, name, sharpness, information):
    criterion = with_information(make_criterion(name, (2.0, 0.5), NAMES), information)
    G = W.T @ W
    direction = np.random.default_rng(1).standard_normal(G.shape)
    direction = (direction + direction.T) * 1e-3 * np.sqrt(np.outer(np.diag(G), np.diag(G)))
    gradient = criterion(G, sharpness)[1]
    slope = (criterion(G + 1e-4 * direction, sharpness)[0] - criterion(G - 1e-4 * direction, sharpness)[0]) / 2e-4
    assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_the_smooth_condition_number_bounds_the_true_one_and_tends_to_it(W):
    true = np.log(scaled_condition(W))
    values = [log_condition(W.T @ W, sharpness)[0] for sharpness in (1, 4, 16, 64, 1000)]
    assert all(np.diff(values) <= 1e-12)
    assert values[-1] >= true - 1e-12
    assert values[-1] == pytest.approx(true, abs=2e-3)


def test_columns_may_be_scaled_without_effect(W):
    scaled = W * np.geomspace(1e-3, 1e3, 7)
    assert log_condition(scaled.T @ scaled, 8)[0] == pytest.approx(log_condition(W.T @ W, 8)[0], rel=1e-9)


def test_weighted_blocks_are_the_weighted_sum_of_both_condition_numbers(W):
    first, second = np.array([2, 3, 4]), np.array([0, 1])
    expected = np.log(2.0 * scaled_condition(W[:, first]) + 0.5 * scaled_condition(W[:, second]))
    assert make_criterion('weighted_blocks', (2.0, 0.5), NAMES)(W.T @ W, 3000.0)[0] == pytest.approx(expected, abs=1e-3)
    assert weighted_blocks([first, second], (2.0, 0.5))(W.T @ W, 3000.0)[0] == pytest.approx(expected, abs=1e-3)


def test_log_det_is_that_of_the_information(W):
    assert negative_log_det(W.T @ W, 1.0)[0] == pytest.approx(-np.linalg.slogdet(W.T @ W)[1] / 7)


def test_dependent_columns_do_not_break_the_search(W):
    G = np.block([[W.T @ W, W.T @ W], [W.T @ W, W.T @ W]])
    for criterion in (log_condition, negative_log_det):
        value, gradient = criterion(G, 8.0)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
