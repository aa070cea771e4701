"""Friction without memory, each part as a class: against speed, temperature and load.

- speed: Coulomb, Stribeck and three viscous terms [M3 eq 14]; the power law of Li [L eq 4];
- temperature: sgn(ω)√|ω| times a falling function of T, in both forms [M4 eq 28, M6 eq 11]. [M6 eq 11] prints
  (T − T0)⁻³, which diverges at T0, where its text says that the term is zero; T⁻³ − T0⁻³ is correct. T⁻³ itself
  diverges at 0 °C, so T is bounded to [T_min, T_max] with T_min > 0;
- load: linear, quadratic [M4 eq 27, M6 eq 20], and Hamon's motor and generator quadrants [H eq 27-30].

Parameters are scalars (one joint) or (n,) (all joints); speeds are then of any shape or (…, n). ω in rad/s, torques in
N·m on the joint side. `FrictionModel` combines all parts, and adds hysteresis.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import laws
from joint_dynamics.joint.constants import NONE, blank, of_fields

# Given as a number or (n,), kept as an array after the checks.
Parameter = Any


def direction(omega: ArrayLike, smoothing: float = 0.0) -> FloatArray:
    """Return sgn ω, exact with 0 at ω = 0 (smoothing 0), or tanh(ω/smoothing) with smoothing > 0 in rad/s."""
    omega = np.asarray(omega, dtype=float)
    return np.tanh(omega / smoothing) if smoothing > 0 else np.sign(omega)


def as_parameter(name: str, value: ArrayLike, *, positive: bool = False) -> FloatArray:
    """Return a parameter as a finite array () or (n,); raise JointDynamicsError naming one that is not."""
    array = np.array(value, dtype=float)
    if array.ndim > 1 or not np.all(np.isfinite(array)):
        raise JointDynamicsError(f'{name}: expected a finite number or one per joint, found {value!r}')
    if positive and not np.all(array > 0):
        raise JointDynamicsError(f'{name}: expected values > 0, found {value!r}')
    return array


class FrictionPart:
    """A part whose fields are numbers or (n,), kept as arrays.

    All are finite, except that those of `BOUNDS` may be infinite; those of `POSITIVE` are above zero.
    """

    POSITIVE: ClassVar[tuple[str, ...]] = ()
    BOUNDS: ClassVar[tuple[str, ...]] = ('tau_max',)

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            name, given = field.name, getattr(self, field.name)
            bounds, positive = name in self.BOUNDS, name in self.POSITIVE
            value = np.array(given, dtype=float) if bounds else as_parameter(name, given, positive=positive)
            object.__setattr__(self, name, value)

    def _of(self, law: int, *given: ArrayLike) -> FloatArray:
        """Return a law, by its name in `laws`, with the fields as its constants of the same names."""
        values = {'F_C0' if field.name == 'F_C' else field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        records, joints = of_fields(**values)
        return laws.evaluate(law, joints, records, NONE, *given)


@dataclass(frozen=True)
class StaticFriction(FrictionPart):
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

    POSITIVE = ('V_S', 'mu')

    def __post_init__(self) -> None:
        if self.F_S is None:
            object.__setattr__(self, 'F_S', self.F_C)
        super().__post_init__()

    def stribeck(self, omega: ArrayLike) -> FloatArray:
        """Magnitude of the Stribeck term (F_S − F_C) exp(−(|ω|/V_S)^μ), N·m, without a sign."""
        return self._of(laws.STRIBECK, omega)

    def viscous(self, omega: ArrayLike) -> FloatArray:
        """Return F_V1 ω + F_V2 |ω|ω + F_V3 ω³, N·m."""
        return self._of(laws.VISCOUS, omega)

    def torque(self, omega: ArrayLike, smoothing: float = 0.0) -> FloatArray:
        """Friction torque at ω, N·m; `smoothing` (rad/s) replaces sgn by tanh(ω/smoothing)."""
        H = direction(omega, smoothing)
        return self._of(laws.DRY_FRICTION, H, omega, 0.0) + self._of(laws.SPEED_FRICTION, H, omega, 0.0)


@dataclass(frozen=True)
class PowerLawFriction(FrictionPart):
    """τ_f = (f_c + f_v |q̇|^α) sgn q̇ + f_o [L eq 4].

    f_c N·m; f_v N·m·(s/rad)^α; alpha > 0; f_o offset N·m.
    """

    f_c: Parameter
    f_v: Parameter
    alpha: Parameter = 1.0
    f_o: Parameter = 0.0

    POSITIVE = ('alpha',)

    def torque(self, omega: ArrayLike, smoothing: float = 0.0) -> FloatArray:
        """Friction torque at ω, N·m; `smoothing` (rad/s) replaces sgn by tanh(ω/smoothing)."""
        omega = np.asarray(omega, dtype=float)
        return direction(omega, smoothing) * (self.f_c + self.f_v * np.abs(omega) ** self.alpha) + self.f_o


T_MIN, T_MAX = 5.0, 80.0


def root_speed(omega: ArrayLike) -> FloatArray:
    """sgn(ω)√|ω|, continuous through zero."""
    return laws.evaluate(laws.ROOT_SPEED, None, blank(1), NONE, omega)


def check_bound(tau_max: ArrayLike) -> None:
    """Raise JointDynamicsError unless the bound of |τ_J| [N·m] is a number ≥ 0, or infinite."""
    if not np.all(np.asarray(tau_max, dtype=float) >= 0):
        raise JointDynamicsError(f'tau_max: expected values >= 0, found {tau_max!r}')


def check_temperatures(low: FloatArray, high: FloatArray, T_0: FloatArray | None = None) -> None:
    """Raise JointDynamicsError unless 0 < T_min < T_max [°C], and T_0, where given, lies between them."""
    if not (np.all(low > 0) and np.all(high > low)):
        raise JointDynamicsError(f'temperature bounds: expected 0 < T_min < T_max in °C, found {low} and {high}')
    if T_0 is not None and not (np.all(low <= T_0) and np.all(high >= T_0)):
        raise JointDynamicsError(f'T_0: expected within [T_min, T_max], found {T_0}')


@dataclass(frozen=True)
class TemperatureFriction(FrictionPart):
    """f_T = sgn(ω)√|ω| (F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³)), zero at T0 [M6 eq 11, corrected].

    F_T1 N·m·√(s/rad)/°C, F_T2 N·m·√(s/rad)·°C³, T in °C bounded to [T_min, T_max].
    """

    F_T1: Parameter = 0.0
    F_T2: Parameter = 0.0
    T_0: Parameter = 25.0
    T_min: Parameter = T_MIN
    T_max: Parameter = T_MAX

    def __post_init__(self) -> None:
        super().__post_init__()
        check_temperatures(self.T_min, self.T_max, self.T_0)

    def factor(self, temperature: ArrayLike) -> FloatArray:
        """F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³) at the bounded temperature (°C)."""
        return self._of(laws.WARMTH, temperature)

    def torque(self, omega: ArrayLike, temperature: ArrayLike) -> FloatArray:
        """Friction torque f_T, N·m."""
        return root_speed(omega) * self.factor(temperature)


@dataclass(frozen=True)
class AbsoluteTemperatureFriction(FrictionPart):
    """f_T = sgn(ω)√|ω| (F_T1 + F_T2 T + F_T3 T⁻³) [M4 eq 28]; T in °C bounded to [T_min, T_max]."""

    F_T1: Parameter = 0.0
    F_T2: Parameter = 0.0
    F_T3: Parameter = 0.0
    T_min: Parameter = T_MIN
    T_max: Parameter = T_MAX

    def __post_init__(self) -> None:
        super().__post_init__()
        check_temperatures(self.T_min, self.T_max)

    def factor(self, temperature: ArrayLike) -> FloatArray:
        """F_T1 + F_T2 T + F_T3 T⁻³ at the bounded temperature (°C)."""
        bounded = np.clip(np.asarray(temperature, dtype=float), self.T_min, self.T_max)
        return self.F_T1 + self.F_T2 * bounded + self.F_T3 * bounded**-3.0

    def torque(self, omega: ArrayLike, temperature: ArrayLike) -> FloatArray:
        """Friction torque f_T, N·m."""
        return root_speed(omega) * self.factor(temperature)

    def about(self, T_0: ArrayLike) -> tuple[FloatArray, TemperatureFriction]:
        """Split into F_T0 and the form that vanishes at T0: f_T = sgn(ω)√|ω| F_T0 + that form."""
        return self.factor(T_0), TemperatureFriction(self.F_T2, self.F_T3, T_0, self.T_min, self.T_max)


@dataclass(frozen=True)
class CoulombLevel(FrictionPart):
    """Coulomb level F(τ_J) = F_C0 + F_Cl |τ_J| + F_C1 τ_J², N·m [M6 eq 20, with the linear form of M4 as an option].

    F_C0 N·m, F_Cl (linear) N·m per N·m, F_C1 (quadratic) N·m per (N·m)²; |τ_J| is bounded to tau_max, so that the
    quadratic term does not grow beyond the identified range.
    """

    F_C0: Parameter
    F_Cl: Parameter = 0.0
    F_C1: Parameter = 0.0
    tau_max: Parameter = np.inf

    def __post_init__(self) -> None:
        check_bound(self.tau_max)
        super().__post_init__()

    def level(self, tau_J: ArrayLike) -> FloatArray:
        """F(τ_J), N·m, at the transmission torque τ_J (N·m, joint side)."""
        return self._of(laws.COULOMB_LEVEL, tau_J)


@dataclass(frozen=True)
class LoadFriction(FrictionPart):
    """Load part alone: sgn(ω)(linear |τ_J| + quadratic τ_J²), N·m [M4 eq 27 and the forms it is compared with]."""

    linear: Parameter = 0.0
    quadratic: Parameter = 0.0

    def torque(self, omega: ArrayLike, tau_J: ArrayLike, smoothing: float = 0.0) -> FloatArray:
        """Load-dependent friction torque, N·m."""
        return direction(omega, smoothing) * CoulombLevel(0.0, self.linear, self.quadratic).level(tau_J)


QUADRANT_PARAMETERS = ('a_m', 'b_m', 'a_g', 'b_g', 'c_m', 'd_m', 'c_g', 'd_g', 'F_V', 'tau_off')


@dataclass(frozen=True)
class QuadrantFriction(FrictionPart):
    """Hamon's dry friction, depending on load, speed and the sign of the output power P = τ_out q̇ [H eq 25-30].

        τ = P⁺(a_m + b_m E) τ_out + P⁻(a_g − b_g E) τ_out
            + P⁺(c_m + d_m E) sgn q̇ + P⁻(c_g + d_g E) sgn q̇ + F_V q̇ + τ_off

    with E = exp(−|q̇|/q̇_s); a, b without unit, c, d, tau_off in N·m, F_V in N·m·s/rad, dq_s in rad/s. Motor: P ≥ 0,
    generator: P < 0. Equation 22 is printed wrong in the paper; it should read F_sl + (F_st − F_sl) E.
    """

    a_m: Parameter = 1.0
    b_m: Parameter = 0.0
    a_g: Parameter = 1.0
    b_g: Parameter = 0.0
    c_m: Parameter = 0.0
    d_m: Parameter = 0.0
    c_g: Parameter = 0.0
    d_g: Parameter = 0.0
    F_V: Parameter = 0.0
    tau_off: Parameter = 0.0
    dq_s: Parameter = 0.03

    POSITIVE = ('dq_s',)

    @staticmethod
    def columns(tau_out: ArrayLike, dq: ArrayLike, dq_s: ArrayLike, power: ArrayLike | None = None) -> FloatArray:
        """Regressor columns of `QUADRANT_PARAMETERS`, shape of dq + (10,).

        Parameters
        ----------
        tau_out
            the rigid torque N·m, or one column of its regressor (the columns a and b then belong to products with its
        parameter).
        dq
            speed rad/s, same shape.
        dq_s
            q̇_s, rad/s.
        power
            its sign decides the quadrant: τ·q̇ of the measured torque, outside the stiction area [H eq 26]; None:
        τ_out·q̇.

        """
        tau_out, dq = np.broadcast_arrays(np.asarray(tau_out, dtype=float), np.asarray(dq, dtype=float))
        motor = np.where((tau_out * dq if power is None else np.asarray(power, dtype=float)) >= 0, 1.0, 0.0)
        generator = 1.0 - motor
        fade, sign = np.exp(-np.abs(dq) / dq_s), np.sign(dq)
        return np.stack(
            [
                motor * tau_out,
                motor * fade * tau_out,
                generator * tau_out,
                -generator * fade * tau_out,
                motor * sign,
                motor * fade * sign,
                generator * sign,
                generator * fade * sign,
                dq,
                np.ones_like(dq),
            ],
            axis=-1,
        )

    def torque(self, tau_out: ArrayLike, dq: ArrayLike, power: ArrayLike | None = None) -> FloatArray:
        """Motor torque τ (N·m) that gives the output torque τ_out at speed q̇."""
        values = np.stack(np.broadcast_arrays(*(getattr(self, name) for name in QUADRANT_PARAMETERS)), axis=-1)
        return np.sum(self.columns(tau_out, dq, self.dq_s, power) * values, axis=-1)

    def friction(self, tau_out: ArrayLike, dq: ArrayLike) -> FloatArray:
        """Return τ − τ_out, N·m: the friction."""
        return self.torque(tau_out, dq) - np.asarray(tau_out, dtype=float)
