"""Hysteresis for friction that is described without it."""

from __future__ import annotations

from dataclasses import replace

from joint_dynamics.arm.arm import Arm
from joint_dynamics.arm.reading import NO_PRESLIDING
from joint_dynamics.joint import REVERSAL, FrictionModel, MaxwellSlip, PeriodicMap


def with_reversal(arm: Arm) -> tuple[Arm, list[str]]:
    """Return the arm with hysteresis in every joint that has friction, and remarks on those described without.

    Rounding can decide whether identification selects a hysteresis, and estimator and feedforward must use the same
    friction. The sign of the speed cannot replace it: at rest, the slightest motion of the elastic transmission would
    make it jump by twice the friction. So friction described without hysteresis reverses within `REVERSAL`
    [M6 eq 12-18]. Joints without described friction stay as they are.
    """
    friction = arm.friction
    if friction is None:
        return arm, []
    slip = friction.maxwell_slip or MaxwellSlip(arm.n, NO_PRESLIDING, operators=1)
    lengths = [slip.presliding.for_joint(j) for j in range(arm.n)]
    without = [j for j, table in enumerate(slip.presliding.tables) if table.max() <= NO_PRESLIDING]
    named = [arm.joint_names[j] for j in without if arm.friction_described[j]]
    if not named:
        return arm, []
    for j in without:
        lengths[j] = PeriodicMap.constant(REVERSAL)
    slip = MaxwellSlip(
        arm.n,
        PeriodicMap.stack(lengths),
        limits=slip.limits,
        stiffness=slip.stiffness,
        kinematic_error=slip.kinematic_error,
    )
    turning = FrictionModel(friction.parameters, slip, joints=arm.n, quadrants=friction.quadrants)
    who = '' if len(named) == arm.n else f' of {", ".join(named)}'
    remark = (
        f'no hysteresis{who} in the dynamics description: friction as described, turning over within {REVERSAL:g} rad'
    )
    return replace(arm, friction=turning), [remark]
