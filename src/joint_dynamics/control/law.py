"""Base of the shipped laws.

Rigid-body part, gravity on or off, torque or current, friction compensation, inertia-scaled PID.

    u = u_FF + M̄(q_d)(−K_d ė − K_p e − K_i ∫e),   e = q − q_d,   M̄ = M + B        [M6 eq 30]

The source has M alone. The rotor is accelerated by the same drive, and in the wrist of a small arm B is many times
M_jj: with M alone, equal gains would give each joint a different bandwidth. A robot that adds gravity itself (a
Universal Robots arm in torque mode) receives u − g(q_d); gravity still counts as load of friction and transmission.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm, ArmConstants
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.friction import FrictionCompensation, friction_parameters
from joint_dynamics.control.interface import (
    REFERENCES,
    STATES,
    Controller,
    ControllerParameter,
    ControllerSetup,
    InterfaceConfiguration,
)
from joint_dynamics.control.law_sample import NO_TORQUE_LOOP, LawConstants, LawMemory, law_torque
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.stiffness import check_range


def command_scale(arm: Arm, output: str) -> FloatArray:
    """Return the command per torque, (n,): 1, or 1/K_τ [A/(N·m)] where `output` is `current`.

    Raises
    ------
    JointDynamicsError
        Where a joint has no drive gain and the command is a current.
    """
    if output != 'current':
        return np.ones(arm.n)
    if not np.all(np.isfinite(arm.drive_gain)):
        missing = arm.joint_names[int(np.argmin(np.isfinite(arm.drive_gain)))]
        raise JointDynamicsError(
            f'output: expected a drive gain of every joint for a command in A, found none for {missing}'
        )
    return np.asarray(1.0 / arm.drive_gain)


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


def delay_margin(kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> FloatArray:
    """Return the delay margin of the PID on a rigid arm [s].

    The PID is scaled by the inertia, so each joint is a decoupled double integrator with the loop gain
    (k_p + k_d s + k_i/s)/s² and its crossover at ω⁶ = k_p² ω² + (k_d ω² − k_i)²; the delay margin is the phase margin
    divided by ω (K. J. Åström and R. M. Murray, Feedback Systems, stability margins). Friction increases it, flexible
    joints reduce it (`law_gains`).

    Parameters
    ----------
    kp, kd, ki
        (n,) 1/s², 1/s and 1/s³, not negative.

    Returns
    -------
    (n,) s; 0 or below where the loop is unstable without delay, infinite without gains.
    """
    kp, kd, ki = np.broadcast_arrays(*(np.array(gain, dtype=float, ndmin=1) for gain in (kp, kd, ki)))
    margin = np.full(len(kp), np.inf)
    for j in np.flatnonzero(kp + kd + ki > 0):
        squares = np.roots([1.0, -(kd[j] ** 2), 2.0 * kd[j] * ki[j] - kp[j] ** 2, -(ki[j] ** 2)])
        # Of several crossovers the one that bears the least.
        omega = np.sqrt(squares.real[(np.abs(squares.imag) <= 1e-9 * np.abs(squares)) & (squares.real > 0)])
        margin[j] = (np.arctan2(kd[j] * omega - ki[j] / omega, kp[j]) / omega).min()
    return margin


class TorqueLaw(Controller):
    """A law computed by `law_sample`; the module states what is added to its feedforward.

    Attributes
    ----------
    arm
        from configuration on.
    friction
        the compensation, with constants and state of the law.
    DERIVATIVES
        number of derivatives of the desired motion that it needs.
    ADAPTS
        whether it uses the estimator's α.
    FLEXIBLE
        whether the motor's reference includes the deformation of the transmission.

    """

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = (*COMMON_PARAMETERS, *friction_parameters('none'))
    DERIVATIVES: ClassVar[int] = 2
    ADAPTS: ClassVar[bool] = False
    FLEXIBLE: ClassVar[bool] = False

    arm: Arm
    friction: FrictionCompensation

    def on_configure(self, setup: ControllerSetup) -> None:
        """Take the arm and the parameters; raises JointDynamicsError when the arm lacks what they ask for."""
        self.arm = arm = setup.arm
        arm.check_drives()
        if arm.stiffness is not None:
            # One that bends over beyond what the joint can bear does no harm; one that does before has no deformation
            # for every torque.
            check_range(arm.stiffness, arm.joint_names, arm.effort_limit)
        self._joint_names = arm.joint_names
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
        self._output, self._feedback = values['output'], bool(values['feedback'])
        options, axes, _ = self.friction.constants
        options['flexible'], options['adapts'] = self.FLEXIBLE, self.ADAPTS and self.friction.kind != 'none'
        options['gravity'], options['feedback'] = bool(values['gravity']), self._feedback
        axes['scale'] = command_scale(arm, self._output)
        for name in ('kp', 'kd', 'ki', 'integral_limit'):
            axes[name] = values[name]
        kp, kd, ki = axes['kp'], axes['kd'], axes['ki']
        # s³ + k_d s² + k_p s + k_i by Routh and Hurwitz; gains under a joint name that is not the robot's are none.
        swings = ~((kp > 0) & (kd * kp > ki))
        if self._feedback and swings.any():
            k = int(np.argmax(swings))
            raise JointDynamicsError(
                f'feedback: expected kp > 0 and kd kp > ki of every joint, found kp {kp[k]:g}, kd {kd[k]:g},'
                f' ki {ki[k]:g} of {arm.joint_names[k]}'
            )
        self._references = tuple(REFERENCES)[: self.DERIVATIVES + 1]
        self._motion = np.zeros((len(REFERENCES), arm.n))
        self._measured = np.full((len(STATES), arm.n), np.nan)

    def command_interface_configuration(self) -> InterfaceConfiguration:
        """Return the torque or the current of every joint."""
        return InterfaceConfiguration.individual(self.joint_names, (self._output,))

    def state_interface_configuration(self) -> InterfaceConfiguration:
        """Return position and speed for the PID, and as optional states temperature and α for the friction."""
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

    def on_activate(self) -> None:
        """Forget integral and hysteresis."""
        self.friction.memory.integral.fill(0.0)
        self.friction.reset()

    def update(self, time: float, period: float) -> None:
        """Write the command of one step."""
        for row, quantity in enumerate(self._references):
            self._motion[row] = self.reference[quantity]
        for row, quantity in enumerate(STATES):
            if quantity in self.state:
                self._measured[row] = self.state[quantity]
        law_torque(*self.compiled, self._measured, self._motion, period)
        self.command[self._output] = self.friction.memory.command

    def feedforward(self, motion: FloatArray) -> FloatArray:
        """Return the motor torque (n,) N·m of a desired motion (5, n), gravity and friction in it; advances H."""
        arm, law, memory = self.compiled
        options = law.options.copy()
        options['gravity'], options['feedback'], options['torque_loop'] = 1, 0, NO_TORQUE_LOOP
        self._motion[: len(motion)] = motion
        law_torque(arm, law._replace(options=options), memory, np.full_like(self._measured, np.nan), self._motion, 0.0)
        return memory.torque.copy()

    @property
    def compiled(self) -> tuple[ArmConstants, LawConstants, LawMemory]:
        """Arm, settings and memory for `law_sample`."""
        return self.friction.arm.constants, self.friction.constants, self.friction.memory

    @property
    def remarks(self) -> tuple[str, ...]:
        """Fields of the dynamics description that this law ignores or uses differently; to be shown once."""
        arm = self.arm
        # A rigid law takes of the transmission what carries the hysteresis of the friction, and nothing else.
        rigid, none = not self.FLEXIBLE and self.friction.kind != 'hysteresis', np.zeros(arm.n, dtype=bool)
        unused = {
            'stiffness': arm.stiffness_described if rigid else none,
            'kinematic_error': none if arm.kinematic_error is None or not rigid else ~none,
            'backlash': none if arm.backlash is None else ~none,
            'damping': none if self.FLEXIBLE else arm.damping > 0,
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
    def validity_violations(self) -> tuple[str, ...]:
        """Joints and quantities that have left the range of validity of the friction since the law was activated."""
        return tuple(self.friction.watch.notes())
