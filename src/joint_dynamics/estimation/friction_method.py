"""Which friction an estimation adapts, where a description lacks what the method that is set needs."""

from __future__ import annotations

from dataclasses import replace

from joint_dynamics.arm import Arm
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.joint import FrictionModel, MaxwellSlip

#: Angle [rad] within which friction turns over that is described without hysteresis: the narrowest that identification
#: tries, so one that its data could not tell from none.
REVERSAL = 1e-4


def choose_friction_method(arm: Arm, wanted: EstimationSettings) -> tuple[Arm, EstimationSettings, list[str]]:
    """Return arm and settings for the method that the description allows, and remarks where it is not what was wanted.

    The method `adaptive` needs hysteresis. Whether identification chose any may hang on a rounding, so a described
    friction without it is used all the same: it turns over within `REVERSAL`. Where a joint has none, all of them get
    Coulomb and viscous friction. Hysteresis: Maxwell-slip [M6 eq 12-18].
    """
    friction = arm.friction
    if wanted.friction != 'adaptive' or (
        friction is not None and friction.maxwell_slip is not None and arm.friction_described.all()
    ):
        return arm, wanted, []
    if friction is not None and arm.friction_described.all():
        slip = MaxwellSlip(arm.n, REVERSAL, operators=1)
        friction = FrictionModel(friction.parameters, slip, joints=arm.n, quadrants=friction.quadrants)
        remark = (
            f'no hysteresis in the dynamics description: friction as described, turning over within {REVERSAL:g} rad'
        )
        return replace(arm, friction=friction), wanted, [remark]
    missing = [name for name, there in zip(arm.joint_names, arm.friction_described, strict=True) if not there]
    remark = (
        f'no friction of {", ".join(missing)} in the dynamics description: friction as Coulomb and viscous, begun at '
        'the described F_C0 and F_V1'
    )
    return arm, wanted.replaced(friction='coulomb_viscous'), [remark]
