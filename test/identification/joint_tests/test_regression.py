"""Least squares, and deviations that know residuals hang together in time."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.regression import least_squares


def test_solves_and_scales_its_columns():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((200, 3)) * [1, 1e-9, 1e6]
    fit = least_squares(W, W @ [1, 2e9, 3e-6], ('a', 'b', 'c'))
    assert np.allclose(fit.values, [1, 2e9, 3e-6])
    assert fit.condition < 2


@pytest.mark.parametrize('correlation', [0.0, 0.95])
def test_deviations_match_the_spread_over_seeds(correlation):
    t = np.linspace(0, 1, 2000)
    W = np.column_stack([np.ones_like(t), np.sin(7 * t)])
    errors, stated = [], []
    for seed in range(60):
        noise = np.random.default_rng(seed).standard_normal(t.size)
        for k in range(1, t.size):
            noise[k] += correlation * noise[k - 1]
        fit = least_squares(W, W @ [1, 2] + noise, ('a', 'b'))
        errors.append(fit.values - [1, 2])
        stated.append(fit.std)
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.sqrt(np.mean(np.square(stated), axis=0))
    assert np.all((ratio > 0.7) & (ratio < 1.35))


def test_what_cannot_be_told_apart_is_named():
    x = np.random.default_rng(0).standard_normal(50)
    with pytest.raises(NotReliableError, match='F_C, offset'):
        least_squares(np.column_stack([np.ones(50), x, np.ones(50)]), x, ('F_C', 'F_V1', 'offset'))
    with pytest.raises(NotReliableError, match='excites b'):
        least_squares(np.column_stack([x, np.zeros(50)]), x, ('a', 'b'))
    with pytest.raises(JointDynamicsError, match='more than 2 rows'):
        least_squares(np.ones((2, 2)), np.ones(2), ('a', 'b'))
