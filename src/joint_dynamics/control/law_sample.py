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

from joint_dynamics.arm import Arm
from joint_dynamics.arm.sample import add_drives, add_friction, add_rotors, motor_angle, slip_direction, term_torques
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import inlined_early
from joint_dynamics.joint.constants import Record
from joint_dynamics.joint.laws import deformation, elastic_torque, encoder, held, map_value, stiffness, stiffness_slope
from joint_dynamics.robot.newton_euler import WORK_PER_LINK, inverse_dynamics

STEP = 2e-3
"""h, s."""


@inlined_early
def torques_along(links, motion, work, points, out):  # type: ignore[no-untyped-def]
    """Write τ_J, τ̇_J and τ̈_J of a desired motion (5, n) into out (3, n); points (4, n) and work are written.

    τ_J(t) = ID(q, q̇, q̈) has the first two derivatives

        τ̇_J = M q⃛ + Ṁ q̈ + d/dt(C q̇) + ġ,      τ̈_J = M q⁗ + 2Ṁ q⃛ + M̈ q̈ + d²/dt²(C q̇) + g̈,

    which depend only on the motion up to q⁗. So any motion with the same derivatives up to the fourth at t has the same
    τ_J, τ̇_J and τ̈_J there, in particular the Taylor polynomial x(s) = q + q̇ s + … + q⁗ s⁴/24. Its torque is an
    analytic function of s, evaluated at seven points s = −3h … 3h and differentiated by the sixth-order central
    stencils

        f' ≈ (−f₋₃ + 9 f₋₂ − 45 f₋₁ + 45 f₁ − 9 f₂ + f₃)/(60 h),
        f'' ≈ (2 f₋₃ − 27 f₋₂ + 270 f₋₁ − 490 f₀ + 270 f₁ − 27 f₂ + 2 f₃)/(180 h²)

    with errors h⁶ f⁽⁷⁾/140 and h⁶ f⁽⁸⁾/560. At h = 2 ms and joint speeds of 3 rad/s both, and the rounding ε|τ|/h², are
    below 1e-6 of the result, where the symbolic derivatives would cost a second recursion of O(n) in Python and gain
    nothing that reaches the torque (B K⁻¹ τ̈ ~ 1e-4 τ̈).
    """
    out[:] = 0.0
    q, dq, ddq, torque = points[0], points[1], points[2], points[3]
    for k in range(-3, 4):
        s, size = k * STEP, abs(k)
        first = 0.0 if size == 0 else 45.0 if size == 1 else -9.0 if size == 2 else 1.0
        second = -490.0 if size == 0 else 270.0 if size == 1 else -27.0 if size == 2 else 2.0
        for j in range(motion.shape[1]):
            v, a, jerk, snap = motion[1, j], motion[2, j], motion[3, j], motion[4, j]
            q[j] = motion[0, j] + s * (v + s * (a / 2.0 + s * (jerk / 6.0 + s * snap / 24.0)))
            dq[j] = v + s * (a + s * (jerk / 2.0 + s * snap / 6.0))
            ddq[j] = a + s * (jerk + s * snap / 2.0)
        inverse_dynamics(links, q, dq, ddq, work, torque)
        for j in range(motion.shape[1]):
            out[0, j] += torque[j] if k == 0 else 0.0
            out[1, j] += (first if k > 0 else -first) * torque[j] / (60.0 * STEP)
            out[2, j] += second * torque[j] / (180.0 * STEP * STEP)


def torque_derivatives(arm: Arm, motion: FloatArray) -> FloatArray:
    """Return τ_J N·m, τ̇_J N·m/s and τ̈_J N·m/s² (3, n) of a desired motion (5, n): q, q̇, q̈, q⃛, q⁗ in rad and s."""
    out, work = np.empty((3, arm.n)), np.empty((len(arm.constants.links), WORK_PER_LINK))
    torques_along(arm.constants.links, np.ascontiguousarray(motion), work, np.empty((4, arm.n)), out)
    return out


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
    """Settings of a law: `options` (1,) of `LAW`, `axes` (n,) of `AXIS`, `share` (n,) of the friction to compensate."""

    options: Record
    axes: Record
    share: FloatArray


class LawMemory(NamedTuple):
    """State of a law from sample to sample, (n,) unless stated otherwise.

    Attributes
    ----------
    alpha
        (n, 2), the last valid α.
    temperature
        °C, the last valid one.
    sliders
        (n, M) of the hysteresis, rad.
    H
        hysteresis used for the compensation.
    seen
        (4, n) largest speed rad/s and load N·m, highest and lowest temperature °C since the law was activated.
    load, theta, speed, acceleration
        desired τ_J N·m, and motion of the motor side, rad.
    integral
        of the PID, rad/s².
    torque, command
        N·m; N·m or A.
    still, spare, work
        zeros; (7, n) and (N, WORK_PER_LINK) of N links, written.

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


@inlined_early
def adapt(law, memory, state):  # type: ignore[no-untyped-def]
    """Take temperatures and α, clipped to their ranges [M6 eq 27]; where one is NaN, the last valid one stays."""
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


@inlined_early
def advance_friction(arm, law, memory):  # type: ignore[no-untyped-def]
    """Advance the hysteresis to the desired θ, and update the extremes of speed and load.

    A changing load drives the hysteresis of a resting motor as well; but where friction is overcompensated, nothing
    would hold the joint: hence `rest_gain`.
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


@inlined_early
def direction(options, omega):  # type: ignore[no-untyped-def]
    """Sgn ω, smoothed where that is set."""
    return np.tanh(omega / options.smoothing) if options.smoothing > 0.0 else np.sign(omega)


@inlined_early
def compensations(arm, law, memory, H, q, speed, load, out):  # type: ignore[no-untyped-def]
    """Friction and friction terms at H, all (N, n), into out [N·m]."""
    for s in range(len(q)):
        out[s] = 0.0
        add_friction(arm, memory.alpha, law.share, H[s], speed[s], load[s], memory.temperature, out[s])
        state = speed[s], H[s], load[s], memory.temperature
        term_torques(arm.terms, (law.share, 0.0), q[s], state, out[s])


@inlined_early
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


@inlined_early
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


@inlined_early
def add_pid(arm, law, memory, state, motion, period):  # type: ignore[no-untyped-def]
    """Add −M̄(q_d)(K_d ė + K_p e + ∫K_i e); the integral bounded as the acceleration that it asks for."""
    on_motor, acceleration, torque = law.options[0].on_motor, memory.spare[0], memory.spare[1]
    for j in range(motion.shape[1]):
        axis = law.axes[j]
        if on_motor:
            error, rate = state[MOTOR_POSITION, j] - memory.theta[j], state[MOTOR_VELOCITY, j] - memory.speed[j]
        else:
            error, rate = state[POSITION, j] - motion[0, j], state[VELOCITY, j] - motion[1, j]
        memory.integral[j] = held(memory.integral[j] + axis.ki * error * period, axis.integral_limit)
        acceleration[j] = -axis.kd * rate - axis.kp * error - memory.integral[j]
    add_rotors(arm, acceleration, memory.torque)
    # M(q) a is what a further acceleration adds to the torque of the motion.
    for j in range(motion.shape[1]):
        acceleration[j] += motion[2, j]
    inverse_dynamics(arm.links, motion[0], motion[1], acceleration, memory.work, torque)
    for j in range(motion.shape[1]):
        memory.torque[j] += torque[j] - memory.load[j]


@inlined_early
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


@inlined_early
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
        torque = memory.spare[1]
        inverse_dynamics(arm.links, motion[0], memory.still, memory.still, memory.work, torque)
        for j in range(n):
            memory.torque[j] -= torque[j]
    if options.feedback or options.torque_loop != NO_TORQUE_LOOP:
        feedforward = memory.spare[2]
        for j in range(n):
            feedforward[j] = memory.torque[j]
        if options.feedback:
            add_pid(arm, law, memory, state, motion, period)
        if options.torque_loop != NO_TORQUE_LOOP:
            add_torque_loop(arm, law, memory, state, feedforward)
    for j in range(n):
        memory.command[j] = memory.torque[j] * law.axes[j].scale
