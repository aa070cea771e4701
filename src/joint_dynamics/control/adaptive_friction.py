"""Computed torque with adaptive friction.

The extended Maxwell-slip model on the desired motion, scaled by the estimator's α [M6 eq 29-30].
"""

from __future__ import annotations

from typing import ClassVar

from joint_dynamics.control.computed_torque import ComputedTorque
from joint_dynamics.control.friction import friction_parameters
from joint_dynamics.control.interface import ControllerParameter
from joint_dynamics.control.law import COMMON_PARAMETERS


class AdaptiveFriction(ComputedTorque):
    """Computed torque with friction `hysteresis` by default; α from the states `friction_scale` and `viscous_excess`.

    While these states are missing, α is that of the dynamics description, without adaptation.
    """

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (*COMMON_PARAMETERS, *friction_parameters('hysteresis'))
    ADAPTS = True
