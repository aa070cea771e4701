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

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import FloatArray, IntArray

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
    of the parts (K,) may have values of its own of; empty: parts are not asked.
    """

    base: FloatArray
    candidates: FloatArray
    tau: FloatArray
    parts: IntArray
    friction: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Law:
    """Candidate columns of one joint that share a weight.

    slow: of what hardly changes within a part (temperature), so that differences between parts tell it.
    """

    columns: tuple[int, ...]
    slow: bool = False


@dataclass(frozen=True)
class Products:
    """Sums over the held-out rows of each block: y'² (B,), y' p (B, u) and p pᵀ (B, u, u) of u laws."""

    torque: FloatArray
    right: FloatArray
    gram: FloatArray

    def gains(self, weights: FloatArray) -> FloatArray:
        """Return by how much the laws lower the loss of each block (B,) with these weights (u,)."""
        return 2 * self.right @ weights - (self.gram @ weights) @ weights


@dataclass(frozen=True)
class _Fold:
    """The candidates' problem without the samples `here`: gram (c, c), right and norms (c,); of those: rows held out.

    columns (n, c, K_f) and left (n, K_f): what the base columns leave of candidates and torque.
    """

    here: IntArray
    gram: FloatArray
    right: FloatArray
    norms: FloatArray
    columns: FloatArray
    left: FloatArray

    @classmethod
    def of(cls, stacked: FloatArray, total: FloatArray, b: int, here: IntArray) -> _Fold:
        """Solve for the b base columns of stacked (n, b + c + 1, K) rows, with their products `total`."""
        held_out = stacked[:, :, here]
        gram = total - (held_out @ held_out.transpose(0, 2, 1)).sum(axis=0)
        scale = np.sqrt(np.maximum(np.diag(gram)[:b], 0.0))
        scale = np.where(scale > 0, scale, 1.0)
        # a column that the rest hardly shows is what rounding left of a difference of large numbers: no more than that
        # can make the matrix indefinite, and so much is added
        rounding = ROUNDING * b * np.diag(total)[:b] / scale**2
        factor = scipy.linalg.cho_factor(gram[:b, :b] / np.outer(scale, scale) + np.diag(JITTER * b + rounding))
        projected = scipy.linalg.cho_solve(factor, gram[:b, b:] / scale[:, None]) / scale[:, None]
        reduced = gram[b:, b:] - gram[b:, :b] @ projected
        left = held_out[:, b:] - projected.T @ held_out[:, :b]
        # the ridge of a column is a share of its own norm, not of what the base columns leave of it
        norms = np.sqrt(np.maximum(np.diag(gram)[b:-1], 0.0))
        norms = np.where(norms > 0, norms, 1.0)
        return cls(here, reduced[:-1, :-1], reduced[:-1, -1], norms, left[:, :-1], left[:, -1])

    def coefficients(self, columns: IntArray, ridge: float) -> FloatArray:
        """Return the coefficients (k,) of some columns, each held back by `ridge` of its norm."""
        norms = self.norms[columns]
        gram = self.gram[np.ix_(columns, columns)] / np.outer(norms, norms)
        gram.flat[:: len(gram) + 1] += ridge**2 + JITTER
        return np.asarray(np.linalg.solve(gram, self.right[columns] / norms) / norms)


class HeldOut:
    """The folds of some rows.

    base: number of base columns; rows: that of rows in all; total (b + c + 1, b + c + 1): products of all columns and
    the torque.
    """

    def __init__(self, rows: Rows):
        self.base, self.rows = rows.base.shape[1], rows.tau.size
        stacked = np.concatenate([rows.base, rows.candidates, rows.tau[:, None]], axis=1)
        self.total = (stacked @ stacked.transpose(0, 2, 1)).sum(axis=0)
        place = np.arange(rows.tau.shape[1]) * BLOCKS / rows.tau.shape[1]
        self._deals = []
        for deal in range(DEALS):
            fold = (place + deal / DEALS).astype(int) % BLOCKS
            self._deals.append(
                [_Fold.of(stacked, self.total, self.base, np.flatnonzero(fold == f)) for f in np.unique(fold)]
            )
        self._starts = np.append(np.unique(place.astype(int), return_index=True)[1], len(place))
        self._own = [_own_friction(rows, np.flatnonzero(rows.parts == part)) for part in np.unique(rows.parts)]
        self._shape = rows.tau.shape

    def products(self, laws: Sequence[Law], ridge: float) -> Products:
        """Return the products of these laws, solved for together with the base columns, each held back by `ridge`."""
        sums = [self._products(folds, laws, ridge) for folds in self._deals]
        mean = np.mean(sums, axis=0)
        return Products(mean[:, -1, -1], mean[:, :-1, -1], mean[:, :-1, :-1])

    def _products(self, folds: Sequence[_Fold], laws: Sequence[Law], ridge: float) -> FloatArray:
        """Return the sums (blocks, u + 1, u + 1) of the products of the contributions and, last, the torque."""
        columns = np.array([column for law in laws for column in law.columns], dtype=int)
        member = np.repeat(np.eye(len(laws)), np.array([len(law.columns) for law in laws], dtype=int), axis=1)
        parts = np.empty((len(laws) + 1, *self._shape))
        for fold in folds:
            share = member * fold.coefficients(columns, ridge)
            parts[:-1, :, fold.here] = np.einsum('uc,nck->unk', share, fold.columns[:, columns], optimize=True)
            parts[-1][:, fold.here] = fold.left
        quick = np.array([*(not law.slow for law in laws), True])
        for here, span in self._own:
            own = parts[np.ix_(quick, np.arange(self._shape[0]), here)]
            own -= np.einsum('una,nka->unk', np.einsum('unk,nka->una', own, span), span)
            parts[np.ix_(quick, np.arange(self._shape[0]), here)] = own
        residual = np.abs(parts[-1] - parts[:-1].sum(axis=0))
        counted = np.minimum(1.0, HUBER / np.maximum(residual, HUBER))
        found = []
        for start, end in zip(self._starts[:-1], self._starts[1:], strict=True):
            rows = parts[:, :, start:end].reshape(len(parts), -1)
            found.append((rows * counted[:, start:end].ravel()) @ rows.T)
        return np.array(found)


def _own_friction(rows: Rows, here: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the samples of a part, and for each joint an orthonormal basis (n, K_p, a) of the part's own friction."""
    most = max(map(len, rows.friction), default=0)
    span = np.zeros((len(rows.tau), len(here), most))
    for j, own in enumerate(rows.friction):
        if own:
            basis = scipy.linalg.orth(rows.base[j][np.asarray(own)[:, None], here].T, rcond=1e-6)
            span[j, :, : basis.shape[1]] = basis
    return here, span
