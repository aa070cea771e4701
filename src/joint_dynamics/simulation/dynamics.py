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

"""Right-hand side of the plant: rotors and links through the nonlinear transmission [M2 eq 2.23-2.24].

    link:   M(q) q̈ + C q̇ + g(q) = τ_J + τ_ext;
    rotor:  B θ̈ + f + (1 − θ̃′ − b′) τ_J = K_τ i + cogging;
    spring: τ_J = K₁φ + K₃φ³ + D φ̇;   φ = θ − q − θ̃(θ) − b(θ).

θ̃ is the kinematic error. b is the lost motion, a play of half width 𝓑(θ) that vanishes under load: b = 𝓑 s γ with
s ∈ [−1, 1] the state of a stop of unit width in normalised travel and γ(τ_J/τ_b) of `lost_motion_share`. γ is constant
within a step: one as fast as the spring would feed the load back on itself. Slow reversals without load show
θ − q = θ̃ ± 𝓑 [M4 eq 29]. The derivatives by θ (primes) make the transmission conserve energy. `τ_ext` acts on the link
in the direction of q (the papers' τ_ext is its negative).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import inlined
from joint_dynamics.simulation.drives import ERROR, TRAVEL, WIDTH
from joint_dynamics.simulation.rigid_body import forward_dynamics
from joint_dynamics.simulation.transmission import bristle, hysteresis, locate, lookup

#: Ways in which a load takes up the lost motion (`Drives.lash_law`), and forms of the Stribeck drop
#: (`Drives.stribeck_form`).
QUADRATIC, EXPONENTIAL, GAUSSIAN, COMPACT, STEEP = range(5)
EXPONENTIAL_DROP, RATIONAL_DROP = range(2)
SMOOTHING_SPEED = 0.02  # rad/s; below, a power law of the speed is linear, since its slope would be infinite


@inlined
def lost_motion_share(law: int, ratio: float) -> float:
    """Return γ, the share of the lost motion left by `ratio` times the load that halves it: 1 at 0, falling to 0."""
    r = abs(ratio)
    if law == EXPONENTIAL:
        return 2.0**-r
    if law == GAUSSIAN:
        return 2.0 ** -(r * r)
    if law == COMPACT:
        return max(0.0, 1.0 - 0.5 * r)
    if law == STEEP:
        return 1.0 / (1.0 + r**4)
    return 1.0 / (1.0 + r * r)


@inlined
def stribeck(form: int, ratio: float, shape: float) -> float:
    """Return the share of static minus Coulomb friction left at `ratio` times the Stribeck speed, from 1 to 0."""
    if ratio <= 0.0:
        return 1.0
    if form == RATIONAL_DROP:
        return 1.0 / (1.0 + ratio**shape)
    return np.exp(-(ratio**shape))


@inlined
def viscous_torque(c: Any, omega: float) -> float:
    """Return the part of friction without hysteresis [N·m] at the reference temperature."""
    speed = abs(omega)
    if c.viscous_bend > 0.0:
        torque = c.viscous * c.viscous_bend * np.arcsinh(omega / c.viscous_bend)
    elif c.viscous_power != 1.0:
        torque = (
            c.viscous * omega * (speed * speed + SMOOTHING_SPEED * SMOOTHING_SPEED) ** (0.5 * (c.viscous_power - 1.0))
        )
    else:
        torque = (c.viscous + speed * (c.viscous_square + c.viscous_cubic * speed)) * omega
    if c.bristle_damping > 0.0:
        ratio = speed / c.bristle_speed
        torque += c.bristle_damping * np.exp(-ratio * ratio) * omega
    return torque


@inlined
def spring_torque(c: Any, phi: float, wind: float) -> float:
    """Return the elastic torque [N·m] of an unworn transmission deformed by `phi` [rad], its slip at `wind`."""
    square = phi * phi
    torque = phi * (c.stiffness + square * (c.stiffness_cubic + square * c.stiffness_quintic))
    if c.windup > 0.0:
        torque -= c.windup * c.windup_range * np.tanh(phi / c.windup_range)
    if c.slip_stiffness > 0.0:
        torque += c.slip_stiffness * min(max(phi - wind, -c.slip_range), c.slip_range)
    return torque


@inlined
def travel(c: Any, maps: FloatArray, theta: float) -> float:
    """Return normalised travel x(θ) of the joint with constants `c` and `maps` (nodes, 6)."""
    low, high, s = locate(maps.shape[0], theta)
    return c.travel_rate * theta + lookup(maps, TRAVEL, low, high, s)[0]


@inlined
def deformation(
    c: Any, maps: FloatArray, joint: Any, q: float, theta: float, omega: float
) -> tuple[float, float, float]:
    """Return (φ, ∂φ/∂θ in the direction of ω, normalised travel x) of one joint.

    The lost motion is that of its present state.
    """
    low, high, s = locate(maps.shape[0], theta)
    error, slope = lookup(maps, ERROR, low, high, s)
    width, width_slope = lookup(maps, WIDTH, low, high, s)
    x = c.travel_rate * theta + lookup(maps, TRAVEL, low, high, s)[0]
    if c.gear_error > 0.0:
        cycles = c.gear_cycles * c.gear_ratio
        error += c.gear_error * np.sin(cycles * theta + c.gear_phase)
        slope += c.gear_error * cycles * np.cos(cycles * theta + c.gear_phase)
    stop = x - joint.lash
    # At its end the stop slips outwards and comes along inwards: rounding must not decide which.
    moving = 1.0
    if (stop > 1.0 - 1e-9 and omega >= 0.0) or (stop < 1e-9 - 1.0 and omega <= 0.0):
        moving = 0.0
    stop = min(max(stop, -1.0), 1.0)
    return (
        theta - q - error - joint.lash_gain * width * stop,
        1.0 - slope - joint.lash_gain * (moving + width_slope * stop),
        x,
    )


@inlined
def temperature_effect(c: Any, temperature: float) -> float:
    """Return the effect of temperature [°C] on friction: per √|ω| [N·m/√(rad/s)], or exp(−β (T − T0)) − 1 if β > 0."""
    T = min(max(temperature, c.coldest), c.hottest)
    T0 = c.reference_temperature
    if c.viscosity_slope > 0.0:
        return np.exp(-c.viscosity_slope * (T - T0)) - 1.0
    return c.temperature_linear * (T - T0) + c.temperature_cubic * (1.0 / (T * T * T) - 1.0 / (T0 * T0 * T0))


@inlined
def friction(c: Any, wear: float, warm: float, theta: float, omega: float, torque: float, H: float) -> float:
    """Return the friction torque f on the rotor [N·m], against positive speed; H is the hysteresis.

    warm: `temperature_effect`.
    """
    speed = abs(omega)
    growth = 1.0 + c.wear_friction * wear
    load = c.coulomb + c.coulomb_load * torque * torque + c.load_linear * abs(torque)
    level = load * (1.0 + c.friction_position * np.sin(theta + c.position_phase))
    level += (c.static - c.coulomb) * stribeck(c.stribeck_form, speed / c.stribeck_speed, c.stribeck_shape)
    slip = viscous_torque(c, omega)
    level *= growth
    if c.viscosity_slope > 0.0:
        level *= 1.0 + c.viscosity_share * warm
        slip *= 1.0 + warm
    else:
        level += np.sqrt(speed) * warm
    return level * H * (1.0 + c.friction_direction * H) + slip


@inlined
def motor_torque(c: Any, joint: Any, theta: float) -> float:
    """Return K_τ i [N·m], the gain at the winding's temperature, at motor angle `theta` [rad] and at this current."""
    gain = c.gain * (1.0 + c.gain_slope * (joint.winding - 25.0))
    if c.gain_saturation > 0.0:
        share = joint.current / c.max_current
        gain *= 1.0 - c.gain_saturation * share * share
    if c.gain_ripple > 0.0:
        gain *= 1.0 + c.gain_ripple * np.sin(6.0 * c.gear_ratio * theta + c.cogging_phase)
    return gain * joint.current


@inlined
def sliding(c: Any, play: FloatArray, radius: FloatArray, weight: FloatArray, x: float) -> float:
    """Return H of one joint at normalised travel x: of its bristle, or of its plays."""
    if c.bristle > 0.0:
        return bristle(c.bristle, c.unloading, x - play[0], play[1])
    return hysteresis(x, play, radius, weight)


@inlined
def joint_torques(
    c: Any,
    maps: FloatArray,
    joint: Any,
    play: FloatArray,
    radius: FloatArray,
    weight: FloatArray,
    q: float,
    dq: float,
    theta: float,
    omega: float,
) -> tuple[float, float, float, float, float]:
    """Return (τ_J, f, ∂φ/∂θ, φ̇, H) of one joint."""
    phi, lever, x = deformation(c, maps, joint, q, theta, omega)
    rate = lever * omega - dq
    torque = (1.0 - c.wear_stiffness * joint.wear) * spring_torque(c, phi, joint.wind) + c.damping * rate
    H = sliding(c, play, radius, weight, x)
    return torque, friction(c, joint.wear, joint.temperature_effect, theta, omega, torque, H), lever, rate, H


@inlined
def rates(
    links: Any, plant: Any, state: Any, derivative: FloatArray, heat: FloatArray, load: FloatArray, work: Any
) -> None:
    """Fill `derivative` (4, n) of state.motion, `heat` (n,) of gears [W], `load` (n,) [N·m]."""
    motion = state.motion
    for j in range(heat.size):
        c, joint = plant.joints[j], state.joints[j]
        q, dq, theta, omega = motion[0, j], motion[1, j], motion[2, j], motion[3, j]
        torque, f, lever, rate, _ = joint_torques(
            c, plant.maps[j], joint, state.play[j], plant.radius, plant.weight, q, dq, theta, omega
        )
        motor = motor_torque(c, joint, theta)
        cogging = 0.0
        if c.cogging > 0.0:
            cogging = c.cogging * np.sin(c.cogging_cycles * c.gear_ratio * theta + c.cogging_phase)
        derivative[0, j] = dq
        derivative[2, j] = omega
        derivative[3, j] = (motor + cogging - f - lever * torque) / c.rotor_inertia
        load[j] = torque + joint.external
        heat[j] = f * omega + c.damping * rate * rate
    forward_dynamics(links, motion[0], motion[1], load, derivative[1], work)


@inlined
def unwind(c: Any, joint: Any, phi: float) -> float:
    """Let deformation `phi` [rad] drag the slipping part of the spring along; return the energy [J] dissipated."""
    if c.slip_stiffness <= 0.0:
        return 0.0
    beyond = phi - joint.wind
    moved = beyond - min(max(beyond, -c.slip_range), c.slip_range)
    joint.wind += moved
    return (1.0 - c.wear_stiffness * joint.wear) * c.slip_stiffness * c.slip_range * abs(moved)
