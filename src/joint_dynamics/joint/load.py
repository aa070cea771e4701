"""Friction that grows with the load torque.

Linear, quadratic [M4 eq 27, M6 eq 20], and Hamon's motor and generator quadrants [H eq 27-30].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.constants import of_fields
from joint_dynamics.joint.mapping import coulomb_levels, mapped
from joint_dynamics.joint.static_friction import Parameter, as_parameter, direction


@dataclass(frozen=True)
class CoulombLevel:
    """Coulomb level F(τ_J) = F_C0 + F_Cl |τ_J| + F_C1 τ_J², N·m [M6 eq 20, with the linear form of M4 as an option].

    F_C0 N·m, F_Cl (linear) N·m per N·m, F_C1 (quadratic) N·m per (N·m)²; |τ_J| is bounded to tau_max, because the
    quadratic term must not run away outside what was identified.
    """

    F_C0: Parameter
    F_Cl: Parameter = 0.0
    F_C1: Parameter = 0.0
    tau_max: Parameter = np.inf

    def __post_init__(self) -> None:
        for name in ('F_C0', 'F_Cl', 'F_C1'):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name)))
        bound = np.array(self.tau_max, dtype=float)
        if np.any(np.isnan(bound)) or np.any(bound < 0):
            raise JointDynamicsError(f'tau_max: expected values >= 0, found {self.tau_max!r}')
        object.__setattr__(self, 'tau_max', bound)

    def level(self, tau_J: ArrayLike) -> FloatArray:
        """F(τ_J), N·m, at the transmission torque τ_J (N·m, joint side)."""
        records, joints = of_fields(F_C0=self.F_C0, F_Cl=self.F_Cl, F_C1=self.F_C1, tau_max=self.tau_max)
        return mapped(coulomb_levels, (records,), joints, tau_J)


@dataclass(frozen=True)
class LoadFriction:
    """Load part alone: sgn(ω)(linear |τ_J| + quadratic τ_J²), N·m [M4 eq 27 and the forms it is compared with]."""

    linear: Parameter = 0.0
    quadratic: Parameter = 0.0

    def __post_init__(self) -> None:
        for name in ('linear', 'quadratic'):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name)))

    def torque(self, omega: ArrayLike, tau_J: ArrayLike, smoothing: float = 0.0) -> FloatArray:
        """Load-dependent friction torque, N·m."""
        return direction(omega, smoothing) * CoulombLevel(0.0, self.linear, self.quadratic).level(tau_J)


QUADRANT_PARAMETERS = ('a_m', 'b_m', 'a_g', 'b_g', 'c_m', 'd_m', 'c_g', 'd_g', 'F_V', 'tau_off')


@dataclass(frozen=True)
class QuadrantFriction:
    """Hamon's dry friction, depending on load, speed and the sign of the output power P = τ_out q̇ [H eq 25-30].

        τ = P⁺(a_m + b_m E) τ_out + P⁻(a_g − b_g E) τ_out + P⁺(c_m + d_m E) sgn q̇ + P⁻(c_g + d_g E) sgn q̇ + F_V q̇ +
        τ_off

    with E = exp(−|q̇|/q̇_s); a, b without unit, c, d, tau_off in N·m, F_V in N·m·s/rad, dq_s in rad/s. Motor: P ≥ 0,
    generator: P < 0. (22) is printed wrong in the paper: F_sl + (F_st − F_sl) E.
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

    def __post_init__(self) -> None:
        for name in (*QUADRANT_PARAMETERS, 'dq_s'):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name), positive=name == 'dq_s'))

    @staticmethod
    def columns(tau_out: ArrayLike, dq: ArrayLike, dq_s: ArrayLike, power: ArrayLike | None = None) -> FloatArray:
        """Regressor columns of `QUADRANT_PARAMETERS`, shape of dq + (10,).

        tau_out N·m: the rigid torque, or one column of it (the a and b columns are then products with that parameter).
        `power` decides the quadrant; τ·q̇ of the measured torque outside the stiction area [H eq 26], by default
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
        """Return τ − τ_out, N·m: what is lost on the way."""
        return self.torque(tau_out, dq) - np.asarray(tau_out, dtype=float)
