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

"""Drive gains, robot and payload at once from currents: the homogeneous system and three solvers [G III].

Each row holds one current: g_m i_m − w χ − w_uL χ_uL = w_kL χ_kL, with unknowns x = [g; χ; χ_uL]; joint rows of coupled
drives become motor rows by τ_motor = C⁻ᵀ τ_joint. `weighted_least_squares` takes the currents as exact
regressors, so that their noise attenuates the gains. `total_least_squares` takes all columns as equally noisy, as
published. `mixed` takes only the currents as noisy: from a closed form, Gauss-Newton minimises the residual of the
currents,

    min Σ_m ‖i_m − (W_m [χ; χ_uL] + W_kL χ_kL) / g_m‖² / s_m²,    s_m the deviation of current m.

docs/explanation/drive_gains.md compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.covariance import sandwich
from joint_dynamics.identification.regression.least_squares import RANK, Solution, solve, wls
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import Triangles

ITERATIONS = 50  # most Gauss-Newton steps
CONVERGED = 1e-9  # largest relative change of a gain in the last step


@dataclass(frozen=True)
class GainSolution:
    """Solution of the system of currents.

    Attributes
    ----------
    x, covariance : (n + b + u,) and (n + b + u, n + b + u) array
        [g; χ; χ_uL] and its covariance.
    inflation : (n + b + u,) array
        as of `Solution`.
    """

    x: FloatArray
    covariance: FloatArray
    inflation: FloatArray


def _mapped(triangles: Triangles, maps: Callable[[int], FloatArray]) -> Triangles:
    """Return triangles of which motor m's columns are multiplied by maps(m) (columns, new columns), right side last."""
    factors, own = [], []
    for m, factor in enumerate(triangles.factors):
        transform = maps(m)
        factors.append(
            np.linalg.qr(
                np.concatenate([factor @ transform, np.zeros((transform.shape[1], transform.shape[1]))]), mode='r'
            )
        )
        own.append((np.abs(transform[:-1, :-1]) * triangles.own[m][:, None]).any(axis=0))
    resting = None if triangles.resting is None else _mapped(triangles.resting, maps)
    return Triangles(np.array(factors), triangles.counts, np.array(own), resting)


def homogeneous(triangles: Triangles) -> Triangles:
    """Return the triangles of W_tot [G eq 17]: one column for the current of each motor, zero in the other rows."""
    n, c = len(triangles.counts), triangles.factors.shape[2]

    def spread(m: int) -> FloatArray:
        transform = np.zeros((c, n + c - 1))
        transform[0, m] = 1.0
        transform[1:, n:] = np.eye(c - 1)
        return transform

    return _mapped(triangles, spread)


def linearised(triangles: Triangles, x: FloatArray) -> Triangles:
    """Return the triangles of i_m ≈ prediction(x) + J (x' − x), for unknowns x'; the right side is residual + J x."""
    n, c = len(triangles.counts), triangles.factors.shape[2]
    g, z = x[:n], x[n:]

    def tangent(m: int) -> FloatArray:
        h = 1.0 / g[m]
        transform = np.zeros((c, n + c - 1))
        # the columns are −W and y = W_kL χ_kL: the prediction is h (W z + y)
        transform[1:-1, m], transform[-1, m] = h**2 * z, -(h**2)
        transform[1:-1, n:-1] = -h * np.eye(c - 2)
        transform[0, -1], transform[1:-1, -1], transform[-1, -1] = 1.0, h * z, -2 * h
        return transform

    return _mapped(triangles, tangent)


def linearised_blocks(blocks: Iterable[Block], x: FloatArray, n: int) -> Iterator[Block]:
    """Yield the linearisation of `linearised` sample by sample, for residuals and scores."""
    h, z = 1.0 / x[:n], x[n:]
    for block in blocks:
        current, W = block.rows[:, 0], -block.rows[:, 1:]
        torque = np.einsum('mbs,b->ms', W, z, optimize=True)
        rows = np.zeros((n, len(x), current.shape[1]))
        rows[np.arange(n), np.arange(n)] = -(h**2)[:, None] * (torque + block.tau)
        rows[:, n:] = h[:, None, None] * W
        yield replace(block, rows=rows, tau=current - h[:, None] * (torque + 2 * block.tau))


def deviations(triangles: Triangles, x: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return the standard deviations of moving and of resting rows, (n,) each by motor [A], never zero."""
    # noise-free data must not get an infinite weight
    floor = np.maximum(
        1e-9 * np.linalg.norm(triangles.factors[:, :, -1], axis=1) / np.sqrt(np.maximum(triangles.counts, 1.0)),
        np.finfo(float).tiny,
    )
    sigma = np.maximum(triangles.residual_deviations(x), floor)
    if triangles.resting is None:
        return sigma, None
    stays = triangles.resting.counts
    return sigma, np.maximum(triangles.resting.residual_norms(x) / np.sqrt(np.maximum(stays, 1.0)), sigma)


def _no_scale() -> JointDynamicsError:
    return JointDynamicsError(
        'drive gains: expected a known payload that shows in the loaded recording, found none: '
        'the scale of the gains is unknown'
    )


def weighted_least_squares(triangles: Triangles, optional: FloatArray) -> Solution:
    """Return the WLS solution of W_r χ_r = Y_L [G eq 15-16] with rows weighted per motor.

    Raises
    ------
    JointDynamicsError
        Where the known payload shows in no row.
    """
    parts = [triangles] if triangles.resting is None else [triangles, triangles.resting]
    if not any(part.factors[:, :, -1].any() for part in parts):
        raise _no_scale()
    return wls(homogeneous(triangles), optional)


def total_least_squares(triangles: Triangles, start: Solution) -> FloatArray:
    """Return x by [G eq 17-23], rows weighted by the WLS solution `start`, columns scaled to norm 1.

    The weights are not iterated: with those of the homogeneous solution a gain collapses to zero.
    """
    whole = homogeneous(triangles)
    W = scipy.linalg.qr(whole.stacked(start.sigma, start.rest_sigma), mode='r')[0]
    W[:, -1] *= -1  # g i − w χ − w_uL χ_uL − w_kL χ_kL = 0
    scale = np.linalg.norm(W, axis=0)
    shown = scale > 0
    last = np.linalg.svd(W[:, shown] / scale[shown])[2][-1]
    if not abs(last[-1]) >= 1e-12:
        raise _no_scale()
    x = np.zeros(W.shape[1])
    x[shown] = last / last[-1] / scale[shown] * scale[-1]
    return x[:-1]


def _noise_power(triangles: Triangles, start: Solution) -> FloatArray:
    """Return the squared norm (n,) of the noise in each weighted current column.

    It is the residual of a regression of the current on its own motor's columns, without any gain.
    """
    power = np.zeros(len(triangles.counts))
    for m, factor in enumerate(triangles.factors):
        others = factor[:, 1:]
        scale = np.linalg.norm(others, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        fit, _, rank, _ = np.linalg.lstsq(others / scale, factor[:, 0], rcond=RANK)
        residual = np.concatenate([[1.0], -fit / scale])
        count = triangles.counts[m]
        square = np.linalg.norm(factor @ residual) ** 2 * count / max(count - rank, 1.0)
        power[m] = max(square, (1e-9 * np.linalg.norm(factor[:, 0])) ** 2) / start.sigma[m] ** 2
        if triangles.resting is not None and start.rest_sigma is not None:
            power[m] += np.linalg.norm(triangles.resting.factors[m] @ residual) ** 2 / start.rest_sigma[m] ** 2
    return np.where(power > 0, power, 1.0)


def mixed_start(triangles: Triangles, start: Solution) -> FloatArray:
    """Return x by mixed LS-TLS in closed form, rows weighted as in the WLS solution `start`."""
    n = len(triangles.counts)
    whole = homogeneous(triangles)
    W = scipy.linalg.qr(whole.stacked(start.sigma, start.rest_sigma), mode='r')[0]
    V, exact = W[:, :n], W[:, n:]
    scale = np.linalg.norm(exact, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    U, s, Qt = np.linalg.svd(exact / scale, full_matrices=False)
    good = s > RANK * s[0]
    inside = U[:, good].T @ V
    remaining = V - U[:, good] @ inside
    # every current column scaled so that its noise has power 1
    noise = np.sqrt(_noise_power(triangles, start))
    g = np.linalg.svd(remaining / noise, full_matrices=False)[2][-1] / noise
    z = -(Qt[good].T / s[good]) @ (inside @ g) / scale
    # the last exact column is the known torque y on the right side: V g − W z = y means [z; −1] there
    if z[-1] == 0 or not np.isfinite(z).all():
        raise _no_scale()
    return np.concatenate([g, z[:-1]]) / -z[-1]


def mixed(
    triangles: Triangles, blocks: Callable[[], Iterable[Block]], optional: FloatArray, start: Solution
) -> GainSolution:
    """Return the mixed LS-TLS solution; its deviations hold under correlation in time.

    Parameters
    ----------
    triangles
        of `blocks`.
    blocks
        function that yields the rows per motor (n, 1 + b + u, samples) [i_m, −W, −W_uL], right side W_kL χ_kL.
    optional
        (n + b + u,), ridge of each unknown, as of `solve`.
    start
        WLS solution.

    Raises
    ------
    JointDynamicsError
        Where the iteration does not converge.
    """
    n = len(triangles.counts)
    x = mixed_start(triangles, start)
    for _ in range(ITERATIONS):
        tangent = linearised(triangles, x)
        sigma, rest = deviations(tangent, x)
        solution = solve(tangent, sigma, optional, rest)
        step = solution.chi[:n] / x[:n] - 1
        # a gain never changes its sign on the way
        share = min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        x = x + share * (solution.chi - x)
        if np.abs(step).max() < CONVERGED:
            break
    else:
        raise JointDynamicsError(
            f'drive gains: expected convergence, found none after {ITERATIONS} iterations; the motions do not '
            f'separate gains and payload'
        )
    solution = replace(solution, chi=x)
    covariance = sandwich(lambda: linearised_blocks(blocks(), x, n), solution)
    return GainSolution(x, covariance, solution.inflation)
