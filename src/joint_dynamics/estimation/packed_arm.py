"""The parameters of an arm as the kernels of the estimation take them: one row each, all joints side by side."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray

FRICTION = ('F_S', 'F_C0', 'V_S', 'mu', 'F_V1', 'F_V2', 'F_V3', 'offset')
"""Rows of the parameters of the friction against speed; the last is the speed limit of its validity."""
LEVEL = ('F_C0', 'F_Cl', 'F_C1', 'tau_max')
"""Rows of those of the Coulomb level; then rotor inertia, damping."""
FOUND = (
    'rotor_torque', 'held_speed', 'coulomb_level', 'coulomb_friction', 'friction_torque', 'friction_error',
    'torque_motor', 'deformation', 'damping_torque', 'torque_spring', 'external', 'torque',
)  # fmt: skip
"""Rows of what `torques` finds."""


@dataclass(frozen=True)
class PackedArm:
    """friction (9, n), arm (7, n): see FRICTION and LEVEL."""

    friction: FloatArray
    arm: FloatArray

    @classmethod
    def of(cls, arm: Arm, further: bool) -> PackedArm | None:
        """Pack an arm; None where it has what the kernels do not: `further` torques, friction in quadrants."""
        model = arm.friction
        if model is None or model.quadrants is not None or further:
            return None
        speed = np.full(arm.n, np.inf) if arm.validity is None else arm.validity.speed
        friction = [model.parameters[name] for name in FRICTION]
        level = [model.parameters[name] for name in LEVEL]
        return cls(np.array([*friction, speed]), np.array([*level, arm.rotor_inertia, arm.damping, speed]))


@functools.cache
def compiled_kernels() -> Any:
    """Return the modules of kernels as one; numba is not loaded before single samples are taken."""
    kernels = importlib.import_module('joint_dynamics.estimation.kernels')
    learning = importlib.import_module('joint_dynamics.estimation.learning_kernels')
    return SimpleNamespace(
        **vars(kernels), **{name: each for name, each in vars(learning).items() if name not in vars(kernels)}
    )
