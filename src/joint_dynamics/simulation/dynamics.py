"""Right-hand side of the plant: rotors and links through the nonlinear transmission [M2 eq 2.23-2.24].

    link    M(q) q̈ + C q̇ + g(q) = τ_J + τ_ext
    rotor   B θ̈ + f + (1 − θ̃′ − b′) τ_J = K_τ i + cogging
    spring  τ_J = K₁φ + K₃φ³ + D φ̇,   φ = θ − q − θ̃(θ) − b(θ)

θ̃ is the kinematic error. b is the lost motion, a play of half width 𝓑(θ) between rotor and spring, gone under load:
b = 𝓑 s γ with s ∈ [−1, 1] the state of a stop of unit width in normalised travel and γ = 1/(1 + (τ_J/τ_b)²), slowly varying and
frozen in a step: a γ as fast as the spring would feed the load back on itself. So slow reversals without load show θ − q = θ̃ ± 𝓑 [M4 eq 29].
The primes (by θ) keep the transmission free of energy of its own: the rotor's power into it is the link's out of it, plus what the damper
burns and the spring stores. `τ_ext` acts on the link in the direction of q (the papers' τ_ext is the negative of it).
"""
from __future__ import annotations

import numpy as np

from joint_dynamics.simulation.compiled import compiled
from joint_dynamics.simulation.hysteresis import hysteresis
from joint_dynamics.simulation.packed import COGGING, DAMPING, ERROR, EXTERNAL, FRICTION, MOTOR, TRAVEL, WIDTH
from joint_dynamics.simulation.periodic import locate, lookup
from joint_dynamics.simulation.rigid_body import forward_dynamics


@compiled
def travel(c, maps, theta):
    """Return normalised travel x(θ) of the joint with constants `c` and `maps` (nodes, 6)."""
    low, high, s = locate(maps.shape[0], theta)
    return c.travel_rate * theta + lookup(maps, TRAVEL, low, high, s)[0]


@compiled
def deformation(c, maps, joint, q, theta, omega):
    """Return (φ, ∂φ/∂θ in the direction of ω, normalised travel x) of one joint, its lost motion's play where it stands."""
    low, high, s = locate(maps.shape[0], theta)
    error, slope = lookup(maps, ERROR, low, high, s)
    width, width_slope = lookup(maps, WIDTH, low, high, s)
    x = c.travel_rate * theta + lookup(maps, TRAVEL, low, high, s)[0]
    if c.gear_error > 0.0:
        cycles = 2.0 * c.gear_ratio
        error += c.gear_error * np.sin(cycles * theta + c.gear_phase)
        slope += c.gear_error * cycles * np.cos(cycles * theta + c.gear_phase)
    stop = x - joint.lash
    # At its end the stop slips outwards and comes along inwards: rounding must not decide which.
    moving = 1.0
    if (stop > 1.0 - 1e-9 and omega >= 0.0) or (stop < 1e-9 - 1.0 and omega <= 0.0):
        moving = 0.0
    stop = min(max(stop, -1.0), 1.0)
    return theta - q - error - joint.lash_gain * width * stop, 1.0 - slope - joint.lash_gain * (moving + width_slope * stop), x


@compiled
def warmth(c, temperature):
    """Return what the gear's temperature [°C] adds to friction, per √|ω| [N·m/√(rad/s)]."""
    T = min(max(temperature, c.coldest), c.hottest)
    T0 = c.reference_temperature
    return c.temperature_linear * (T - T0) + c.temperature_cubic * (1.0 / (T * T * T) - 1.0 / (T0 * T0 * T0))


@compiled
def friction(c, wear, warm, theta, omega, torque, H):
    """Return the friction torque f on the rotor [N·m], against positive speed; `warm` of `warmth`, H the hysteresis."""
    speed = abs(omega)
    growth = 1.0 + c.wear_friction * wear
    load = c.coulomb + c.coulomb_load * torque * torque + c.load_linear * abs(torque)
    level = load * (1.0 + c.friction_position * np.sin(theta + c.position_phase))
    ratio = speed / c.stribeck_speed
    level += (c.static - c.coulomb) * (np.exp(-ratio ** c.stribeck_shape) if ratio > 0.0 else 1.0)
    viscous = c.viscous + speed * (c.viscous_square + c.viscous_cubic * speed)
    return (growth * level + np.sqrt(speed) * warm) * H * (1.0 + c.friction_direction * H) + viscous * omega


@compiled
def motor_torque(c, joint):
    """Return K_τ i [N·m], with the gain at the winding's temperature."""
    return c.gain * (1.0 + c.gain_slope * (joint.winding - 25.0)) * joint.current


@compiled
def joint_torques(c, maps, joint, play, radius, weight, q, dq, theta, omega):
    """Return (τ_J, f, ∂φ/∂θ, φ̇, H) of one joint."""
    phi, lever, x = deformation(c, maps, joint, q, theta, omega)
    rate = lever * omega - dq
    spring = (1.0 - c.wear_stiffness * joint.wear) * phi * (c.stiffness + c.stiffness_cubic * phi * phi)
    torque = spring + c.damping * rate
    H = hysteresis(x, play, radius, weight)
    return torque, friction(c, joint.wear, joint.warmth, theta, omega, torque, H), lever, rate, H


@compiled
def rates(links, plant, state, derivative, power, heat, load, work):
    """Fill `derivative` (4, n) of state.motion, `power` (6,) of the audit [W], `heat` (n,) burnt in each gear [W] and `load` (n,) [N·m]."""
    motion = state.motion
    power[:] = 0.0
    for j in range(heat.size):
        c, joint = plant.joints[j], state.joints[j]
        q, dq, theta, omega = motion[0, j], motion[1, j], motion[2, j], motion[3, j]
        torque, f, lever, rate, _ = joint_torques(c, plant.maps[j], joint, state.play[j], plant.radius, plant.weight, q, dq, theta, omega)
        motor = motor_torque(c, joint)
        cogging = 0.0
        if c.cogging > 0.0:
            cogging = c.cogging * np.sin(12.0 * c.gear_ratio * theta + c.cogging_phase)
        derivative[0, j] = dq
        derivative[2, j] = omega
        derivative[3, j] = (motor + cogging - f - lever * torque) / c.rotor_inertia
        load[j] = torque + joint.external
        burnt = c.damping * rate * rate
        power[MOTOR] += motor * omega
        power[COGGING] += cogging * omega
        power[EXTERNAL] += joint.external * dq
        power[FRICTION] += f * omega
        power[DAMPING] += burnt
        heat[j] = f * omega + burnt
    forward_dynamics(links, motion[0], motion[1], load, derivative[1], work)


@compiled
def spring_energy(plant, state):
    """Return the energy of all springs [J]."""
    total = 0.0
    for j in range(state.joints.size):
        c, joint = plant.joints[j], state.joints[j]
        phi = deformation(c, plant.maps[j], joint, state.motion[0, j], state.motion[2, j], state.motion[3, j])[0]
        total += (1.0 - c.wear_stiffness * joint.wear) * phi * phi * (0.5 * c.stiffness + 0.25 * c.stiffness_cubic * phi * phi)
    return total
