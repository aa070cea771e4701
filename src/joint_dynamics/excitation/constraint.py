"""What a limit is: a slack, at least zero where a motion keeps it, in fractions of the limit.

It comes with its gradient, and a bound over all time.

Every bound: f at both ends of an interval of length h, and |f − chord| ≤ h²/8 sup|f″| = h²/4 sup(|f″|/2!) in between.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel
from joint_dynamics.signals.extremes import certified_minimum
from joint_dynamics.signals.polynomial import ROUNDING

BLOCK = 1000
ALLOWED = 1e-9
"""Share of a limit that does not count as broken.

Rounding in the last digits of a limit, and of a motion made to meet it.
"""


def wrench_rounding(n: int) -> float:
    """Return the share of the bound of a torque or of a place of n joints that rounding may change it by.

    Newton-Euler sums products, each of no more than 20 n roundings: an error of 20 n u of the same sum of magnitudes.
    That exceeds the bound by norms by √3 per rotation at most (‖|R|‖ ≤ √3), on the way out and back: 3^n. The motion it
    starts from has errors of its own.
    """
    return 20 * n * 3.0**n * 1.2e-16 + 100 * n * ROUNDING


class Constraint(ABC):
    """One kind of limit.

    Attributes
    ----------
    kind: its name among the margins. scale: margin as a fraction of the limit = scale · smallest slack.
    tolerance: of the certified margin, as a fraction of the limit.

    """

    kind: str
    scale: float = 1.0
    tolerance: float = 1e-4

    @abstractmethod
    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (limits, samples), negative where the limit is broken."""

    def smallest(self, motion: RobotMotion) -> float:
        """Return the smallest slack of the motion, inf where the limit binds nothing."""
        return float(self.slack(motion).min(initial=np.inf))

    @abstractmethod
    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient of Σ weight · slack; weight (limits, samples), called after `slack` of the same motion."""

    @abstractmethod
    def certified(
        self, model: RobotModel, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float = np.inf
    ) -> float:
        """Return a slack that the motion has at all times of the intervals [begin, end] (N,) [s], each between knots.

        No more than `tolerance` below the smallest; enough: a slack beyond which it is not looked for any more
        precisely, and below which the search ends at the first value that is found.
        """


class SmoothConstraint(Constraint):
    """A limit on what has a second derivative between two knots."""

    @abstractmethod
    def at_ends(self, motion: RobotMotion) -> FloatArray:
        """Return what `over` needs of a motion at the ends of intervals, (values, samples)."""

    @abstractmethod
    def over(
        self,
        model: RobotModel,
        trajectory: Trajectory,
        begin: FloatArray,
        end: FloatArray,
        first: FloatArray,
        last: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return a lower bound of the slack over each interval [begin, end] (N,).

        The smallest at its ends, (N,) each.

        Parameters
        ----------
        first, last
            `at_ends` of the motion at begin and at end.
        """

    def certified(
        self, model: RobotModel, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float = np.inf
    ) -> float:
        """Return a slack that the motion has at all times, see `Constraint`."""

        def values(t: FloatArray, inside: FloatArray) -> FloatArray:
            blocks = [slice(k, k + BLOCK) for k in range(0, len(t), BLOCK)]
            ends = [
                self.at_ends(RobotMotion(model, *trajectory.one_sided(t[block], inside[block]))) for block in blocks
            ]
            return np.concatenate(ends, axis=1)

        def lowest(
            begin: FloatArray, end: FloatArray, first: FloatArray, last: FloatArray
        ) -> tuple[FloatArray, FloatArray]:
            return self.over(model, trajectory, begin, end, first, last)

        tolerance, allowed = self.tolerance / self.scale, ALLOWED / self.scale
        return certified_minimum(begin, end, values, lowest, tolerance, enough, allowed).bound
