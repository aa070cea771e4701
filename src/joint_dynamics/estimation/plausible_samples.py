"""Plausibility of samples before they enter a filter, which a single value of 1e150 would ruin.

A value is plausible within `recording.plausibility.bounds`, a position also within the distance that its joint can have
moved since the last one. Comparisons are written so that NaN fails them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.recording.plausibility import ANY_ARM, POSITION, bounds
from joint_dynamics.robot import RobotModel

Array = FloatArray
FASTER = 3.0
"""Times its stated speed limit that a joint may move: limits are those of commands, a joint that is hit or falls is
faster."""
LEEWAY = 0.02
"""s by which the stamps of two samples may be too close: messages that were held up come in a burst, stamped anew."""


@dataclass(frozen=True)
class Plausible:
    """Limits of n joints: magnitude (n,) of a value, and of its change per s (n,), infinite where unlimited."""

    largest: Array
    fastest: Array

    @classmethod
    def finite(cls, n: int) -> Plausible:
        """Return limits that accept every finite value, for `n` joints."""
        return cls(np.full(n, np.finfo(float).max), np.full(n, np.inf))

    def of(self, joints: Sequence[int]) -> Plausible:
        """Return the limits of these joints."""
        return Plausible(self.largest[joints], self.fastest[joints])

    def values(self, given: Array) -> bool:
        """Whether joints can have these values (n,)."""
        return bool((np.abs(given) <= self.largest).all())

    def step(self, given: Array, before: Array, seconds: float) -> bool:
        """Whether joints can have moved from `before` (n,) to `given` (n,) in `seconds`."""
        return bool((np.abs(given - before) <= self.fastest * (seconds + LEEWAY)).all())

    def worst(self, given: Array, before: Array | None) -> int:
        """Return the column of the joint that exceeds its limits the most."""
        beyond = np.abs(given) / self.largest
        if np.isfinite(beyond).all() and not (beyond > 1.0).any() and before is not None:
            beyond = np.abs(given - before) / self.fastest
        return int(np.argmax(np.where(np.isnan(beyond), np.inf, beyond)))


def plausible_samples(robot: RobotModel, quantities: Sequence[str]) -> dict[str, Plausible]:
    """Return the limits of the joints of `robot`, for each of `quantities` of Recording."""
    names, speed = robot.joint_names, robot.limits.velocity
    fastest = np.minimum(np.where(speed > 0, FASTER * speed, np.inf), ANY_ARM['dq'])
    return {
        quantity: Plausible(
            bounds(quantity, names, names, robot.limits), fastest if quantity in POSITION else np.full(robot.n, np.inf)
        )
        for quantity in quantities
    }
