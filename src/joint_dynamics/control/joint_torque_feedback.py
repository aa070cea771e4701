"""Joint torque feedback: the flexible-joint feedforward, and a loop around the torque that the transmission carries.

The loop is that of [patent 2]:

    u = u_FF + u_FB + K_τJ (τ_J,d + u_FB − τ̂_J)

τ̂_J from stiffness and the two encoders of the joint, τ̂_J = τ_E(θ − q − θ̃(θ)) + D(ω − q̇), or as it comes from the
estimator or a torque sensor (state `torque`). The patent's form has τ_J,d alone as the set point of the torque loop. It
is then held by the link's motion, which a torque error cannot change without an error of position: K_τJ takes nothing
off a friction that is not modelled. With what the PID asks for in the set point the rotor feels B/(1 + K_τJ), and
friction that is not compensated is divided by 1 + K_τJ. Without PID both forms are the same. The delay of the loop
bounds the gain: on the simulated arm at 500 Hz with soft joints 0.3 is good, and 0.6 worse than nothing.
"""

from __future__ import annotations

from typing import ClassVar

from joint_dynamics.control.flexible_joint import FlexibleJoint
from joint_dynamics.control.interface import ControllerParameter, ControllerSetup, InterfaceConfiguration
from joint_dynamics.control.law_sample import BY_DEFORMATION, BY_INTERFACE


class JointTorqueFeedback(FlexibleJoint):
    """The law of the module; its source of τ̂_J is a parameter.

    It needs measurements, and so has no place in trajectory mode.
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
        """Return what the source of τ̂_J needs, beside what the feedforward does."""
        claimed = super().state_interface_configuration()
        quantities = (
            ('position', 'velocity', 'motor_position', 'motor_velocity') if self._from_deformation else ('torque',)
        )
        own = InterfaceConfiguration.individual(self.joint_names, quantities)
        return InterfaceConfiguration(tuple(dict.fromkeys((*claimed.names, *own.names))), claimed.optional)
