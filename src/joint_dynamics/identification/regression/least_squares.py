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

r"""Ordinary and weighted least squares from the triangles of the joints' rows.

From the n triangles R_j of [W_j Y_j] everything follows without the data: the solution for any weights per joint, each
joint's residual norm

    ‖ρ_j‖² = ‖R_j [χ; −1]‖²,

the condition number, and the covariance. So WLS (rows of joint j divided by σ̂_j = ‖ρ_j‖/√(r_j − b_j) from OLS [G eq
8-11]) costs no second pass over the data. Rows at rest (see `rest`) have a deviation of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from joint_dynamics.arm import RELUCTANCE
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import Triangles

RANK = 1e-10  # singular values of the scaled system below this fraction of the largest: directions without samples
PRIOR_RATIO = 3.0  # prior of a resting deviation over the moving one: few stays determine it poorly
PRIOR_STAYS = 2.0  # weight of that prior, in stays
MIN_ROWS = 5  # rows below which a deviation cannot be estimated from them alone


@dataclass(frozen=True)
class Solution:
    """Solution of the weighted system.

    Attributes
    ----------
    chi
        (b,).
    sigma
        (n,) standard deviation of each joint's residual that its rows were divided by [N·m].
    inverse
        (b, b) (AᵀA)⁻¹ of the weighted system A.
    condition_number
        of A with its columns scaled to norm 1, without columns selected on held-out data.
    inflation
        (b,) √ of each column's variance inflation factor, how many times its deviation grows because other columns
        resemble it (inf for a column that no sample excites).
    rest_sigma
        (n,) of the rows at rest, None where rest was not considered.
    rows
        total number, a rest interval counting as one.
    """

    chi: FloatArray
    sigma: FloatArray
    inverse: FloatArray
    condition_number: float
    inflation: FloatArray
    rest_sigma: FloatArray | None = None
    rows: float = 0.0

    def deviation(self, covariance: FloatArray) -> FloatArray:
        """Return the standard deviation of each parameter (b,), in its SI unit; infinite where only sums of it show."""
        return np.where(np.isfinite(self.inflation), np.sqrt(np.maximum(np.diag(covariance), 0.0)), np.inf)

    def row_factors(self, block: Block) -> FloatArray:
        """Return the factors of the rows of a block, (joints, samples): 1/σ, and at rest 1/(σ_rest √m)."""
        factor = np.broadcast_to(1.0 / self.sigma[:, None], block.tau.shape)
        if block.resting is None or block.scale is None or self.rest_sigma is None:
            return factor
        return np.where(block.resting, block.scale / self.rest_sigma[:, None], factor)


@dataclass(frozen=True)
class MethodDetails:
    """Results of the steps of a method, as in summary.json; None for steps not taken.

    Attributes
    ----------
    selection
        further terms, selected and left out, with their gain on held-out data.
    irls, i_irls
        course of the loops, and whether they converged.
    rejected_rows_percent
        rows that the robust methods leave out.
    essential
        parameters dropped, by the rule that was asked for.
    physical
        price of the set of bodies, in all and per row, and the prior.
    rotors_at_zero
        names of the rotor inertias that least squares has below 0, within their 95 % interval, and that are taken as 0.
    """

    selection: dict[str, Any] | None = None
    irls: dict[str, Any] | None = None
    i_irls: dict[str, Any] | None = None
    rejected_rows_percent: float | None = None
    essential: dict[str, Any] | None = None
    physical: dict[str, Any] | None = None
    rotors_at_zero: list[str] | None = None


def solve(
    triangles: Triangles,
    sigma: FloatArray,
    optional: FloatArray | None = None,
    rest_sigma: FloatArray | None = None,
    selected: BoolArray | None = None,
) -> Solution:
    """Solve with the rows of joint j divided by sigma_j; directions that no sample excites stay at zero.

    Parameters
    ----------
    optional
        (b,) ridge per column as a share of its norm (True: `RELUCTANCE`), so that columns without ridge are preferred
        among equal ones. It shrinks the independent part of a column by ridge² over the square of that part.
    selected
        (b,) bool, columns left out of the condition number.
    """
    b = triangles.own.shape[1]
    stacked = triangles.stacked(sigma, rest_sigma)
    if optional is not None and np.any(optional):
        share = RELUCTANCE * optional if optional.dtype == bool else optional
        ridge = np.diag(share * np.linalg.norm(stacked[:, :b], axis=0))
        stacked = np.concatenate([stacked, np.column_stack([ridge, np.zeros(b)])])
    triangle = scipy.linalg.qr(stacked, mode='r')[0][: b + 1]
    A, y = triangle[:b, :b], triangle[:b, b]
    scale = np.linalg.norm(A, axis=0)
    shown = scale > 0
    scale = np.where(shown, scale, 1.0)
    U, s, Vt = np.linalg.svd(A / scale)
    good = s > RANK * s[0]
    inverted = np.where(good, 1.0 / np.where(good, s, 1.0), 0.0)
    chi = (Vt.T * inverted) @ (U.T @ y) / scale
    inverse = (Vt.T * inverted**2) @ Vt
    hidden = ~shown | (np.abs(Vt[~good]).max(axis=0, initial=0.0) > 1e-6)
    inflation = np.where(hidden, np.inf, np.sqrt(np.diag(inverse)))
    asked = np.ones(b, dtype=bool) if selected is None else ~selected
    if not asked.all():
        s = np.linalg.svd((A / scale)[:, asked], compute_uv=False)
    condition = s[0] / s[-1] if (s > RANK * s[0]).all() and shown[asked].all() else np.inf
    return Solution(
        chi,
        np.asarray(sigma, dtype=float),
        inverse / np.outer(scale, scale),
        float(condition),
        inflation,
        rest_sigma,
        triangles.rows,
    )


def ols(triangles: Triangles, optional: FloatArray | None = None) -> Solution:
    """Ordinary least squares; every row counts alike, sigma is that of all residuals together."""
    n = len(triangles.counts)
    plain = solve(triangles, np.ones(n), optional)
    free = max(triangles.counts.sum() - len(plain.chi), 1.0)
    sigma = np.full(n, np.linalg.norm(triangles.residual_norms(plain.chi)) / np.sqrt(free))
    return solve(triangles, np.maximum(sigma, np.finfo(float).tiny), optional)


def wls(triangles: Triangles, optional: FloatArray | None = None, selected: BoolArray | None = None) -> Solution:
    """Weighted least squares: rows of joint j divided by σ̂_j of the OLS solution [G eq 8-11].

    Moving and resting rows have separate deviations. One pass, as published: with few rows, repeating it would let a
    joint that is fitted well by chance dominate.
    """
    parts = [triangles] if triangles.resting is None else [triangles, triangles.resting]
    # an exactly satisfied row set (noise-free data) must not get an infinite weight
    floor = max(np.finfo(float).tiny, *(1e-9 * float(np.linalg.norm(part.factors[:, :, -1])) for part in parts))
    ones = np.ones(len(triangles.counts))
    sigma, rest = _deviations(triangles, solve(triangles, ones, optional, ones).chi)
    rest = None if rest is None else np.maximum(rest, floor)
    return solve(triangles, np.maximum(sigma, floor), optional, rest, selected)


def _deviations(triangles: Triangles, chi: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return σ̂_j of the moving rows and of the stays at rest, (n,) each.

    What too few rows cannot tell is taken from the others.
    """
    sigma = triangles.residual_deviations(chi)
    if triangles.resting is None:
        return sigma, None
    square = triangles.resting.residual_norms(chi) ** 2
    stays = triangles.resting.counts
    enough = triangles.counts > MIN_ROWS
    alone = np.sqrt(square / np.maximum(stays, 1.0))
    drawn = np.sqrt((square + PRIOR_STAYS * (PRIOR_RATIO * sigma) ** 2) / (stays + PRIOR_STAYS))
    rest = np.where(enough, np.maximum(drawn, sigma), alone)
    return np.where(enough, sigma, np.maximum(sigma, alone)), rest
