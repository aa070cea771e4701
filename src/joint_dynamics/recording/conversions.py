# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Changes of signals as they are read: motor signals reflected to the joint side, and stated corrections.

One drive per joint: θ = q_m / r, τ = r τ_m with the gear ratio r (negative where the motor turns the other way).
Coupled drives, as joints 5 and 6 of a Stäubli TX40: q_m = R (θ − θ_0), τ = Rᵀ τ_m with a constant matrix R [G eq 24].

`joint-dynamics doctor RECORDING --mend FILE` writes the corrections: signs, order, scales, zeros, time; without them
nothing is changed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Parameter, PerJoint, Settings, setting
from joint_dynamics.settings.base import per_joint

Array = FloatArray
POSITIONS = ('q', 'dq', 'theta', 'dtheta')
EFFORTS = ('tau', 'current')


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
    GONE: ClassVar = {'torque_coupling': 'leave it out, joint torques are Rᵀ · motor torques (position_coupling R)'}

    gear_ratio: PerJoint = setting(
        1.0,
        'motor angle per joint angle; 1: reflected to the joint side already, negative: the motor turns the other way',
        check=_not_zero,
    )
    position_coupling: Sequence[Sequence[float]] | None = setting(
        None,
        'R (n × n), motor angles = R · joint angles, and joint torques = Rᵀ · motor torques; instead of a gear ratio',
        none='none',
        check=_square,
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
        return self.position_coupling is not None

    def position(self, motor: Array, joint_names: Sequence[str]) -> Array:
        """Return θ, (N, n) rad, from motor angles (N, n) rad in the order of `joint_names`."""
        offsets = per_joint(self.zero_offsets, joint_names, 'recording.motor_states.zero_offsets', others=True)
        return self.velocity(motor, joint_names) + offsets

    def velocity(self, motor: Array, joint_names: Sequence[str]) -> Array:
        """Return dθ/dt, (N, n) rad/s, from motor speeds (N, n) rad/s."""
        coupling = self._coupling(joint_names)
        return motor / coupling if coupling.ndim == 1 else np.linalg.solve(coupling, motor.T).T

    def torque(self, motor: Array, joint_names: Sequence[str]) -> Array:
        """Return the joint-side torque, (N, n) N·m, from motor torques (N, n) N·m."""
        coupling = self._coupling(joint_names)
        return motor * coupling if coupling.ndim == 1 else motor @ coupling

    def _coupling(self, joint_names: Sequence[str]) -> Array:
        """Return the gear ratios (n,), or the matrix R (n, n)."""
        if self.position_coupling is None:
            return per_joint(self.gear_ratio, joint_names, 'recording.motor_states.gear_ratio', others=True)
        n = len(joint_names)
        matrix = np.asarray(self.position_coupling, dtype=np.float64)
        if matrix.shape != (n, n) or not abs(np.linalg.det(matrix / np.abs(matrix).max())) >= 1e-12:
            raise JointDynamicsError(
                f'recording.motor_states.position_coupling: expected a regular {n} x {n} matrix for the joints '
                f'{", ".join(joint_names)}, found {matrix.tolist()}'
            )
        return matrix


#: Parameters of a node or a law that reflects motor signals while the robot works.
MOTOR_PARAMETERS = (
    Parameter.of(MotorSide, 'gear_ratio', per_joint=True),
    Parameter.of(MotorSide, 'zero_offsets', name='zero_offset', lower=-2 * np.pi, upper=2 * np.pi, per_joint=True),
)


def _signs(values: Mapping[str, float]) -> str | None:
    return None if all(abs(value) == 1 for value in values.values()) else '1 or -1 for each joint'


def _scales(values: Mapping[str, float]) -> str | None:
    return None if all(value > 0 for value in values.values()) else 'a number above 0 for each joint'


def _permutation(values: Mapping[str, str]) -> str | None:
    return None if sorted(values) == sorted(values.values()) else 'the same joints on both sides, each once'


@dataclass(frozen=True)
class Corrections(Settings):
    """Corrections of a recording, joints by name; a joint that is not named is not changed."""

    SECTION = 'recording'

    torque_order: Mapping[str, str] = setting(
        {}, 'joint → joint under whose name its torque (current) was recorded', check=_permutation
    )
    torque_sign: Mapping[str, float] = setting({}, 'factor 1 or -1 of the torque (current) of a joint', check=_signs)
    torque_scale: Mapping[str, float] = setting({}, 'factor of the torque (current) of a joint', check=_scales)
    torque_without_gravity: bool = setting(
        False, 'all torques exclude gravity, as of a robot that compensates its own weight'
    )
    torque_delay: float = setting(0.0, 'delay of the torque stamps behind the motion, which is removed', 's')
    position_order: Mapping[str, str] = setting(
        {}, 'joint → joint under whose name its position and speed were recorded', check=_permutation
    )
    position_sign: Mapping[str, float] = setting(
        {}, 'factor 1 or -1 of the position and speed of a joint', check=_signs
    )
    position_scale: Mapping[str, float] = setting(
        {}, 'factor of the position and speed of a joint (0.0174533: recorded in degrees)', check=_scales
    )
    zero_offset: Mapping[str, float] = setting({}, 'added to the position of a joint, after sign and scale', 'rad')
    time_scale: float = setting(1.0, 'factor of all time stamps, counted from the first', above=0)

    def stated(self) -> dict[str, Any]:
        """Return the corrections that have an effect, as the keys of `recording:`."""
        return {
            key: dict(value) if isinstance(value, Mapping) else value
            for key in Corrections.__dataclass_fields__
            if (value := getattr(self, key)) != getattr(NEUTRAL, key)
        }

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that are named."""
        mappings = [value for value in self.stated().values() if isinstance(value, dict)]
        return tuple(dict.fromkeys(name for mapping in mappings for name in mapping))

    @functools.cached_property
    def moves_positions(self) -> bool:
        """Whether positions, speeds or time change."""
        return any(not key.startswith('torque') for key in self.stated())

    def torque_columns(self, joints: Sequence[str]) -> tuple[IntArray, FloatArray]:
        """Return the recorded column of each joint's torque, and its factor, (n,) each."""
        return _columns(joints, self.torque_order), _factors(joints, self.torque_sign, self.torque_scale)

    def position_columns(self, joints: Sequence[str]) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the recorded column of each joint's position, its factor, and its offset [rad], (n,) each."""
        return (
            _columns(joints, self.position_order),
            _factors(joints, self.position_sign, self.position_scale),
            np.array([self.zero_offset.get(name, 0.0) for name in joints]),
        )

    def then(self, later: Corrections, joints: Sequence[str]) -> Corrections:
        """Return the corrections equivalent to these followed by `later`, for a recording with these joints."""
        order, factor = self.torque_columns(joints)
        source, gain = later.torque_columns(joints)
        torque_order, torque_factor = order[source], gain * factor[source]
        order, factor, offset = self.position_columns(joints)
        source, gain, shift = later.position_columns(joints)
        position_order, position_factor, zero_offset = (
            order[source],
            gain * factor[source],
            shift + gain * offset[source],
        )
        return Corrections(
            torque_order=_moved(joints, torque_order),
            torque_sign=_not_one(joints, np.sign(torque_factor)),
            torque_scale=_not_one(joints, np.abs(torque_factor)),
            torque_without_gravity=self.torque_without_gravity or later.torque_without_gravity,
            torque_delay=self.torque_delay * later.time_scale + later.torque_delay,
            position_order=_moved(joints, position_order),
            position_sign=_not_one(joints, np.sign(position_factor)),
            position_scale=_not_one(joints, np.abs(position_factor)),
            zero_offset={name: float(value) for name, value in zip(joints, zero_offset, strict=True) if value},
            time_scale=self.time_scale * later.time_scale,
        )

    def correct_stamps(self, stamps: IntArray, first: int) -> IntArray:
        """Return stamps (K,) [ns] scaled about the `first` of all."""
        if self.time_scale == 1.0:
            return stamps
        return first + np.rint((stamps - first) * self.time_scale).astype(np.int64)

    def correct(
        self, joints: Sequence[str], time: FloatArray, arrays: Mapping[str, FloatArray]
    ) -> dict[str, FloatArray]:
        """Return the arrays (N, n) of a recording, by quantity, corrected; time (N,) [s]: their stamps, scaled already.

        Raises
        ------
        JointDynamicsError
            Where a joint is named that the recording does not have.
        """
        for key, value in self.stated().items():
            for name in value if isinstance(value, Mapping) else ():
                if name not in joints:
                    raise JointDynamicsError(
                        f'recording.{key}: expected joints of the recording ({", ".join(joints)}), found {name!r}'
                    )
        corrected = dict(arrays)
        order, factor, offset = self.position_columns(joints)
        if self.moves_positions:
            for key in set(POSITIONS) & set(arrays):
                corrected[key] = arrays[key][:, order] * factor + (offset if key in ('q', 'theta') else 0.0)
        order, factor = self.torque_columns(joints)
        for key in set(EFFORTS) & set(arrays) if self.stated() else ():
            corrected[key] = arrays[key][:, order] * factor
            if self.torque_delay:
                at = time + self.torque_delay
                corrected[key] = np.array([np.interp(at, time, column) for column in corrected[key].T]).T
        return corrected


NEUTRAL = Corrections()


def _columns(joints: Sequence[str], order: Mapping[str, str]) -> IntArray:
    places = {name: index for index, name in enumerate(joints)}
    return np.array([places[order.get(name, name)] for name in joints])


def _factors(joints: Sequence[str], *settings: Mapping[str, float]) -> FloatArray:
    return np.array([math.prod(values.get(name, 1.0) for values in settings) for name in joints], dtype=float)


def _moved(joints: Sequence[str], order: IntArray) -> dict[str, str]:
    return {name: joints[k] for name, k in zip(joints, order, strict=True) if joints[k] != name}


def _not_one(joints: Sequence[str], factors: FloatArray) -> dict[str, float]:
    return {name: float(value) for name, value in zip(joints, factors, strict=True) if value != 1.0}
