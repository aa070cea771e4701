r"""Which further terms the torque really needs, by how much less held-out samples are missed: cross-validation within the training data.

The training rows are cut into short blocks of time, dealt at random to folds. Candidates are groups of columns, such as √|ω| friction in
every joint. A group enters, the best one first, when the loss of the held-out rows falls

- by more than `TIMES` standard errors of its mean over blocks (a group that changes nothing does so by chance once in fifty), and
- by at least `LEAST` of the loss,

at the largest ridge among `RIDGES` whose loss is within a standard error of the best: few data, more reluctance. Rows are weighted as in
the solution without candidates (so rows at rest hardly count), and the loss is Huber's, so that one spike decides nothing. Validation
recordings are never looked at.

With the base columns B solved for in each fold, y' = y − B χ̂ and C' = C − B (BᵀB)⁻¹BᵀC of the held-out rows are formed once (the Gram
matrices without the fold), and every choice of columns is a small problem: r = y' − C' x.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

FOLDS = 10
DEALS = 4
TIMES = 2.0
LEAST = 0.03
RIDGES = (0.03, 0.1, 0.3)
HUBER = 2.0
JITTER = 1e-10


@dataclass(frozen=True)
class Rows:
    """Rows for a selection, samples last.

    base (n, b, K), candidates (n, c, K), tau (n, K), all weighted; blocks (K,): number of the block of time each sample is in.
    """

    base: NDArray
    candidates: NDArray
    tau: NDArray
    blocks: NDArray


@dataclass(frozen=True)
class Candidate:
    """A group of columns that enters as one: its name and the indices of its columns among the candidates.

    kind: of one kind only one group is chosen ('': of any number); times, least: what it has to reach (`TIMES`, `LEAST`).
    """

    name: str
    columns: tuple[int, ...]
    kind: str = ''
    times: float | None = None
    least: float | None = None


@dataclass(frozen=True)
class Step:
    """One decision.

    name, ridge; gain_percent: by how much the held-out loss falls, in percent of the loss before; errors: the same in standard errors;
    chosen.
    """

    name: str
    ridge: float
    gain_percent: float
    errors: float
    chosen: bool


@dataclass(frozen=True)
class Choice:
    """What a selection found: chosen columns with their ridges, the steps in order (those left out last), held-out loss per row before and after."""

    ridges: dict[int, float]
    steps: list[Step]
    loss_before: float
    loss_after: float


@dataclass(frozen=True)
class _Fold:
    gram: NDArray
    right: NDArray
    own: NDArray
    columns: NDArray
    left: NDArray
    blocks: NDArray


class HeldOut:
    """Held-out loss of any choice of candidate columns, per block of time."""

    def __init__(self, rows: Rows, folds: int = FOLDS, deals: int = DEALS, seed: int = 1991):
        self.count = int(rows.blocks.max()) + 1
        rng = np.random.default_rng(seed)
        folds = min(folds, self.count)
        self.deals = []
        for _ in range(deals):
            fold_of_block = np.concatenate([rng.permutation(folds) for _ in range(-(-self.count // folds))])[:self.count]
            self.deals.append(_deal(rows, fold_of_block[rows.blocks], folds))
        self.rows = rows.tau.size

    def loss(self, ridges: dict[int, float]) -> NDArray:
        """Return the loss (deals, blocks) with the candidate columns `ridges` {column: ridge} in the model."""
        chosen = np.array(sorted(ridges), dtype=int)
        share = np.array([ridges[column] for column in chosen])
        return np.array([sum(_loss(fold, chosen, share, self.count) for fold in deal) for deal in self.deals])


def _deal(rows: Rows, fold: NDArray, folds: int) -> list[_Fold]:
    """Reduce the candidates' problem for every fold of one deal."""
    n, b, _ = rows.base.shape
    stacked = [np.concatenate([rows.base[j], rows.candidates[j], rows.tau[j][None]]) for j in range(n)]
    grams = np.array([sum(part[:, fold == f] @ part[:, fold == f].T for part in stacked) for f in range(folds)])
    found = []
    for f in range(folds):
        gram = grams.sum(axis=0) - grams[f]
        scale = np.sqrt(np.diag(gram)[:b])
        scale = np.where(scale > 0, scale, 1.0)
        factor = scipy.linalg.cho_factor(gram[:b, :b] / np.outer(scale, scale) + JITTER * b * np.eye(b))
        projected = scipy.linalg.cho_solve(factor, gram[:b, b:] / scale[:, None]) / scale[:, None]
        reduced = gram[b:, b:] - gram[b:, :b] @ projected
        inside = fold == f
        left = [part[b:, inside] - projected.T @ part[:b, inside] for part in stacked]
        columns = np.concatenate([part[:-1] for part in left], axis=1)
        # the ridge of a column is a share of its own norm, not of what the base columns leave of it
        own = np.sqrt(np.maximum(np.diag(gram)[b:-1], 0.0))
        found.append(_Fold(reduced[:-1, :-1], reduced[:-1, -1], np.where(own > 0, own, 1.0), columns, np.concatenate([part[-1] for part in left]),
                           np.tile(rows.blocks[inside], n)))
    return found


def _loss(fold: _Fold, chosen: NDArray, share: NDArray, blocks: int) -> NDArray:
    residual = fold.left
    if len(chosen):
        own = fold.own[chosen]
        gram = fold.gram[np.ix_(chosen, chosen)] / np.outer(own, own) + np.diag(share**2 + JITTER)
        residual = residual - np.linalg.solve(gram, fold.right[chosen] / own) / own @ fold.columns[chosen]
    size = np.abs(residual)
    huber = np.where(size < HUBER, size**2, 2 * HUBER * size - HUBER**2)
    return np.bincount(fold.blocks, huber, minlength=blocks)


def _gain(before: NDArray, after: NDArray) -> tuple[float, float, float]:
    """Return by how much a loss (deals, blocks) falls: in all, as a fraction, and in standard errors of the sum over blocks."""
    gain = before - after
    total = float(gain.sum(axis=1).mean())
    error = float((gain.std(axis=1, ddof=1) * np.sqrt(gain.shape[1])).mean())
    return total, total / float(before.sum(axis=1).mean()), total / error if error > 0 else 0.0


def _best_ridge(held_out: HeldOut, current: NDArray, chosen: dict[int, float], candidate: Candidate,
                ridges: Sequence[float]) -> tuple[float, float, NDArray, float, float]:
    """Return (gain, ridge, loss, fraction, standard errors) at the largest ridge that is not worse than the best by a standard error."""
    losses = {ridge: held_out.loss({**chosen, **dict.fromkeys(candidate.columns, ridge)}) for ridge in ridges}
    best = min(losses.values(), key=lambda loss: float(loss.sum()))
    for ridge in sorted(ridges, reverse=True):
        if _gain(losses[ridge], best)[2] <= 1.0:
            break
    total, fraction, errors = _gain(current, losses[ridge])
    return total, ridge, losses[ridge], fraction, errors


def select(held_out: HeldOut, candidates: Sequence[Candidate], ridges: Sequence[float] = RIDGES) -> Choice:
    """Choose groups of columns, the best one first, until none is worth it."""
    chosen: dict[int, float] = {}
    steps: list[Step] = []
    current = held_out.loss(chosen)
    first = float(current.sum(axis=1).mean())
    left = list(candidates)
    tried: dict[str, Step] = {}
    while left:
        best: tuple[float, Candidate, float, NDArray, float, float] | None = None
        for candidate in left:
            total, ridge, after, fraction, errors = _best_ridge(held_out, current, chosen, candidate, ridges)
            worth = errors >= (candidate.times or TIMES) and fraction >= (candidate.least or LEAST)
            tried[candidate.name] = Step(candidate.name, ridge, 100 * fraction, errors, False)
            if worth and (best is None or total > best[0]):
                best = (total, candidate, ridge, after, fraction, errors)
        if best is None:
            break
        _, candidate, ridge, current, fraction, errors = best
        chosen.update(dict.fromkeys(candidate.columns, ridge))
        left = [other for other in left if other is not candidate and not (candidate.kind and other.kind == candidate.kind)]
        steps.append(Step(candidate.name, ridge, 100 * fraction, errors, True))
    refused = [tried[candidate.name] for candidate in left if candidate.name in tried]
    return Choice(chosen, steps + refused, first / held_out.rows, float(current.sum(axis=1).mean()) / held_out.rows)
