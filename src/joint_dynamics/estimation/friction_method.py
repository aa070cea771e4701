"""Which friction an estimation adapts, where a description lacks what the method that is set needs."""

from __future__ import annotations

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.estimation.estimation_settings import EstimationSettings


def choose_friction_method(arm: Arm, wanted: EstimationSettings) -> tuple[Arm, EstimationSettings, list[str]]:
    """Return arm and settings for the method that the description allows, and remarks where it is not what was wanted.

    The method `adaptive` needs hysteresis: friction described without turns over at once (`with_reversal`), as it does
    in the feedforward. Where a joint has no friction, all of them get Coulomb and viscous friction. Hysteresis:
    Maxwell-slip [M6 eq 12-18].
    """
    if wanted.friction != 'adaptive':
        return arm, wanted, []
    if arm.friction is not None and arm.friction_described.all():
        arm, remarks = with_reversal(arm)
        return arm, wanted, remarks
    missing = [name for name, there in zip(arm.joint_names, arm.friction_described, strict=True) if not there]
    remark = (
        f'no friction of {", ".join(missing)} in the dynamics description: friction as Coulomb and viscous, begun at '
        'the described F_C0 and F_V1'
    )
    return arm, wanted.replaced(friction='coulomb_viscous'), [remark]
