r"""Ordinary and weighted least squares over blocks of rows, by orthogonal triangularisation.

The rows of joint j, [W_j Y_j], are reduced block by block to a triangle R_j with the same normal equations (sequential QR). From
the n triangles everything follows without the data: the solution for any weights per joint, each joint's residual norm

    ‖ρ_j‖² = ‖R_j [χ; −1]‖²,

the condition number, and the covariance. So WLS (rows of joint j divided by σ̂_j = ‖ρ_j‖/√(r_j − b_j) from OLS [G eq 8-11]) costs no
second pass over the data.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from joint_dynamics.identification.problem import Block

RANK = 1e-10
"""Singular values of the scaled system below this fraction of the largest belong to directions no sample shows."""


RELUCTANCE = 0.1
"""Share of an optional column's norm that has to be its own before it counts as much as the others."""


@dataclass(frozen=True)
class Triangles:
    """Reduced rows per joint: `factors` (n, b + 1, b + 1) upper triangular of [W_j Y_j]; `counts` (n,) rows; `own` (n, b) bool columns in use."""

    factors: NDArray
    counts: NDArray
    own: NDArray

    def residual_norms(self, chi: NDArray) -> NDArray:
        """Return ‖ρ_j‖ (n,) of a solution chi (b,)."""
        return np.linalg.norm(self.factors @ np.append(chi, -1.0), axis=1)

    def residual_deviations(self, chi: NDArray) -> NDArray:
        """Return σ̂_j = ‖ρ_j‖/√(r_j − b_j), (n,) [N·m]."""
        free = np.maximum(self.counts - self.own.sum(axis=1), 1)
        return self.residual_norms(chi) / np.sqrt(free)


def _reduce(columns: list[NDArray]) -> NDArray:
    """Return the triangle of rows (samples, c) given as a list of blocks to stack."""
    matrix = np.asfortranarray(np.concatenate(columns))
    factor, _, _, info = scipy.linalg.lapack.dgeqrf(matrix, overwrite_a=True)
    if info != 0:
        raise np.linalg.LinAlgError(f'QR failed with LAPACK info {info}')
    return np.triu(factor[:matrix.shape[1]])


def triangulate(blocks: Iterable[Block], weights: Sequence[NDArray] | None = None) -> Triangles:
    """Reduce blocks to one triangle per joint. `weights`: per block (joints, samples) factors on the rows, such as 0 or 1 / σ."""
    factors: list[NDArray] = []
    counts = own = None
    for index, block in enumerate(blocks):
        n, b, samples = block.rows.shape
        if counts is None:
            counts, own = np.zeros(n), np.zeros((n, b), dtype=bool)
            factors = [np.zeros((0, 0)) for _ in range(n)]
            used: list[NDArray] = [np.zeros(0, dtype=int) for _ in range(n)]
        assert own is not None
        for j in range(n):
            present = np.abs(block.rows[j]).max(axis=1) > 0
            if np.any(present & ~own[j]):
                own[j] |= present
                factors[j], used[j] = _widen(factors[j], used[j], own[j])
            rows = np.concatenate([block.rows[j][used[j]], block.tau[j][None]])
            if weights is not None:
                rows = rows * weights[index][j]
                counts[j] += np.count_nonzero(weights[index][j])
            else:
                counts[j] += samples
            factors[j] = _reduce([factors[j], rows.T])
    assert counts is not None and own is not None
    full = np.zeros((len(factors), own.shape[1] + 1, own.shape[1] + 1))
    for j, factor in enumerate(factors):
        where = np.append(used[j], own.shape[1])
        full[j][np.ix_(np.arange(len(factor)), where)] = factor
    return Triangles(full, counts, own)


def _widen(factor: NDArray, used: NDArray, own: NDArray) -> tuple[NDArray, NDArray]:
    """Give a triangle room for the columns in `own`; those it did not have were zero so far."""
    columns = np.flatnonzero(own)
    wide = np.zeros((len(factor), len(columns) + 1))
    if len(factor):
        wide[:, np.searchsorted(columns, used)] = factor[:, :-1]
        wide[:, -1] = factor[:, -1]
    return wide, columns


@dataclass(frozen=True)
class Solution:
    """Solution of the weighted system.

    chi: (b,); sigma: (n,) standard deviation of each joint's residual that its rows were divided by [N·m]; inverse: (b, b) (AᵀA)⁻¹ of the
    weighted system A; condition_number: of A with its columns scaled to norm 1; inflation: (b,) √ of each column's variance inflation
    factor, how many times its deviation grows because other columns resemble it (inf for a column no sample shows).
    """

    chi: NDArray
    sigma: NDArray
    inverse: NDArray
    condition_number: float
    inflation: NDArray


def solve(triangles: Triangles, sigma: NDArray, optional: NDArray | None = None) -> Solution:
    """Solve with the rows of joint j divided by sigma_j; directions that no sample shows stay at zero.

    optional: (b,) bool, columns held back by a ridge of `RELUCTANCE` times their own norm, so that what the other columns explain as well
    is left to those. It moves the part of an optional column that is its own by RELUCTANCE² over that part's square.
    """
    b = triangles.own.shape[1]
    stacked = np.concatenate([factor / deviation for factor, deviation in zip(triangles.factors, sigma, strict=True)])
    if optional is not None and np.any(optional):
        ridge = np.diag(RELUCTANCE * optional * np.linalg.norm(stacked[:, :b], axis=0))
        stacked = np.concatenate([stacked, np.column_stack([ridge, np.zeros(b)])])
    triangle = scipy.linalg.qr(stacked, mode='r')[0][:b + 1]
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
    condition = s[0] / s[-1] if good.all() and shown.all() else np.inf
    return Solution(chi, np.asarray(sigma, dtype=float), inverse / np.outer(scale, scale), float(condition), inflation)


def ols(triangles: Triangles, optional: NDArray | None = None) -> Solution:
    """Ordinary least squares; every row counts alike, sigma is that of all residuals together."""
    n = len(triangles.counts)
    plain = solve(triangles, np.ones(n), optional)
    free = max(triangles.counts.sum() - len(plain.chi), 1.0)
    sigma = np.full(n, np.linalg.norm(triangles.residual_norms(plain.chi)) / np.sqrt(free))
    return solve(triangles, np.maximum(sigma, np.finfo(float).tiny), optional)


def wls(triangles: Triangles, optional: NDArray | None = None) -> Solution:
    """Weighted least squares: rows of joint j divided by σ̂_j of the OLS solution [G eq 8-11]."""
    first = solve(triangles, np.ones(len(triangles.counts)), optional)
    sigma = triangles.residual_deviations(first.chi)
    # an exactly satisfied row set (noise-free data) must not get an infinite weight
    floor = max(1e-9 * float(np.linalg.norm(triangles.factors[:, :, -1])), np.finfo(float).tiny)
    return solve(triangles, np.maximum(sigma, floor), optional)
