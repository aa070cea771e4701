"""Static friction against speed: Coulomb, Stribeck and three viscous terms [M3 eq 14]; the power law of Li [L eq 4].

Parameters are scalars (one joint) or (n,) (all joints); speeds are then of any shape or (…, n). ω in rad/s,
torques in N·m on the joint side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.constants import of_fields
from joint_dynamics.joint.mapping import dry_frictions, mapped, speed_frictions, stribecks, viscous_torques

# Given as a number or (n,), kept as an array after the checks.
Parameter = Any


def direction(omega: ArrayLike, smoothing: float = 0.0) -> FloatArray:
    """Return sgn ω, exact with 0 at ω = 0 (smoothing 0), or tanh(ω/smoothing) with smoothing > 0 in rad/s."""
    omega = np.asarray(omega, dtype=float)
    return np.tanh(omega / smoothing) if smoothing > 0 else np.sign(omega)


def as_parameter(name: str, value: ArrayLike, *, positive: bool = False) -> FloatArray:
    """Return a finite scalar or (n,) parameter, or say which one is not."""
    array = np.array(value, dtype=float)
    if array.ndim > 1 or not np.all(np.isfinite(array)):
        raise JointDynamicsError(f'{name}: expected a finite number or one per joint, found {value!r}')
    if positive and not np.all(array > 0):
        raise JointDynamicsError(f'{name}: expected values > 0, found {value!r}')
    return array


@dataclass(frozen=True)
class StaticFriction:
    """s(ω) = sgn(ω)(F_C + (F_S − F_C) exp(−(|ω|/V_S)^μ)) + F_V1 ω + F_V2 |ω|ω + F_V3 ω³ + offset.

    F_C Coulomb, F_S breakaway (Stribeck) level, N·m; V_S Stribeck speed, rad/s, > 0; mu its shape, > 0; F_V1 N·m·s/rad,
    F_V2 N·m·s²/rad², F_V3 N·m·s³/rad³; offset N·m. F_S None means F_C (no Stribeck term). The sign of F_V2 flips
    between chapters of the thesis; here + [M3 eq 14].
    """

    F_C: Parameter
    F_S: Parameter = None
    V_S: Parameter = 0.1
    mu: Parameter = 1.0
    F_V1: Parameter = 0.0
    F_V2: Parameter = 0.0
    F_V3: Parameter = 0.0
    offset: Parameter = 0.0

    def __post_init__(self) -> None:
        if self.F_S is None:
            object.__setattr__(self, 'F_S', self.F_C)
        for name in ('F_C', 'F_S', 'V_S', 'mu', 'F_V1', 'F_V2', 'F_V3', 'offset'):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name), positive=name in ('V_S', 'mu')))

    def _of(self, loop: Any, *given: ArrayLike) -> FloatArray:
        names = ('F_C', 'F_S', 'V_S', 'mu', 'F_V1', 'F_V2', 'F_V3', 'offset')
        fields = {'F_C0' if name == 'F_C' else name: getattr(self, name) for name in names}
        records, joints = of_fields(**fields)
        return mapped(loop, (records,), joints, *given)

    def stribeck(self, omega: ArrayLike) -> FloatArray:
        """Magnitude of the Stribeck term (F_S − F_C) exp(−(|ω|/V_S)^μ), N·m, without a sign."""
        return self._of(stribecks, omega)

    def viscous(self, omega: ArrayLike) -> FloatArray:
        """Return F_V1 ω + F_V2 |ω|ω + F_V3 ω³, N·m."""
        return self._of(viscous_torques, omega)

    def torque(self, omega: ArrayLike, smoothing: float = 0.0) -> FloatArray:
        """Friction torque at ω, N·m; `smoothing` (rad/s) replaces sgn by tanh(ω/smoothing)."""
        H = direction(omega, smoothing)
        return self._of(dry_frictions, H, omega, 0.0) + self._of(speed_frictions, H, omega, 0.0)


@dataclass(frozen=True)
class PowerLawFriction:
    """τ_f = (f_c + f_v |q̇|^α) sgn q̇ + f_o [L eq 4].

    f_c N·m; f_v N·m·(s/rad)^α; alpha > 0; f_o offset N·m.
    """

    f_c: Parameter
    f_v: Parameter
    alpha: Parameter = 1.0
    f_o: Parameter = 0.0

    def __post_init__(self) -> None:
        for name in ('f_c', 'f_v', 'alpha', 'f_o'):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name), positive=name == 'alpha'))

    def torque(self, omega: ArrayLike, smoothing: float = 0.0) -> FloatArray:
        """Friction torque at ω, N·m; `smoothing` (rad/s) replaces sgn by tanh(ω/smoothing)."""
        omega = np.asarray(omega, dtype=float)
        return direction(omega, smoothing) * (self.f_c + self.f_v * np.abs(omega) ** self.alpha) + self.f_o
