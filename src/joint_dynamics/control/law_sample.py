"""One sample of the shipped laws, compiled: from desired motion and measured state to motor torque.

    arm     `ArmConstants`;  law  `LawConstants`, what was set;  memory  `LawMemory`, what changes, written
    state   (9, n) in the order of `STATES`, not a number where nothing is known
    motion  (5, n) q_d rad … q⁗_d rad/s⁴, of which rigid laws take three

    u = τ_J,d + B θ̈_d + f̂ − M̄(q_d)(K_d ė + K_p e + K_i ∫e) + K_τJ (τ_J,d + u_FB − τ̂_J),   M̄ = M + B     [M6 eq 30]

The formulas of each law are in its module.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joint_dynamics.arm.sample import add_drives, add_friction, add_rotors, motor_angle, slip_direction
from joint_dynamics.arm.term_laws import term_torques
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.control.torque_derivatives import torques_along
from joint_dynamics.joint.constants import Record
from joint_dynamics.joint.laws import deformation, elastic_torque, encoder, held, map_value, stiffness, stiffness_slope
from joint_dynamics.robot.newton_euler import inverse_dynamics

POSITION, VELOCITY, EFFORT, TEMPERATURE, MOTOR_POSITION, MOTOR_VELOCITY, TORQUE, SCALE, EXCESS = range(9)
"""Rows of the state."""
NO_TORQUE_LOOP, BY_DEFORMATION, BY_INTERFACE = range(3)
DRIVEN = 0.02
"""Speed of the desired motion [rad/s] from which on a joint is driven; below it stands, the slower the more so."""

LAW = np.dtype(
    [
        ('flexible', 'i8'),  # 1: θ_d bends with the desired torque and its derivatives
        ('hysteresis', 'i8'),  # 1: H of the Maxwell-slip model; 0: of the sign of the speed
        ('adapts', 'i8'),  # 1: α of the estimator
        ('gravity', 'i8'),  # 0: the robot adds it
        ('feedback', 'i8'),
        ('on_motor', 'i8'),  # 1: the PID closes on the motor side
        ('torque_loop', 'i8'),  # NO_TORQUE_LOOP …
        ('smoothing', 'f8'),  # rad/s, of the sign; 0: not
        ('rest_gain', 'f8'),  # share of the hysteresis at rest
    ],
    align=True,
)
AXIS = np.dtype(
    [
        *((name, 'f8') for name in ('alpha_1_low', 'alpha_1_high', 'alpha_2_low', 'alpha_2_high')),
        ('coldest', 'f8'),  # °C, of the temperature model
        ('warmest', 'f8'),
        *((name, 'f8') for name in ('kp', 'kd', 'ki', 'integral_limit', 'torque_gain', 'torque_limit')),
        ('scale', 'f8'),  # command per torque, 1 or A/(N·m)
    ],
    align=True,
)
"""Settings of one joint."""


class LawConstants(NamedTuple):
    """What of a law is set: `options` (1,) of `LAW`, `axes` (n,) of `AXIS`, `share` (n,) of the friction."""

    options: Record
    axes: Record
    share: FloatArray


class LawMemory(NamedTuple):
    """What changes from sample to sample, (n,) where nothing else is said.

    Attributes
    ----------
    alpha, temperature
        (n, 2), the last good α; °C.
    sliders, H
        (n, M) of the hysteresis; the share of it that is compensated.
    seen
        (4, n) largest speed rad/s and load N·m, highest and lowest temperature °C since the law was activated.
    load, theta, speed, acceleration
        desired τ_J N·m, and motion of the motor side, rad.
    integral
        of the PID, rad/s².
    torque, command
        N·m; N·m or A.
    still, spare, work
        zeros; (7, n) and (N, WORK) of N links, written.

    """

    alpha: FloatArray
    temperature: FloatArray
    sliders: FloatArray
    H: FloatArray
    seen: FloatArray
    load: FloatArray
    theta: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    integral: FloatArray
    torque: FloatArray
    command: FloatArray
    still: FloatArray
    spare: FloatArray
    work: FloatArray


@compiled
def adapt(law, memory, state):  # type: ignore[no-untyped-def]
    """Take temperatures and α into their ranges [M6 eq 27]; what is not a number leaves the last good one."""
    for j in range(state.shape[1]):
        axis, T = law.axes[j], state[TEMPERATURE, j]
        if T == T:
            memory.seen[2, j] = max(memory.seen[2, j], T)
            memory.seen[3, j] = min(memory.seen[3, j], T)
            memory.temperature[j] = min(max(T, axis.coldest), axis.warmest)
        if law.options[0].adapts:
            first, second = state[SCALE, j], state[EXCESS, j]
            if first == first:
                memory.alpha[j, 0] = min(max(first, axis.alpha_1_low), axis.alpha_1_high)
            if second == second:
                memory.alpha[j, 1] = min(max(second, axis.alpha_2_low), axis.alpha_2_high)


@compiled
def advance_friction(arm, law, memory):  # type: ignore[no-untyped-def]
    """Advance the hysteresis to the desired θ, and note how far speed and load go.

    A load that changes carries a resting motor through its hysteresis, too; but where friction is compensated by more
    than there is, nothing holds the joint any more: hence `rest_gain`.
    """
    options = law.options[0]
    for j in range(len(memory.H)):
        c, omega = arm.joints[j], memory.speed[j]
        memory.seen[0, j] = max(memory.seen[0, j], abs(omega))
        memory.seen[1, j] = max(memory.seen[1, j], abs(memory.load[j]))
        if options.hysteresis:
            H = slip_direction(c, arm.tables, memory.theta[j], omega, memory.sliders[j])
            memory.H[j] = H * (options.rest_gain + (1.0 - options.rest_gain) * min(abs(omega) / DRIVEN, 1.0))
        else:
            memory.H[j] = direction(options, omega)


@compiled
def direction(options, omega):  # type: ignore[no-untyped-def]
    """Sgn ω, smoothed where that is set."""
    return np.tanh(omega / options.smoothing) if options.smoothing > 0.0 else np.sign(omega)


@compiled
def compensations(arm, law, memory, H, q, speed, load, out):  # type: ignore[no-untyped-def]
    """Friction and friction terms at H, all (N, n), into out [N·m]."""
    for s in range(len(q)):
        out[s] = 0.0
        add_friction(arm, memory.alpha, law.share, H[s], speed[s], load[s], memory.temperature, out[s])
        state = speed[s], H[s], load[s], memory.temperature
        term_torques(arm.terms, arm.tables, (law.share, 0.0), q[s], state, out[s])


@compiled
def bend(arm, memory, motion, torques):  # type: ignore[no-untyped-def]
    """θ_d without kinematic error, θ̇_d, θ̈_d of flexible joints from τ_J and its derivatives [M2 eq 2.64-2.69]."""
    for j in range(motion.shape[1]):
        c = arm.joints[j]
        phi = deformation(c, arm.tables, torques[0, j])
        k = stiffness(c, arm.tables, phi)
        rate = torques[1, j] / k
        memory.load[j] = torques[0, j]
        memory.theta[j] = motion[0, j] + phi - c.damping * rate / k
        memory.speed[j] = motion[1, j] + rate
        memory.acceleration[j] = motion[2, j] + (torques[2, j] - stiffness_slope(c, arm.tables, phi) * rate * rate) / k


@compiled
def motor_motion(arm, law, memory, motion):  # type: ignore[no-untyped-def]
    """Write the desired load and motion of the motor side into the memory; θ_d as the encoder shows it."""
    if law.options[0].flexible:
        torques = memory.spare[4:7]
        torques_along(arm.links, motion, memory.work, memory.spare[:4], torques)
        bend(arm, memory, motion, torques)
        for j in range(motion.shape[1]):
            memory.theta[j] = encoder(arm.joints[j], arm.tables, memory.theta[j])
        return
    inverse_dynamics(arm.links, motion[0], motion[1], motion[2], memory.work, memory.load)
    for j in range(motion.shape[1]):
        memory.speed[j], memory.acceleration[j] = motion[1, j], motion[2, j]
        if law.options[0].hysteresis:
            memory.theta[j] = motor_angle(arm.joints[j], arm.tables, motion[0, j], memory.load[j])


@compiled
def add_pid(arm, law, memory, state, motion, period):  # type: ignore[no-untyped-def]
    """Add −M̄(q_d)(K_d ė + K_p e + ∫K_i e); the integral bounded as the acceleration that it asks for."""
    n, on_motor = motion.shape[1], law.options[0].on_motor
    acceleration = memory.spare[0]
    for j in range(n):
        axis = law.axes[j]
        if on_motor:
            error, rate = state[MOTOR_POSITION, j] - memory.theta[j], state[MOTOR_VELOCITY, j] - memory.speed[j]
        else:
            error, rate = state[POSITION, j] - motion[0, j], state[VELOCITY, j] - motion[1, j]
        memory.integral[j] = held(memory.integral[j] + axis.ki * error * period, axis.integral_limit)
        acceleration[j] = -axis.kd * rate - axis.kp * error - memory.integral[j]
    add_rotors(arm, acceleration, memory.torque)
    # M(q) a is what inverse dynamics at rest has more than gravity.
    add_link_torque(arm, memory, motion[0], acceleration, 1.0)
    add_link_torque(arm, memory, motion[0], memory.still, -1.0)


@compiled
def add_link_torque(arm, memory, q, ddq, share):  # type: ignore[no-untyped-def]
    """Add a share of ID(q, 0, q̈)."""
    torque = memory.spare[1]
    inverse_dynamics(arm.links, q, memory.still, ddq, memory.work, torque)
    for j in range(len(q)):
        memory.torque[j] += share * torque[j]


@compiled
def add_torque_loop(arm, law, memory, state, feedforward):  # type: ignore[no-untyped-def]
    """Add K_τJ (τ_J,d + u_FB − τ̂_J), bounded; u_FB is what the torque has beyond `feedforward` [patent 2]."""
    for j in range(len(memory.torque)):
        axis, c = law.axes[j], arm.joints[j]
        torque = state[TORQUE, j]
        if law.options[0].torque_loop == BY_DEFORMATION:
            theta = state[MOTOR_POSITION, j]
            phi = theta - state[POSITION, j] - map_value(c.error, arm.tables, theta)
            torque = elastic_torque(c, arm.tables, phi)
            torque += c.damping * (state[MOTOR_VELOCITY, j] - state[VELOCITY, j])
        error = memory.load[j] + (memory.torque[j] - feedforward[j]) - torque
        memory.torque[j] += held(axis.torque_gain * error, axis.torque_limit)


@compiled
def law_torque(arm, law, memory, state, motion, period):  # type: ignore[no-untyped-def]
    """Write the motor torque [N·m] and the command [N·m or A] of this sample into the memory."""
    options, n = law.options[0], motion.shape[1]
    adapt(law, memory, state)
    motor_motion(arm, law, memory, motion)
    advance_friction(arm, law, memory)
    for j in range(n):
        memory.torque[j] = memory.load[j]
    add_drives(
        arm, memory.alpha, law.share, memory.H, motion[0], memory.speed, memory.acceleration, memory.load,
        memory.temperature, memory.torque,
    )  # fmt: skip
    if not options.gravity:
        add_link_torque(arm, memory, motion[0], memory.still, -1.0)
    if options.feedback or options.torque_loop != NO_TORQUE_LOOP:
        feedforward = memory.spare[2]
        feedforward[:] = memory.torque
        if options.feedback:
            add_pid(arm, law, memory, state, motion, period)
        if options.torque_loop != NO_TORQUE_LOOP:
            add_torque_loop(arm, law, memory, state, feedforward)
    for j in range(n):
        memory.command[j] = memory.torque[j] * law.axes[j].scale
