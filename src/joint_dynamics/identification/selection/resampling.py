r"""Which other choices of terms other blocks of time of the same robot would have led to.

The blocks are drawn anew, with replacement, `DRAWS` times, and each draw decides every round of the selection by the
same rules as the whole data: gain, its standard error, and the ranges left out, by block [of estimates after a
selection: Efron 2014; Buckland, Burnham and Augustin 1997]. Which joints a term enters in is decided anew as well.
Losses are those of the fits that were tried; a draw that takes another group than the whole data did goes on with the
groups that these took later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.selection.between_recordings import MIN_ERRORS
from joint_dynamics.identification.selection.held_out import HeldOutLoss

MIN_GAIN = 0.03
REFUTED = 1.0 / 3.0
"""Share of the joints in which ranges left out refute a law, above which it is none of this arm."""
DRAWS = 200


@dataclass(frozen=True)
class Candidate:
    """A group of columns that enters as one: its name and the indices of its columns among the candidates.

    Attributes
    ----------
    joints
        joint of each column, None: the group enters whole.
    kind
        of one kind only one group is chosen ('': of any number).
    min_errors, min_gain
        what it has to reach (`MIN_ERRORS`, `MIN_GAIN`).
    physical
        preferred to those that are not.
    slow
        of what hardly changes within a recording (temperature), so that differences between recordings tell it.
    """

    name: str
    columns: tuple[int, ...]
    kind: str = ''
    min_errors: float | None = None
    min_gain: float | None = None
    joints: tuple[int, ...] | None = None
    physical: bool = True
    slow: bool = False


@dataclass(frozen=True)
class AlternativeChoice:
    """A choice that other data of the same robot would have led to with this probability: {column: ridge}."""

    ridges: dict[int, float]
    probability: float


@dataclass(frozen=True)
class Tried:
    """A candidate with its ridge in one round: the loss with all of its columns in the model.

    disagreeing: joints in which it does not hold within recordings or halves as over all (`between_recordings`); of the
    whole data, not drawn anew.
    """

    candidate: Candidate
    ridge: float
    loss: HeldOutLoss
    disagreeing: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Round:
    """One round: the loss before, what was tried, and the index of what was taken, None: nothing."""

    before: HeldOutLoss
    tried: Sequence[Tried]
    taken: int | None


@dataclass(frozen=True)
class _Outcome:
    """By draw: gain in all (D,), whether the group is worth it (D,), the joints it enters in (n, D)."""

    gain: FloatArray
    worth: BoolArray
    joints: BoolArray


def resampled_choices(rounds: Sequence[Round], chosen: dict[int, float], seed: int = 1991) -> list[AlternativeChoice]:
    """Return the choices other than `chosen` {column: ridge} that draws of the blocks lead to, the likeliest first."""
    blocks = rounds[0].before.time.shape[2] if rounds else 0
    if not blocks:
        return []
    weights = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1.0 / blocks), DRAWS).T.astype(float)
    outcomes = [[_outcome(turn.before, tried, weights) for tried in turn.tried] for turn in rounds]
    drawn = Counter(tuple(sorted(_path(rounds, outcomes, d).items())) for d in range(DRAWS))
    drawn.pop(tuple(sorted(chosen.items())), None)
    return [AlternativeChoice(dict(ridges), count / DRAWS) for ridges, count in drawn.most_common()]


def _path(rounds: Sequence[Round], outcomes: Sequence[Sequence[_Outcome]], d: int) -> dict[int, float]:
    """Return the choice of one draw."""
    found: dict[int, float] = {}
    used: set[str] = set()
    kinds: set[str] = set()
    astray: set[bool] = set()
    for turn, outcome in zip(rounds, outcomes, strict=True):
        physical = bool(turn.tried[0].candidate.physical) if turn.tried else True
        within = [
            k
            for k, tried in enumerate(turn.tried)
            if outcome[k].worth[d]
            and tried.candidate.name not in used
            and tried.candidate.kind not in kinds
            and (physical not in astray or k == turn.taken)
        ]
        best = max(within, key=lambda k: outcome[k].gain[d], default=None)
        if best != turn.taken:
            astray.add(physical)
        if best is None:
            continue
        candidate = turn.tried[best].candidate
        used.add(candidate.name)
        kinds |= {candidate.kind} - {''}
        joints = outcome[best].joints[:, d]
        owners = candidate.joints or (None,) * len(candidate.columns)
        found |= {
            column: turn.tried[best].ridge
            for column, j in zip(candidate.columns, owners, strict=True)
            if j is None or joints[j]
        }
    return found


def _outcome(before: HeldOutLoss, tried: Tried, weights: FloatArray) -> _Outcome:
    """Decide a candidate by the blocks with weights (blocks, D), as `stepwise` does with weights of one."""
    candidate = tried.candidate
    by_block = (before.time - tried.loss.time).mean(axis=0)
    gain = by_block @ weights
    worse = (tried.loss.ranges_by_block - before.ranges_by_block) @ weights
    size = before.ranges_by_block.sum(axis=1) @ weights
    stands = kept = np.ones(gain.shape, dtype=bool)
    if candidate.joints is not None:
        own = np.zeros(len(gain), dtype=bool)
        own[list(candidate.joints)] = True
        refuted = (worse > MIN_GAIN * size[:, None]).any(axis=0) & own[:, None]
        refuted[sorted(tried.disagreeing)] = True
        stands = own[:, None] & ~refuted & (refuted.sum(axis=0) <= REFUTED * own.sum())
        kept = stands & (gain > 0)
    total = (gain * stands).sum(axis=0)
    each = stands.T.astype(float) @ by_block
    blocks = by_block.shape[1]
    mean = total / blocks
    error = np.sqrt(np.maximum((each**2 * weights.T).sum(axis=1) / blocks - mean**2, 0.0) * blocks)
    loss = before.time.mean(axis=0).sum(axis=0) @ weights
    worth = (
        kept.any(axis=0)
        & (total > 0)
        & (total >= (candidate.min_errors or MIN_ERRORS) * error)
        & (total >= (candidate.min_gain or MIN_GAIN) * loss)
        & ((worse * kept).sum(axis=1) <= MIN_GAIN * size).all(axis=0)
    )
    return _Outcome(total, worth, kept)
