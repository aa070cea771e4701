# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The torque of one sample of an arm, compiled; and thin loops over recordings.

    arm          `ArmConstants`
    alpha        [α1, α2] (n, 2) of the friction [M6 eq 24];  share  (n,) of the friction to include, 1: all of it
    H, speed, acceleration, load, temperature
                 (n,) of the motor side: hysteresis, rad/s, rad/s², τ_J N·m, °C (NaN: T0, without effect)

Functions called `add_…` add to `out` (n,) N·m. Further terms are columns that are linear in their parameters;
docs/explanation/friction_terms.md lists them.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.joint.constants import JOINT
from joint_dynamics.joint.laws import deformation, dry_friction, encoder, held, slip, speed_friction, warmth
from joint_dynamics.records import KernelRecord
from joint_dynamics.robot.newton_euler import LEADERS

LAW, LOAD_GAIN, LOAD_SIGN, HYSTERESIS, SINE, COSINE, SPRING, POWER = range(8)
"""Kinds of terms."""


class TermConstants(KernelRecord):
    """Constants of one column."""

    leaders: int  # number of followed joints, as of `robot.newton_euler.Link`
    leader: Annotated[IntArray, np.dtype(('i8', (LEADERS,)))]
    ratio: Annotated[FloatArray, LEADERS]
    offset: float
    kind: int
    friction: int  # 1: belongs to the friction
    value: float  # its parameter
    law: Annotated[Any, JOINT]  # of LAW; limits of speed and load hold for all friction
    warm: int  # 1: depends on the temperature, zero without a known one
    order: float  # h of SINE and COSINE, the exponent of SPRING and POWER


@compiled
def column(term: TermConstants, q: float, omega: float, s: float, load: float, temperature: float) -> float:
    """Return the value of a column; s: direction of slip, or for HYSTERESIS the H of its operator."""
    if term.kind == SINE:
        return np.sin(term.order * q)
    if term.kind == COSINE:
        return np.cos(term.order * q)
    if term.kind == SPRING:
        return q**term.order
    c = term.law
    omega = held(omega, c.speed_limit)
    if term.kind == POWER:
        return np.sign(omega) * abs(omega) ** term.order
    if term.kind == HYSTERESIS:
        return s - np.sign(omega)
    load = held(load, c.load_limit)
    if term.kind == LOAD_GAIN:
        return held(load, c.tau_max)
    if term.kind == LOAD_SIGN:
        return np.sign(held(load, c.tau_max))
    if term.warm and not np.isfinite(temperature):
        return 0.0
    warm = warmth(c, temperature) if term.warm else c.F_T0
    return dry_friction(c, s, omega, load) + speed_friction(c, s, omega, warm)


@compiled
def term_torques(
    terms: Any,
    shares: tuple[FloatArray, float],
    q: FloatArray,
    state: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Add the torque [N·m] of terms (k,) in one state to out (n,): along a joint that follows others, Gᵀ of it.

    shares: (n,) of those that are friction, and of the others. q: link angles (n,) rad. state: ω, s, τ_J, T, (n,) each.
    """
    omega, s, load, temperature = state
    friction, other = shares
    for k in range(len(terms)):
        term, j = terms[k], terms[k].leader[0]
        position = term.offset
        for i in range(term.leaders):
            position += term.ratio[i] * q[term.leader[i]]
        value = term.value * column(term, position, omega[j], s[j], load[j], temperature[j])
        for i in range(term.leaders):
            j = term.leader[i]
            out[j] += (friction[j] if term.friction else other) * term.ratio[i] * value


class CoupledMotor(KernelRecord):
    """Parameters of a motor that drives several joints, beyond those of its own joint."""

    inertia: float  # kg·m²
    viscous: float  # N·m·s/rad
    coulomb: float  # N·m


class ArmConstants(NamedTuple):
    """Constants of n joints; `tables` holds their arrays of variable length.

    Attributes
    ----------
    joints
        (n,) of `joint.constants.JOINT`.
    tables
        (m,), see `joint.constants.Tables`.
    links
        (n,) of `robot.newton_euler.Link`, rotors and payload included.
    terms
        (k,) of `TermConstants`.
    ratios
        (c, n) speed of the coupled motors per joint speed, 1 for their own joint.
    motors
        (c,) of `CoupledMotor`.

    """

    joints: Any
    tables: FloatArray
    links: Any
    terms: Any
    ratios: FloatArray
    motors: Any


@compiled
def motor_angle(c: Any, tables: FloatArray, q: float, load: float) -> float:
    """Return the reading of the motor's encoder [rad] with the link at q [rad] under τ_J: q + φ(τ_J) + θ̃."""
    return encoder(c, tables, q + deformation(c, tables, load))


@compiled
def slip_direction(c: Any, tables: FloatArray, theta: float, speed: float, sliders: FloatArray) -> float:
    """Return H at the encoder's angle θ, or sgn θ̇ where the joint has no hysteresis; advances `sliders` (M,)."""
    return slip(c, tables, theta, sliders) if c.operators else np.sign(speed)


@compiled
def joint_friction(
    c: Any, alpha_1: float, alpha_2: float, H: float, speed: float, load: float, temperature: float
) -> float:
    """α1 F(τ_J) H + α2 θ̇ + F_v(θ̇, T) of one joint, N·m, held at the limits of its range of validity."""
    omega, tau = held(speed, c.speed_limit), held(load, c.load_limit)
    warm = warmth(c, temperature if np.isfinite(temperature) else c.T_0)
    return alpha_1 * dry_friction(c, H, omega, tau) + alpha_2 * omega + speed_friction(c, H, omega, warm)


@compiled
def turning_of(ratios: FloatArray, speed: FloatArray) -> float:
    """Return the speed of a coupled motor, Σ c_k q̇_k, rad/s."""
    total = 0.0
    for k in range(len(ratios)):
        total += ratios[k] * speed[k]
    return total


@compiled
def add_rotors(arm: ArmConstants, acceleration: FloatArray, out: FloatArray) -> None:
    """B θ̈, and Ia cᵀ c θ̈ of a coupled motor, whose own part is in B already [G eq 24-25]."""
    for j in range(len(out)):
        out[j] += arm.joints[j].rotor_inertia * acceleration[j]
    for m in range(len(arm.motors)):
        turning = turning_of(arm.ratios[m], acceleration)
        for j in range(len(out)):
            c = arm.ratios[m, j]
            out[j] += arm.motors[m].inertia * c * (turning - c * acceleration[j])


@compiled
def add_friction(
    arm: ArmConstants,
    alpha: FloatArray,
    share: FloatArray,
    H: FloatArray,
    speed: FloatArray,
    load: FloatArray,
    temperature: FloatArray,
    out: FloatArray,
) -> None:
    """Friction of the joints and of coupled motors."""
    for j in range(len(out)):
        out[j] += share[j] * joint_friction(
            arm.joints[j], alpha[j, 0], alpha[j, 1], H[j], speed[j], load[j], temperature[j]
        )
    add_coupled_friction(arm, share, speed, out)


@compiled
def add_coupled_friction(arm: ArmConstants, share: FloatArray, speed: FloatArray, out: FloatArray) -> None:
    """Friction of motors that drive several joints: cᵀ (Fv c θ̇ + Fs sgn(c θ̇)), less their own joint's Fv [G eq 25]."""
    for m in range(len(arm.motors)):
        motor, turning = arm.motors[m], turning_of(arm.ratios[m], speed)
        for j in range(len(out)):
            c = arm.ratios[m, j]
            out[j] += share[j] * c * (motor.viscous * (turning - c * speed[j]) + motor.coulomb * np.sign(turning))


@compiled
def motor_angles(arm: ArmConstants, q: FloatArray, load: FloatArray, out: FloatArray) -> None:
    """`motor_angle` of recordings (N, n)."""
    for s in range(len(q)):
        for j in range(q.shape[1]):
            out[s, j] = motor_angle(arm.joints[j], arm.tables, q[s, j], load[s, j])


@compiled
def slip_directions(
    arm: ArmConstants, sliders: FloatArray, theta: FloatArray, speed: FloatArray, out: FloatArray
) -> None:
    """`slip_direction` of recordings (N, n), from `sliders` (n, M) on."""
    for s in range(len(theta)):
        for j in range(theta.shape[1]):
            out[s, j] = slip_direction(arm.joints[j], arm.tables, theta[s, j], speed[s, j], sliders[j])


@compiled
def rotors_along(arm: ArmConstants, acceleration: FloatArray, out: FloatArray) -> None:
    """`add_rotors` of recordings (N, n)."""
    for s in range(len(out)):
        out[s] = 0.0
        add_rotors(arm, acceleration[s], out[s])


@compiled
def friction_along(
    arm: ArmConstants,
    alpha: FloatArray,
    share: FloatArray,
    H: FloatArray,
    speed: FloatArray,
    load: FloatArray,
    temperature: FloatArray,
    out: FloatArray,
) -> None:
    """`add_friction` of recordings (N, n)."""
    for s in range(len(out)):
        out[s] = 0.0
        add_friction(arm, alpha, share, H[s], speed[s], load[s], temperature[s], out[s])


@compiled
def drives_along(
    arm: ArmConstants,
    alpha: FloatArray,
    share: FloatArray,
    H: FloatArray,
    q: FloatArray,
    speed: FloatArray,
    acceleration: FloatArray,
    load: FloatArray,
    temperature: FloatArray,
    out: FloatArray,
) -> None:
    """τ_m − τ_J of recordings (N, n): rotors, friction and further terms."""
    for s in range(len(out)):
        out[s] = 0.0
        add_rotors(arm, acceleration[s], out[s])
        add_friction(arm, alpha, share, H[s], speed[s], load[s], temperature[s], out[s])
        term_torques(arm.terms, (share, 1.0), q[s], (speed[s], H[s], load[s], temperature[s]), out[s])
