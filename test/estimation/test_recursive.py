"""Recursive least squares against the textbook, and the bounds of its covariance."""

import numpy as np
import pytest

from joint_dynamics.estimation.recursive import RecursiveLeastSquares


@pytest.mark.parametrize('directional', [True, False])
@pytest.mark.parametrize(('forgetting', 'delta'), [(1.0, 0.0), (0.97, 0.0), (0.97, 1e-3)])
def test_recursive_least_squares_is_the_textbooks(textbook, directional, forgetting, delta):
    rng = np.random.default_rng(3)
    diagonal = np.array([[2.0, 5.0, 0.5], [1.0, 3.0, 4.0]])
    rls = RecursiveLeastSquares(
        2, 3, initial_covariance=diagonal, forgetting=forgetting, delta=delta, directional=directional
    )
    rls.reset(alpha=[0.3, -1.0, 2.0])
    np.testing.assert_array_equal(rls.P, [np.diag(row) for row in diagonal])
    P, alpha = list(rls.P.copy()), list(rls.alpha.copy())
    for _ in range(60):
        psi, y = rng.normal(size=(2, 3)), rng.normal(size=2)
        steps = [textbook(psi[j], y[j], P[j], alpha[j], forgetting, delta, directional) for j in range(2)]
        error, weighed = rls.step(psi, y, np.ones(2, dtype=bool))
        P, alpha = [step[0] for step in steps], [step[1] for step in steps]
        np.testing.assert_allclose(error, [step[2] for step in steps], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(weighed, [step[3] for step in steps], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(rls.P, P, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(rls.alpha, alpha, rtol=1e-7, atol=1e-12)
    # a joint that is held off, and its neighbour, in the same step
    before = rls.P.copy(), rls.alpha.copy()
    rls.step(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), np.array([0.0, 1.0]), np.array([False, True]))
    np.testing.assert_array_equal(rls.P[0], before[0][0])
    np.testing.assert_array_equal(rls.alpha[0], before[1][0])
    assert not np.allclose(rls.P[1], before[0][1]) and not np.allclose(rls.alpha[1], before[1][1])


def test_the_covariance_is_bounded_relative_to_its_start():
    """Eigenvalues of P in units of P(0): at most 1, at least 1e-14 of the largest; what is within is left alone."""
    start = np.array([[4.0, 9.0]])
    root = np.sqrt(start[0])
    unit = np.outer(root, root)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for values, bounded in (
        ([0.5, 0.25], [0.5, 0.25]),
        ([7.0, 0.25], [1.0, 0.25]),
        ([0.5, -0.1], [0.5, 0.5e-14]),
        ([0.5, 1e-20], [0.5, 0.5e-14]),
        ([1e-30, 1e-30], [1e-24, 1e-24]),
    ):
        rls = RecursiveLeastSquares(1, 2, initial_covariance=start)
        rls.P[0] = turn @ np.diag(values) @ turn.T * unit
        before = rls.P.copy()
        rls.bound()
        if values == bounded:
            np.testing.assert_array_equal(rls.P, before)
        # of the smaller one only what rounding of the larger one leaves
        expected = turn @ np.diag(bounded) @ turn.T * unit
        np.testing.assert_allclose(rls.P[0], expected, rtol=1e-9, atol=4e-15 * max(bounded) * unit.max())
        np.testing.assert_array_equal(rls.P[0], rls.P[0].T)
