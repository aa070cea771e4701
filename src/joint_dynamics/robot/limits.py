"""What the joints may do: position, speed and torque limits as the URDF or the MDH table states them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray


@dataclass(frozen=True)
class JointLimits:
    """Limits of n joints, each an array (n,), infinite where unknown.

    `lower`, `upper` [rad or m], `velocity` [rad/s or m/s] and `effort` [N·m or N], both as magnitudes.
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    @classmethod
    def unlimited(cls, n: int) -> JointLimits:
        """Return limits that allow everything, for `n` joints."""
        inf = np.full(n, np.inf)
        return cls(-inf, inf.copy(), inf.copy(), inf.copy())
