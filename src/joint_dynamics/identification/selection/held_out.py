r"""What laws contribute to held-out rows: blocks of time of the training data predicted from the others.

The rows are cut into `BLOCKS` blocks of time, long ones: a law that only follows its neighbours in time predicts none
of them. The cuts are made at `DEALS` places and averaged, so that none of them decides.

With the base columns B solved for in each fold, y' = y − B χ̂ and C' = C − B (BᵀB)⁻¹BᵀC of the held-out rows are what
the other columns have to explain, and p = C' x what a law contributes with the coefficients x that the other folds give
it. `Products` of y' and all p, summed by block, are all that a weighing of laws needs. Rows are weighted as in the
solution they come from (so rows at rest hardly count), and by Huber's rule, so that one spike decides nothing.

Friction drifts: a gear that is ten kelvin colder has a fifth more of it, and where the cold recording, or the cold
part of one, is the slow one, a law of speed takes that up. So Coulomb and viscous friction of every part's own (a part:
a quarter of a recording) are taken out of y' and p before [fixed effects: Mundlak 1978]. A law is worth what it
explains within the parts, with the coefficients that all rows give it; one that stands for their differences is worth
nothing, or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray

BLOCKS = 10
"""Blocks of time, as many as the deviations are stated by (`regression.covariance`)."""
DEALS = 2
HUBER = 2.0
JITTER = 1e-10
ROUNDING = 100 * float(np.finfo(float).eps)
"""Rounding of a product of two columns over their norms: some √K roundings, with the ten thousand rows there are."""


@dataclass(frozen=True)
class Rows:
    """Rows for a selection, samples last, in the order of time.

    base (n, b, K), candidates (n, c, K), tau (n, K), all weighted. friction: for each joint the base columns that each
    of the parts (K,) may have values of its own of; empty: parts are not asked. slow: candidates of what hardly changes
    within a part (temperature), so that differences between parts tell them.
    """

    base: FloatArray
    candidates: FloatArray
    tau: FloatArray
    parts: IntArray
    friction: tuple[tuple[int, ...], ...] = ()
    slow: tuple[int, ...] = ()


@dataclass(frozen=True)
class Products:
    """Sums over the held-out rows of each block: y'² (B,), y' p (B, u) and p pᵀ (B, u, u) of u laws."""

    torque: FloatArray
    right: FloatArray
    gram: FloatArray

    def gains(self, weights: FloatArray) -> FloatArray:
        """Return by how much the laws lower the loss of each block (B,) with these weights (u,)."""
        return 2 * self.right @ weights - (self.gram @ weights) @ weights


class _Deal:
    """The candidates' problem without each of F folds: gram (F, c, c), right and norms (F, c).

    fold (K,): of each sample; left (n, c + 1, K): what the base columns that the others give leave of candidates and
    torque.
    """

    def __init__(self, stacked: FloatArray, total: FloatArray, b: int, fold: IntArray):
        """Solve for the b base columns of stacked (n, b + c + 1, K) rows, with their products `total`."""
        folds, self.fold = np.unique(fold, return_inverse=True)
        size = len(total) - b
        reduced, self.norms = np.empty((len(folds), size, size)), np.empty((len(folds), size - 1))
        self.left = np.empty((len(stacked), size, len(fold)))
        for f in range(len(folds)):
            here = np.flatnonzero(self.fold == f)
            held_out = stacked[:, :, here]
            gram = total - (held_out @ held_out.transpose(0, 2, 1)).sum(axis=0)
            scale = np.sqrt(np.maximum(np.diag(gram)[:b], 0.0))
            scale = np.where(scale > 0, scale, 1.0)
            # a column that the rest hardly shows is what rounding left of a difference of large numbers: no more than
            # that can make the matrix indefinite, and so much is added
            rounding = ROUNDING * b * np.diag(total)[:b] / scale**2
            factor = scipy.linalg.cho_factor(gram[:b, :b] / np.outer(scale, scale) + np.diag(JITTER * b + rounding))
            projected = scipy.linalg.cho_solve(factor, gram[:b, b:] / scale[:, None]) / scale[:, None]
            reduced[f] = gram[b:, b:] - gram[b:, :b] @ projected
            self.left[:, :, here] = held_out[:, b:] - projected.T @ held_out[:, :b]
            # the ridge of a column is a share of its own norm, not of what the base columns leave of it
            norms = np.sqrt(np.maximum(np.diag(gram)[b:-1], 0.0))
            self.norms[f] = np.where(norms > 0, norms, 1.0)
        self.gram, self.right = reduced[:, :-1, :-1], reduced[:, :-1, -1]

    def contributions(self, laws: Sequence[Sequence[int]], ridge: float) -> FloatArray:
        """Return those of laws to all rows, each held back by `ridge` of its norm, and the torque: (n, u + 1, K)."""
        columns = np.array([column for law in laws for column in law], dtype=int)
        norms = self.norms[:, columns]
        gram = self.gram[:, columns[:, None], columns] / (norms[:, :, None] * norms[:, None])
        gram[:, np.arange(len(columns)), np.arange(len(columns))] += ridge**2 + JITTER
        coefficients = np.linalg.solve(gram, (self.right[:, columns] / norms)[..., None])[..., 0] / norms
        each = self.left[:, columns] * coefficients.T[:, self.fold]
        first = np.cumsum([0, *map(len, laws)])[:-1]
        return np.concatenate([np.add.reduceat(each, first, axis=1), self.left[:, -1:]], axis=1)


class HeldOut:
    """The folds of some rows.

    base: number of base columns; rows: that of rows in all; total (b + c + 1, b + c + 1): products of all columns and
    the torque.
    """

    def __init__(self, rows: Rows):
        self.base, self.rows, self._slow = rows.base.shape[1], rows.tau.size, set(rows.slow)
        # the samples of a part one after the other
        order = np.argsort(rows.parts, kind='stable')
        stacked = np.concatenate([rows.base, rows.candidates, rows.tau[:, None]], axis=1)[:, :, order]
        self.total = (stacked @ stacked.transpose(0, 2, 1)).sum(axis=0)
        place = (np.arange(len(order)) * BLOCKS / len(order))[order]
        self._deals = [
            _Deal(stacked, self.total, self.base, (place + deal / DEALS).astype(int) % BLOCKS) for deal in range(DEALS)
        ]
        self._blocks = [np.flatnonzero(place.astype(int) == block) for block in np.unique(place.astype(int))]
        ends = np.flatnonzero(np.diff(rows.parts[order], append=np.nan)) + 1
        self._own = [_own_friction(stacked, rows.friction, slice(*span)) for span in pairwise([0, *ends])]

    def products(self, laws: Sequence[Sequence[int]], ridge: float) -> Products:
        """Return the products of these laws, solved for together with the base columns, each held back by `ridge`.

        laws: candidate columns that share a weight.
        """
        quick = np.array([*(not self._slow.issuperset(law) for law in laws), True])
        sums = [self._products(deal.contributions(laws, ridge), quick) for deal in self._deals]
        mean = np.mean(sums, axis=0)
        return Products(mean[:, -1, -1], mean[:, :-1, -1], mean[:, :-1, :-1])

    def _products(self, parts: FloatArray, quick: BoolArray) -> FloatArray:
        """Return the sums (blocks, u + 1, u + 1) of the products of the contributions and, last, the torque."""
        for here, span in self._own:
            part = parts[:, :, here]
            part -= quick[:, None] * ((part @ span) @ span.transpose(0, 2, 1))
        residual = np.abs(parts[:, -1] - parts[:, :-1].sum(axis=1))
        counted = np.minimum(1.0, HUBER / np.maximum(residual, HUBER))[:, None]
        return np.array(
            [
                ((parts[:, :, block] * counted[:, :, block]) @ parts[:, :, block].transpose(0, 2, 1)).sum(axis=0)
                for block in self._blocks
            ]
        )


def _own_friction(stacked: FloatArray, friction: Sequence[tuple[int, ...]], here: slice) -> tuple[slice, FloatArray]:
    """Return the samples of a part, and for each joint an orthonormal basis (n, K_p, a) of the part's own friction."""
    span = np.zeros((len(stacked), here.stop - here.start, max(map(len, friction), default=0)))
    for j, own in enumerate(friction):
        if own:
            basis = scipy.linalg.orth(stacked[j, list(own), here].T, rcond=1e-6)
            span[j, :, : basis.shape[1]] = basis
    return here, span
