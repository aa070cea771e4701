"""The friction of an arm as the kernels of the control loop take it: one row per parameter, all joints side by side."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray

PARAMETERS = ('F_S', 'F_C0', 'V_S', 'mu', 'F_V1', 'F_V2', 'F_V3', 'offset', 'F_Cl', 'F_C1', 'tau_max')
"""Parameters of the friction, one row each."""


def packed_friction(arm: Arm, gain: FloatArray, driven: float) -> FloatArray | None:
    """Return PARAMETERS, limits of speed and load, gain and driven speed, (15, n).

    None where the arm has friction that the kernel has not: in quadrants, of coupled motors, of further terms.

    Parameters
    ----------
    gain
        (n,) share of the friction that is compensated.
    driven
        speed [rad/s] from which on a joint does not stand.
    """
    model = arm.friction
    if model is None or model.quadrants is not None or arm.coupled is not None or arm.terms.friction:
        return None
    endless = np.full(arm.n, np.inf)
    validity = arm.validity
    speed, load = (endless, endless) if validity is None else (validity.speed, validity.load)
    return np.array([*(model.parameters[name] for name in PARAMETERS), speed, load, gain, np.full(arm.n, driven)])


@functools.cache
def compiled_kernels() -> Any:
    """Return the module of kernels; numba is not loaded before a loop is stepped."""
    return importlib.import_module('joint_dynamics.control.kernels')
