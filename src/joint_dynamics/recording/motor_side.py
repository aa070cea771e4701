"""Motor signals as the drives give them, reflected to the joint side of the transmission.

One drive per joint: θ = q_m / r, τ = r τ_m with the gear ratio r (negative where the motor turns the other way). Coupled drives,
as joints 5 and 6 of a Stäubli TX40: q_m = R (θ − θ_0) and τ = T τ_m with constant matrices R and T = Rᵀ [G eq 24].
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.recording import per_joint

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MotorSide:
    """How motor-side signals of n joints are reflected; without anything stated they are reflected already.

    Attributes:
        gear_ratio: motor angle per joint angle, one number, one per joint in the robot's order, or by joint name; not 0.
        position_coupling: R, (n, n), motor angles = R · joint angles; instead of a gear ratio.
        torque_coupling: T, (n, n), joint torques = T · motor torques; Rᵀ (power is kept) unless stated.
        zero_offsets: rad, added to the reflected angle; one number, one per joint, or by joint name.

    """

    gear_ratio: Any = 1.0
    position_coupling: tuple[tuple[float, ...], ...] | None = None
    torque_coupling: tuple[tuple[float, ...], ...] | None = None
    zero_offsets: Any = 0.0

    @property
    def coupled(self) -> bool:
        """Whether a matrix is used, which needs the motors of all joints."""
        return self.position_coupling is not None or self.torque_coupling is not None

    def position(self, motor: Array, joint_names: Sequence[str]) -> Array:
        """Return θ, (N, n) rad, from motor angles (N, n) rad in the order of `joint_names`."""
        return self.velocity(motor, joint_names) + per_joint(self.zero_offsets, joint_names, 'recording.motor_states.zero_offsets')

    def velocity(self, motor: Array, joint_names: Sequence[str]) -> Array:
        """Return dθ/dt, (N, n) rad/s, from motor speeds (N, n) rad/s."""
        matrix = self._matrix('position_coupling', joint_names)
        return motor / self._ratio(joint_names) if matrix is None else np.linalg.solve(matrix, motor.T).T

    def torque(self, motor: Array, joint_names: Sequence[str]) -> Array:
        """Return the joint-side torque, (N, n) N·m, from motor torques (N, n) N·m."""
        matrix = self._matrix('torque_coupling', joint_names)
        if matrix is None:
            transposed = self._matrix('position_coupling', joint_names)
            matrix = None if transposed is None else transposed.T
        return motor * self._ratio(joint_names) if matrix is None else motor @ matrix.T

    def _ratio(self, joint_names: Sequence[str]) -> Array:
        ratio = per_joint(self.gear_ratio, joint_names, 'recording.motor_states.gear_ratio')
        if not ratio.all():
            raise JointDynamicsError(f'recording.motor_states.gear_ratio: must not be 0, found {ratio.tolist()}')
        return ratio

    def _matrix(self, name: str, joint_names: Sequence[str]) -> Array | None:
        value = getattr(self, name)
        if value is None:
            return None
        n = len(joint_names)
        matrix = np.asarray(value, dtype=np.float64)
        if matrix.shape != (n, n) or abs(np.linalg.det(matrix / np.abs(matrix).max())) < 1e-12:
            raise JointDynamicsError(f'recording.motor_states.{name}: must be a regular {n} x {n} matrix for the joints '
                                     f'{", ".join(joint_names)}, found {matrix.tolist()}')
        return matrix


def parse_motor_side(section: Mapping[str, Any]) -> MotorSide:
    """Return the MotorSide of the keys gear_ratio, position_coupling, torque_coupling and zero_offsets of `motor_states`."""
    keys: dict[str, Any] = {}
    for name in ('position_coupling', 'torque_coupling'):
        value = section.get(name)
        if value is not None:
            try:
                matrix = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                matrix = np.empty(0)
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
                raise JointDynamicsError(f'recording.motor_states.{name}: must be a square matrix of numbers, found {value!r}')
            keys[name] = tuple(tuple(row) for row in matrix.tolist())
    for name in ('gear_ratio', 'zero_offsets'):
        if section.get(name) is not None:
            keys[name] = section[name]
    if 'position_coupling' in keys and 'gear_ratio' in keys:
        raise JointDynamicsError('recording.motor_states: gear_ratio or position_coupling must be given, found both')
    return MotorSide(**keys)
