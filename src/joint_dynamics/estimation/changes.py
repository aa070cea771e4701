# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Changes of the last seconds: of the load, of one joint's stiffness, of its friction, or none.

Likelihood ratios at an unknown time [Basseville and Nikiforov, Detection of Abrupt Changes, ch. 2.4, 4.1]; equations
in `change_test`. For every beginning of one of the last blocks of motion, the torques since are compared with the
references at that time. A change may take any value; without a change the parameters drift as they ordinarily do. The
noise is the ordinary error of this arm and this joint. A constant error of a block, such as that of a posture, is no
change.

One set of ten load parameters has to explain both sides of all joints; a single change explains one side of its joint,
the other side being as before. The likeliest change is named. A push is none of them: both sides of a joint show it,
and no constant load explains it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation import change_test
from joint_dynamics.estimation.change_test import BODY, MOTOR, ROW, SPRING, Blocks, Verdict, eliminated, residual

Array = FloatArray
BLOCK = 0.25  # s of motion of a block
WINDOW = 24  # blocks that are evaluated
SHORTEST = 6  # blocks that a change needs
CORRELATION = 0.1  # s after which torque errors are independent
MEMORY = 30.0  # s of motion over which ordinary errors are learnt

USUAL_CONSTANT = 1.5  # deviation of the constant error of a block before it is learnt, in ordinary errors
LEAST_SQUARE = 0.25  # lower bound of the learnt error variance, relative to the stated one: rare errors show late
LEAST_CONSTANT = 0.1  # lower bound of the variance of constant errors, relative to that of the ordinary ones
OUTLIER = 9.0  # largest square of an error that teaches, in ordinary squares

DRIFT_FRICTION = 0.1  # standard deviation of the drift of α₁ with the work
DRIFT_STIFFNESS = 0.05  # standard deviation of the drift of the stiffness over its range, relative
DRIFT_VISCOUS = 0.2  # standard deviation of the drift of α₂, relative to its upper bound
POSSIBLE_FRICTION = 1.0  # standard deviation of a sudden change of α₁
POSSIBLE_STIFFNESS = 0.5  # standard deviation of a sudden change of the stiffness, relative
UNKNOWN_LOAD = 1.0  # standard deviation of the logarithm of the load that takes up lost motion

REACH = 0.3  # m from the last joint, within which a load has its centre of mass
LEAST_MASS = 0.2  # kg, smallest load
WRONG = 0.4  # kg, error of a load in the first seconds; without a load in force, less than −WRONG is impossible
BODIES = 10.0 * np.array([REACH**2] * 6 + [REACH] * 3 + [1.0])
"""Standard deviation of the payload's parameters, kg·m², kg·m, kg: 10 kg within reach."""

GAIN = 38.0  # gain in log-likelihood that a change needs; errors of a description gain nearly as much
SUSPECTED = 10.0  # gain of a softer spring from which its side teaches no ordinary errors
BEYOND_FRICTION = 8.0  # gain of a change of friction over its drift
BEYOND_STIFFNESS = 4.0  # gain of a change of stiffness over its drift
LEFT = 3.0  # largest mean square after a change, in ordinary squares …
UNEXPLAINED = 0.2  # … or relative to the mean square before
SMALLEST_CHANGE = 2.5  # smallest change named, in standard deviations of the drift
LARGEST_FRICTION = 2.0  # largest change of α₁ named; more is a contact
LARGEST_STIFFNESS = 0.7  # largest relative change of the stiffness named


@dataclass(frozen=True)
class Change:
    """A change that was named.

    Attributes
    ----------
    kind
        `load`, `friction` or `stiffness`.
    joint
        of a single change, −1 of the load.
    value
        α₁ or the factor of the stiffness since.
    length
        number of blocks since then.

    """

    kind: str
    joint: int
    value: float
    length: int


class ChangeDetector:
    """Change of load, stiffness or friction of n joints.

    Parameters
    ----------
    joints
        n.
    period
        s between samples.
    viscous
        (n,) N·m·s/rad, largest α₂.

    Attributes
    ----------
    blocks
        information of the last seconds.
    square
        (2, n) ordinary mean square of the error of each side, relative to the stated variance.
    constant
        (2, n) mean square of the constant error of a block, relative to `square`.
    load_suspected
        bool: another load explains the last seconds better, not well enough yet, and there was a contact.
    spring_doubted
        (n,) bool: another stiffness explains them better, and the motor side of that joint is as before.

    """

    def __init__(self, joints: int, period: float, viscous: Array) -> None:
        n, k = joints, WINDOW
        self.joints, self.period = n, period
        self._share = min(period / CORRELATION, 1.0)
        self.per_block = max(int(round(BLOCK / period)), 1)
        self.blocks = Blocks(
            np.zeros((k, 2, n, ROW, ROW)),
            np.zeros((k, 2, n)),
            np.zeros((k, BODY)),
            np.zeros((k, 2, n, 2)),
            np.zeros(k, dtype=bool),
            np.zeros(2, dtype=np.int64),
        )
        self.spring_doubted = np.zeros(n, dtype=bool)
        # Cost of each block by itself, without a change.
        self._alone = np.zeros(k)
        every = np.ones(n)
        drift = [[DRIFT_FRICTION * every, DRIFT_VISCOUS * viscous], [DRIFT_STIFFNESS * every, UNKNOWN_LOAD * every]]
        self._drift = np.maximum(drift, 1e-3) ** -2
        self._possible = np.outer([POSSIBLE_FRICTION, POSSIBLE_STIFFNESS], every) ** -2
        self.reset()

    def reset(self) -> None:
        """Forget everything, also the ordinary errors."""
        self.square, self._seen = np.ones((2, self.joints)), np.zeros((2, self.joints))
        self.constant = np.full((2, self.joints), USUAL_CONSTANT**2)
        # The initial value weighs as many blocks as a change needs.
        self._blocks_seen = np.full((2, self.joints), float(SHORTEST))
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget the last seconds, keep the ordinary errors."""
        self._filled, self.load_suspected = 0, False
        self.blocks.place[:], self.blocks.disturbed[:], self.spring_doubted[:] = 0, False, False
        self._suspected = np.zeros((2, self.joints), dtype=bool)

    def complete(self) -> None:
        """Close the open block."""
        self.blocks.place[:] = (self.open + 1) % WINDOW, 0
        self._filled = min(self._filled + 1, WINDOW)
        oldest = self._since(WINDOW)[:SHORTEST]
        if self._filled == WINDOW and not self.blocks.disturbed[oldest].any():
            self._learn_constant(oldest)

    def find(self) -> Change | None:
        """Evaluate the last seconds after a block; return the change to be named, or None."""
        newest = self.newest
        v = change_test.judge(
            self.blocks, self._since(self._filled)[::-1], self._share, self.constant, self._drift, self._possible,
            BODIES**-2.0, self.square,
        )  # fmt: skip
        self._alone[newest] = v.cost[0].sum()
        if not self.blocks.disturbed[newest]:
            self._learn_square(v)
        if self._filled < SHORTEST:
            return None
        lengths = slice(SHORTEST - 1, None)
        as_before = v.cost[lengths, MOTOR] <= LEFT * v.samples[lengths, MOTOR]
        softer = _is_large(SPRING, v.change[lengths, SPRING]) & as_before
        gain = np.where(softer, v.single[lengths, SPRING], 0.0).max(axis=0)
        self.spring_doubted[:], self._suspected[SPRING] = gain > GAIN, gain > SUSPECTED
        self.load_suspected = bool((v.load[lengths] > GAIN).any() and self.blocks.disturbed.any())
        return self._likeliest(v)

    def _likeliest(self, v: Verdict) -> Change | None:
        """Return the likeliest of all changes if it may be named.

        By the cost of all sides of all joints in all blocks, except the block in which the change happened, and the
        number of parameters: ten against one.
        """
        older = np.append(np.cumsum(self._alone[self._since(self._filled)])[::-1], [0.0, 0.0])[2:]
        by_load = older + v.load_cost.sum(axis=(1, 2)) + 2.0 * BODY
        by_single = (older + v.cost.sum(axis=(1, 2)))[:, None, None] - (v.cost - v.single_cost) + 2.0
        if by_load.min() < by_single.min():
            return self._load(v, int(np.argmin(by_load)))
        last, side, joint = np.unravel_index(int(np.argmin(by_single)), by_single.shape)
        return self._single(v, int(last), int(side), int(joint))

    def _load(self, v: Verdict, last: int) -> Change | None:
        """Return the change of the load that began `last` blocks before the newest, or None."""
        length = last + 1
        left, most = v.load_cost[last].sum(), max(LEFT * v.samples[last].sum(), UNEXPLAINED * v.cost[last].sum())
        if length < SHORTEST or not v.load[last] > GAIN or not left <= most or not self._possible_load(v.payload[last]):
            return None
        # A push ends; a load shows in the blocks after the last contact as well.
        after = self._undisturbed(length)
        if 0 < after < length and not v.load_cost[after - 1].sum() + 2.0 * BODY < v.cost[after - 1].sum():
            return None
        return Change('load', -1, 0.0, length)

    def _single(self, v: Verdict, last: int, side: int, joint: int) -> Change | None:
        """Return the change of α₁ or of the stiffness of one joint that began then, or None."""
        length, at = last + 1, (last, side, joint)
        other, change, gain = (last, 1 - side, joint), float(v.change[at]), v.single[at]
        # A push ends; a change shows in the newer half of the blocks and after the last contact as well.
        newer = min(self._undisturbed(length), length // 2)
        if length < SHORTEST or not newer or not gain > GAIN or not _is_large(side, change):
            return None
        since = (newer - 1, side, joint)
        beyond = 0.5 * (v.cost[since] - v.single_cost[since]) > (BEYOND_FRICTION if side == MOTOR else BEYOND_STIFFNESS)
        explained = v.single_cost[at] <= max(LEFT * v.samples[at], 2.0 * UNEXPLAINED * gain)
        if not beyond or not explained or not v.cost[other] <= LEFT * v.samples[other]:
            return None
        first = self._since(length)[0]
        if side == SPRING:
            return Change('stiffness', joint, 1.0 + change, length)
        return Change('friction', joint, float(self.blocks.reference[first, MOTOR, joint, 0]) + change, length)

    def _undisturbed(self, length: int) -> int:
        """Return the number of the last blocks without a contact, at most `length`."""
        felt = np.flatnonzero(self.blocks.disturbed[self._since(length)])
        return length - 1 - int(felt[-1]) if len(felt) else length

    def _since(self, length: int) -> list[int]:
        """Return the last blocks, the first one first."""
        return [(self.open - length + k) % WINDOW for k in range(length)]

    def _possible_load(self, added: Array) -> bool:
        """Return whether a body (10,) is large enough to be named and leaves a payload with mass, within reach."""
        carried = self.blocks.payload[self.newest]
        body = carried + added
        first, mass, least = np.linalg.norm(body[6:9]), body[9], -WRONG if carried.any() else 0.0
        heavy = np.abs(added[9]) >= LEAST_MASS or np.linalg.norm(added[6:9]) >= LEAST_MASS * REACH
        return bool(mass >= least and first <= REACH * (max(mass, 0.0) + WRONG) and heavy)

    def _learn_square(self, v: Verdict) -> None:
        """Learn the ordinary mean squares from the last block."""
        samples = v.samples[0]
        there = (samples > 0.0) & ~self._suspected
        square = self.square * v.cost[0] / np.maximum(samples, 1e-9)
        self._seen += samples
        share = np.minimum(samples / np.minimum(self._seen + 10.0, MEMORY / CORRELATION), 1.0)
        square = self.square + share * (np.minimum(square, OUTLIER * self.square) - self.square)
        self.square = np.where(there, np.maximum(square, LEAST_SQUARE), self.square)

    def _learn_constant(self, oldest: list[int]) -> None:
        """Learn the constant errors from the oldest blocks, in which no change is suspected.

        The square of their mean times their number is the part that resembles a change: constant errors of successive
        blocks, in similar postures, are alike [batch means, Law and Kelton].
        """
        b, samples, first = self.blocks, self._share * self.blocks.samples[oldest], oldest[0]
        payload = np.broadcast_to(b.payload[first], (2, self.joints, BODY))
        reference = np.concatenate([payload, b.reference[first], np.zeros((2, self.joints, 2))], axis=-1)
        # Errors that drift or lost motion explain do not count.
        prior = WINDOW / SHORTEST * self._drift[:, 1] * self.square / self._share
        W = self._share * eliminated(residual(b.information[oldest].sum(axis=0), reference), change_test.DRIFT, prior)
        total = np.maximum(W[..., -2, -2], 1e-9)
        mean = W[..., -2, -1] / total
        there, number = samples.any(axis=0) & ~self._suspected, samples.sum(axis=0) ** 2
        number /= np.maximum(np.sum(samples**2, axis=0), 1e-18)
        # Less the variance of the mean by its samples.
        square, of_samples = number * mean**2 / self.square, number / total
        square = np.minimum(square, OUTLIER * (self.constant + of_samples)) - of_samples
        self._blocks_seen += there
        share = np.where(there, 1.0 / np.minimum(self._blocks_seen, MEMORY / BLOCK), 0.0)
        self.constant = np.maximum(self.constant + share * (square - self.constant), LEAST_CONSTANT)

    def motor_information(self, blocks: list[int], reference: int) -> tuple[Array, int, float]:
        """Return Σ w² rowᵀrow (n, 13, 13) of the motor side over blocks, samples, and rows for `PayloadEstimator.add`.

        Weighted by ordinary errors, the constant error of each block eliminated. The torque is less the friction as it
        was when the block `reference` began.
        """
        W = self.blocks.information[blocks, MOTOR]
        W = eliminated(W, change_test.CONSTANT, 1.0 / (self._share * self.constant[MOTOR]))
        W = eliminated(W, change_test.KINEMATIC, 1.0).sum(axis=0) / self.square[MOTOR, :, None, None]
        friction = np.concatenate([np.zeros((self.joints, BODY)), self.blocks.reference[reference, MOTOR]], axis=-1)
        rows = float(self.blocks.samples[blocks, MOTOR].sum())
        return residual(W, friction), len(blocks) * self.per_block, rows

    def since(self, change: Change) -> list[int]:
        """Return the blocks since a change, the first one first."""
        return self._since(change.length)

    def before(self, change: Change) -> int:
        """Return the block in which a change happened; its references are from before the change."""
        return self._since(min(change.length + 1, self._filled))[0]

    @property
    def open(self) -> int:
        """The open block."""
        return int(self.blocks.place[0])

    @property
    def newest(self) -> int:
        """The last complete block."""
        return (self.open - 1) % WINDOW


def _is_large(side: int, change: Array | float) -> BoolArray:
    """Return whether a change of α₁, or a relative change of the stiffness, may be named; a stiffness only drops."""
    if side == SPRING:
        drop = -np.asarray(change)
        return np.asarray((drop >= SMALLEST_CHANGE * DRIFT_STIFFNESS) & (drop <= LARGEST_STIFFNESS))
    size = np.abs(change)
    return np.asarray((size >= SMALLEST_CHANGE * DRIFT_FRICTION) & (size <= LARGEST_FRICTION))
