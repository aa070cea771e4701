"""The shipped laws: computed torque, alone or with adaptive friction, and feedforward of flexible joints.

Computed torque of a rigid arm: u = M(q_d) q̈_d + C q̇_d + g + B q̈_d + f [M2 eq 2.63, M6 eq 30 with the B q̈_d missing in
print]. Rigid means that motor and link have the same acceleration. The hysteresis of the friction, however, depends on
the angle of the motor, and a change of load deforms the transmission by more than the presliding length: in a joint
that stands still while others move, nothing else drives the hysteresis. So where the stiffness is known, the hysteresis
is driven by q_d + φ(τ_J,d), not by q_d.

Flexible joints: the motor moves to the angle at which the transmission, deformed by the desired torque, holds the link
at the desired position.

    θ_d = q_d + φ(τ_J,d) + θ̃(θ_d),    u = τ_J,d + B θ̈_d + f(θ̇_d, τ_J,d, T)              [M2 eq 2.64-2.69]

with τ_E(φ) + D φ̇ = τ_J. For the nonlinear stiffness k = dτ_E/dφ, k' = d²τ_E/dφ²:

    φ̇ = τ̇_J / k,    φ̈ = (τ̈_J − k' φ̇²) / k,    φ = φ_E(τ_J) − D φ̇ / k.

The damping counts to first order in D/k (about 1 ms; its part of φ̈ would need a fifth derivative, and is D/k times a
term that is small already). For linear stiffness θ̈_d = q̈_d + K⁻¹ τ̈_J,d, which is [M2 eq 2.69] with one B q̈ (in
print it is counted twice). The kinematic error θ̃ shifts the angle at which friction is evaluated; its B d²θ̃/dt² is
below 0.01 N·m and neglected.

Joint torque feedback adds a loop around the torque that the transmission carries [patent 2]:

    u = u_FF + u_FB + K_τJ (τ_J,d + u_FB − τ̂_J)

τ̂_J = τ_E(θ − q − θ̃(θ)) + D(ω − q̇) follows from the stiffness and the two encoders of the joint, or comes from the
estimator or a torque sensor (state `torque`). In the patent, τ_J,d alone is the set point of the torque loop. The
transmission torque is then determined by the link's motion, which a torque error cannot change without a position
error, and K_τJ does not reduce the effect of unmodelled friction. With the PID's output in the set point, the rotor
appears as B/(1 + K_τJ), and friction that is not compensated is divided by 1 + K_τJ. Without PID both forms are equal.
The delay of the loop bounds the gain: on the simulated arm at 500 Hz with soft joints, 0.3 works well, and 0.6 is worse
than no torque feedback.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.friction import friction_parameters
from joint_dynamics.control.interface import Controller, ControllerParameter, ControllerSetup, InterfaceConfiguration
from joint_dynamics.control.law import COMMON_PARAMETERS, TorqueLaw
from joint_dynamics.control.law_sample import BY_DEFORMATION, BY_INTERFACE, motor_motion
from joint_dynamics.errors import JointDynamicsError


class ComputedTorque(TorqueLaw):
    """Computed torque of rigid joints; no friction by default, the nominal model where selected, never adapted."""


class AdaptiveFriction(ComputedTorque):
    """Computed torque with friction `hysteresis` by default; α from the states `friction_scale` and `viscous_excess`.

    The extended Maxwell-slip model on the desired motion, scaled by the estimator's α [M6 eq 29-30]. While these states
    are missing, α is that of the dynamics description, without adaptation.
    """

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (*COMMON_PARAMETERS, *friction_parameters('hysteresis'))
    ADAPTS = True


class FlexibleJoint(TorqueLaw):
    """Feedforward of flexible joints; needs a motion that is four times differentiable, and a described stiffness.

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


class JointTorqueFeedback(FlexibleJoint):
    """That of flexible joints with a loop around the transmission torque; the source of τ̂_J is a parameter.

    It needs measurements and is not available in trajectory mode.
    """

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (
        *FlexibleJoint.PARAMETERS,
        ControllerParameter(
            'torque_gain', 0.3, 'K_τJ, gain of the loop around the transmission torque', '', 0.0, 10.0, per_joint=True
        ),
        ControllerParameter(
            'torque_source',
            'deformation',
            'deformation: stiffness and both encoders; interface: the state torque, of the estimator or a sensor',
            choices=('deformation', 'interface'),
        ),
        ControllerParameter(
            'torque_limit', 0.3, 'bound of the correction, as a share of the effort limit', '', 0.0, 1.0
        ),
    )
    OPEN_LOOP = False

    def on_configure(self, setup: ControllerSetup) -> None:
        """Take arm and parameters."""
        super().on_configure(setup)
        options, axes, _ = self.friction.constants
        self._from_deformation = setup.parameters['torque_source'] == 'deformation'
        options['torque_loop'] = BY_DEFORMATION if self._from_deformation else BY_INTERFACE
        axes['torque_gain'] = setup.parameters['torque_gain']
        axes['torque_limit'] = setup.parameters['torque_limit'] * setup.arm.effort_limit

    def state_interface_configuration(self) -> InterfaceConfiguration:
        """Return the states of the feedforward, and those that the source of τ̂_J needs."""
        claimed = super().state_interface_configuration()
        quantities = (
            ('position', 'velocity', 'motor_position', 'motor_velocity') if self._from_deformation else ('torque',)
        )
        own = InterfaceConfiguration.individual(self.joint_names, quantities)
        return InterfaceConfiguration(tuple(dict.fromkeys((*claimed.names, *own.names))), claimed.optional)


SHIPPED: tuple[type[Controller], ...] = (ComputedTorque, AdaptiveFriction, FlexibleJoint, JointTorqueFeedback)
