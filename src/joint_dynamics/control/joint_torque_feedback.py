"""Joint torque feedback: the flexible-joint feedforward, and a loop around the torque that the transmission really carries [patent 2].

    u = u_FF + K_τJ (τ_J,d − τ̂_J) + u_FB

τ̂_J from stiffness and the two encoders of the joint, τ̂_J = τ_E(θ − q − θ̃(θ)) + D(ω − q̇), or as it comes from the estimator or a torque
sensor (state `torque`). With K_τJ the rotor feels B/(1 + K_τJ) and friction on the motor side is divided by 1 + K_τJ; the delay of the loop bounds
the gain: below about 1 over DDS at 500 Hz.
"""
from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.control.flexible_joint import FlexibleJoint
from joint_dynamics.control.interface import ControllerParameter, ControllerSetup, InterfaceConfiguration


class JointTorqueFeedback(FlexibleJoint):
    """The law of the module; its source of τ̂_J is a parameter. It needs measurements, and so has no place in trajectory mode."""

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (
        *FlexibleJoint.PARAMETERS,
        ControllerParameter('torque_gain', 0.5, 'K_τJ, gain of the loop around the transmission torque', '', 0.0, 10.0, per_joint=True),
        ControllerParameter('torque_source', 'deformation', 'deformation: stiffness and both encoders; interface: the state torque, of the '
                            'estimator or a sensor', choices=('deformation', 'interface')),
        ControllerParameter('torque_limit', 0.3, 'bound of the correction, as a share of the effort limit', '', 0.0, 1.0),
    )
    OPEN_LOOP = False

    def on_configure(self, setup: ControllerSetup) -> None:
        """Take arm and parameters."""
        super().on_configure(setup)
        self._torque_gain = np.asarray(setup.parameters['torque_gain'], dtype=float)
        self._from_deformation = setup.parameters['torque_source'] == 'deformation'
        self._torque_limit = setup.parameters['torque_limit'] * setup.arm.effort_limit

    def state_interface_configuration(self) -> InterfaceConfiguration:
        """Return what the source of τ̂_J needs, beside what the feedforward does."""
        claimed = super().state_interface_configuration()
        quantities = ('position', 'velocity', 'motor_position', 'motor_velocity') if self._from_deformation else ('torque',)
        own = InterfaceConfiguration.individual(self.joint_names, quantities)
        return InterfaceConfiguration(tuple(dict.fromkeys((*claimed.names, *own.names))), claimed.optional)

    def transmission_torque(self) -> NDArray:
        """Return τ̂_J (n,) N·m of the present state."""
        if not self._from_deformation:
            return self.state['torque']
        theta = self.state['motor_position']
        phi = theta - self.state['position']
        if self.arm.kinematic_error is not None:
            phi = phi - self.arm.kinematic_error(theta)
        return self._stiffness.torque(phi) + self.arm.damping * (self.state['motor_velocity'] - self.state['velocity'])

    def feedforward(self, motion: NDArray) -> NDArray:
        """Return the motor torque (n,) N·m, the torque loop included."""
        u = super().feedforward(motion)
        return u + np.clip(self._torque_gain * (self._desired[0] - self.transmission_torque()), -self._torque_limit, self._torque_limit)
