"""What changed in the last seconds: the load, one joint's stiffness or its friction, or nothing of these.

Likelihood ratios at an unknown time [Basseville and Nikiforov, Detection of Abrupt Changes, ch. 2.4, 4.1]. For every
beginning of one of the last blocks of motion the torques since are compared with what was in force there (`change_test`
has the equations). As an alternative to no change, each kind may take any value in place of one that wanders as is
usual. Noise is what is usual of this arm and this joint; of torques a tenth of a second apart one counts.

The load goes first: one set of ten parameters has to explain both sides of all joints. A single change has to explain
the one side of its joint that it concerns, and leave the other as usual. A push is none of these: both sides of a joint
feel it, and no constant load explains it; no stiffness is judged over one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.change_test import BODY, MOTOR, SPRING, Blocks, Verdict, judge, take

Array = FloatArray
BLOCK, WINDOW, SHORTEST = 0.25, 24, 6
"""s of motion of a block; blocks that are looked back on; blocks that a change needs."""
CORRELATION = 0.1
"""s after which torque errors are independent."""
STAYS = 1.5
"""Deviation of an error that stays as long as the posture, in usual errors."""
MEMORY = 30.0
"""s of motion over which the usual error is learnt; less at first."""
USUAL_FRICTION, USUAL_STIFFNESS = 0.1, 0.05
"""Wander of α₁ with the work, and of the stiffness over its range, as shares: standard deviations."""
VISCOUS = 0.2
"""Wander of α₂ as a share of its upper bound."""
POSSIBLE_FRICTION, POSSIBLE_STIFFNESS = 1.0, 0.5
"""Deviation of what they may change to at once, as shares."""
REACH, LEAST_MASS = 0.3, 0.2
"""m from the last joint within which a load has its centre of mass; kg that a load is at least, and be wrong by."""
BODIES = 10.0 * np.array([REACH**2] * 6 + [REACH] * 3 + [1.0])
"""Deviation of the payload's parameters, kg·m², kg·m, kg: 10 kg within reach."""
LOWEST, HIGHEST = np.array([-1.0, -0.7])[:, None], np.array([2.0, -0.1])[:, None]
"""Between which they are: a stiffness breaks down at once, it does not grow."""
STEADY = 0.8
"""Share of the blocks since that a change must make better."""
LOAD, SINGLE = 30.0, 50.0
"""Gain in log-likelihood that a change of the load, and one of a joint, need."""
BEYOND = np.array([8.0, 4.0])[:, None]
"""Gain of a change of friction and of stiffness against one that is as large as usual."""
LEFT, UNEXPLAINED = 3.0, 0.2
"""What is named leaves no more than so many usual mean squares, or this share of what there was."""
LEAST = np.array([0.25, 0.1])[:, None]
"""Smallest changes of friction and of stiffness that are named, as shares."""


@dataclass(frozen=True)
class Change:
    """One change that was named.

    Attributes
    ----------
    kind
        `load`, `friction` or `stiffness`.
    joint
        of a single change, −1 of the load.
    value
        α₁ or the factor of the stiffness since.
    since
        first of the blocks after it.
    length
        number of blocks since.

    """

    kind: str
    joint: int
    value: float
    since: int
    length: int


class ChangeDetector:
    """Change of load, stiffness or friction of n joints.

    Parameters
    ----------
    joints, order
        n, and P of the stiffness map.
    period
        s between samples.
    viscous
        (n,) N·m·s/rad, largest α₂.

    Attributes
    ----------
    blocks, verdict
        what the last seconds hold, and say.
    load_suspected
        bool: another load explains the last seconds better, though not well enough yet.
    touched
        (k,) bool, of every block: whether there was a contact in it; settable for the `open` one.
    spring_doubted
        (n,) bool: another stiffness does, while the motor side of that joint is as usual.

    """

    def __init__(self, joints: int, order: int, period: float, viscous: Array) -> None:
        n, k = joints, WINDOW
        self.joints, self.period = n, period
        self._share = min(period / CORRELATION, 1.0)
        self.per_block = max(int(round(BLOCK / period)), 1)
        self.blocks = Blocks(
            np.zeros((k, n, BODY + 4, BODY + 4)),
            np.zeros((k, n, BODY + 2 + order, BODY + 2 + order)),
            np.zeros((k, 2, n)),
            np.zeros((k, BODY)),
            np.zeros((k, n, 2)),
            np.zeros((k, n, order)),
        )
        self.touched = np.zeros(k, dtype=bool)
        each = np.zeros((k, 2, n))
        self.verdict = Verdict(np.zeros(k), np.zeros((k, BODY)), *(each.copy() for _ in range(6)))
        wander = np.stack([np.full(n, USUAL_FRICTION), VISCOUS * viscous, np.full(n, USUAL_STIFFNESS)])
        most = np.stack([np.full(n, POSSIBLE_FRICTION), viscous, np.full(n, POSSIBLE_STIFFNESS)])
        self._usual, self._possible = np.maximum(wander, 1e-3) ** -2, np.maximum(most, 1e-3) ** -2
        self._body = BODIES**-2.0
        self.reset()

    def reset(self) -> None:
        """Forget all, what is usual too."""
        self.square, self._seen = np.ones((2, self.joints)), np.zeros((2, self.joints))
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget the last seconds."""
        self.open, self._filled, self._turns, self._undecided = 0, 0, 0, 0
        self.load_suspected = False
        self.spring_doubted = np.zeros(self.joints, dtype=bool)

    def take(
        self, rows: Array, motor: Array, spring: Array, payload: Array, friction: Array, spring_map: Array
    ) -> bool:
        """Take one sample, as `change_test.take`, and what is in force; return whether a block is complete."""
        b, k = self.blocks, self.open
        if self._turns == 0:
            b.motor[k], b.spring[k], b.samples[k] = 0.0, 0.0, 0.0
            b.payload[k], b.friction[k], b.spring_map[k] = payload, friction, spring_map
            self.touched[k] = False
        take(b, k, rows, motor, spring)
        self._turns += 1
        if self._turns < self.per_block:
            return False
        self._turns, self.open, self._filled = 0, (k + 1) % WINDOW, min(self._filled + 1, WINDOW)
        return True

    def find(self) -> Change | None:
        """Return the change that the last seconds show, after a block; None: nothing, or nothing yet."""
        v, newest = self.verdict, (self.open - 1) % WINDOW
        judge(
            self.blocks, newest, self._filled, (self._share, STAYS**-2.0), self._usual, self._possible, self._body,
            1.0 / self.square, v,
        )  # fmt: skip
        lengths = slice(SHORTEST - 1, self._filled)
        if self._filled < SHORTEST:
            return None
        cost, samples = v.cost[lengths], v.samples[lengths]
        as_usual = cost <= LEFT * samples
        change, gain = v.change[lengths], v.single[lengths]
        large = (np.abs(change) >= LEAST) & (change >= LOWEST) & (change <= HIGHEST) & (gain > SINGLE)
        self.spring_doubted[:] = (large[:, SPRING] & as_usual[:, MOTOR]).any(axis=0)
        beyond = 0.5 * (cost - v.single_cost[lengths]) > BEYOND
        explained = v.single_cost[lengths] <= np.maximum(LEFT * samples, 2.0 * UNEXPLAINED * gain)
        alone = large & beyond & explained & as_usual[:, ::-1]
        # a push in this time pulls the springs about
        alone[:, SPRING] &= ~np.logical_or.accumulate(self.touched[self._since(self._filled)][::-1])[lengths, None]
        load = v.load[lengths] > LOAD
        self.load_suspected = bool(load.any())
        total, of_all = cost.sum(axis=(1, 2)), v.load_cost[lengths].sum(axis=(1, 2))
        load &= of_all <= np.maximum(LEFT * samples.sum(axis=(1, 2)), UNEXPLAINED * total)
        load &= self._possible_load(v.payload[lengths])
        self._learn_usual(newest)
        # by what is left of all sides of all joints, ten parameters against one
        of_load = np.where(load, total - of_all - 2.0 * BODY, 0.0)
        of_single = np.where(alone, cost - v.single_cost[lengths] - 2.0, 0.0)
        # one that began in the last blocks may be anything yet, but it may be enough for what looks like a load
        recent = (v.cost[: self._filled] - v.single_cost[: self._filled]).max() - 2.0
        found = None
        if of_load.max() > max(0.0, recent):
            found = self._load(int(np.argmax(of_load)) + SHORTEST)
        elif of_single.max() > 0.0:
            length, side, joint = (int(k) for k in np.unravel_index(int(np.argmax(of_single)), of_single.shape))
            found = self._single(length + SHORTEST, side, joint)
        if found is not None:
            return found
        # What nothing here explains in all this time is the model's own error: usual from now on, and learnt.
        suspicion = self.load_suspected or self.spring_doubted.any()
        self._undecided = self._undecided + 1 if suspicion else 0
        if self._undecided >= WINDOW:
            self.square *= np.maximum(v.cost[-1] / np.maximum(v.samples[-1], 1.0), 1.0)
            self.begin_anew()
        return None

    def _load(self, length: int) -> Change | None:
        since, added = self._since(length), self.verdict.payload[length - 1]
        b = self.blocks
        reference = np.concatenate([np.tile(b.payload[since[0]], (self.joints, 1)), b.friction[since[0]]], axis=1)
        better = np.zeros(length)
        for k, block in enumerate(since):
            W, last = b.motor[block], BODY + 3
            lacks = W[:, :BODY, last] - np.einsum('npq,nq->np', W[:, :BODY, : BODY + 2], reference)
            better[k] = ((2.0 * lacks - W[:, :BODY, :BODY] @ added) @ added / self.square[MOTOR]).sum()
        return Change('load', -1, 0.0, since[0], length) if _steady(better) else None

    def _single(self, length: int, side: int, joint: int) -> Change | None:
        since, change = self._since(length), float(self.verdict.change[length - 1, side, joint])
        b, first, better = self.blocks, self._since(length)[0], np.zeros(length)
        for k, block in enumerate(since):
            if side == MOTOR:
                W = b.motor[block, joint]
                reference = np.concatenate([b.payload[first], b.friction[first, joint], [0.0]])
                column = np.zeros(len(W) - 1)
                column[BODY] = 1.0
            else:
                W = b.spring[block, joint]
                reference = np.concatenate([b.payload[first], -b.spring_map[first, joint], [0.0]])
                column = np.concatenate([np.zeros(BODY), -b.spring_map[first, joint], [0.0]])
            lacks = column @ (W[:-1, -1] - W[:-1, :-1] @ reference)
            better[k] = (2.0 * lacks - change * (column @ W[:-1, :-1] @ column)) * change
        if not _steady(better):
            return None
        if side == SPRING:
            return Change('stiffness', joint, 1.0 + change, first, length)
        return Change('friction', joint, float(b.friction[first, joint, 0]) + change, first, length)

    def _since(self, length: int) -> list[int]:
        """Return the last blocks, the first one first."""
        return [(self.open - length + k) % WINDOW for k in range(length)]

    def _possible_load(self, added: Array) -> BoolArray:
        """Whether bodies (k, 10) added to what is carried leave one with mass, within reach, and are worth a name."""
        body = self.blocks.payload[self.newest] + added
        first, mass = np.linalg.norm(body[:, 6:9], axis=1), body[:, 9]
        heavy = (np.abs(added[:, 9]) >= LEAST_MASS) | (np.linalg.norm(added[:, 6:9], axis=1) >= LEAST_MASS * REACH)
        return (mass >= -LEAST_MASS) & (first <= REACH * (np.maximum(mass, 0.0) + LEAST_MASS)) & heavy

    def _learn_usual(self, newest: int) -> None:
        """Let the last block tell what is usual, where there is no suspicion."""
        if self.load_suspected or self.spring_doubted.any():
            return
        samples = self.verdict.samples[0]
        there = samples > 0.0
        square = self.square * self.verdict.cost[0] / np.maximum(samples, 1e-9)
        self._seen += samples
        share = np.minimum(samples / np.minimum(self._seen + 10.0, MEMORY / CORRELATION), 1.0)
        self.square += np.where(there, share * (np.minimum(square, 9.0 * self.square) - self.square), 0.0)

    def motor_information(self, blocks: list[int]) -> Array:
        """Return Σ w² rowᵀrow (n, 13, 13) of the motor side over blocks, as `PayloadEstimator.add` takes it."""
        W = self.blocks.motor[blocks].sum(axis=0)
        keep = [*range(BODY + 2), BODY + 3]
        return np.asarray(W[:, keep][:, :, keep])

    def since(self, change: Change) -> list[int]:
        """Return the blocks since a change, the first one first."""
        return self._since(change.length)

    @property
    def starting(self) -> bool:
        """Whether the next sample begins a block, `open`."""
        return self._turns == 0

    @property
    def newest(self) -> int:
        """The block that was completed last."""
        return (self.open - 1) % WINDOW


def _steady(better: Array) -> bool:
    """Whether a change makes most blocks better, and each of the two ends as a whole: not the step of a moment."""
    there = better[better != 0.0]
    third = max(len(there) // 3, 1)
    ends = there[:third].sum() > 0.0 and there[-third:].sum() > 0.0
    return len(there) >= SHORTEST and ends and float(np.mean(there > 0.0)) >= STEADY
