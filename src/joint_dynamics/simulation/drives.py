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

"""The n drives of the plant: motor, transmission, friction and heat, with plausible numbers for any size of joint.

The kernels take one record per joint, so that a call passes a pointer instead of fifty arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.records import KernelRecord
from joint_dynamics.simulation.simulation_settings import ModelErrors
from joint_dynamics.simulation.transmission import four_operators, fourier_tables, smooth_operators, travel_tables


class Drives(NamedTuple):
    """Constants of n drives, arrays (n,) in SI on the joint side of the gear unless another shape is given.

    The friction, its hysteresis H and the spring are:

        f = L H (1 + friction_direction H) + F_v;
        L = (coulomb + coulomb_load τ_J² + load_linear |τ_J|) (1 + friction_position sin(θ + position_phase))
            + (static − coulomb) s(|ω|/stribeck_speed)
            + √|ω| (temperature_linear (T − T0) + temperature_cubic (T⁻³ − T0⁻³));
        F_v = (viscous + viscous_square |ω| + viscous_cubic ω²) ω;
        τ_J = stiffness φ + stiffness_cubic φ³ + damping φ̇.

    Laws other than those of the methods (test/simulation/drawn_laws.py) have the constants after `temperature_lag`; the
    methods' own have 0 there, or the value in brackets.
    """

    rotor_inertia: FloatArray  # B, kg·m²
    gain: FloatArray  # K_τ at 25 °C, N·m/A
    nominal_gain: FloatArray  # K_τ of the data sheet, N·m/A
    gain_slope: FloatArray  # 1/K
    max_current: FloatArray  # A
    current_lag: FloatArray  # s
    cogging: FloatArray  # N·m
    cogging_phase: FloatArray  # rad
    gear_ratio: FloatArray
    stiffness: FloatArray  # K₁, N·m/rad
    stiffness_cubic: FloatArray  # K₃, N·m/rad³
    damping: FloatArray  # D, N·m·s/rad
    kinematic_error: FloatArray  # θ̃(θ), tables (n, nodes, 2) of `transmission`, rad
    backlash: FloatArray  # 𝓑(θ), tables (n, nodes, 2), rad
    travel_rate: FloatArray  # of x(θ) = ∫dθ/𝓑
    travel: FloatArray  # x(θ), tables (n, nodes, 2)
    gear_error: FloatArray  # ripple of θ̃, twice per motor turn, rad
    gear_phase: FloatArray  # rad
    lash_load: FloatArray  # load that halves the lost motion, N·m
    coulomb: FloatArray  # N·m
    coulomb_load: FloatArray  # 1/(N·m)
    load_linear: FloatArray
    static: FloatArray  # N·m
    stribeck_speed: FloatArray  # rad/s
    stribeck_shape: FloatArray
    viscous: FloatArray  # N·m·s/rad
    viscous_square: FloatArray  # N·m·s²/rad²
    viscous_cubic: FloatArray  # N·m·s³/rad³
    temperature_linear: FloatArray  # N·m·√(s/rad)/K
    temperature_cubic: FloatArray  # N·m·√(s/rad)·K³
    reference_temperature: FloatArray  # (1,) T0, °C
    temperature_range: FloatArray  # (2,) coldest and hottest T of the laws, °C
    friction_direction: FloatArray
    friction_position: FloatArray
    position_phase: FloatArray  # rad
    radius: FloatArray  # (M,) of the operators of H
    weight: FloatArray  # (M,) of the operators of H
    wear_friction: FloatArray  # growth of coulomb, coulomb_load, load_linear and static with wear
    wear_stiffness: FloatArray  # decrease of all stiffness with wear
    resistance: FloatArray  # Ω
    winding_capacity: FloatArray  # J/K
    joint_capacity: FloatArray  # J/K
    winding_path: FloatArray  # thermal resistance of the winding, K/W
    joint_path: FloatArray  # thermal resistance of the joint, K/W
    temperature_lag: FloatArray  # s
    cogging_cycles: FloatArray  # per motor turn (12)
    gear_cycles: FloatArray  # per motor turn (2)
    gain_ripple: FloatArray  # share of the motor's torque, six times per motor turn
    gain_saturation: FloatArray  # share of the gain lost at `max_current`
    stiffness_quintic: FloatArray  # spring + this times φ⁵, N·m/rad⁵
    windup: FloatArray  # spring − windup windup_range tanh(φ/windup_range), N·m/rad
    windup_range: FloatArray  # rad
    slip_stiffness: FloatArray  # spring + this times a stop of ±slip_range in φ, N·m/rad
    slip_range: FloatArray  # rad
    lash_law: FloatArray  # of `dynamics.lost_motion_share`
    lash_lag: FloatArray  # s, of the load in the lost motion
    stribeck_form: FloatArray  # of `dynamics.stribeck`
    viscous_power: FloatArray  # p (1) of F_v = viscous ω (ω² + ω₀²)^((p−1)/2)
    viscous_bend: FloatArray  # ω_b > 0 of F_v = viscous ω_b arsinh(ω/ω_b), rad/s
    bristle_damping: FloatArray  # F_v + this times exp(−(ω/bristle_speed)²) ω, N·m·s/rad
    bristle_speed: FloatArray  # rad/s
    viscosity_slope: FloatArray  # β of e = exp(−β (T − T0)), the factor of F_v, 1/K
    viscosity_share: FloatArray  # L times 1 + viscosity_share (e − 1)
    bristle: FloatArray  # σ > 0: H by dH/dx = σ(1 − H sgn dx) instead of the plays
    unloading: FloatArray  # while |H| falls, σ(1 + unloading |H|)

    def with_backlash(self, backlash: FloatArray) -> Drives:
        """Return these drives with another backlash map (n, nodes, 2) [rad], half the width.

        Raises JointDynamicsError where it is not > 0.
        """
        rate, travel = travel_tables(backlash)
        return self._replace(backlash=backlash, travel_rate=rate, travel=travel)


def plausible_drives(effort: FloatArray, seed: int, errors: ModelErrors) -> Drives:
    """Return drives of a cobot's kind (strain-wave gears) for joints with torque limits `effort` (n,) [N·m].

    Every number is a power law of the torque limit through the two sizes of joint of a UR5e (150 and 28 N·m: drive gain
    13 and 9.6 N·m/A, stiffness 2e4 and 4.4e3 N·m/rad), times a spread of ±10 % drawn from `seed`. `errors` adds effects
    that models do not include.

    Raises
    ------
    JointDynamicsError
        Where a limit is unknown.
    """
    effort = np.asarray(effort, dtype=float)
    if not (np.isfinite(effort) & (effort > 0.0)).all():
        raise JointDynamicsError(
            f'simulation: expected a torque limit > 0 for every joint (effort in the URDF), found {effort}'
        )
    n = effort.size
    rng = np.random.default_rng([seed, 0xD1])
    size = effort / 150.0

    def law(value: float, exponent: float, spread: float = 0.1) -> FloatArray:
        return value * size**exponent * (1.0 + spread * rng.uniform(-1.0, 1.0, n))

    phase = rng.uniform(0.0, 2.0 * np.pi, (4, n))
    sign = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    nominal_gain = law(13.0, 0.18, 0.05)
    gain = nominal_gain * (1.0 + errors.drive_gain * rng.uniform(-1.0, 1.0, n))
    stiffness = law(2.0e4, 0.9)
    rotor_inertia = law(0.9, 0.9)
    coulomb = law(6.5, 0.7)
    # Output-side error of a few 1e-4 rad, once to six times per turn; backlash half width 5e-4 rad, changing by half
    # over a turn [M4 fig 12].
    decay = 1.0 / np.arange(1, 7) ** 1.2
    kinematic = fourier_tables(np.zeros(n), *(rng.uniform(-1.5e-4, 1.5e-4, (2, n, 6)) * decay))
    width = law(5e-4, 0.0, 0.2)
    swing = rng.uniform(0.25, 0.45, n)[:, None] * width[:, None] * np.array([1.0, 0.35])
    angle = rng.uniform(0.0, 2.0 * np.pi, (n, 2))
    backlash = fourier_tables(width, swing * np.cos(angle), swing * np.sin(angle))
    rate, travel = travel_tables(backlash)
    radius, weight = smooth_operators() if errors.smooth_hysteresis else four_operators()
    stated = {
        'rotor_inertia': rotor_inertia,
        'gain': gain,
        'nominal_gain': nominal_gain,
        'gain_slope': np.full(n, errors.drive_gain_per_kelvin),
        'max_current': effort / nominal_gain,
        'current_lag': np.full(n, errors.current_lag),
        'cogging': errors.torque_ripple * effort,
        'cogging_phase': phase[0],
        'gear_ratio': np.full(n, 101.0),
        'stiffness': stiffness,
        'stiffness_cubic': law(0.3, 0.0) * stiffness**3 / effort**2,
        'damping': 0.05 * np.sqrt(stiffness * rotor_inertia),
        'kinematic_error': kinematic,
        'backlash': backlash,
        'travel_rate': rate,
        'travel': travel,
        'gear_error': np.full(n, errors.gear_ripple),
        'gear_phase': phase[1],
        'lash_load': 0.02 * effort,
        'coulomb': coulomb,
        'coulomb_load': law(2.2e-4, -1.15),
        'load_linear': np.full(n, errors.load_linear),
        'static': coulomb * (1.2 + 0.1 * rng.uniform(-1.0, 1.0, n)),
        'stribeck_speed': law(0.05, 0.0, 0.2),
        'stribeck_shape': law(0.9, 0.0, 0.1),
        'viscous': law(9.0, 0.75),
        'viscous_square': law(-1.9, 0.75, 0.05),
        'viscous_cubic': law(0.28, 0.75, 0.05),
        'temperature_linear': law(-0.06, 0.75),
        'temperature_cubic': law(1.5e4, 0.75),
        'reference_temperature': np.array([35.0]),
        'temperature_range': np.array([10.0, 80.0]),
        'friction_direction': errors.friction_direction * sign,
        'friction_position': np.full(n, errors.friction_position),
        'position_phase': phase[2],
        'radius': radius,
        'weight': weight,
        'wear_friction': np.full(n, 0.6),
        'wear_stiffness': np.full(n, 0.25),
        'resistance': law(0.5, -0.7),
        'winding_capacity': law(80.0, 0.6),
        'joint_capacity': law(1000.0, 0.6),
        'winding_path': law(0.8, -0.4),
        'joint_path': law(1.6, -0.4),
        'temperature_lag': np.full(n, errors.temperature_lag),
        'cogging_cycles': np.full(n, 12.0),
        'gear_cycles': np.full(n, 2.0),
        'windup_range': np.ones(n),
        'slip_range': np.ones(n),
        'lash_lag': np.full(n, 0.1),
        'viscous_power': np.ones(n),
        'bristle_speed': np.ones(n),
    }
    # the constants of drawn laws are 0
    return Drives(**{name: np.zeros(n) for name in Drives._fields} | stated)


#: Columns of the maps in `PlantConstants.maps`: the value, with its slope in the next column.
ERROR = 0
WIDTH = 2
TRAVEL = 4
#: Fields of `Drives` that are not one number per joint.
_SHARED = ('kinematic_error', 'backlash', 'travel', 'reference_temperature', 'temperature_range', 'radius', 'weight')
#: Record of the constants of one joint, for the kernels.
CONSTANTS = np.dtype(
    [
        (name, np.float64)
        for name in (
            *(name for name in Drives._fields if name not in _SHARED),
            'reference_temperature',
            'coldest',
            'hottest',
        )
    ],
    align=True,
)


class JointState(KernelRecord):
    """State of one joint."""

    current: float  # A, behind the current loop
    load: float  # low-passed τ_J, N·m
    lash_gain: float  # share of the lost motion at that load
    lash: float  # place in the play of the lost motion, −1 … 1
    wind: float  # place of the spring's slipping part, rad
    winding: float  # °C
    gear: float  # °C
    sensed: float  # °C
    temperature_effect: float  # of the gear's temperature on friction (`dynamics.temperature_effect`)
    heating: float  # W
    wear: float
    wear_goal: float
    wear_rate: float  # 1/s
    external: float  # N·m
    integral: float  # of the PID, N·m
    link_reading: float  # rad
    motor_reading: float  # rad
    link_speed: float  # rad/s
    motor_speed: float  # rad/s


class PlantConstants(NamedTuple):
    """Constants: `joints` (n,) records, `maps` (n, nodes, 6), `radius` and `weight` (M,) of the hysteresis."""

    joints: NDArray[Any]
    maps: FloatArray
    radius: FloatArray
    weight: FloatArray


class PlantState(NamedTuple):
    """State, changed in place: `motion` (4, n) q, q̇, θ, θ̇; `joints` (n,); `play` of H."""

    motion: FloatArray
    joints: NDArray[Any]
    play: FloatArray


def pack(drives: Drives) -> PlantConstants:
    """Return `drives` for the kernels."""
    joints = np.zeros(drives.gain.size, dtype=CONSTANTS).view(np.recarray)
    for name in CONSTANTS.names or ():
        if name in Drives._fields:
            joints[name] = getattr(drives, name)
    joints['reference_temperature'] = drives.reference_temperature
    joints['coldest'], joints['hottest'] = drives.temperature_range
    maps = np.ascontiguousarray(np.concatenate([drives.kinematic_error, drives.backlash, drives.travel], axis=2))
    return PlantConstants(joints, maps, np.ascontiguousarray(drives.radius), np.ascontiguousarray(drives.weight))


def rest(n: int, operators: int, temperature: float) -> PlantState:
    """Return the state of `n` joints at rest at 0 rad and `temperature` [°C], without any history."""
    joints = JointState.filled(n).view(np.recarray)
    for name in ('winding', 'gear', 'sensed'):
        joints[name] = temperature
    return PlantState(np.zeros((4, n)), joints, np.zeros((n, max(operators, 2))))
