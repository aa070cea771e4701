"""The transmission between link and motor along a desired motion: its deformation under the desired torque, and where that puts the motor."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.control.arm import ArmModel
from joint_dynamics.control.elastic_range import elastic_range, inverse


class Transmission:
    """Deformation φ(τ) of the transmissions of all joints, n torques (n,) N·m at a time; without stiffness known, none.

    For α1 φ + α3 φ³ (α1 > 0) in closed form, many times faster than the general inverse: with s = √(α1/(3 |α3|)) the root is
    φ = 2 s sinh(asinh(3 τ/(2 α1 s))/3) for α3 > 0 and φ = 2 s sin(asin(3 τ/(2 α1 s))/3) for α3 < 0, up to τ_max = 2 α1 s/3; neither has a
    difference of large numbers, unlike Cardano's. Torques beyond τ_max, which is beyond what the joint can bear, count as τ_max.
    """

    def __init__(self, arm: ArmModel):
        self._stiffness, self._kinematic_error = arm.stiffness, arm.kinematic_error
        self._cubic: tuple[NDArray, NDArray] | None = None
        if self._stiffness is None:
            return
        alpha = self._stiffness.coefficients
        self._phi_max, _ = elastic_range(self._stiffness)
        if alpha.shape[1] <= 2 and np.all(alpha[:, 0] > 0):
            # A cubic term this small changes φ by less than 1e-15 of it for any torque, and saves the case of none at all.
            cubic = np.maximum(np.abs(alpha[:, 1]) if alpha.shape[1] == 2 else 0.0, 1e-15 * alpha[:, 0])
            s = np.sqrt(alpha[:, 0] / (3.0 * cubic))
            self._cubic = 2.0 * s, 1.5 / (alpha[:, 0] * s)
            self._softens = alpha[:, -1] < 0
            self._any_softens = bool(self._softens.any())
        p = np.arange(2, self._stiffness.order + 1)
        self._slope_factors = ((2 * p - 1) * (2 * p - 2) * alpha[:, 1:]).T[::-1]

    def deformation(self, tau: NDArray) -> NDArray:
        """Return φ with τ_E(φ) = τ, rad."""
        if self._stiffness is None:
            return np.zeros_like(tau)
        if self._cubic is None:
            return inverse(self._stiffness, tau, self._phi_max)
        amplitude, factor = self._cubic
        argument = tau * factor
        phi = amplitude * np.sinh(np.arcsinh(argument) / 3.0)
        if self._any_softens:
            bounded = np.minimum(np.maximum(argument, -1.0), 1.0)
            np.copyto(phi, amplitude * np.sin(np.arcsin(bounded) / 3.0), where=self._softens)
        return phi

    def slope(self, phi: NDArray) -> NDArray:
        """Return dk/dφ = Σ (2p−1)(2p−2) α_p φ^{2p−3}, N·m/rad²."""
        total = np.zeros_like(phi)
        for factor in self._slope_factors:
            total = total * phi * phi + factor
        return total * phi

    def encoder(self, theta: NDArray) -> NDArray:
        """Return what the motor's encoder shows where the motor, less the kinematic error, is at `theta` (n,) rad: θ with θ − θ̃(θ) = `theta`.

        One step of the fixed point: what is left is θ̃ θ̃', below 1e-7 rad.
        """
        return theta if self._kinematic_error is None else theta + self._kinematic_error(theta)
