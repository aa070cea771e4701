"""Friction that falls with temperature: sgn(ω)√|ω| times a function of T, in both forms [M4 eq 28, M6 eq 11].

[M6 eq 11] prints (T − T0)⁻³, which diverges at T0 where its text says the term is zero; right is T⁻³ − T0⁻³. T⁻³ itself
diverges at 0 °C, so T is bounded to [T_min, T_max] with T_min > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.constants import of_fields
from joint_dynamics.joint.mapping import mapped, root_speeds, warmths
from joint_dynamics.joint.static_friction import Parameter, as_parameter

T_MIN, T_MAX = 5.0, 80.0


def root_speed(omega: ArrayLike) -> FloatArray:
    """sgn(ω)√|ω|, continuous through zero."""
    return mapped(root_speeds, (), None, omega)


def check_temperatures(low: FloatArray, high: FloatArray, T_0: FloatArray | None = None) -> None:
    """Raise JointDynamicsError unless 0 < T_min < T_max [°C], with T_0 within them where there is one."""
    if not (np.all(low > 0) and np.all(high > low)):
        raise JointDynamicsError(f'temperature bounds: expected 0 < T_min < T_max in °C, found {low} and {high}')
    if T_0 is not None and not (np.all(low <= T_0) and np.all(high >= T_0)):
        raise JointDynamicsError(f'T_0: expected within [T_min, T_max], found {T_0}')


@dataclass(frozen=True)
class TemperatureFriction:
    """f_T = sgn(ω)√|ω| (F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³)), zero at T0 [M6 eq 11, corrected].

    F_T1 N·m·√(s/rad)/°C, F_T2 N·m·√(s/rad)·°C³, T in °C bounded to [T_min, T_max].
    """

    F_T1: Parameter = 0.0
    F_T2: Parameter = 0.0
    T_0: Parameter = 25.0
    T_min: Parameter = T_MIN
    T_max: Parameter = T_MAX

    def __post_init__(self) -> None:
        for name in ('F_T1', 'F_T2', 'T_0', 'T_min', 'T_max'):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name)))
        check_temperatures(self.T_min, self.T_max, self.T_0)

    def factor(self, temperature: ArrayLike) -> FloatArray:
        """F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³) at the bounded temperature (°C)."""
        records, joints = of_fields(F_T1=self.F_T1, F_T2=self.F_T2, T_0=self.T_0, T_min=self.T_min, T_max=self.T_max)
        return mapped(warmths, (records,), joints, temperature)

    def torque(self, omega: ArrayLike, temperature: ArrayLike) -> FloatArray:
        """Friction torque f_T, N·m."""
        return root_speed(omega) * self.factor(temperature)


@dataclass(frozen=True)
class AbsoluteTemperatureFriction:
    """f_T = sgn(ω)√|ω| (F_T1 + F_T2 T + F_T3 T⁻³) [M4 eq 28]; T in °C bounded to [T_min, T_max]."""

    F_T1: Parameter = 0.0
    F_T2: Parameter = 0.0
    F_T3: Parameter = 0.0
    T_min: Parameter = T_MIN
    T_max: Parameter = T_MAX

    def __post_init__(self) -> None:
        for name in ('F_T1', 'F_T2', 'F_T3', 'T_min', 'T_max'):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name)))
        check_temperatures(self.T_min, self.T_max)

    def factor(self, temperature: ArrayLike) -> FloatArray:
        """F_T1 + F_T2 T + F_T3 T⁻³ at the bounded temperature (°C)."""
        bounded = np.clip(np.asarray(temperature, dtype=float), self.T_min, self.T_max)
        return self.F_T1 + self.F_T2 * bounded + self.F_T3 * bounded**-3.0

    def torque(self, omega: ArrayLike, temperature: ArrayLike) -> FloatArray:
        """Friction torque f_T, N·m."""
        return root_speed(omega) * self.factor(temperature)

    def about(self, T_0: ArrayLike) -> tuple[FloatArray, TemperatureFriction]:
        """Split into (F_T0, the form that vanishes at T0): f_T = sgn(ω)√|ω| F_T0 + that form."""
        return self.factor(T_0), TemperatureFriction(self.F_T2, self.F_T3, T_0, self.T_min, self.T_max)
