"""Limits of a motion as constraints, and the proof that a motion keeps them.

A constraint is a slack, as a fraction of the limit, at least zero where the motion keeps the limit, with its gradient
for the search. A margin is proved over intervals of time (`signals.polynomial`): the bounded quantity f is evaluated at
both ends, and in between |f − chord| ≤ h²/8 sup|f″| = h²/4 sup(|f″|/2!) over an interval of length h (for distances of
bodies, which are not smooth, its rate of change is bounded), where `Trajectory.majorants` bound the joints' motion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel
from joint_dynamics.signals.polynomial import ROUNDING, certified_minimum

BLOCK, EXAMINED = 1000, 20_000
"""Samples evaluated at once; looked at for the one to name where a motion is refused."""
LIMIT_TOLERANCE = 1e-9
"""Share of a limit that does not count as broken.

Rounding in the last digits of a limit, and of a motion made to meet it.
"""


def wrench_rounding(n: int) -> float:
    """Return the relative rounding error of a torque or a position of n joints, as a share of its bound.

    Newton-Euler sums products, each with at most 20 n roundings: an error of 20 n u times the same sum of magnitudes,
    which exceeds the bound by norms by at most √3 per rotation (‖|R|‖ ≤ √3), outward and inward: 3^n. The errors of the
    motion itself come in addition.
    """
    return 20 * n * 3.0**n * 1.2e-16 + 100 * n * ROUNDING


class Constraint(ABC):
    """One kind of limit.

    Attributes
    ----------
    kind
        its name among the margins.
    scale
        margin, as a fraction of the limit, per smallest slack.
    tolerance
        of the certified margin, as a fraction of the limit.
    of_joints
        whether the slack has one row per joint.

    """

    kind: str
    scale: float = 1.0
    of_joints: bool = False
    tolerance: float = 1e-4

    @abstractmethod
    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (limits, samples), negative where the limit is broken."""

    def smallest(self, motion: RobotMotion) -> float:
        """Return the smallest slack of the motion, inf where the limit applies to nothing."""
        return float(self.slack(motion).min(initial=np.inf))

    @abstractmethod
    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient of Σ weight · slack; weight (limits, samples), called after `slack` of the same motion."""

    @abstractmethod
    def certified(
        self, model: RobotModel, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float = np.inf
    ) -> float:
        """Return a slack that the motion has at all times of the intervals [begin, end] (N,) [s], each between knots.

        It is at most `tolerance` below the smallest slack. enough: the search stops as soon as all slacks are proved to
        exceed it, or one is found below it.
        """


class Intervals(NamedTuple):
    """Intervals [begin, end] (N,) [s] of a motion, each between knots; `at_ends` of it at begin and at end."""

    begin: FloatArray
    end: FloatArray
    first: FloatArray
    last: FloatArray


class SmoothConstraint(Constraint):
    """A limit on a quantity that is twice differentiable between two knots."""

    @abstractmethod
    def at_ends(self, motion: RobotMotion) -> FloatArray:
        """Return the values of a motion at the ends of intervals that `over` needs, (values, samples)."""

    @abstractmethod
    def over(self, model: RobotModel, trajectory: Trajectory, intervals: Intervals) -> tuple[FloatArray, FloatArray]:
        """Return a lower bound of the slack over each interval, and the smallest at its ends, (N,) each."""

    def certified(
        self, model: RobotModel, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float = np.inf
    ) -> float:
        """Return a slack that the motion has at all times, see `Constraint.certified`."""

        def values(t: FloatArray, inside: FloatArray) -> FloatArray:
            blocks = [slice(k, k + BLOCK) for k in range(0, len(t), BLOCK)]
            ends = [
                self.at_ends(RobotMotion(model, *trajectory.one_sided(t[block], inside[block]))) for block in blocks
            ]
            return np.concatenate(ends, axis=1)

        def lowest(*intervals: FloatArray) -> tuple[FloatArray, FloatArray]:
            return self.over(model, trajectory, Intervals(*intervals))

        tolerance, allowed = self.tolerance / self.scale, LIMIT_TOLERANCE / self.scale
        return certified_minimum(begin, end, values, lowest, tolerance, enough, allowed).bound


LONGEST = 0.1
"""Longest interval [s] a proof begins with."""


def intervals(trajectory: Trajectory) -> tuple[FloatArray, FloatArray]:
    """Return begin and end (N,) [s] of the intervals a proof begins with: from knot to knot, none longer than 0.1 s."""
    knots = trajectory.knots
    length = np.diff(knots)
    count = np.maximum(1, np.ceil(length / LONGEST)).astype(int)
    piece = np.repeat(np.arange(len(length)), count)
    number = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    begin = knots[piece] + length[piece] * (number / count[piece])
    return begin, np.append(begin[1:], knots[-1])


def certified_margins(model: RobotModel, trajectory: Trajectory, constraints: Sequence[Constraint]) -> dict[str, float]:
    """Return per kind of limit a margin, as a fraction of the limit, that the motion has at all times.

    It is at most `Constraint.tolerance` below the true one, and negative where the limit may be broken.
    """
    once = trajectory.without_repetition()
    begin, end = intervals(once)
    return {one.kind: one.scale * one.certified(model, once, begin, end) for one in constraints}


def certified_within_limits(model: RobotModel, trajectory: Trajectory, constraints: Sequence[Constraint]) -> bool:
    """Whether every limit is proved to be kept at all times; stops at the first that is not."""
    once = trajectory.without_repetition()
    begin, end = intervals(once)
    return all(one.certified(model, once, begin, end, enough=0.0) >= 0.0 for one in constraints)


def excess(model: RobotModel, trajectory: Trajectory, constraint: Constraint, margin: float) -> str:
    """Return in words by how much a limit is exceeded, and, where it is one of joints, by which of them and when."""
    words = f'{constraint.kind} exceeded by {-margin:.2%} of its limit'
    if not constraint.of_joints:
        return words
    times = np.linspace(0.0, trajectory.duration, EXAMINED)
    blocks = [times[k : k + BLOCK] for k in range(0, EXAMINED, BLOCK)]
    slack = np.concatenate([constraint.slack(RobotMotion(model, *trajectory.motion(t))) for t in blocks], axis=1)
    joint, sample = divmod(int(np.argmin(slack)), EXAMINED)
    return f'{words} by {model.joint_names[joint]} at {times[sample]:.4g} s'
