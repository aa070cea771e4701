"""The least squares of a robot's rows written out: dense matrices, one row at a time, rows at rest, ridges, noise."""

import numpy as np
import pytest

from joint_dynamics.arm import RELUCTANCE
from joint_dynamics.identification.regression.block import Block
from joint_dynamics.identification.regression.covariance import SPEEDS, blocks_of_time, covariance, scatter
from joint_dynamics.identification.regression.irls import Noise, compensated, whitened
from joint_dynamics.identification.regression.least_squares import ols, solve, triangulate, wls
from joint_dynamics.identification.regression.residuals import weighted_residuals

N, B, SAMPLES = 3, 6, 240


@pytest.fixture(params=range(3))
def system(request):
    """Rows, torque, which rows rest, and 1/√m of a stay of m rows; joint 0 does not see the last column."""
    rng = np.random.default_rng(request.param)
    rows = rng.normal(size=(N, B, SAMPLES)) * 10.0 ** rng.uniform(-1, 1, B)[:, None]
    rows[0, 5] = 0.0
    resting = np.repeat(rng.random((N, SAMPLES // 12)) < 0.3, 12, axis=1)
    scale = np.where(resting, 12**-0.5, 1.0)
    sigma = np.array([0.1, 1.0, 3.0])[:, None] * np.where(resting, 4.0, 1.0)
    tau = np.einsum('jbs,b->js', rows, rng.normal(size=B)) + sigma * rng.normal(size=(N, SAMPLES))
    return rows, tau, resting, scale


def blocks(rows, tau, resting=None, scale=None, size=50):
    for start in range(0, tau.shape[1], size):
        part = slice(start, start + size)
        still = (None, None) if resting is None else (resting[:, part], scale[:, part])
        yield Block(rows[:, :, part], tau[:, part], tau[:, part], 0, slice(start, min(start + size, SAMPLES)), *still)


def dense(rows, tau, factor):
    """[A y] with every row multiplied by its factor."""
    A = (rows * factor[:, None]).transpose(0, 2, 1).reshape(-1, B)
    return A, (tau * factor).ravel()


def check(found, A, y, optional=None):
    norms = np.linalg.norm(A, axis=0)
    ridge = np.zeros(B) if optional is None else optional * norms
    normal = A.T @ A + np.diag(ridge**2)
    np.testing.assert_allclose(found.chi, np.linalg.solve(normal, A.T @ y), rtol=1e-7)
    np.testing.assert_allclose(found.inverse, np.linalg.inv(normal), rtol=1e-7, atol=1e-10 / norms.min() ** 2)
    scaled = normal / np.sqrt(np.outer(np.diag(normal), np.diag(normal)))
    np.testing.assert_allclose(found.inflation, np.sqrt(np.diag(np.linalg.inv(scaled))), rtol=1e-7)
    values = np.linalg.eigvalsh(scaled)
    assert found.condition_number == pytest.approx(np.sqrt(values[-1] / values[0]), rel=1e-7)


def test_weighted_rows_and_rows_at_rest(system):
    """σ_j of moving rows from r_j − b_j; a stay is one row, its deviation drawn to three times the moving one."""
    rows, tau, resting, scale = system
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
    np.testing.assert_allclose(
        weighted_residuals([block], found),
        (tau - np.einsum('jbs,b->js', rows, found.chi)) * factor,
        rtol=1e-7,
        atol=1e-9,
    )
    chi = first + 0.1
    norms = np.linalg.norm((tau - np.einsum('jbs,b->js', rows, chi)) * ~resting, axis=1)
    np.testing.assert_allclose(triangles.residual_norms(chi), norms, rtol=1e-9)
    np.testing.assert_allclose(triangles.residual_deviations(chi), norms / np.sqrt(moving - own), rtol=1e-9)


def test_with_too_few_moving_rows_the_rest_decides_and_the_other_way_round(system):
    rows, tau, _, _ = system
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


def test_ridges_hold_columns_back_and_chosen_ones_do_not_count(system):
    rows, tau, _, _ = system
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


def test_directions_that_no_sample_shows_stay_at_zero_and_are_told(system):
    rows, tau, _, _ = system
    rows = rows.copy()
    rows[:, 4] = 0.0
    rows[:, 3] = 2.0 * rows[:, 2]
    triangles = triangulate(blocks(rows, tau))
    found = solve(triangles, np.ones(N))
    np.testing.assert_array_equal(np.isinf(found.inflation), [False, False, True, True, True, False])
    assert found.chi[4] == 0.0 and np.isinf(found.condition_number)
    A, y = dense(rows, tau, np.ones_like(tau))
    np.testing.assert_allclose(A @ found.chi, A @ np.linalg.lstsq(A, y, rcond=None)[0], rtol=1e-7, atol=1e-7)
    # columns of one length: what is hidden is shared evenly between them
    assert found.chi[2] == pytest.approx(2.0 * found.chi[3], rel=1e-7)
    hidden = np.array([False, False, True, False, True, False])
    without = solve(triangles, np.ones(N), selected=hidden)
    shown = (A / np.where(np.linalg.norm(A, axis=0) > 0, np.linalg.norm(A, axis=0), 1.0))[:, ~hidden]
    assert without.condition_number == pytest.approx(np.linalg.cond(shown), rel=1e-7)


def test_weights_leave_rows_out(system):
    rows, tau, _, _ = system
    rng = np.random.default_rng(9)
    weights = (rng.random(tau.shape) < 0.8).astype(float)
    parts = [weights[:, start : start + 50] for start in range(0, SAMPLES, 50)]
    triangles = triangulate(blocks(rows, tau), parts)
    np.testing.assert_array_equal(triangles.counts, weights.sum(axis=1))
    check(solve(triangles, np.array([0.5, 1.0, 2.0])), *dense(rows, tau, weights / np.array([[0.5], [1.0], [2.0]])))


def test_noise_is_whitened_sample_by_sample(system):
    rows, tau, resting, scale = system
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


def test_known_columns_go_to_the_other_side(system):
    rows, tau, _, _ = system
    triangles = triangulate(blocks(rows, tau))
    fixed, values = np.array([False, True, False, False, True, False]), np.arange(6.0)
    found = solve(compensated(triangles, fixed, values), np.ones(N))
    A, y = dense(rows, tau, np.ones_like(tau))
    expected = np.linalg.lstsq(A[:, ~fixed], y - A[:, fixed] @ values[fixed], rcond=None)[0]
    np.testing.assert_allclose(found.chi[~fixed], expected, rtol=1e-7)
    # what has no column left is shown by nothing but rounding
    np.testing.assert_allclose(found.chi[fixed], 0.0, atol=1e-12)
    np.testing.assert_array_equal(triangles.factors, triangulate(blocks(rows, tau)).factors)


def test_the_covariance_is_bell_and_mccaffreys(system):
    """B_g by the matrix root of I − A_g M A_gᵀ over all rows of a cluster; degrees of freedom from the whole operator;
    clusters by time, by speed, and by both [Cameron, Gelbach and Miller]."""
    from scipy.linalg import sqrtm
    from scipy.stats import norm, t

    rows, tau, _, _ = system
    found = wls(triangulate(blocks(rows, tau)))
    factor = np.broadcast_to(1.0 / found.sigma[:, None], tau.shape)
    A, y = dense(rows, tau, factor)
    M = np.linalg.inv(A.T @ A)
    residual, H = y - A @ found.chi, np.eye(len(y)) - A @ M @ A.T

    def one_way(label):
        """Variance under clusters, and its stretch."""
        variance, shown, freedom = np.zeros(B), np.zeros(B), np.zeros(B)
        operators = []
        for g in np.unique(label):
            here = label == g
            root = np.linalg.inv(np.real(sqrtm(np.eye(here.sum()) - A[here] @ M @ A[here].T)))
            weights = root @ A[here] @ M
            variance += (weights.T @ residual[here]) ** 2
            operators.append(H[here].T @ weights)
        for c in range(B):
            G = np.stack([operator[:, c] for operator in operators], axis=1)
            Q = G.T @ G
            shown[c], freedom[c] = np.trace(Q), np.trace(Q) ** 2 / np.sum(Q**2)
        share = np.clip(shown / np.diag(M), 0.0, 1.0)
        typical = np.median((variance / shown)[share > 0.5])
        stretch = t.ppf(0.975, np.maximum(freedom, 1.0)) / norm.ppf(0.975)
        return variance, (1.0 - share) * np.diag(M) * typical, stretch**2

    time = np.tile(blocks_of_time([SAMPLES])[0], N)
    speed = np.empty((N, SAMPLES), dtype=int)
    for j, values in enumerate(tau):
        # the blocks of this test have the torque for speed
        ends = np.quantile(values, np.arange(1, SPEEDS) / SPEEDS)
        speed[j] = j * SPEEDS + np.sum(values[:, None] > ends, axis=1)
    by_time, by_speed, by_both = (one_way(label) for label in (time, speed.ravel(), 1000 * time + speed.ravel()))
    expected = by_time[0] * by_time[2] + by_time[1]
    both = by_both[0] + by_both[1]
    expected += np.maximum(by_speed[0] + by_speed[1] / by_speed[2] - both, 0.0) * by_speed[2]
    V = covariance(lambda: blocks(rows, tau), found, [SAMPLES])
    np.testing.assert_allclose(np.diag(V), expected, rtol=1e-6)
    assert np.any(by_speed[0] > both)
    correlation = M / np.sqrt(np.outer(np.diag(M), np.diag(M)))
    np.testing.assert_allclose(V / np.sqrt(np.outer(np.diag(V), np.diag(V))), correlation, rtol=1e-6, atol=1e-9)
    assert scatter([], np.eye(2)).tolist() == np.eye(2).tolist()
