"""Choice of the friction method where a description lacks what the selected one needs."""

from __future__ import annotations

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.estimation.estimation_settings import EstimationSettings


def choose_friction_method(arm: Arm, wanted: EstimationSettings) -> tuple[Arm, EstimationSettings, list[str]]:
    """Return arm and settings for the method that the description permits, and remarks where it differs from `wanted`.

    The method `adaptive` needs Maxwell-slip hysteresis [M6 eq 12-18]: friction described without it gets a narrow one
    (`with_reversal`), as in the feedforward. Where a joint has no friction, all joints get Coulomb and viscous
    friction.
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
