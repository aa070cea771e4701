"""Friction described without hysteresis, used where hysteresis is wanted."""

from __future__ import annotations

from dataclasses import replace

from joint_dynamics.arm.arm import Arm
from joint_dynamics.joint import FrictionModel, MaxwellSlip

#: Angle [rad] within which friction turns over that is described without hysteresis: the narrowest that identification
#: tries, so one that its data could not tell from none.
REVERSAL = 1e-4


def with_reversal(arm: Arm) -> tuple[Arm, list[str]]:
    """Return the arm with hysteresis, and a remark where none is described.

    Whether identification chose any may hang on a rounding, and estimator and feedforward have to mean the same
    friction. The sign of the speed will not do: what a resting joint's spring gives way by makes it jump by twice the
    friction. So friction described without hysteresis turns over within `REVERSAL`, by one operator [M6 eq 12-18]. An
    arm whose friction is not described at all stays as it is.
    """
    friction = arm.friction
    if friction is None or friction.maxwell_slip is not None:
        return arm, []
    slip = MaxwellSlip(arm.n, REVERSAL, operators=1)
    turning = FrictionModel(friction.parameters, slip, joints=arm.n, quadrants=friction.quadrants)
    remark = f'no hysteresis in the dynamics description: friction as described, turning over within {REVERSAL:g} rad'
    return replace(arm, friction=turning), [remark]
