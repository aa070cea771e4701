r"""Friction beyond Coulomb and viscous, as columns that are linear in their parameters.

Speed, load, temperature, quadrants, hysteresis.

    speed        F_T0 sgn(ω)√|ω|,  F_V2 |ω|ω,  F_V3 ω³,  (F_S − F_C0) s exp(−(|ω|/V_S)^μ)
        [M3 eq 14, M4 eq 28]
    load         F_Cl s |τ_J|,  F_C1 s τ_J²
        [M4 eq 27, M6 eq 20]
    temperature  F_T1 sgn(ω)√|ω| (T − T0),  F_T2 sgn(ω)√|ω| (T⁻³ − T0⁻³)
        [M6 eq 11, corrected]
    quadrants    a τ_J,  c sgn(τ_J): with F_Cl and F_C0 the four quadrants of Hamon,
                 a_m = 1 + a + F_Cl, a_g = 1 + a − F_Cl, c_m = F_C0 + c, c_g = F_C0 − c               [H eq 30, E = 0]
    hysteresis   F_H (H − sgn ω): the share F_H/F_C0 of Coulomb friction goes through one Maxwell-slip operator

s is sgn ω, or with a hysteresis the same mixture for all of them: s = sgn ω + (F_H/F_C0)(H − sgn ω) [M6 eq 11-13]. In
steady slip H = sgn ω.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.joint.temperature import T_MAX, T_MIN, root_speed


@dataclass(frozen=True)
class Motion:
    """What friction terms of one joint are functions of, arrays (samples,).

    q [rad] link side, dq [rad/s] motor side; sign: s, by default sgn(dq); load: torque through the transmission τ_J
    [N·m]; temperature
    [°C]; slip: {width [rad]: H}.
    """

    q: FloatArray
    dq: FloatArray
    sign: FloatArray | None = None
    load: FloatArray | None = None
    temperature: FloatArray | None = None
    slip: Mapping[float, FloatArray] = field(default_factory=dict)

    @property
    def s(self) -> FloatArray:
        """Direction of slip, in [−1, 1]."""
        return np.sign(self.dq) if self.sign is None else self.sign

    def with_load_within(self, bound: float) -> Motion:
        """Return the same with the size of the load bounded [N·m]."""
        return self if self.load is None else replace(self, load=np.minimum(np.maximum(self.load, -bound), bound))

    def need(self, name: str) -> FloatArray:
        """Return a field that may be missing; raise JointDynamicsError where it is."""
        value = getattr(self, name)
        if value is None:
            raise JointDynamicsError(
                f'terms: expected a recording with {name} for a term that depends on it, found none'
            )
        return value


def stribeck(motion: Motion, V_S: float, mu: float) -> FloatArray:
    """Return s exp(−(|ω|/V_S)^μ)."""
    return motion.s * np.exp(-((np.abs(motion.dq) / V_S) ** mu))


def hysteresis(motion: Motion, width: float) -> FloatArray:
    """Return H − sgn ω of one operator that slips after `width` [rad]."""
    return motion.slip[width] - np.sign(motion.dq)


def _temperature_factor(motion: Motion, T_0: float, power: float) -> FloatArray:
    T = np.clip(motion.need('temperature'), T_MIN, T_MAX)
    return root_speed(motion.dq) * (T**power - T_0**power)


def _root_times_difference(motion: Motion, T_0: float) -> FloatArray:
    return _temperature_factor(motion, T_0, 1.0)


def _root_times_cube(motion: Motion, T_0: float) -> FloatArray:
    return _temperature_factor(motion, T_0, -3.0)


FRICTION: dict[str, Any] = {
    'F_T0': lambda motion: root_speed(motion.dq),
    'F_V2': lambda motion: np.abs(motion.dq) * motion.dq,
    'F_V3': lambda motion: motion.dq**3,
    'F_Cl': lambda motion: motion.s * np.abs(motion.need('load')),
    'F_C1': lambda motion: motion.s * motion.need('load') ** 2,
    'F_T1': _root_times_difference,
    'F_T2': _root_times_cube,
    'load_gain': lambda motion: motion.need('load'),
    'load_sign': lambda motion: np.sign(motion.need('load')),
}
LOADED = ('F_Cl', 'F_C1', 'load_gain', 'load_sign')
WARM = ('F_T1', 'F_T2')


def needs_of(name: str) -> frozenset[str]:
    """Return what a term of `FRICTION` takes beside position and speed."""
    return frozenset({'load'} if name in LOADED else {'temperature'} if name in WARM else ())


def slip_of(theta: FloatArray, width: float) -> FloatArray:
    """Return H (samples, n) in [−1, 1] of one operator per joint that slips after `width` [rad].

    From no deformation at the first sample.
    """
    return MaxwellSlip(theta.shape[1], width, limits=[1.0], stiffness=[1.0]).run(theta)
