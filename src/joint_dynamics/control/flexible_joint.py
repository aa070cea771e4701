"""Feedforward of flexible joints.

The motor moves to the angle at which the transmission, deformed by the desired torque, holds the link at the desired
position.

    θ_d = q_d + φ(τ_J,d) + θ̃(θ_d),    u = τ_J,d + B θ̈_d + f(θ̇_d, τ_J,d, T)              [M2 eq 2.64-2.69]

with τ_E(φ) + D φ̇ = τ_J. For the nonlinear stiffness k = dτ_E/dφ, k' = d²τ_E/dφ²:

    φ̇ = τ̇_J / k,    φ̈ = (τ̈_J − k' φ̇²) / k,    φ = φ_E(τ_J) − D φ̇ / k.

The damping counts to first order in D/k (about 1 ms; its part of φ̈ would need a fifth derivative, and is D/k times a
term that is small already). For linear stiffness θ̈_d = q̈_d + K⁻¹ τ̈_J,d, which is [M2 eq 2.69] with one B q̈ (in
print it is counted twice). The kinematic error θ̃ shifts the angle at which friction is evaluated; its B d²θ̃/dt² is
below 0.01 N·m and neglected.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.friction import friction_parameters
from joint_dynamics.control.interface import ControllerParameter, ControllerSetup, InterfaceConfiguration
from joint_dynamics.control.law import COMMON_PARAMETERS, TorqueLaw
from joint_dynamics.control.law_sample import motor_motion
from joint_dynamics.errors import JointDynamicsError


class FlexibleJoint(TorqueLaw):
    """The law of this module; needs a desired motion that is four times differentiable, and a described stiffness.

    Its PID is closed on the link, or on the motors about θ_d, where it is collocated and tolerates higher gains.
    """

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (
        *COMMON_PARAMETERS,
        *friction_parameters('hysteresis'),
        ControllerParameter(
            'feedback_side',
            'link',
            'side of the transmission on which the PID closes its loop',
            choices=('link', 'motor'),
        ),
    )
    DERIVATIVES = 4
    ADAPTS = True
    FLEXIBLE = True

    def on_configure(self, setup: ControllerSetup) -> None:
        """Take arm and parameters; raises JointDynamicsError when the arm has no stiffness."""
        super().on_configure(setup)
        if setup.arm.stiffness is None:
            raise JointDynamicsError(
                'flexible_joint: expected the stiffness of the transmissions in the dynamics description, found none'
            )
        self._on_motor = setup.parameters['feedback_side'] == 'motor'
        self.friction.constants.options['on_motor'] = self._on_motor

    def state_interface_configuration(self) -> InterfaceConfiguration:
        """Return position and speed of the side on which the PID is closed, and the optional states of the friction."""
        claimed = super().state_interface_configuration()
        if not (self._on_motor and claimed.names):
            return claimed
        own = InterfaceConfiguration.individual(self.joint_names, ('motor_position', 'motor_velocity'))
        return InterfaceConfiguration(own.names, claimed.optional)

    def motor_reference(self, motion: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return θ_d (n,) rad, θ̇_d, θ̈_d as the motors' encoders show them, with the kinematic error in θ_d."""
        arm, law, memory = self.compiled
        own = memory._replace(**{name: np.empty(self.arm.n) for name in ('load', 'theta', 'speed', 'acceleration')})
        motor_motion(arm, law, own, np.ascontiguousarray(motion, dtype=float))
        return own.theta, own.speed, own.acceleration
