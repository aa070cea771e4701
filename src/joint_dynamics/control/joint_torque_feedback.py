"""Joint torque feedback: the flexible-joint feedforward, and a loop around the torque that the transmission carries.

The loop is that of [patent 2]:

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

from joint_dynamics.control.flexible_joint import FlexibleJoint
from joint_dynamics.control.interface import ControllerParameter, ControllerSetup, InterfaceConfiguration
from joint_dynamics.control.law_sample import BY_DEFORMATION, BY_INTERFACE


class JointTorqueFeedback(FlexibleJoint):
    """The law of this module; the source of τ̂_J is a parameter.

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
