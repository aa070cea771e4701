"""Feedforward of flexible joints: the motor is sent where the transmission, bent by the desired torque, puts the link where it should be.

    θ_d = q_d + φ(τ_J,d) + θ̃(θ_d),    u = τ_J,d + B θ̈_d + f(θ̇_d, τ_J,d, T)              [M2 eq 2.64-2.69]

with τ_E(φ) + D φ̇ = τ_J. For the nonlinear stiffness k = dτ_E/dφ, k' = d²τ_E/dφ²:

    φ̇ = τ̇_J / k,    φ̈ = (τ̈_J − k' φ̇²) / k,    φ = φ_E(τ_J) − D φ̇ / k.

The damping counts to first order in D/k (about 1 ms; its part of φ̈ would need a fifth derivative, and is D/k times a term that is small
already). For linear stiffness θ̈_d = q̈_d + K⁻¹ τ̈_J,d, which is (2.69) with one B q̈ (printed wrong: counted twice). The kinematic error θ̃
shifts the angle at which friction is evaluated; its B d²θ̃/dt² is below 0.01 N·m and left out.
"""
from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.control.friction import friction_parameters
from joint_dynamics.control.interface import ControllerParameter, ControllerSetup
from joint_dynamics.control.law import COMMON_PARAMETERS, TorqueLaw
from joint_dynamics.control.torque_derivatives import torque_derivatives
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness


class FlexibleJoint(TorqueLaw):
    """The law of the module; needs a desired motion that is four times differentiable, and the stiffness of the transmissions."""

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (*COMMON_PARAMETERS, *friction_parameters('hysteresis'))
    DERIVATIVES = 4
    ADAPTS = True

    def on_configure(self, setup: ControllerSetup) -> None:
        """Take arm and parameters; raises JointDynamicsError when the arm has no stiffness."""
        super().on_configure(setup)
        if setup.arm.stiffness is None:
            raise JointDynamicsError('flexible_joint: expected the stiffness of the transmissions in the dynamics description, found none')
        self._stiffness: TorsionalStiffness = setup.arm.stiffness
        alpha = self._stiffness.coefficients
        self._cubic = None
        if alpha.shape[1] <= 2 and np.all(alpha[:, 0] > 0):
            # A cubic term this small changes φ by less than 1e-15 of it for any torque, and saves the case of none at all.
            cubic = np.maximum(alpha[:, 1] if alpha.shape[1] == 2 else 0.0, 1e-15 * alpha[:, 0])
            s = np.sqrt(alpha[:, 0] / (3.0 * cubic))
            self._cubic = 2.0 * s, 1.5 / (alpha[:, 0] * s)
        p = np.arange(2, self._stiffness.order + 1)
        self._slope_factors = (2 * p - 1) * (2 * p - 2) * self._stiffness.coefficients[:, 1:]

    def _deformation(self, tau: NDArray) -> NDArray:
        """Return φ with τ_E(φ) = τ (n,), in closed form for α1 φ + α3 φ³ (α1 > 0), four times faster than the general inverse.

        With s = √(α1/(3 α3)) the root is φ = 2 s sinh(asinh(3 τ/(2 α1 s))/3): no difference of large numbers, unlike Cardano's.
        """
        if self._cubic is None:
            return self._stiffness.deformation(tau)
        amplitude, inverse = self._cubic
        return amplitude * np.sinh(np.arcsinh(tau * inverse) / 3.0)

    def motor_motion(self, motion: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return τ_J,d (n,) N·m and θ_d rad, θ̇_d, θ̈_d of the desired motion (5, n); θ_d without the kinematic error."""
        tau, rate, curvature = torque_derivatives(self.arm.rigid, motion)
        phi = self._deformation(tau)
        k = self._stiffness.stiffness(phi)
        slope = np.zeros_like(phi)
        for factor in self._slope_factors.T[::-1]:
            slope = slope * phi * phi + factor
        slope *= phi
        dphi = rate / k
        ddphi = (curvature - slope * dphi * dphi) / k
        return tau, motion[0] + phi - self.arm.damping * dphi / k, motion[1] + dphi, motion[2] + ddphi

    def feedforward(self, motion: NDArray) -> NDArray:
        """Return the motor torque (n,) N·m of q_d … q⁗_d (5, n)."""
        tau, theta, omega, alpha = self.motor_motion(motion)
        self._tau_J = tau
        if self.arm.kinematic_error is not None:
            theta = theta + self.arm.kinematic_error(theta)
        return tau + self.arm.rotor_inertia * alpha + self.friction.torque(theta, omega, tau)

