"""Motor signals of the drives, reflected to the joint side of the transmission.

One drive per joint: θ = q_m / r, τ = r τ_m with the gear ratio r (negative where the motor turns the other way).
Coupled drives, as joints 5 and 6 of a Stäubli TX40: q_m = R (θ − θ_0) and τ = T τ_m with constant matrices R and T = Rᵀ
[G eq 24].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Parameter, PerJoint, Settings, setting
from joint_dynamics.settings.base import per_joint

Array = FloatArray


def _not_zero(ratio: PerJoint) -> str | None:
    ratios = ratio.values() if isinstance(ratio, Mapping) else ratio if isinstance(ratio, Sequence) else (ratio,)
    return None if all(ratios) else 'a ratio other than 0'


def _square(matrix: Sequence[Sequence[float]]) -> str | None:
    return None if matrix and all(len(row) == len(matrix) for row in matrix) else 'a square matrix of numbers'


@dataclass(frozen=True)
class MotorSide(Settings):
    """How motor-side signals of n joints are reflected; by default they are taken to be reflected already.

    A value per joint is one number, one per joint in the robot's order, or by joint name.
    """

    SECTION = 'recording.motor_states'

    gear_ratio: PerJoint = setting(
        1.0,
        'motor angle per joint angle; 1: reflected to the joint side already, negative: the motor turns the other way',
        check=_not_zero,
    )
    position_coupling: Sequence[Sequence[float]] | None = setting(
        None, 'R (n × n), motor angles = R · joint angles, instead of a gear ratio', none='none', check=_square
    )
    torque_coupling: Sequence[Sequence[float]] | None = setting(
        None, 'T (n × n), joint torques = T · motor torques', none='Rᵀ (power is kept)', check=_square
    )
    zero_offsets: PerJoint = setting(0.0, 'added to the reflected motor angle', 'rad')

    def check(self) -> None:
        """Check that only one setting states how angles are reflected."""
        if self.position_coupling is not None and self.gear_ratio != 1.0:
            raise JointDynamicsError(
                f'{self.SECTION}: expected gear_ratio or position_coupling, found both: leave one out'
            )

    @property
    def coupled(self) -> bool:
        """Whether a matrix is used, which needs the motors of all joints."""
        return self.position_coupling is not None or self.torque_coupling is not None

    def position(self, motor: Array, joint_names: Sequence[str]) -> Array:
        """Return θ, (N, n) rad, from motor angles (N, n) rad in the order of `joint_names`."""
        return self.velocity(motor, joint_names) + per_joint(
            self.zero_offsets, joint_names, 'recording.motor_states.zero_offsets', others=True
        )

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
        return per_joint(self.gear_ratio, joint_names, 'recording.motor_states.gear_ratio', others=True)

    def _matrix(self, name: str, joint_names: Sequence[str]) -> Array | None:
        value = getattr(self, name)
        if value is None:
            return None
        n = len(joint_names)
        matrix = np.asarray(value, dtype=np.float64)
        if matrix.shape != (n, n) or not abs(np.linalg.det(matrix / np.abs(matrix).max())) >= 1e-12:
            raise JointDynamicsError(
                f'recording.motor_states.{name}: expected a regular {n} x {n} matrix for the joints '
                f'{", ".join(joint_names)}, found {matrix.tolist()}'
            )
        return matrix


#: Parameters of a node or a law that reflects motor signals while the robot works.
MOTOR_PARAMETERS = (
    Parameter.of(MotorSide, 'gear_ratio', per_joint=True),
    Parameter.of(MotorSide, 'zero_offsets', name='zero_offset', lower=-2 * np.pi, upper=2 * np.pi, per_joint=True),
)
