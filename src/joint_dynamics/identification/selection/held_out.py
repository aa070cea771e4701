r"""Held-out loss of any choice of further columns: blocks of time of the training data predicted from the others.

The rows are cut into `BLOCKS` blocks of time, long ones: a law that only follows its neighbours in time predicts none
of them. The cuts are made at `DEALS` places, and the losses averaged, so that none of them decides.

Friction drifts: a gear that is ten kelvin colder has a fifth more of it, and where the cold recording, or the cold
part of one, is the slow one, a law of speed takes that up. So before the loss, Coulomb and viscous friction of every
part's own (a part: a quarter of a recording) are taken out of the residuals that its rows are predicted with [fixed
effects: Mundlak 1978]. A law is worth what it explains within the parts, with the coefficients that all rows give it;
one that stands for their differences is worth nothing, or less.

With the base columns B solved for in each fold, y' = y − B χ̂ and C' = C − B (BᵀB)⁻¹BᵀC of the held-out rows are
formed once (the Gram matrices without the fold), and every choice of columns is a small problem: r = y' − C' x. Rows
are weighted as in the solution without candidates (so rows at rest hardly count), and the loss is Huber's, so that
one spike decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import FloatArray, IntArray

BLOCKS = 10
"""Blocks of time, as many as the deviations are stated by (`regression.covariance`)."""
DEALS = 4
HUBER = 2.0
JITTER = 1e-10
ROUNDING = 100 * float(np.finfo(float).eps)
"""Rounding of a product of two columns over their norms: some √K roundings, with the ten thousand rows there are."""
LEFT_OUT = 1e3
"""Ridge of a column that is not in the model: it keeps a millionth of its coefficient."""


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


class HeldOut:
    """Held-out loss of any choice of candidate columns, by joint and block of time; deals: places to cut at."""

    def __init__(self, rows: Rows, deals: int = DEALS):
        n, b, samples = rows.base.shape
        stacked = np.concatenate([rows.base, rows.candidates, rows.tau[:, None]], axis=1)
        total = (stacked @ stacked.transpose(0, 2, 1)).sum(axis=0)
        place = np.arange(samples) * BLOCKS / samples
        self._deals = []
        for deal in range(deals):
            fold = (place + deal / deals).astype(int) % BLOCKS
            self._deals.append([_Fold.of(stacked, total, b, np.flatnonzero(fold == f)) for f in np.unique(fold)])
        self._starts = np.unique(place.astype(int), return_index=True)[1]
        self._shape = n, samples
        self._own = [_own_friction(rows, np.flatnonzero(rows.parts == part)) for part in np.unique(rows.parts)]
        self.rows = rows.tau.size

    def losses(self, settings: Sequence[Mapping[int, float]], slow: bool = False) -> FloatArray:
        """Return the losses (s, n, blocks) with each of some choices of candidate columns {column: ridge}.

        slow: of what hardly changes within a part, which therefore may not explain it away.
        """
        columns = np.array(sorted({column for setting in settings for column in setting}), dtype=int)
        shares = np.array([[setting.get(column, LEFT_OUT) for column in columns] for setting in settings])
        residuals = [self._residual(deal, columns, shares) for deal in self._deals]
        if not slow:
            for residual in residuals:
                for here, span in self._own:
                    own = residual[:, :, here]
                    residual[:, :, here] = own - (own @ span) @ span.transpose(0, 2, 1)
        losses = sum(np.add.reduceat(_huber(each), self._starts, axis=2) for each in residuals) / len(residuals)
        return np.asarray(losses).transpose(1, 0, 2)

    def _residual(self, folds: Sequence[_Fold], columns: IntArray, shares: FloatArray) -> FloatArray:
        """Return the residuals (n, s, K) of all rows, each predicted without its fold."""
        n, samples = self._shape
        norms = np.array([fold.norms[columns] for fold in folds])
        grams = np.array([fold.gram[np.ix_(columns, columns)] for fold in folds]) / (norms[:, :, None] * norms[:, None])
        right = np.array([fold.right[columns] for fold in folds]) / norms
        each = np.arange(len(columns))
        grams = np.repeat(grams[:, None], len(shares), axis=1)
        grams[:, :, each, each] += shares**2 + JITTER
        right = np.broadcast_to(right[:, None, :, None], (*grams.shape[:-1], 1))
        weights = np.linalg.solve(grams, right)[..., 0] / norms[:, None]
        residual = np.empty((n, len(shares), samples))
        for fold, x in zip(folds, weights, strict=True):
            residual[:, :, fold.here] = fold.left[:, None] - x @ fold.columns[:, columns]
        return residual


def _own_friction(rows: Rows, here: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the samples of a part, and for each joint an orthonormal basis (n, K_p, a) of the part's own friction."""
    most = max(map(len, rows.friction), default=0)
    span = np.zeros((len(rows.tau), len(here), most))
    for j, own in enumerate(rows.friction):
        if own:
            basis = scipy.linalg.orth(rows.base[j][np.asarray(own)[:, None], here].T, rcond=1e-6)
            span[j, :, : basis.shape[1]] = basis
    return here, span


def _huber(residual: FloatArray) -> FloatArray:
    size = np.abs(residual)
    return np.where(size < HUBER, size**2, 2 * HUBER * size - HUBER**2)
