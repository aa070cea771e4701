"""What changed in the last seconds: the load, one joint's stiffness or its friction, or nothing of these.

Likelihood ratios at an unknown time [Basseville and Nikiforov, Detection of Abrupt Changes, ch. 2.4, 4.1]. For every
beginning of one of the last blocks of motion the torques since are compared with what was in force there (`change_test`
has the equations). As an alternative to no change, each kind may take any value in place of one that wanders as is
usual. Noise is what is usual of this arm and this joint; of torques a tenth of a second apart one counts. An error that
stays for a while, such as one of a posture, is a constant of each block, before a change as after it, as large as means
of successive blocks have it usually: what wrong stiffness or lost motion in the description leaves every day is no
change.

One set of ten parameters of a load has to explain both sides of all joints; a single change the one side of its joint
that it concerns, the other being as usual. Of all these, at any time, the likeliest is named. A push is none of them:
both sides of a joint feel it, and no constant load explains it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.change_test import BODY, MOTOR, SPRING, Blocks, Verdict, judge, sweep

Array = FloatArray
BLOCK, WINDOW, SHORTEST = 0.25, 24, 6
"""s of motion of a block; blocks that are looked back on; blocks that a change needs."""
CORRELATION = 0.1
"""s after which torque errors are independent."""
STAYS, LEAST = 1.5, (0.25, 0.1)
"""Deviation of an error that stays for a block, in usual errors, until blocks have shown it; least mean square of the
usual errors, in stated ones, as what does not show for half a minute may in the next posture, and of those that stay,
in usual ones."""
MEMORY = 30.0
"""s of motion over which the usual errors are learnt; less at first."""
USUAL_FRICTION, USUAL_STIFFNESS = 0.1, 0.05
"""Wander of α₁ with the work, and of the stiffness over its range, as shares: standard deviations."""
VISCOUS = 0.2
"""Wander of α₂ as a share of its upper bound."""
POSSIBLE_FRICTION, POSSIBLE_STIFFNESS = 1.0, 0.5
"""Deviation of what they may change to at once, as shares."""
UNKNOWN_LOAD = 1.0
"""Deviation of the logarithm of the load that takes lost motion up: how it does is known roughly."""
REACH, LEAST_MASS, WRONG = 0.3, 0.2, 0.4
"""m from the last joint within which a load has its centre of mass; kg that a load is at least; kg by which it may be
wrong, at that reach: of a load put down, the first seconds leave as much. Where none is carried, none can be put down:
its mass is not below zero."""
BODIES = 10.0 * np.array([REACH**2] * 6 + [REACH] * 3 + [1.0])
"""Deviation of the payload's parameters, kg·m², kg·m, kg: 10 kg within reach."""
GAIN, SUSPECTED = 38.0, 10.0
"""Gain in log-likelihood that a change needs: errors of a description gain up to as much; and that from which the side
of a softer spring teaches no usual errors."""
BEYOND = 8.0, 4.0
"""Gain of a change of friction and of stiffness against one that is as large as usual."""
LEFT, UNEXPLAINED = 3.0, 0.2
"""What is named leaves no more than so many usual mean squares, or this share of what there was."""
SMALLEST_CHANGE, LARGEST_CHANGE = 2.5, (2.0, 0.7)
"""Smallest change that is named, in what is usual; largest of friction and of stiffness, as shares."""


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
    square, stays
        (2, n) usual mean square of the error of each side, in those stated, and of that which stays for a block, in
        usual ones.
    load_suspected
        bool: another load explains the last seconds better, though not well enough yet, and they were disturbed.
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
            np.zeros((k, n, BODY + 4 + order, BODY + 4 + order)),
            np.zeros((k, 2, n)),
            np.zeros((k, BODY)),
            np.zeros((k, n, 2)),
            np.zeros((k, n, order)),
            np.zeros(k, dtype=bool),
            np.zeros(2, dtype=np.int64),
        )
        self.spring_doubted = np.zeros(n, dtype=bool)
        # of every block alone what is left of it where nothing changed
        self._alone = np.zeros(k)
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
        self.stays = np.full((2, self.joints), STAYS**2)
        # what is taken at first counts for as many blocks as a change needs
        self._blocks_seen = np.full((2, self.joints), float(SHORTEST))
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget the last seconds."""
        self._filled, self._weighed, self.load_suspected = 0, -1, False
        self.blocks.place[:], self.blocks.disturbed[:], self.spring_doubted[:] = 0, False, False
        self._suspected = np.zeros((2, self.joints), dtype=bool)

    def complete(self) -> None:
        """Close the open block, which has all of its samples."""
        self.blocks.place[:] = (self.open + 1) % WINDOW, 0
        self._filled = min(self._filled + 1, WINDOW)
        oldest = self._since(WINDOW)[:SHORTEST]
        if self._filled == WINDOW and not self.blocks.disturbed[oldest].any():
            self._learn_constant(oldest)

    def find(self) -> Change | None:
        """Return the change that the last seconds show, after a block; None: nothing, or nothing yet."""
        v, newest = self.verdict, self.newest
        judge(
            self.blocks, newest, self._filled, self._share, 1.0 / (self._share * self.stays), self._usual,
            self._possible, UNKNOWN_LOAD**-2.0, self._body, 1.0 / self.square, v,
        )  # fmt: skip
        self._alone[newest] = v.cost[0].sum()
        if not self.blocks.disturbed[newest]:
            self._learn_usual(newest)
        if self._filled < SHORTEST:
            return None
        lengths = slice(SHORTEST - 1, self._filled)
        as_usual = v.cost[lengths, MOTOR] <= LEFT * v.samples[lengths, MOTOR]
        softer = _is_large(SPRING, v.change[lengths, SPRING]) & as_usual
        gain = np.where(softer, v.single[lengths, SPRING], 0.0).max(axis=0)
        self.spring_doubted[:], self._suspected[SPRING] = gain > GAIN, gain > SUSPECTED
        self.load_suspected = bool((v.load[lengths] > GAIN).any() and self.blocks.disturbed.any())
        return self._likeliest()

    def _likeliest(self) -> Change | None:
        """Return the likeliest of all changes if it may be named: what began in the last blocks may be anything yet.

        By what is left of all sides of all joints in all blocks, those before the change as they were, but for the
        block in which it happened; ten parameters against one.
        """
        v, every = self.verdict, slice(self._filled)
        older = np.append(np.cumsum(self._alone[self._since(self._filled)])[::-1], [0.0, 0.0])[2:]
        by_load = older + v.load_cost[every].sum(axis=(1, 2)) + 2.0 * BODY
        of_single = v.cost[every] - v.single_cost[every]
        by_single = (older + v.cost[every].sum(axis=(1, 2)))[:, None, None] - of_single + 2.0
        if by_load.min() < by_single.min():
            return self._load(int(np.argmin(by_load)))
        last, side, joint = np.unravel_index(int(np.argmin(by_single)), by_single.shape)
        return self._single(int(last), int(side), int(joint))

    def _load(self, last: int) -> Change | None:
        """Return the change of the load that began `last` blocks before the newest, if it may be named."""
        v, length = self.verdict, last + 1
        left, most = v.load_cost[last].sum(), max(LEFT * v.samples[last].sum(), UNEXPLAINED * v.cost[last].sum())
        if length < SHORTEST or not v.load[last] > GAIN or not left <= most or not self._possible_load(v.payload[last]):
            return None
        # a push that is over is no load: where nothing is felt any more, a load shows all the same
        felt = np.flatnonzero(self.blocks.disturbed[self._since(length)])
        after = length - 1 - felt[-1] if len(felt) else 0
        if after and not v.load_cost[after - 1].sum() + 2.0 * BODY < v.cost[after - 1].sum():
            return None
        return Change('load', -1, 0.0, self._since(length)[0], length)

    def _single(self, last: int, side: int, joint: int) -> Change | None:
        """Return the change of α₁ or of the stiffness of one joint, likewise."""
        v, length, at = self.verdict, last + 1, (last, side, joint)
        other, change, gain = (last, 1 - side, joint), float(v.change[at]), v.single[at]
        if length < SHORTEST or not gain > GAIN or not _is_large(side, change):
            return None
        beyond = 0.5 * (v.cost[at] - v.single_cost[at]) > BEYOND[side]
        explained = v.single_cost[at] <= max(LEFT * v.samples[at], 2.0 * UNEXPLAINED * gain)
        if not beyond or not explained or not v.cost[other] <= LEFT * v.samples[other]:
            return None
        first = self._since(length)[0]
        if side == SPRING:
            return Change('stiffness', joint, 1.0 + change, first, length)
        return Change('friction', joint, float(self.blocks.friction[first, joint, 0]) + change, first, length)

    def _since(self, length: int) -> list[int]:
        """Return the last blocks, the first one first."""
        return [(self.open - length + k) % WINDOW for k in range(length)]

    def _possible_load(self, added: Array) -> bool:
        """Whether a body (10,) added to what is carried leaves one with mass, within reach, and is worth a name."""
        carried = self.blocks.payload[self.newest]
        body = carried + added
        first, mass, least = np.linalg.norm(body[6:9]), body[9], -WRONG if carried.any() else 0.0
        heavy = np.abs(added[9]) >= LEAST_MASS or np.linalg.norm(added[6:9]) >= LEAST_MASS * REACH
        return bool(mass >= least and first <= REACH * (max(mass, 0.0) + WRONG) and heavy)

    def _learn_usual(self, newest: int) -> None:
        """Let the last block tell what is usual."""
        samples = self.verdict.samples[0]
        there = (samples > 0.0) & ~self._suspected
        square = self.square * self.verdict.cost[0] / np.maximum(samples, 1e-9)
        self._seen += samples
        share = np.minimum(samples / np.minimum(self._seen + 10.0, MEMORY / CORRELATION), 1.0)
        square = self.square + share * (np.minimum(square, 9.0 * self.square) - self.square)
        self.square = np.where(there, np.maximum(square, LEAST[0]), self.square)

    def _learn_constant(self, oldest: list[int]) -> None:
        """Let the oldest blocks tell how large an error is that stays for a block: no change is suspected in them.

        By the square of their mean times their number, for so much of such errors is mistaken for a change: those of
        successive blocks, in postures that differ little, are alike [batch means, Law and Kelton].
        """
        b, samples = self.blocks, self._share * self.blocks.samples[oldest]
        motor, spring = self._share * b.motor[oldest, :, -2], self._share * b.spring[oldest][:, :, [-4, -2]]
        payload = np.broadcast_to(b.payload[oldest, None], (SHORTEST, self.joints, BODY))
        friction = np.concatenate([payload, b.friction[oldest]], axis=-1)
        elastic = np.concatenate([payload, -b.spring_map[oldest]], axis=-1)
        error = (motor[..., -1] - np.sum(motor[..., :-2] * friction, axis=-1)).sum(axis=0)
        of_play, left = (spring[..., -1] - np.einsum('knrc,knc->knr', spring[..., :-4], elastic)).sum(axis=0).T
        # what lost motion explains of it is none: ν is eliminated
        play, mixed = spring[..., 0, -4].sum(axis=0), spring[..., 0, -2].sum(axis=0)
        by_play = mixed / (play + WINDOW / SHORTEST * UNKNOWN_LOAD**-2.0 * self.square[SPRING])
        total = np.maximum(samples.sum(axis=0), 1e-9)
        told = np.maximum(total - np.stack([0.0 * mixed, by_play * mixed]), 1e-9)
        mean = np.stack([error, left - by_play * of_play]) / told
        there, number = (total > 1e-9) & ~self._suspected, total**2 / np.maximum(np.sum(samples**2, axis=0), 1e-18)
        # a mean has the error of its samples, too
        square, of_samples = number * mean**2 / self.square, number / told
        square = np.minimum(square, 9.0 * (self.stays + of_samples)) - of_samples
        self._blocks_seen += there
        share = np.where(there, 1.0 / np.minimum(self._blocks_seen, MEMORY / BLOCK), 0.0)
        self.stays = np.maximum(self.stays + share * (square - self.stays), LEAST[1])

    def weigh(self, change: Change) -> None:
        """Forget what was before the change of a stiffness, and go on with it as long as the blocks since are here."""
        self._filled, self._weighed = change.length, change.joint
        self.spring_doubted[:] = False

    @property
    def weighed(self) -> tuple[int, float] | None:
        """The joint whose stiffness is weighed, and by what factor it is wrong by all blocks since its change."""
        if self._weighed < 0 or self._filled == WINDOW:
            return None
        return self._weighed, 1.0 + float(self.verdict.change[self._filled - 1, SPRING, self._weighed])

    def motor_information(self, blocks: list[int], reference: int) -> tuple[Array, int, float]:
        """Return Σ w² rowᵀrow (n, 13, 13) of the motor side over blocks, samples, and rows for `PayloadEstimator.add`.

        By usual errors, the constant one of each block eliminated, as of a change. The torque is what is left of the
        friction as it was when the block `reference` began.
        """
        keep, W = [*range(BODY + 2), BODY + 3], self.blocks.motor[blocks]
        for block in W:
            for one, stays in zip(block, self.stays[MOTOR], strict=True):
                sweep(one, BODY + 2, 1.0 / (self._share * stays))
        W = W.sum(axis=0)[:, keep][:, :, keep] / self.square[MOTOR, :, None, None]
        less_friction = np.tile(np.eye(BODY + 3), (self.joints, 1, 1))
        less_friction[:, BODY : BODY + 2, -1] = -self.blocks.friction[reference]
        rows = float(self.blocks.samples[blocks, MOTOR].sum())
        return less_friction.transpose(0, 2, 1) @ W @ less_friction, len(blocks) * self.per_block, rows

    def since(self, change: Change) -> list[int]:
        """Return the blocks since a change, the first one first."""
        return self._since(change.length)

    def before(self, change: Change) -> int:
        """Return the block in which a change happened: what was in force when it began is not spoilt by it."""
        return self._since(min(change.length + 1, self._filled))[0]

    @property
    def open(self) -> int:
        """The block that is open, in which the next sample counts."""
        return int(self.blocks.place[0])

    @property
    def newest(self) -> int:
        """The block that was completed last."""
        return (self.open - 1) % WINDOW


def _is_large(side: int, change: Array | float) -> BoolArray:
    """Whether changes of α₁ or of the stiffness may be named: a stiffness breaks down at once, it does not grow."""
    size = np.abs(change) if side == MOTOR else -np.asarray(change)
    least = SMALLEST_CHANGE * (USUAL_FRICTION, USUAL_STIFFNESS)[side]
    return np.asarray((size >= least) & (size <= LARGEST_CHANGE[side]))
