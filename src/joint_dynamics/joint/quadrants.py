"""Hamon's dry friction [H eq 30] of the joints that have it, on the hysteresis of the friction model.

    f = (P⁺(a_m + b_m E) + P⁻(a_g − b_g E) − 1) τ_J + (P⁺(c_m + d_m E) + P⁻(c_g + d_g E)) H + F_V ω + tau_off

with E = exp(−|ω|/dq_s), P⁺ = (1 + H sgn τ_J)/2 and P⁻ = 1 − P⁺, which in steady slip are the quadrants of the motor
and the generator (`QuadrantFriction`), and do not jump at a reversal.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.joint.load import QuadrantFriction


class Quadrants:
    """Hamon's friction in the place of another one, for those of n joints that have it.

    Parameters
    ----------
    values : mapping
        of all parameters of `QuadrantFriction` by name, a number or (n,); NaN for joints that have none of it.
    joints
        n.

    Attributes
    ----------
    values
        {name: (n,)}, as given.
    described
        (n,) bool, joints that have it.
    """

    def __init__(self, values: Mapping[str, ArrayLike], joints: int) -> None:
        self.values = {name: np.broadcast_to(np.asarray(value, float), (joints,)) for name, value in values.items()}
        self.described = ~np.isnan(self.values['dq_s'])
        neutral = {'a_m': 1.0, 'a_g': 1.0, 'dq_s': 1.0}
        self._friction = QuadrantFriction(
            **{name: np.where(self.described, value, neutral.get(name, 0.0)) for name, value in self.values.items()}
        )

    def dry(self, H: ArrayLike, omega: ArrayLike, tau_J: ArrayLike, otherwise: FloatArray) -> FloatArray:
        """Return what depends on load and hysteresis, (…, n) [N·m].

        Parameters
        ----------
        H, omega, tau_J
            hysteresis, speed ω and transmission torque τ_J, (…, n) [–, rad/s, N·m].
        otherwise
            (…, n) [N·m], of the joints that have no quadrants.
        """
        h, load = self._friction, np.asarray(tau_J, dtype=float)
        fade = np.exp(-np.abs(np.asarray(omega, dtype=float)) / h.dq_s)
        motor = 0.5 * (1.0 + np.asarray(H) * np.sign(load))
        generator = 1.0 - motor
        gain = motor * (h.a_m + h.b_m * fade) + generator * (h.a_g - h.b_g * fade) - 1.0
        level = motor * (h.c_m + h.d_m * fade) + generator * (h.c_g + h.d_g * fade)
        return np.where(self.described, gain * load + level * H, otherwise)

    def speed_part(self, omega: FloatArray, warm: FloatArray, otherwise: FloatArray) -> FloatArray:
        """Return viscous friction and offset beside the part of temperature, (…, n) [N·m].

        Parameters
        ----------
        omega, warm
            speed and the part of temperature, (…, n) [rad/s, N·m].
        otherwise
            (…, n) [N·m], of the joints that have no quadrants.
        """
        return np.where(self.described, self._friction.F_V * omega + self._friction.tau_off + warm, otherwise)
