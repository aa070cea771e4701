r"""Rows of all blocks reduced to one triangle per joint, by orthogonal triangularisation or from normal equations.

The rows A_j = [W_j Y_j] of joint j are reduced block by block to a triangle R_j with the same normal equations
(sequential QR). Rows at rest (see `rest`) go into triangles of their own.

For long recordings A_jᵀ A_j is summed over the blocks, one matrix product each, and factorised afterwards: a third of
the time of QR. Rounding then enters with the square of the condition: the solution of the system with columns of norm
one is off by no more than about 4 b ε/λ, b columns, λ the smallest eigenvalue of its normal equations, ε the unit
roundoff (Higham, Accuracy and Stability of Numerical Algorithms, 2002, §20.4); the residual norm of a joint by 4 b ε
times the square of its torque's over its own. Both have to be below `ACCURACY`, for rows that count alike and for rows
weighted by their deviations; otherwise QR is taken. For 60 columns that is a condition number of 500 and a residual of
0.1 % of the torque.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.identification.regression.rows import Block

ACCURACY = 1e-8


@dataclass(frozen=True)
class Triangles:
    """Reduced rows per joint.

    Attributes
    ----------
    factors
        (n, b + 1, b + 1) upper triangular of [W_j Y_j].
    counts
        (n,) rows.
    own
        (n, b) bool columns in use.
    resting
        the same for the rows at rest, each rest interval scaled to one row; None where rest was not considered.
    """

    factors: FloatArray
    counts: FloatArray
    own: FloatArray
    resting: Triangles | None = None

    @property
    def rows(self) -> float:
        """Total number of rows, a rest interval counting as one."""
        return float(self.counts.sum() + (0.0 if self.resting is None else self.resting.counts.sum()))

    def residual_norms(self, chi: FloatArray) -> FloatArray:
        """Return ‖ρ_j‖ (n,) of a solution chi (b,), without rows at rest."""
        return np.linalg.norm(self.factors @ np.append(chi, -1.0), axis=1)

    def residual_deviations(self, chi: FloatArray) -> FloatArray:
        """Return σ̂_j = ‖ρ_j‖/√(r_j − b_j), (n,) [N·m]."""
        free = np.maximum(self.counts - self.own.sum(axis=1), 1)
        return self.residual_norms(chi) / np.sqrt(free)

    def stacked(self, sigma: FloatArray, rest_sigma: FloatArray | None) -> FloatArray:
        """Return all triangles below each other, each divided by its deviation; without one, rest is left out."""
        parts = [*zip(self.factors, sigma, strict=True)]
        if self.resting is not None and rest_sigma is not None:
            parts += zip(self.resting.factors, rest_sigma, strict=True)
        return np.concatenate([factor / deviation for factor, deviation in parts])


class _Accumulator:
    """Triangles of n joints that grow row by row and, where new columns appear, wider."""

    def __init__(self, n: int, b: int):
        self.b = b
        self.counts = np.zeros(n)
        self.own = np.zeros((n, b), dtype=bool)
        self.factors = [np.zeros((0, 0)) for _ in range(n)]
        self.used: list[IntArray] = [np.zeros(0, dtype=int) for _ in range(n)]

    def add(self, j: int, columns: IntArray, rows: FloatArray, count: float) -> None:
        """Take rows (columns + 1, samples) of joint j, the last one the right-hand side."""
        present = columns[np.abs(rows[:-1]).max(axis=1, initial=0.0) > 0]
        if not self.own[j, present].all() or not len(self.factors[j]):
            self.own[j, present] = True
            self.factors[j], self.used[j] = _widen(self.factors[j], self.used[j], self.own[j])
        wide = np.zeros((self.b + 1, rows.shape[1]))
        wide[np.append(columns, self.b)] = rows
        self.factors[j] = _reduce([self.factors[j], wide[np.append(self.used[j], self.b)].T])
        self.counts[j] += count

    def finish(self, resting: Triangles | None = None) -> Triangles:
        """Return the triangles."""
        full = np.zeros((len(self.factors), self.b + 1, self.b + 1))
        for j, factor in enumerate(self.factors):
            full[j][np.ix_(np.arange(len(factor)), np.append(self.used[j], self.b)[: factor.shape[1]])] = factor
        return Triangles(full, self.counts, self.own, resting)


def _reduce(columns: list[FloatArray]) -> FloatArray:
    """Return the triangle of rows (samples, c) given as a list of blocks to stack."""
    matrix = np.asfortranarray(np.concatenate(columns))
    factor, _, _, info = scipy.linalg.lapack.dgeqrf(matrix, overwrite_a=True)
    if info != 0:
        raise np.linalg.LinAlgError(f'QR failed with LAPACK info {info}')
    return np.triu(factor[: matrix.shape[1]])


def _widen(factor: FloatArray, used: IntArray, own: BoolArray) -> tuple[FloatArray, IntArray]:
    """Give a triangle room for the columns in `own`; those it did not have were zero so far."""
    columns = np.flatnonzero(own)
    wide = np.zeros((len(factor), len(columns) + 1))
    if len(factor):
        wide[:, np.searchsorted(columns, used)] = factor[:, :-1]
        wide[:, -1] = factor[:, -1]
    return wide, columns


class NormalSums:
    """Normal equations of n joints with b columns, as they grow.

    Attributes
    ----------
    counts
        (n,) rows.
    """

    def __init__(self, n: int, b: int):
        self.counts = np.zeros(n)
        self._b = b
        self._sums: list[dict[bytes, tuple[IntArray, FloatArray]]] = [{} for _ in range(n)]

    def add(self, j: int, columns: IntArray, rows: FloatArray, count: float) -> None:
        """Take rows (columns + 1, samples) of joint j, the last one the right-hand side."""
        sums, key = self._sums[j], columns.tobytes()
        if key in sums:
            sums[key][1][:] += rows @ rows.T
        else:
            sums[key] = columns, rows @ rows.T
        self.counts[j] += count

    @cached_property
    def matrices(self) -> FloatArray:
        """Normal equations of [W_j Y_j], (n, b + 1, b + 1), of all that was taken before they were first asked for."""
        matrices = np.zeros((len(self.counts), self._b + 1, self._b + 1))
        for matrix, sums in zip(matrices, self._sums, strict=True):
            for columns, total in sums.values():
                index = np.append(columns, self._b)
                matrix[index[:, None], index] += total
        return matrices

    @property
    def own(self) -> BoolArray:
        """Columns in use (n, b)."""
        return np.diagonal(self.matrices, axis1=1, axis2=2)[:, :-1] > 0

    def factors(self) -> FloatArray:
        """Return upper triangles (n, b + 1, b + 1) with these normal equations, each of its columns in use."""
        factors = np.zeros_like(self.matrices)
        for matrix, own, full in zip(self.matrices, self.own, factors, strict=True):
            index = np.append(np.flatnonzero(own), len(matrix) - 1)
            part = matrix[index[:, None], index]
            scale = _scale(part)
            values, vectors = np.linalg.eigh(part / np.outer(scale, scale))
            root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
            full[: len(index), index] = np.linalg.qr(root * scale, mode='r')
        return factors


Sums = TypeVar('Sums', _Accumulator, NormalSums)


def gathered(
    blocks: Iterable[Block], make: Callable[[int, int], Sums], weights: Sequence[FloatArray] | None = None
) -> tuple[Sums, Sums | None]:
    """Take in all blocks: rows of joints that move, and of those that rest, each stay scaled to one row."""
    moving: Sums | None = None
    resting: Sums | None = None
    for index, block in enumerate(blocks):
        n, b, _ = block.shape
        if moving is None:
            moving, resting = make(n, b), None if block.resting is None else make(n, b)
        packed = block.packed_rows
        scale = np.ones_like(block.tau) if block.scale is None else block.scale
        factor = scale if weights is None else weights[index] * scale
        counted = (factor != 0) * scale**2
        for j in range(n):
            if packed is None:
                columns: IntArray = np.arange(b)
                rows = np.concatenate([block.rows[j], block.tau[j][None]])
            else:
                columns, rows = packed.columns[j], packed.with_right_side(j, block.tau[j])
            if (factor[j] != 1).any():
                rows = rows * factor[j]
            if resting is None or block.resting is None or not block.resting[j].any():
                moving.add(j, columns, rows, counted[j].sum())
                continue
            still = block.resting[j]
            for sums, here in ((moving, ~still), (resting, still)):
                if here.any():
                    sums.add(j, columns, rows[:, here], counted[j, here].sum())
    assert moving is not None
    return moving, resting


def exact_enough(moving: NormalSums, resting: NormalSums | None) -> bool:
    """Return whether solutions from these sums are those of QR to `ACCURACY`, see the module."""
    parts = [moving] if resting is None else [moving, resting]
    matrices = np.concatenate([part.matrices[part.counts > 0] for part in parts])
    b = matrices.shape[1] - 1
    bound = 4 * b * np.finfo(float).eps / 2
    weights = np.ones(len(matrices))
    for _ in range(2):
        total = np.einsum('g,gij->ij', weights, matrices)
        scale = _scale(total)
        shown = np.diagonal(total)[:b] > 0
        scaled = (total / np.outer(scale, scale))[:b][:, :b][np.ix_(shown, shown)]
        if not shown.all() or np.linalg.eigvalsh(scaled)[0] * ACCURACY < bound:
            return False
        chi = np.append(np.linalg.solve(scaled, total[:b, b] / scale[:b]) / scale[:b], -1.0)
        residual = np.einsum('i,gij,j->g', chi, matrices, chi)
        torque = matrices[:, b, b]
        if (residual * ACCURACY < bound * torque).any() or (torque == 0).any():
            return False
        weights = np.concatenate([part.counts[part.counts > 0] for part in parts]) / residual
    return True


def _scale(matrix: FloatArray) -> FloatArray:
    norms = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    return np.where(norms > 0, norms, 1.0)


def triangulate(blocks: Iterable[Block], weights: Sequence[FloatArray] | None = None) -> Triangles:
    """Reduce blocks to one triangle per joint, two where rest is looked at.

    Parameters
    ----------
    weights
        per block (joints, samples) factors, such as 0 or 1 / σ.
    """
    moving, resting = gathered(blocks, _Accumulator, weights)
    return moving.finish(None if resting is None else resting.finish())


def triangulate_long(blocks: Callable[[], Iterable[Block]]) -> Triangles:
    """Reduce the blocks of long recordings: by normal equations where these are exact to 1e-8, otherwise by QR.

    Parameters
    ----------
    blocks
        returns the blocks; called again where QR is needed.
    """
    sums = gathered(blocks(), NormalSums)
    if not exact_enough(*sums):
        return triangulate(blocks())
    moving, resting = sums
    return replace(_triangles(moving), resting=None if resting is None else _triangles(resting))


def _triangles(sums: NormalSums) -> Triangles:
    own: Any = sums.own
    return Triangles(sums.factors(), sums.counts, own)
