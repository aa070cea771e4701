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

"""The least squares of a robot's rows by dense matrices: rows at rest, ridges, directions that nothing shows."""

import numpy as np
import pytest

from joint_dynamics.arm import RELUCTANCE
from joint_dynamics.identification.regression.least_squares import ols, solve, wls
from joint_dynamics.identification.regression.triangles import triangulate


def check(found, A, y, optional=None):
    norms = np.linalg.norm(A, axis=0)
    ridge = np.zeros(len(norms)) if optional is None else optional * norms
    normal = A.T @ A + np.diag(ridge**2)
    np.testing.assert_allclose(found.chi, np.linalg.solve(normal, A.T @ y), rtol=1e-7)
    np.testing.assert_allclose(found.inverse, np.linalg.inv(normal), rtol=1e-7, atol=1e-10 / norms.min() ** 2)
    scaled = normal / np.sqrt(np.outer(np.diag(normal), np.diag(normal)))
    np.testing.assert_allclose(found.inflation, np.sqrt(np.diag(np.linalg.inv(scaled))), rtol=1e-7)
    values = np.linalg.eigvalsh(scaled)
    assert found.condition_number == pytest.approx(np.sqrt(values[-1] / values[0]), rel=1e-7)


def test_weighted_rows_and_rows_at_rest(dense, blocks, system):
    """σ_j of moving rows from r_j − b_j; a stay is one row, its deviation drawn to three times the moving one."""
    rows, tau, resting, scale = system
    _, _, SAMPLES = rows.shape
    triangles = triangulate(blocks(rows, tau, resting, scale))
    A, y = dense(rows, tau, scale)
    first = np.linalg.lstsq(A, y, rcond=None)[0]
    residual = (tau - np.einsum('jbs,b->js', rows, first)) * scale
    own = np.array([5, 6, 6])
    moving, stays = (~resting).sum(axis=1), resting.sum(axis=1) / 12
    sigma = np.sqrt(((residual * ~resting) ** 2).sum(axis=1) / (moving - own))
    square = ((residual * resting) ** 2).sum(axis=1)
    rest = np.maximum(np.sqrt((square + 2.0 * (3.0 * sigma) ** 2) / (stays + 2.0)), sigma)
    found = wls(triangles)
    np.testing.assert_allclose(found.sigma, sigma, rtol=1e-8)
    np.testing.assert_allclose(found.rest_sigma, rest, rtol=1e-8)
    factor = np.where(resting, scale / rest[:, None], 1.0 / sigma[:, None])
    check(found, *dense(rows, tau, factor))
    assert found.rows == triangles.rows == pytest.approx(moving.sum() + stays.sum())
    np.testing.assert_allclose(triangles.counts, moving)
    np.testing.assert_array_equal(triangles.own, np.abs(rows * ~resting[:, None]).max(axis=2) > 0)
    np.testing.assert_allclose(triangles.resting.counts, stays)
    block = next(blocks(rows, tau, resting, scale, SAMPLES))
    np.testing.assert_allclose(found.row_factors(block), factor, rtol=1e-8)


def test_residuals_of_any_parameters_from_the_triangles(blocks, system):
    """‖r‖ of the moving rows of a joint; its deviation √(‖r‖²/(r_j − b_j))."""
    rows, tau, resting, scale = system
    triangles, own = triangulate(blocks(rows, tau, resting, scale)), np.array([5, 6, 6])
    chi = np.linspace(-1.0, 1.0, rows.shape[1])
    norms = np.linalg.norm((tau - np.einsum('jbs,b->js', rows, chi)) * ~resting, axis=1)
    np.testing.assert_allclose(triangles.residual_norms(chi), norms, rtol=1e-9)
    np.testing.assert_allclose(
        triangles.residual_deviations(chi), norms / np.sqrt((~resting).sum(axis=1) - own), rtol=1e-9
    )


def test_too_few_moving_or_resting_rows_leave_it_to_the_others(dense, blocks, system):
    rows, tau, _, _ = system
    N, _, SAMPLES = rows.shape
    for few in ('moving', 'resting'):
        resting = np.zeros((N, SAMPLES), dtype=bool)
        resting[1] = np.arange(SAMPLES) >= (5 if few == 'moving' else SAMPLES)
        scale = np.where(resting, (SAMPLES - 5) ** -0.5, 1.0)
        found = wls(triangulate(blocks(rows, tau, resting, scale)))
        A, y = dense(rows, tau, scale)
        residual = (tau - np.einsum('jbs,b->js', rows, np.linalg.lstsq(A, y, rcond=None)[0])) * scale
        moving = np.sqrt(((residual * ~resting) ** 2).sum(axis=1) / np.maximum((~resting).sum(axis=1) - [5, 6, 6], 1))
        if few == 'moving':
            alone = np.sqrt(((residual * resting) ** 2).sum(axis=1))[1]
            assert found.sigma[1] == pytest.approx(max(moving[1], alone), rel=1e-8)
            assert found.rest_sigma[1] == pytest.approx(alone, rel=1e-8)
        else:
            np.testing.assert_allclose(found.sigma, moving, rtol=1e-8)
            np.testing.assert_allclose(found.rest_sigma, 3.0 * moving, rtol=1e-8)


def test_ridges_hold_columns_back_and_chosen_ones_do_not_count(dense, blocks, system):
    rows, tau, _, _ = system
    N, B, SAMPLES = rows.shape
    triangles = triangulate(blocks(rows, tau))
    sigma, optional = np.array([0.1, 1.0, 3.0]), np.array([0.0, 0.3, 0.0, 0.0, 0.1, 0.0])
    A, y = dense(rows, tau, np.broadcast_to(1.0 / sigma[:, None], tau.shape))
    found = solve(triangles, sigma, optional)
    check(found, A, y, optional)
    assert found.rest_sigma is None and found.rows == N * SAMPLES
    check(solve(triangles, sigma), A, y)
    mask = optional > 0
    by_default = solve(triangles, sigma, mask)
    np.testing.assert_array_equal(by_default.chi, solve(triangles, sigma, RELUCTANCE * mask).chi)
    assert not np.array_equal(by_default.chi, solve(triangles, sigma).chi)
    chosen = solve(triangles, sigma, optional, selected=mask)
    np.testing.assert_array_equal(chosen.chi, found.chi)
    ridged = np.vstack([A, np.diag(optional * np.linalg.norm(A, axis=0))])
    rest = (ridged / np.linalg.norm(ridged, axis=0))[:, ~mask]
    assert chosen.condition_number == pytest.approx(np.linalg.cond(rest), rel=1e-7)
    plain = ols(triangles)
    A, y = dense(rows, tau, np.ones_like(tau))
    expected = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(plain.chi, expected, rtol=1e-7)
    deviation = np.linalg.norm(y - A @ expected) / np.sqrt(N * SAMPLES - B)
    np.testing.assert_allclose(plain.sigma, deviation, rtol=1e-8)


def test_directions_without_samples_stay_at_zero(dense, blocks, system):
    rows, tau, _, _ = system
    N, _, _ = rows.shape
    rows = rows.copy()
    rows[:, 4] = 0.0
    rows[:, 3] = 2.0 * rows[:, 2]
    triangles = triangulate(blocks(rows, tau))
    found = solve(triangles, np.ones(N))
    np.testing.assert_array_equal(np.isinf(found.inflation), [False, False, True, True, True, False])
    assert found.chi[4] == 0.0 and np.isinf(found.condition_number)
    A, y = dense(rows, tau, np.ones_like(tau))
    np.testing.assert_allclose(A @ found.chi, A @ np.linalg.lstsq(A, y, rcond=None)[0], rtol=1e-7, atol=1e-7)
    # columns of one length share the hidden part evenly
    assert found.chi[2] == pytest.approx(2.0 * found.chi[3], rel=1e-7)
    hidden = np.array([False, False, True, False, True, False])
    without = solve(triangles, np.ones(N), selected=hidden)
    shown = (A / np.where(np.linalg.norm(A, axis=0) > 0, np.linalg.norm(A, axis=0), 1.0))[:, ~hidden]
    assert without.condition_number == pytest.approx(np.linalg.cond(shown), rel=1e-7)
