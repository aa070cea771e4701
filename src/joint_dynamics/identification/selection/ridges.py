r"""How far each further term is held back in each joint, decided by held-out blocks of time.

A candidate is a group of columns, such as √|ω| friction in every joint, and every joint has a ridge of its own for it:
one of `RIDGES`, or it goes without. With gains g_b of the blocks b over going without, a joint takes the ridge that
has the largest

    Σ_b g_b − standard error of that sum,

so that what few blocks ask for is held back, and what may as well harm is left out: of a coefficient held back to a
share v of its size the gain is 2vA − v²B and its error goes with v, which makes this the soft threshold of a lasso.
Friction being of one kind in an arm more often than not, a candidate is worth its gain over all joints less
`MIN_ERRORS` standard errors of that. The candidate whose new ridges add most to what it is worth is taken next, those
in the model among them, until none adds `MIN_GAIN` of the loss: coordinate descent, the steepest first. Validation
recordings are never looked at.

How sure a ridge is: blocks drawn anew decide by the same rule [Efron 2014], see `Choice.alternatives`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.selection.held_out import BLOCKS, HeldOut

RIDGES = (0.03, 0.1, 0.3, 1.0)
JOINT_ERRORS = 1.0
"""Standard errors that are taken off a joint's gain."""
MIN_ERRORS = float(stdtrit(BLOCKS - 1, 0.975))
"""Standard errors that are taken off a candidate's gain over all joints: a 95 % interval's, from ten blocks."""
MIN_GAIN = 0.003
"""Share of the loss that another change of ridges has to be worth."""
DRAWS = 200


@dataclass(frozen=True)
class Candidate:
    """A group of columns that is decided as one.

    Attributes
    ----------
    columns, joints
        indices among the candidate columns, and the joint of each.
    kind
        of one kind only one group is chosen ('': of any number).
    errors
        standard errors that are taken off a joint's gain.
    slow
        of what hardly changes within a recording (temperature), so that differences between recordings tell it.
    """

    name: str
    columns: tuple[int, ...]
    joints: tuple[int, ...]
    kind: str = ''
    errors: float = JOINT_ERRORS
    slow: bool = False

    def with_ridges(self, best: IntArray) -> dict[int, float]:
        """Return {column: ridge} of the options (n,) of the joints: 0 for none, k for the k-th of `RIDGES`."""
        return {c: RIDGES[best[j] - 1] for c, j in zip(self.columns, self.joints, strict=True) if best[j]}


@dataclass(frozen=True)
class SelectionStep:
    """One candidate as decided last.

    gain_percent: by how much the held-out loss falls, in percent of that without any candidate; errors: the same in
    standard errors; ridges: {joint: ridge}, empty where it is left out.
    """

    name: str
    gain_percent: float
    errors: float
    ridges: dict[int, float]


@dataclass(frozen=True)
class AlternativeChoice:
    """Other ridges {column: ridge, None: left out} that other data may have led to with this probability."""

    ridges: dict[int, float | None]
    probability: float


@dataclass(frozen=True)
class Choice:
    """What a selection found.

    Chosen columns with their ridges; the candidates, chosen ones first; held-out loss per row before and after; what
    the blocks drawn anew decide instead, joint by joint and candidate by candidate, all others as chosen.
    """

    ridges: dict[int, float]
    steps: list[SelectionStep]
    loss_before: float
    loss_after: float
    alternatives: list[AlternativeChoice]


@dataclass(frozen=True)
class Decided:
    """By draw: the option of each joint (n, D), the gain in all, its standard error (D,)."""

    best: IntArray
    gain: FloatArray
    error: FloatArray

    @property
    def worth(self) -> FloatArray:
        """What is left of the gain (D,) after its errors."""
        return np.asarray(self.gain - MIN_ERRORS * self.error)


@dataclass(frozen=True)
class _Tried:
    """gain (options, n, blocks) over going without; what was decided, the choice with that, by how much worthier."""

    candidate: Candidate
    gain: FloatArray
    decided: Decided
    chosen: dict[int, float]
    added: float


def _total(gain: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums and standard errors (…, D) of gains (…, blocks, D or 1), each block counted `weights` (blocks, D)."""
    count = len(weights)
    total = (gain * weights).sum(axis=-2)
    square = (gain**2 * weights).sum(axis=-2) - total**2 / count
    return total, np.sqrt(np.maximum(square, 0.0) * count / max(count - 1, 1))


def decide(candidate: Candidate, gain: FloatArray, least: float, weights: FloatArray) -> Decided:
    """Decide the ridges of a candidate.

    Parameters
    ----------
    gain
        (options, n, blocks) over going without, the first option: 0.
    least
        what the candidate has to be worth.
    weights
        (blocks, D) how often each block counts, by draw.
    """
    total, error = _total(gain[..., None], weights)
    best = np.argmax(total - candidate.errors * error, axis=0)
    best[~np.isin(np.arange(len(best)), candidate.joints)] = 0
    picked = gain[best, np.arange(len(best))[:, None]].sum(axis=0)
    found = Decided(best, *_total(picked.T, weights))
    best[:, ~(found.worth > least)] = 0
    return found


def select(held_out: HeldOut, candidates: Sequence[Candidate]) -> Choice:
    """Choose the ridges of all candidates."""
    chosen: dict[int, float] = {}
    been: list[dict[int, float]] = []
    while True:
        been.append(chosen)
        loss = float(held_out.losses([chosen]).sum())
        least = MIN_GAIN * loss
        tried = [_try(held_out, chosen, candidate, _kin(candidate, candidates), least) for candidate in candidates]
        new = [trial for trial in tried if trial.chosen not in been and trial.added > least]
        if not new:
            break
        chosen = max(new, key=lambda trial: trial.added).chosen
    before = float(held_out.losses([{}]).sum())
    steps = [_step(trial, chosen, before) for trial in tried]
    steps.sort(key=lambda step: (not step.ridges, -step.gain_percent))
    alternatives = [
        other
        for trial in tried
        # not of those in whose place another of their kind is
        if not chosen.keys() & (_kin(trial.candidate, candidates) - set(trial.candidate.columns))
        for other in _alternatives(trial, chosen, least)
    ]
    return Choice(chosen, steps, before / held_out.rows, loss / held_out.rows, alternatives)


def _kin(candidate: Candidate, candidates: Sequence[Candidate]) -> set[int]:
    """Return the columns of a candidate and of those of its kind."""
    kind = [other for other in candidates if other is candidate or (other.kind and other.kind == candidate.kind)]
    return {column for other in kind for column in other.columns}


def _try(held_out: HeldOut, chosen: dict[int, float], candidate: Candidate, kin: set[int], least: float) -> _Tried:
    """Decide a candidate beside all that is chosen but its kind."""
    rest = {column: ridge for column, ridge in chosen.items() if column not in kin}
    settings = [rest, *({**rest, **dict.fromkeys(candidate.columns, ridge)} for ridge in RIDGES), chosen]
    loss = held_out.losses(settings, candidate.slow)
    gain = loss[0] - loss
    once = np.ones((gain.shape[2], 1))
    decided = decide(candidate, gain[:-1], least, once)
    worth = float(decided.worth[0]) if decided.best.any() else 0.0
    has = Decided(decided.best, *_total(gain[-1].sum(axis=0)[:, None], once))
    ridges = candidate.with_ridges(decided.best[:, 0])
    return _Tried(candidate, gain[:-1], decided, rest | ridges, worth - float(has.worth[0]))


def _step(trial: _Tried, chosen: dict[int, float], before: float) -> SelectionStep:
    candidate, gain, error = trial.candidate, float(trial.decided.gain[0]), float(trial.decided.error[0])
    ridges = {j: chosen[c] for c, j in zip(candidate.columns, candidate.joints, strict=True) if c in chosen}
    return SelectionStep(candidate.name, 100 * gain / before, gain / error if error > 0 else 0.0, ridges)


def _alternatives(trial: _Tried, chosen: dict[int, float], least: float, seed: int = 1991) -> list[AlternativeChoice]:
    """Return what draws of the blocks, with replacement, decide instead for each joint of a candidate."""
    candidate, blocks = trial.candidate, trial.gain.shape[2]
    weights = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1.0 / blocks), DRAWS).T.astype(float)
    best = decide(candidate, trial.gain, least, weights).best
    found = []
    for j in dict.fromkeys(candidate.joints):
        columns = [c for c, joint in zip(candidate.columns, candidate.joints, strict=True) if joint == j]
        for option, ridge in enumerate((None, *RIDGES)):
            probability = float(np.mean(best[j] == option))
            if probability > 0 and ridge != chosen.get(columns[0]):
                found.append(AlternativeChoice(dict.fromkeys(columns, ridge), probability))
    return found
