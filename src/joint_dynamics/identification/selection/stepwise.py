r"""Which further terms the torque really needs: forward selection by the loss of held-out training data.

Candidates are groups of columns, such as √|ω| friction in every joint. A group enters, the best one first, when the
loss of held-out blocks of time falls

- by more than `MIN_ERRORS` standard errors of its mean over blocks (a group that changes nothing does so by chance once
  in fifty), and
- by at least `MIN_GAIN` of the loss,

at the largest ridge among `RIDGES` whose loss is within a standard error of the best: few data, more reluctance.
Ranges left out (low speeds, high speeds, each recording) refute it in a joint where they miss that joint's rows by
more, by `MIN_GAIN` of the range's loss, and so do recordings, or halves of them, that agree on it only as long as none
has a friction of its own (`between_recordings`). It enters in those joints only whose rows in blocks of time are
predicted better and where nothing refutes it; friction being of one kind in an arm more often than not, in none if more
than `REFUTED` of its joints refute it, nor if some range as a whole is then predicted worse by `MIN_GAIN`.
What physics expects (`physical`) is tried first; other groups only explain what is then left.
Validation recordings are never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from joint_dynamics.identification.selection.between_recordings import MIN_ERRORS
from joint_dynamics.identification.selection.held_out import HeldOut, HeldOutLoss
from joint_dynamics.identification.selection.resampling import (
    MIN_GAIN,
    REFUTED,
    AlternativeChoice,
    Candidate,
    Round,
    Tried,
    resampled_choices,
)

RIDGES = (0.03, 0.1, 0.3)


@dataclass(frozen=True)
class SelectionStep:
    """One decision.

    name, ridge; gain_percent: by how much the held-out loss falls, in percent of the loss before; errors: the same in
    standard errors; chosen; joints: indices of those it entered in, None: all of its own; disagreeing: of those in
    which recordings or their halves do not agree on it (`between_recordings`).
    """

    name: str
    ridge: float
    gain_percent: float
    errors: float
    chosen: bool
    joints: tuple[int, ...] | None = None
    disagreeing: tuple[int, ...] = ()


@dataclass(frozen=True)
class Choice:
    """What a selection found.

    Chosen columns with their ridges, the steps in order (those left out last), held-out loss per row before and
    after; rounds: what was tried.
    """

    ridges: dict[int, float]
    steps: list[SelectionStep]
    loss_before: float
    loss_after: float
    rounds: list[Round]

    @cached_property
    def alternatives(self) -> list[AlternativeChoice]:
        """The other choices that its blocks of time, drawn anew, lead to."""
        return resampled_choices(self.rounds, self.ridges)


@dataclass(frozen=True)
class _Trial:
    candidate: Candidate
    columns: tuple[int, ...]
    joints: tuple[int, ...] | None
    ridge: float
    loss: HeldOutLoss
    total: float
    fraction: float
    errors: float
    worth: bool
    tried: Tried


def gain_of(before: HeldOutLoss, after: HeldOutLoss) -> tuple[float, float, float]:
    """Return by how much a loss falls in blocks of time: in all, as a fraction, in standard errors."""
    gain = (before.time - after.time).sum(axis=1)
    total = float(gain.sum(axis=1).mean())
    error = float((gain.std(axis=1, ddof=1) * np.sqrt(gain.shape[1])).mean())
    return total, total / before.mean, total / error if error > 0 else 0.0


def best_ridge(
    held_out: HeldOut, chosen: dict[int, float], candidate: Candidate, ridges: Sequence[float]
) -> tuple[float, HeldOutLoss]:
    """Return the largest ridge that is not worse than the best by a standard error, and its loss."""
    losses = dict(zip(ridges, held_out.losses(chosen, candidate.columns, ridges), strict=True))
    best = min(losses.values(), key=lambda loss: loss.mean)
    ridge = next(ridge for ridge in sorted(ridges, reverse=True) if gain_of(losses[ridge], best)[2] <= 1.0)
    return ridge, losses[ridge]


def _try(
    held_out: HeldOut, current: HeldOutLoss, chosen: dict[int, float], candidate: Candidate, ridges: Sequence[float]
) -> _Trial:
    ridge, after = best_ridge(held_out, chosen, candidate, ridges)
    columns, joints = candidate.columns, None
    total, fraction, errors = gain_of(current, after)
    disagreeing: set[int] = set()
    if candidate.joints is not None and not candidate.slow and fraction > 0:
        disagreeing = held_out.disagree(chosen, columns, candidate.joints)
    tried = Tried(candidate, ridge, after, frozenset(disagreeing))
    if candidate.joints is not None:
        own = set(candidate.joints)
        refuted = (after.ranges - current.ranges > MIN_GAIN * current.ranges.sum(axis=1, keepdims=True)).any(axis=0)
        refuted[sorted(disagreeing)] = True
        better = (current.time - after.time).sum(axis=2).mean(axis=0) > 0
        stands = {j for j in own if not refuted[j]} if sum(refuted[j] for j in own) <= REFUTED * len(own) else set()
        for kept in (stands, {j for j in stands if better[j]}):
            if len(kept) < len(own):
                columns, joints = (
                    tuple(c for c, j in zip(candidate.columns, candidate.joints, strict=True) if j in kept),
                    tuple(sorted(kept)),
                )
                after = held_out.loss({**chosen, **dict.fromkeys(columns, ridge)})
            if kept is stands:
                # judged before joints without a gain are left out: picking those with one makes any term look good
                total, fraction, errors = gain_of(current, after)
    worth = (
        bool(columns)
        and errors >= (candidate.min_errors or MIN_ERRORS)
        and fraction >= (candidate.min_gain or MIN_GAIN)
        and bool((after.ranges.sum(axis=1) <= (1 + MIN_GAIN) * current.ranges.sum(axis=1)).all())
    )
    return _Trial(candidate, columns, joints, ridge, after, total, fraction, errors, worth, tried)


def select(held_out: HeldOut, candidates: Sequence[Candidate], ridges: Sequence[float] = RIDGES) -> Choice:
    """Choose groups of columns, physical ones first and of these the best one first, until none is worth it."""
    chosen: dict[int, float] = {}
    current = held_out.loss(chosen)
    first = current.mean
    left = list(candidates)
    tried: dict[str, _Trial] = {}
    taken: list[_Trial] = []
    rounds: list[Round] = []
    for physical in (True, False):
        while any(candidate.physical == physical for candidate in left):
            trials = [
                _try(held_out, current, chosen, candidate, ridges)
                for candidate in left
                if candidate.physical == physical
            ]
            for trial in trials:
                tried[trial.candidate.name] = trial
            worth = [trial for trial in trials if trial.worth]
            best = max(worth, key=lambda trial: trial.total, default=None)
            taken_here = next((k for k, trial in enumerate(trials) if trial is best), None)
            rounds.append(Round(current, [trial.tried for trial in trials], taken_here))
            if best is None:
                break
            current = best.loss
            chosen.update(dict.fromkeys(best.columns, best.ridge))
            kind = best.candidate.kind
            left = [other for other in left if other is not best.candidate and not (kind and other.kind == kind)]
            taken.append(best)
    refused = [tried[candidate.name] for candidate in left if candidate.name in tried]
    steps = [_step(trial, True) for trial in taken] + [_step(trial, False) for trial in refused]
    return Choice(chosen, steps, first / held_out.rows, current.mean / held_out.rows, rounds)


def _step(trial: _Trial, chosen: bool) -> SelectionStep:
    return SelectionStep(
        trial.candidate.name,
        trial.ridge,
        100 * trial.fraction,
        trial.errors,
        chosen,
        trial.joints,
        tuple(sorted(trial.tried.disagreeing)),
    )
