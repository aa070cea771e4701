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

"""Rows of all blocks reduced to one triangle per joint, by orthogonal triangularisation.

The rows A_j = [W_j Y_j] of joint j are reduced block by block to a triangle R_j with the same normal equations
(sequential QR). Rows at rest (see `rest`) go into triangles of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.regression.rows import Block


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
    own: BoolArray
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
    """Triangles of n joints that grow row by row; only columns in use, which may become more, are reduced."""

    def __init__(self, n: int, b: int):
        self.counts = np.zeros(n)
        self.own = np.zeros((n, b), dtype=bool)
        self.factors = [np.zeros((0, b + 1)) for _ in range(n)]

    def add(self, j: int, rows: FloatArray, count: float) -> None:
        """Take rows (b + 1, samples) of joint j, the last one the right-hand side."""
        self.own[j] |= rows[:-1].any(axis=1)
        used = np.append(np.flatnonzero(self.own[j]), self.own.shape[1])
        factor = np.linalg.qr(np.concatenate([self.factors[j][:, used], rows[used].T]), mode='r')
        self.factors[j] = np.zeros((len(factor), len(rows)))
        self.factors[j][:, used] = factor
        self.counts[j] += count

    def finish(self, resting: Triangles | None = None) -> Triangles:
        """Return the triangles."""
        n, b = self.own.shape
        full = np.zeros((n, b + 1, b + 1))
        for whole, factor in zip(full, self.factors, strict=True):
            whole[: len(factor)] = factor
        return Triangles(full, self.counts, self.own, resting)


def triangulate(blocks: Iterable[Block], weights: Sequence[FloatArray] | None = None) -> Triangles:
    """Reduce blocks to one triangle per joint, two where rest is looked at.

    Parameters
    ----------
    weights
        per block (joints, samples) factors, such as 0 or 1 / σ.
    """
    moving: _Accumulator | None = None
    resting: _Accumulator | None = None
    for index, block in enumerate(blocks):
        n, b, _ = block.rows.shape
        if moving is None:
            moving, resting = _Accumulator(n, b), None if block.resting is None else _Accumulator(n, b)
        scale = np.ones_like(block.tau) if block.scale is None else block.scale
        factor = scale if weights is None else weights[index] * scale
        counted = (factor != 0) * scale**2
        for j in range(n):
            rows = np.concatenate([block.rows[j], block.tau[j][None]])
            if (factor[j] != 1).any():
                rows *= factor[j]
            if resting is None or block.resting is None or not block.resting[j].any():
                moving.add(j, rows, counted[j].sum())
                continue
            still = block.resting[j]
            for sums, here in ((moving, ~still), (resting, still)):
                if here.any():
                    sums.add(j, rows[:, here], counted[j, here].sum())
    assert moving is not None
    return moving.finish(None if resting is None else resting.finish())
