"""What the shipped laws share.

Rigid-body part, gravity on or off, torque or current, friction compensation, inertia-scaled PID.

    u = u_FF + M̄(q_d)(−K_d ė − K_p e − K_i ∫e),   e = q − q_d,   M̄ = M + B        [M6 eq 30]

Printed there is M alone. The rotor is accelerated by the same drive, and in the wrist of a small arm B is many times
M_jj: with M alone the same gain would be a different bandwidth in every joint. A robot that adds gravity itself (a
Universal Robots arm in torque mode) gets u − g(q_d): gravity then still counts as load of the friction and of the
transmission.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from joint_dynamics.arm import Arm, Transmission
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.command_scale import command_scale
from joint_dynamics.control.friction import FrictionCompensation, friction_parameters
from joint_dynamics.control.interface import (
    REFERENCES,
    Controller,
    ControllerParameter,
    ControllerSetup,
    InterfaceConfiguration,
    Interfaces,
)
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.elastic_range import check_range

COMMON_PARAMETERS = (
    ControllerParameter('gravity', True, 'whether the command holds gravity; false for a robot that adds it itself'),
    ControllerParameter(
        'output', 'effort', 'effort: joint torque in N·m; current: motor current in A', choices=('effort', 'current')
    ),
    ControllerParameter('feedback', False, 'whether the PID below is added (streaming only)'),
    ControllerParameter('kp', 0.0, 'position gain, scaled by the inertia matrix', '1/s²', 0.0, 1e5, per_joint=True),
    ControllerParameter('kd', 0.0, 'speed gain, scaled by the inertia matrix', '1/s', 0.0, 1e3, per_joint=True),
    ControllerParameter('ki', 0.0, 'integral gain, scaled by the inertia matrix', '1/s³', 0.0, 1e6, per_joint=True),
    ControllerParameter(
        'integral_limit', 5.0, 'bound of the integral part, as an acceleration', 'rad/s²', 0.0, 1e4, per_joint=True
    ),
)


class TorqueLaw(Controller):
    """A law that turns the desired motion into motor torque by `feedforward`; see the module for what is added to it.

    Attributes: arm; friction, the compensation with its own state; transmission. DERIVATIVES: how many of the desired
    motion it needs. ADAPTS,
    USES_DAMPING: whether it takes the estimator's α, and the damping of the transmission.
    """

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (*COMMON_PARAMETERS, *friction_parameters('none'))
    DERIVATIVES: ClassVar[int] = 2
    ADAPTS: ClassVar[bool] = False
    USES_DAMPING: ClassVar[bool] = False

    arm: Arm
    friction: FrictionCompensation
    transmission: Transmission

    def on_configure(self, setup: ControllerSetup) -> None:
        """Take the arm and the parameters; raises JointDynamicsError when the arm lacks what they ask for."""
        self.arm = arm = setup.arm
        arm.check_drives()
        if arm.stiffness is not None:
            # One that bends over beyond what the joint can bear does no harm; one that does before has no deformation
            # for every torque.
            check_range(arm.stiffness, arm.joint_names, arm.effort_limit)
        self._joint_names = arm.joint_names
        self.transmission = arm.transmission
        self._springs = arm.terms.position or None
        values = setup.parameters
        self.friction = FrictionCompensation(
            arm,
            values['friction'],
            gain=values['friction_gain'],
            rest_gain=values['rest_gain'],
            smoothing=values['friction_smoothing'],
            alpha_bounds=(values['alpha_lower'], values['alpha_upper']),
            viscous_share=values['viscous_share'],
        )
        self._gravity = bool(values['gravity'])
        self._output = values['output']
        self._scale = command_scale(arm, self._output)
        self._feedback = bool(values['feedback'])
        self._kp, self._kd, self._ki = (np.asarray(values[name], dtype=float) for name in ('kp', 'kd', 'ki'))
        loose = (self._kp == 0) & (self._ki == 0) & np.ones(arm.n, dtype=bool)
        if self._feedback and loose.any():
            # Gains under a joint name that is not the robot's would leave the arm to fall.
            name = arm.joint_names[int(np.argmax(loose))]
            raise JointDynamicsError(f'feedback: expected a gain kp or ki > 0 of every joint, found none for {name}')
        self._integral_limit = np.asarray(values['integral_limit'], dtype=float)
        self._integral = np.zeros(arm.n)
        self._motion = np.zeros((self.DERIVATIVES + 1, arm.n))
        self._references = tuple(REFERENCES)[: self.DERIVATIVES + 1]
        self._none = np.zeros(arm.n)
        self._none.flags.writeable = False

    def command_interface_configuration(self) -> InterfaceConfiguration:
        """Return the torque or the current of every joint."""
        return InterfaceConfiguration.individual(self.joint_names, (self._output,))

    def state_interface_configuration(self) -> InterfaceConfiguration:
        """Return position and speed for the PID, temperature and α for the friction; the latter two may be missing."""
        optional = (
            ()
            if self.friction.kind == 'none'
            else ('temperature', *(('friction_scale', 'viscous_excess') if self.ADAPTS else ()))
        )
        return InterfaceConfiguration.individual(
            self.joint_names, ('position', 'velocity') if self._feedback else (), optional
        )

    def reference_interface_configuration(self) -> InterfaceConfiguration:
        """Return as many derivatives as the law needs."""
        return InterfaceConfiguration.individual(self.joint_names, tuple(REFERENCES)[: self.DERIVATIVES + 1])

    def assign_interfaces(self, command: Interfaces, state: Interfaces, reference: Interfaces) -> None:
        """Take the loaned interfaces."""
        super().assign_interfaces(command, state, reference)
        count = len(self._references)
        # Side by side where they are loaned in the order of the derivatives, as `ControlLoop` does.
        self._given = reference.rows[:count] if reference.quantities[:count] == self._references else None

    def on_activate(self) -> None:
        """Forget integral and hysteresis."""
        self._integral[:] = 0.0
        self.friction.reset()

    def update(self, time: float, period: float) -> None:
        """Write the command of one step."""
        if self._given is not None:
            self._motion[:] = self._given
        else:
            for row, quantity in enumerate(self._references):
                self._motion[row] = self.reference[quantity]
        if self.friction.kind != 'none':
            self.friction.warm(self.state['temperature'])
            if self.ADAPTS:
                self.friction.adapt(self.state['friction_scale'], self.state['viscous_excess'])
        tau = self.feedforward(self._motion)
        if not self._gravity:
            tau -= self.arm.rigid.gravity(self._motion[0])
        correction = self.feedback(self._motion, period)
        if correction is not self._none:
            tau += correction
        self.command[self._output] = tau if self._output == 'effort' else tau * self._scale

    @property
    def remarks(self) -> tuple[str, ...]:
        """What of the dynamics description this law does not use, or uses in another way than it stands there.

        Worth saying once.
        """
        arm = self.arm
        # A rigid law takes of the transmission what carries the hysteresis of the friction, and nothing else.
        rigid, none = not self.USES_DAMPING and self.friction.kind != 'hysteresis', np.zeros(arm.n, dtype=bool)
        unused = {
            'stiffness': arm.stiffness_described if rigid else none,
            'kinematic_error': none if arm.kinematic_error is None or not rigid else ~none,
            'backlash': none if arm.backlash is None else ~none,
            'damping': none if self.USES_DAMPING else arm.damping > 0,
        }
        named = {
            key: [name for name, there in zip(arm.joint_names, where, strict=True) if there]
            for key, where in unused.items()
        }
        return (
            *arm.remarks,
            *self.friction.remarks,
            *(
                f'joints.({", ".join(names)}).{key}: not used by {type(self).__name__}'
                for key, names in named.items()
                if names
            ),
        )

    @property
    def beyond(self) -> tuple[str, ...]:
        """What of the motion has left the range of validity of the friction since the law was activated.

        Joint and quantity.
        """
        return tuple(self.friction.watch.notes())

    def motor_torque(
        self, q: FloatArray, theta: FloatArray | None, speed: FloatArray, acceleration: FloatArray, tau_J: FloatArray
    ) -> FloatArray:
        """Return the motor torque (n,) N·m that τ_J, rotors, friction and further terms take.

        `Arm.motor_torque` with the law's own friction.

        q: link rad; theta: motor encoder rad (None where the friction has no hysteresis); speed, acceleration: of the
        motor.
        """
        total = tau_J + self.arm.rotor_torque(acceleration)
        if self.friction.kind != 'none':
            total += self.friction.torque(q, theta, speed, tau_J)
        return total if self._springs is None else total + self._springs.torque(q, speed, tau_J)

    @abstractmethod
    def feedforward(self, motion: FloatArray) -> FloatArray:
        """Return the motor torque (n,) N·m of the desired motion (DERIVATIVES + 1, n), gravity and friction in it."""

    def tracking_error(self, motion: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return e = q − q_d (n,) rad and ė rad/s, what the PID takes off."""
        return self.state['position'] - motion[0], self.state['velocity'] - motion[1]

    def feedback(self, motion: FloatArray, period: float) -> FloatArray:
        """Return u_FB (n,) N·m: the PID, or nothing."""
        return self._pid(motion, period) if self._feedback else self._none

    def _pid(self, motion: FloatArray, period: float) -> FloatArray:
        error, rate = self.tracking_error(motion)
        # Bounded as the acceleration it asks for, so that no time of standing at a stop winds it up.
        self._integral = np.clip(
            self._integral + self._ki * error * period, -self._integral_limit, self._integral_limit
        )
        acceleration = -self._kd * rate - self._kp * error - self._integral
        return self.arm.rigid.mass_matrix(motion[0]) @ acceleration + self.arm.rotor_torque(acceleration)
