"""The transmission between link and motor along a desired motion: its deformation under the desired torque, and where that puts the motor."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.control.arm import ArmModel


class Transmission:
    """Deformation φ(τ) of the transmissions of all joints, n torques (n,) N·m at a time; without stiffness known, none.

    For α1 φ + α3 φ³ (α1 > 0) in closed form, many times faster than the general inverse: with s = √(α1/(3 α3)) the root is
    φ = 2 s sinh(asinh(3 τ/(2 α1 s))/3), which has no difference of large numbers, unlike Cardano's.
    """

    def __init__(self, arm: ArmModel):
        self._stiffness, self._kinematic_error = arm.stiffness, arm.kinematic_error
        self._cubic: tuple[NDArray, NDArray] | None = None
        if self._stiffness is None:
            return
        alpha = self._stiffness.coefficients
        if alpha.shape[1] <= 2 and np.all(alpha[:, 0] > 0):
            # A cubic term this small changes φ by less than 1e-15 of it for any torque, and saves the case of none at all.
            cubic = np.maximum(alpha[:, 1] if alpha.shape[1] == 2 else 0.0, 1e-15 * alpha[:, 0])
            s = np.sqrt(alpha[:, 0] / (3.0 * cubic))
            self._cubic = 2.0 * s, 1.5 / (alpha[:, 0] * s)
        p = np.arange(2, self._stiffness.order + 1)
        self._slope_factors = ((2 * p - 1) * (2 * p - 2) * alpha[:, 1:]).T[::-1]

    def deformation(self, tau: NDArray) -> NDArray:
        """Return φ with τ_E(φ) = τ, rad."""
        if self._cubic is not None:
            amplitude, inverse = self._cubic
            return amplitude * np.sinh(np.arcsinh(tau * inverse) / 3.0)
        return np.zeros_like(tau) if self._stiffness is None else self._stiffness.deformation(tau)

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
