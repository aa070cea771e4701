r"""Held-out loss of any choice of further columns: each fold of the training data predicted from the others.

Folds are of two sorts. *Blocks of time*, short ones dealt at random, tell whether a column explains anything at all.
*Ranges* tell whether it goes on explaining where the data do not reach: the slowest and the fastest third of each
joint's moving rows, and every recording as a whole, each predicted from the rest. A range that the robot without
further columns cannot be predicted in from the rest (`HOPELESS_RATIO`) says nothing and is not asked.

With the base columns B solved for in each fold, y' = y − B χ̂ and C' = C − B (BᵀB)⁻¹BᵀC of the held-out rows are
formed once (the Gram matrices without the fold), and every choice of columns is a small problem: r = y' − C' x. Rows
are weighted as in the solution without candidates (so rows at rest hardly count), and the loss is Huber's, so that
one spike decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.selection.between_recordings import WithinRecordings, halves_of

FOLDS = 10
DEALS = 4
HUBER = 2.0
JITTER = 1e-10
ROUNDING = 100 * float(np.finfo(float).eps)
"""Rounding of a product of two columns over their norms: some √K roundings, with the ten thousand rows there are."""
SHARE = 1.0 / 3.0
"""Share of a joint's moving rows that counts as slow, and as fast."""
HOPELESS_RATIO = 10.0
"""Loss in a range, over the loss of the same rows in blocks of time, above which the rest does not tell the base
parameters."""


@dataclass(frozen=True)
class Rows:
    """Rows for a selection, samples last.

    base (n, b, K), candidates (n, c, K), tau (n, K), all weighted; blocks (K,): number of the block of time each
    sample is in. speeds (n, K): |ω_j|, 0 at rest, and recordings (K,), number of the recording: None where ranges are
    not left out. friction: for each joint the base columns of its Coulomb and viscous friction, empty where recordings
    and their halves are not asked whether they agree.
    """

    base: FloatArray
    candidates: FloatArray
    tau: FloatArray
    blocks: IntArray
    speeds: FloatArray | None = None
    recordings: IntArray | None = None
    friction: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class HeldOutLoss:
    """Held-out loss: time (deals, n, blocks); ranges_by_block (ranges, n, blocks)."""

    time: FloatArray
    ranges_by_block: FloatArray

    @property
    def ranges(self) -> FloatArray:
        """Loss of each range, (ranges, n)."""
        return np.asarray(self.ranges_by_block.sum(axis=2))

    @property
    def mean(self) -> float:
        """Loss of all rows in blocks of time."""
        return float(self.time.sum(axis=(1, 2)).mean())


@dataclass(frozen=True)
class _Fold:
    gram: FloatArray
    right: FloatArray
    own: FloatArray
    columns: FloatArray
    left: FloatArray
    cell: IntArray


@dataclass(frozen=True)
class _Folds:
    """All folds of all deals, so that a choice is tried on all of them at once.

    gram (folds, c, c), right, own (folds, c) as of `_Fold`; columns (c, K) and left (K,) of the rows held out, fold
    after fold, counts (folds,) rows of each; cell (K,): joint and block of each row, of one deal after the other, cells
    of them in all.
    """

    gram: FloatArray
    right: FloatArray
    own: FloatArray
    columns: FloatArray
    left: FloatArray
    counts: IntArray
    cell: IntArray
    cells: int

    @classmethod
    def of(cls, deals: list[list[_Fold]], size: int) -> _Folds:
        """Lay deals of `size` cells each side by side."""
        folds = [fold for deal in deals for fold in deal]
        return cls(
            np.array([fold.gram for fold in folds]),
            np.array([fold.right for fold in folds]),
            np.array([fold.own for fold in folds]),
            np.concatenate([fold.columns for fold in folds], axis=1),
            np.concatenate([fold.left for fold in folds]),
            np.array([len(fold.left) for fold in folds]),
            np.concatenate([number * size + fold.cell for number, deal in enumerate(deals) for fold in deal]),
            len(deals) * size,
        )

    def losses(self, columns: Sequence[int], shares: FloatArray) -> FloatArray:
        """Return the losses (s, cells) with these candidate columns (c,) in the model, held back by `shares` (s, c)."""
        size = len(shares)
        residual = np.repeat(self.left[None], size, axis=0)
        if len(columns):
            chosen = np.asarray(columns)
            own = self.own[:, chosen]
            gram = self.gram[:, chosen[:, None], chosen] / (own[:, :, None] * own[:, None, :])
            grams = np.repeat(gram[:, None], size, axis=1)
            each = np.arange(len(chosen))
            grams[:, :, each, each] += shares**2 + JITTER
            right = np.broadcast_to((self.right[:, chosen] / own)[:, None, :, None], (*grams.shape[:3], 1))
            chi = np.linalg.solve(grams, right)[..., 0] / own[:, None]
            rows, first = self.columns[chosen], 0
            for explained, count in zip(chi, self.counts, strict=True):
                held_out = slice(first, first + count)
                residual[:, held_out] -= explained @ rows[:, held_out]
                first += count
        cell = (self.cell + self.cells * np.arange(size)[:, None]).ravel()
        found = np.bincount(cell, _huber(residual).ravel(), minlength=size * self.cells)
        return found.astype(float, copy=False).reshape(size, self.cells)


class HeldOut:
    """Held-out loss of any choice of candidate columns, per joint and block of time, and per joint and range."""

    def __init__(self, rows: Rows, folds: int = FOLDS, deals: int = DEALS, seed: int = 1991):
        self.blocks = int(rows.blocks.max()) + 1
        self.joints = len(rows.tau)
        self.rows = rows.tau.size
        rng = np.random.default_rng(seed)
        folds = min(folds, self.blocks)
        dealt = []
        for _ in range(deals):
            fold_of_block = np.concatenate([rng.permutation(folds) for _ in range(-(-self.blocks // folds))])[
                : self.blocks
            ]
            dealt.append(_deal(rows, np.broadcast_to(fold_of_block[rows.blocks], rows.tau.shape), folds))
        self._deals = deals
        self.ranges: list[str] = []
        without = self._without(dealt[0])
        for name, fold in ranges_of(rows).items():
            asked = _deal(rows, fold, int(fold.max()) + 1)
            cells = self._without(asked)
            if cells.sum() <= HOPELESS_RATIO * without[cells > 0].sum():
                dealt.append(asked)
                self.ranges.append(name)
        self._folds = _Folds.of(dealt, self.joints * self.blocks)
        self._within = _within(rows)

    def _without(self, deal: list[_Fold]) -> FloatArray:
        """Return the loss of one deal without any candidate, (joints · blocks,)."""
        found = np.zeros(self.joints * self.blocks)
        for fold in deal:
            np.add.at(found, fold.cell, _huber(fold.left))
        return found

    def disagree(self, chosen: dict[int, float], columns: Sequence[int], joints: Sequence[int]) -> set[int]:
        """Return the joints in which a law is none within the recordings or halves, see `WithinRecordings.disagree`."""
        return set() if self._within is None else self._within.disagree(chosen, columns, joints)

    def loss(self, ridges: dict[int, float]) -> HeldOutLoss:
        """Return the loss with the candidate columns `ridges` {column: ridge} in the model."""
        return self.losses(ridges, (), (0.0,))[0]

    def losses(self, chosen: dict[int, float], columns: Sequence[int], ridges: Sequence[float]) -> list[HeldOutLoss]:
        """Return the loss for each of some ridges of `columns`, with the candidate columns `chosen` {column: ridge}."""
        further = {**chosen, **dict.fromkeys(columns, 0.0)}
        shares = np.array([list({**further, **dict.fromkeys(columns, ridge)}.values()) for ridge in ridges])
        cells = self._folds.losses(list(further), shares).reshape(len(ridges), -1, self.joints, self.blocks)
        return [HeldOutLoss(found[: self._deals], found[self._deals :]) for found in cells]


def _within(rows: Rows) -> WithinRecordings | None:
    if rows.recordings is None or not rows.friction:
        return None
    columns = np.concatenate([rows.base, rows.candidates], axis=1)
    halves = halves_of(rows.recordings, rows.blocks)
    return WithinRecordings(columns, rows.base.shape[1], rows.tau, rows.friction, rows.blocks, rows.recordings, halves)


def ranges_of(rows: Rows) -> dict[str, FloatArray]:
    """Return for every range {name: (n, K) 0 where held out, −1 elsewhere}."""
    found: dict[str, FloatArray] = {}
    if rows.speeds is not None:
        moving = rows.speeds > 0
        level = [
            np.quantile(speed[here], [SHARE, 1 - SHARE]) if here.any() else np.zeros(2)
            for speed, here in zip(rows.speeds, moving, strict=True)
        ]
        slow, fast = (np.array(value)[:, None] for value in zip(*level, strict=True))
        found['low speed'] = np.where(moving & (rows.speeds <= slow), 0, -1)
        found['high speed'] = np.where(moving & (rows.speeds >= fast), 0, -1)
    if rows.recordings is not None:
        names = np.unique(rows.recordings)
        for name in names if len(names) > 1 else ():
            found[f'recording {name + 1}'] = np.broadcast_to(np.where(rows.recordings == name, 0, -1), rows.tau.shape)
    return {name: fold for name, fold in found.items() if (fold == 0).any()}


def _deal(rows: Rows, fold: FloatArray, folds: int) -> list[_Fold]:
    """Reduce the candidates' problem for every fold; fold (n, K): the fold each row is held out in, −1: in none."""
    n, b, _ = rows.base.shape
    blocks = int(rows.blocks.max()) + 1
    stacked = [np.concatenate([rows.base[j], rows.candidates[j], rows.tau[j][None]]) for j in range(n)]
    total = np.asarray(sum(part @ part.T for part in stacked))
    found = []
    for f in range(folds):
        inside = [fold[j] == f for j in range(n)]
        held_out = [part[:, here] for part, here in zip(stacked, inside, strict=True)]
        gram = total - sum(part @ part.T for part in held_out)
        scale = np.sqrt(np.maximum(np.diag(gram)[:b], 0.0))
        scale = np.where(scale > 0, scale, 1.0)
        # a column that the rest hardly shows is what rounding left of a difference of large numbers: no more than that
        # can make the matrix indefinite, and so much is added
        rounding = ROUNDING * b * np.diag(total)[:b] / scale**2
        factor = scipy.linalg.cho_factor(gram[:b, :b] / np.outer(scale, scale) + np.diag(JITTER * b + rounding))
        projected = scipy.linalg.cho_solve(factor, gram[:b, b:] / scale[:, None]) / scale[:, None]
        reduced = gram[b:, b:] - gram[b:, :b] @ projected
        left = [part[b:] - projected.T @ part[:b] for part in held_out]
        columns = np.concatenate([part[:-1] for part in left], axis=1)
        # the ridge of a column is a share of its own norm, not of what the base columns leave of it
        own = np.sqrt(np.maximum(np.diag(gram)[b:-1], 0.0))
        found.append(
            _Fold(
                reduced[:-1, :-1],
                reduced[:-1, -1],
                np.where(own > 0, own, 1.0),
                columns,
                np.concatenate([part[-1] for part in left]),
                np.concatenate([j * blocks + rows.blocks[here] for j, here in enumerate(inside)]),
            )
        )
    return found


def _huber(residual: FloatArray) -> FloatArray:
    size = np.abs(residual)
    return np.where(size < HUBER, size**2, 2 * HUBER * size - HUBER**2)
