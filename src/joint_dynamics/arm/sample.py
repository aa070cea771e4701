"""The torque of one sample of an arm, compiled; and thin loops over recordings.

    arm          `ArmConstants`
    alpha        [α1, α2] (n, 2) of the friction [M6 eq 24];  share  (n,) of the friction to include, 1: all of it
    H, speed, acceleration, load, temperature
                 (n,) of the motor side: hysteresis, rad/s, rad/s², τ_J N·m, °C (NaN: T0, without effect)

Functions called `add_…` add to `out` (n,) N·m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joint_dynamics.arm.term_laws import term_torques
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.joint.constants import Record
from joint_dynamics.joint.laws import deformation, dry_friction, encoder, held, slip, speed_friction, warmth

MOTOR = np.dtype([('inertia', 'f8'), ('viscous', 'f8'), ('coulomb', 'f8')], align=True)
"""What a motor that drives several joints adds: kg·m², N·m·s/rad, N·m."""


class ArmConstants(NamedTuple):
    """Constants of n joints; `tables` holds their arrays of variable length.

    Attributes
    ----------
    joints
        (n,) of `joint.constants.JOINT`.
    tables
        (m,), see `joint.constants.Tables`; evaluating a formula writes to its stack in it.
    links
        (n,) of `robot.newton_euler.LINK`, rotors and payload included.
    terms
        (k,) of `term_laws.TERM`.
    ratios
        (c, n) speed of the coupled motors per joint speed, 1 for their own joint.
    motors
        (c,) of `MOTOR`.

    """

    joints: Record
    tables: FloatArray
    links: Record
    terms: Record
    ratios: FloatArray
    motors: Record


@compiled
def motor_angle(c, tables, q, load):  # type: ignore[no-untyped-def]
    """Return the reading of the motor's encoder [rad] with the link at q [rad] under τ_J: q + φ(τ_J) + θ̃."""
    return encoder(c, tables, q + deformation(c, tables, load))


@compiled
def slip_direction(c, tables, theta, speed, sliders):  # type: ignore[no-untyped-def]
    """Return H at the encoder's angle θ, or sgn θ̇ where the joint has no hysteresis; advances `sliders` (M,)."""
    return slip(c, tables, theta, sliders) if c.operators else np.sign(speed)


@compiled
def joint_friction(c, alpha_1, alpha_2, H, speed, load, temperature):  # type: ignore[no-untyped-def]
    """α1 F(τ_J) H + α2 θ̇ + F_v(θ̇, T) of one joint, N·m, held at the limits of its range of validity."""
    omega, tau = held(speed, c.speed_limit), held(load, c.load_limit)
    warm = warmth(c, temperature if np.isfinite(temperature) else c.T_0)
    return alpha_1 * dry_friction(c, H, omega, tau) + alpha_2 * omega + speed_friction(c, H, omega, warm)


@compiled
def turning_of(ratios, speed):  # type: ignore[no-untyped-def]
    """Return the speed of a coupled motor, Σ c_k q̇_k, rad/s."""
    total = 0.0
    for k in range(len(ratios)):
        total += ratios[k] * speed[k]
    return total


@compiled
def add_rotors(arm, acceleration, out):  # type: ignore[no-untyped-def]
    """B θ̈, and Ia cᵀ c θ̈ of a coupled motor, whose own part is in B already [G eq 24-25]."""
    for j in range(len(out)):
        out[j] += arm.joints[j].rotor_inertia * acceleration[j]
    for m in range(len(arm.motors)):
        turning = turning_of(arm.ratios[m], acceleration)
        for j in range(len(out)):
            c = arm.ratios[m, j]
            out[j] += arm.motors[m].inertia * c * (turning - c * acceleration[j])


@compiled
def add_friction(arm, alpha, share, H, speed, load, temperature, out):  # type: ignore[no-untyped-def]
    """Friction of the joints and of coupled motors."""
    for j in range(len(out)):
        out[j] += share[j] * joint_friction(
            arm.joints[j], alpha[j, 0], alpha[j, 1], H[j], speed[j], load[j], temperature[j]
        )
    add_coupled_friction(arm, share, speed, out)


@compiled
def add_coupled_friction(arm, share, speed, out):  # type: ignore[no-untyped-def]
    """Friction of motors that drive several joints: cᵀ (Fv c θ̇ + Fs sgn(c θ̇)), less their own joint's Fv [G eq 25]."""
    for m in range(len(arm.motors)):
        motor, turning = arm.motors[m], turning_of(arm.ratios[m], speed)
        for j in range(len(out)):
            c = arm.ratios[m, j]
            out[j] += share[j] * c * (motor.viscous * (turning - c * speed[j]) + motor.coulomb * np.sign(turning))


@compiled
def add_drives(arm, alpha, share, H, q, speed, acceleration, load, temperature, out):  # type: ignore[no-untyped-def]
    """τ_m − τ_J: rotors, friction and further terms."""
    add_rotors(arm, acceleration, out)
    add_friction(arm, alpha, share, H, speed, load, temperature, out)
    term_torques(arm.terms, arm.tables, (share, 1.0), q, (speed, H, load, temperature), out)


@compiled
def motor_angles(arm, q, load, out):  # type: ignore[no-untyped-def]
    """`motor_angle` of recordings (N, n)."""
    for s in range(len(q)):
        for j in range(q.shape[1]):
            out[s, j] = motor_angle(arm.joints[j], arm.tables, q[s, j], load[s, j])


@compiled
def slip_directions(arm, sliders, theta, speed, out):  # type: ignore[no-untyped-def]
    """`slip_direction` of recordings (N, n), from `sliders` (n, M) on."""
    for s in range(len(theta)):
        for j in range(theta.shape[1]):
            out[s, j] = slip_direction(arm.joints[j], arm.tables, theta[s, j], speed[s, j], sliders[j])


@compiled
def rotors_along(arm, acceleration, out):  # type: ignore[no-untyped-def]
    """`add_rotors` of recordings (N, n)."""
    for s in range(len(out)):
        out[s] = 0.0
        add_rotors(arm, acceleration[s], out[s])


@compiled
def friction_along(arm, alpha, share, H, speed, load, temperature, out):  # type: ignore[no-untyped-def]
    """`add_friction` of recordings (N, n)."""
    for s in range(len(out)):
        out[s] = 0.0
        add_friction(arm, alpha, share, H[s], speed[s], load[s], temperature[s], out[s])


@compiled
def drives_along(arm, alpha, share, H, q, speed, acceleration, load, temperature, out):  # type: ignore[no-untyped-def]
    """`add_drives` of recordings (N, n)."""
    for s in range(len(out)):
        out[s] = 0.0
        add_drives(arm, alpha, share, H[s], q[s], speed[s], acceleration[s], load[s], temperature[s], out[s])
