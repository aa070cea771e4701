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

"""The three ways to solve the system of currents by dense matrices of a few motors, with rows at rest."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.total_least_squares import (
    deviations,
    linearised,
    mixed,
    mixed_start,
    total_least_squares,
    weighted_least_squares,
)
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate

N = 3  # motors
B = 5  # parameters
SAMPLES = 400
GAINS = np.array([20.0, -8.0, 3.0])
NOISE = np.array([0.02, 0.3, 0.1])
HELD = 3.0
"""Deviation of currents at rest over that in motion."""


def made(seed, *, rest=True, noise=NOISE):
    """Blocks of an unloaded and a loaded run, each with stays of ten samples; the last column is the load's own."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=B)
    blocks = []
    for run in range(2):
        W = rng.normal(size=(N, B, SAMPLES)) * np.array([1.0, 10.0, 0.1, 3.0, 1.0])[:, None]
        y = rng.normal(size=(N, SAMPLES)) * 4.0 * run
        # the second parameter does not act on motor 1, the last one only on the loaded robot
        W[0, 1] = 0.0
        W[:, -1] *= run
        still = np.repeat(rng.random((N, SAMPLES // 10)) < 0.25, 10, axis=1) & rest
        white = rng.normal(size=(N, SAMPLES)) * noise[:, None]
        # of a stay, all samples are off by the same
        white = np.where(still, HELD * np.repeat(white[:, ::10], 10, axis=1), white)
        current = (np.einsum('mbs,b->ms', W, z) + y) / GAINS[:, None] + white
        rows = np.concatenate([current[:, None], -W], axis=1)
        scale = np.where(still, 10**-0.5, 1.0)
        for start in range(0, SAMPLES, 150):
            part = slice(start, min(start + 150, SAMPLES))
            more = {'resting': still[:, part], 'scale': scale[:, part]} if rest else {}
            blocks.append(Block(rows[:, :, part], y[:, part], y[:, part], run, part, **more))
    return blocks, z


def dense(blocks, sigma, rest_sigma):
    """Weighted rows (rows, n + b) of all motors with one column per current, right side, and the motor of each row."""
    rows, right, motors = [], [], []
    for block in blocks:
        for m in range(N):
            still = np.zeros(block.tau.shape[1], dtype=bool) if block.resting is None else block.resting[m]
            scale = np.ones(len(still)) if block.scale is None else block.scale[m]
            factor = scale / np.where(still, np.inf if rest_sigma is None else rest_sigma[m], sigma[m])
            own = np.zeros((len(still), N))
            own[:, m] = block.rows[m, 0]
            rows.append(np.concatenate([own, block.rows[m, 1:].T], axis=1) * factor[:, None])
            right.append(block.tau[m] * factor)
            motors.append(np.full(len(still), m))
    return np.concatenate(rows), np.concatenate(right), np.concatenate(motors)


@pytest.fixture(params=[(0, True), (1, True), (2, False)], ids=['a', 'b', 'without rest'])
def system(request):
    seed, rest = request.param
    blocks, z = made(seed, rest=rest)
    triangles = triangulate(blocks)
    return blocks, z, triangles, weighted_least_squares(triangles, np.zeros(N + B))


def test_weighted_least_squares_is_that_of_the_rows(system):
    blocks, _, _, start = system
    A, y, _ = dense(blocks, start.sigma, start.rest_sigma)
    np.testing.assert_allclose(start.chi, np.linalg.lstsq(A, y, rcond=None)[0], rtol=1e-7)


def test_total_least_squares_is_the_smallest_singular_vector(system):
    """Of columns of norm 1; with the published covariance [G eq 17-23]."""
    blocks, _, triangles, start = system
    A, y, _ = dense(blocks, start.sigma, start.rest_sigma)
    W = np.column_stack([A, -y])
    scale = np.linalg.norm(W, axis=0)
    vectors = np.linalg.eigh((W / scale).T @ (W / scale))[1]
    expected = vectors[:, 0] / vectors[-1, 0] / scale * scale[-1]
    np.testing.assert_allclose(total_least_squares(triangles, start), expected[:-1], rtol=1e-6)


def own_residual(blocks, triangles, start, m):
    """Squared residual of the regression of motor m's current, fitted to its rows in motion; those at rest besides."""
    A, y, motor = dense(blocks, start.sigma, start.rest_sigma)
    moving, y_moving, _ = dense(blocks, start.sigma, None)
    own = motor == m
    others = np.column_stack([moving[own][:, N:], y_moving[own]])
    shown = np.abs(others).max(axis=0) > 0
    fit = np.linalg.lstsq(others[:, shown], moving[own][:, m], rcond=None)[0]
    count = triangles.counts[m]
    power = np.sum((moving[own][:, m] - others[:, shown] @ fit) ** 2) * count / (count - shown.sum())
    if triangles.resting is not None:
        residual = A[own][:, m] - np.column_stack([A[own][:, N:], y[own]])[:, shown] @ fit
        power += np.sum(residual[np.abs(moving[own]).max(axis=1) == 0] ** 2)
    return power


def test_the_closed_form_is_the_smallest_eigenvalue(system):
    """Residual of the currents beside the exact columns, against that of each current's own regression."""
    blocks, _, triangles, start = system
    A, y, _ = dense(blocks, start.sigma, start.rest_sigma)
    V, exact = A[:, :N], np.column_stack([A[:, N:], y])
    Q = np.linalg.qr(exact)[0]
    left = V - Q @ (Q.T @ V)
    power = [own_residual(blocks, triangles, start, m) for m in range(N)]
    vectors = scipy.linalg.eigh(left.T @ left, np.diag(power))[1]
    g = vectors[:, 0]
    z = np.linalg.lstsq(exact, -V @ g, rcond=None)[0]
    expected = np.concatenate([g, z[:-1]]) / -z[-1]
    np.testing.assert_allclose(mixed_start(triangles, start), expected, rtol=1e-6)


def gauss_newton(blocks, x):
    """Jacobian of the predicted currents and their residuals, (rows, n + b), (rows,), motor, at rest, stay's weight."""
    g, z = x[:N], x[N:]
    J, rho, motors, rests, scales = [], [], [], [], []
    for block in blocks:
        for m in range(N):
            W = -block.rows[m, 1:].T
            torque = W @ z + block.tau[m]
            tangent = np.zeros((len(torque), N + B))
            tangent[:, m], tangent[:, N:] = -torque / g[m] ** 2, W / g[m]
            J.append(tangent)
            rho.append(block.rows[m, 0] - torque / g[m])
            motors.append(np.full(len(torque), m))
            rests.append(np.zeros(len(torque), dtype=bool) if block.resting is None else block.resting[m])
            scales.append(np.ones(len(torque)) if block.scale is None else block.scale[m])
    return (np.concatenate(one) for one in (J, rho, motors, rests, scales))


def solution_of(blocks):
    triangles = triangulate(blocks)
    start = weighted_least_squares(triangles, np.zeros(N + B))
    return triangles, mixed(triangles, lambda: blocks, np.zeros(N + B), start)


def written_deviations(J, rho, motor, rest, scale, m):
    """√(Σ ρ²/(rows − unknowns)) of the moving rows of motor m; √(Σ (s ρ)²/Σ s²) of its rests, not less."""
    moving, still = (motor == m) & ~rest, (motor == m) & rest
    used = np.count_nonzero(np.abs(J[moving]).max(axis=0))
    sigma = np.sqrt(np.sum(rho[moving] ** 2) / (moving.sum() - used))
    stays = np.sum(scale[still] ** 2)
    return sigma, max(np.sqrt(np.sum((rho * scale)[still] ** 2) / stays), sigma) if stays else sigma


def test_the_mixed_solution_is_the_regression_of_the_currents(system):
    blocks, z, _, _ = system
    triangles, found = solution_of(blocks)
    J, rho, motor, rest, scale = gauss_newton(blocks, found.x)
    sigma, rest_sigma = deviations(linearised(triangles, found.x), found.x)
    for m in range(N):
        moving, at_rest = written_deviations(J, rho, motor, rest, scale, m)
        assert sigma[m] == pytest.approx(moving, rel=1e-6)
        assert sigma[m] == pytest.approx(NOISE[m], rel=0.15)
        assert (rest_sigma is not None) == rest.any()
        assert rest_sigma is None or rest_sigma[m] == pytest.approx(at_rest, rel=1e-6)
    rest_sigma = sigma if rest_sigma is None else rest_sigma
    weight = scale / np.where(rest, rest_sigma[motor], sigma[motor])
    A, r = J * weight[:, None], rho * weight
    step = np.linalg.lstsq(A, r, rcond=None)[0]
    deviation = np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    # no step is left
    assert np.abs(step / deviation).max() < 1e-5
    np.testing.assert_allclose(found.inflation, deviation * np.linalg.norm(A, axis=0), rtol=1e-5)
    # the truth within the deviations of the parameters
    error = (found.x - np.concatenate([GAINS, z])) / np.sqrt(np.diag(found.covariance))
    assert np.abs(error).max() < 4.5


@pytest.mark.parametrize('rest', [True, False])
def test_an_invisible_known_load_is_refused(rest):
    blocks, _ = made(4, rest=rest)
    with pytest.raises(JointDynamicsError, match='drive gains'):
        weighted_least_squares(triangulate([replace(block, tau=0 * block.tau) for block in blocks]), np.zeros(N + B))
    if rest:
        # a load that is held at rest and nowhere else sets it
        held = [replace(block, tau=np.where(block.resting, block.tau, 0.0)) for block in blocks]
        assert np.isfinite(weighted_least_squares(triangulate(held), np.zeros(N + B)).chi).all()
