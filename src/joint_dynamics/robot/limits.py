"""What the joints may do: position, speed and torque limits as the URDF or the MDH table states them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

MAX_JOINTS = 24
"""Most joints of one arm.

The base parameters of a chain are found from a matrix that grows with the cube of this number, in time with its fourth
power: 5 s and 0.5 GB at 24.
"""


def check_count(count: int, where: str) -> None:
    """Raise JointDynamicsError for more joints than MAX_JOINTS."""
    if count > MAX_JOINTS:
        raise JointDynamicsError(
            f'{where}: expected at most {MAX_JOINTS} joints that move (time grows with their fourth power, memory with '
            f'the third), found {count}: name those of one arm in robot.joints (of a URDF; the others are locked)'
        )


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
