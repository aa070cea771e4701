"""Least squares from triangles against scipy's, which has the whole system at hand."""

import numpy as np
import pytest
import scipy.linalg

from joint_dynamics.identification.regression.least_squares import ols, wls
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate


@pytest.fixture(params=range(4))
def system(request):
    """Rows (joints, columns, samples) of unlike sizes with noise unlike from joint to joint.

    Some joints do not see some columns.
    """
    rng = np.random.default_rng(request.param)
    n, b, samples = 3, 7, 500
    rows = rng.normal(size=(n, b, samples)) * 10.0 ** rng.uniform(-2, 2, b)[:, None]
    rows[0, 5:] = rows[2, :2] = 0.0
    sigma = np.array([0.1, 1.0, 5.0])
    chi = rng.normal(size=b)
    tau = np.einsum('jbs,b->js', rows, chi) + sigma[:, None] * rng.normal(size=(n, samples))
    return rows, tau


def blocks(rows, tau, size=64):
    parts = [slice(k, k + size) for k in range(0, tau.shape[1], size)]
    return [Block(rows=rows[:, :, k], tau=tau[:, k], dq=np.zeros_like(tau[:, k]), observation=0) for k in parts]


def stacked(rows, tau, sigma):
    return np.concatenate([row.T / s for row, s in zip(rows, sigma, strict=True)]), np.concatenate(
        [t / s for t, s in zip(tau, sigma, strict=True)]
    )


def same(found, expected, A, y):
    """Solutions alike: with columns of norm 1.

    These are nearly orthogonal here: the solutions differ by the rounding of y, summed over its rows.
    """
    norms = np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(
        found * norms, expected * norms, rtol=0, atol=len(y) * np.finfo(float).eps * np.linalg.norm(y)
    )


def test_ols_is_scipys_least_squares(system):
    rows, tau = system
    found = ols(triangulate(blocks(rows, tau)))
    A, y = stacked(rows, tau, np.ones(3))
    expected, square, _, _ = scipy.linalg.lstsq(A, y)
    same(found.chi, expected, A, y)
    np.testing.assert_allclose(found.sigma, np.sqrt(square / (len(y) - len(expected))), rtol=1e-9)
    np.testing.assert_allclose(found.inverse, scipy.linalg.inv(A.T @ A) * found.sigma[0] ** 2, rtol=1e-7, atol=1e-18)


def test_wls_is_scipys_with_the_rows_of_each_joint_divided_by_its_deviation(system):
    rows, tau = system
    found = wls(triangulate(blocks(rows, tau)))
    plain, _, _, _ = scipy.linalg.lstsq(*stacked(rows, tau, np.ones(3)))
    residual = tau - np.einsum('jbs,b->js', rows, plain)
    own = [np.count_nonzero(np.abs(row).max(axis=1) > 0) for row in rows]
    sigma = np.sqrt((residual**2).sum(axis=1) / (tau.shape[1] - np.array(own)))
    np.testing.assert_allclose(found.sigma, sigma, rtol=1e-9)
    A, y = stacked(rows, tau, sigma)
    same(found.chi, scipy.linalg.lstsq(A, y)[0], A, y)
    scaled = A / np.linalg.norm(A, axis=0)
    values = scipy.linalg.svdvals(scaled)
    assert found.condition_number == pytest.approx(values[0] / values[-1], rel=1e-9)
    np.testing.assert_allclose(found.inflation, np.sqrt(np.diag(scipy.linalg.inv(scaled.T @ scaled))), rtol=1e-9)
