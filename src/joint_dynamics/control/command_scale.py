"""What a torque is multiplied by to be a command: one for effort, the inverse drive gain for current."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError


def command_scale(arm: Arm, output: str) -> FloatArray:
    """Return the command per torque, (n,): 1, or 1/K_τ [A/(N·m)] where `output` is `current`.

    Raises
    ------
    JointDynamicsError
        Where a joint has no drive gain and the command is a current.
    """
    if output != 'current':
        return np.ones(arm.n)
    if not np.all(np.isfinite(arm.drive_gain)):
        missing = arm.joint_names[int(np.argmin(np.isfinite(arm.drive_gain)))]
        raise JointDynamicsError(
            f'output: expected a drive gain of every joint for a command in A, found none for {missing}'
        )
    return np.asarray(1.0 / arm.drive_gain)
