"""The proof that a motion keeps a limit: what every kind of limit is asked, and how sure the answer is.

A margin is proved over intervals of time (`signals.extremes`): at both ends what the limit bounds is evaluated, in
between it is bounded by its second derivative (for distances of bodies, which have corners: its rate of change), for
which `Trajectory.majorants` bound the joints' motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.constraint import Constraint
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel

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

    Negative where it may be broken.

    It is at most `Constraint.TOLERANCE` below the true one.
    """
    once = trajectory.without_repetition()
    begin, end = intervals(once)
    return {one.kind: one.scale * one.certified(model, once, begin, end) for one in constraints}


def certified_within_limits(model: RobotModel, trajectory: Trajectory, constraints: Sequence[Constraint]) -> bool:
    """Whether every limit is kept at all times, by proof; looks no further than the first that is not."""
    once = trajectory.without_repetition()
    begin, end = intervals(once)
    return all(one.certified(model, once, begin, end, enough=0.0) >= 0.0 for one in constraints)
