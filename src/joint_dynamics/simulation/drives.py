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

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation.model_errors import ModelErrors
from joint_dynamics.simulation.transmission import four_operators, fourier_tables, smooth_operators, travel_tables


class Drives(
    namedtuple(
        'Drives',
        'rotor_inertia gain nominal_gain gain_slope max_current current_lag cogging cogging_phase gear_ratio '
        'stiffness stiffness_cubic damping kinematic_error backlash travel_rate travel gear_error gear_phase '
        'lash_load coulomb coulomb_load load_linear static stribeck_speed stribeck_shape viscous '
        'viscous_square viscous_cubic temperature_linear temperature_cubic reference_temperature '
        'temperature_range friction_direction friction_position position_phase radius weight wear_friction '
        'wear_stiffness resistance winding_capacity joint_capacity winding_path joint_path temperature_lag '
        'cogging_cycles gear_cycles gain_ripple gain_saturation stiffness_quintic windup windup_range '
        'slip_stiffness slip_range lash_law lash_lag stribeck_form viscous_power viscous_bend '
        'bristle_damping bristle_speed viscosity_slope viscosity_share bristle unloading',
    )
):
    """Constants of n drives, arrays (n,) in SI on the joint side of the gear unless another shape is given.

    Motor: `rotor_inertia` B [kg·m²]; `gain` K_τ at 25 °C and `nominal_gain`, what the drive takes it for [N·m/A];
    `gain_slope` [1/K]; `max_current` [A]; `current_lag` [s]; `cogging` [N·m] and its `cogging_phase`; `gear_ratio`.
    Transmission τ_J = K₁φ + K₃φ³ + Dφ̇: `stiffness`, `stiffness_cubic`, `damping`; `kinematic_error` θ̃(θ) and
    `backlash` 𝓑(θ), tables (n, nodes, 2) of `transmission`; `travel_rate` (n,), `travel` (n, nodes, 2): x(θ) = ∫dθ/𝓑;
    `gear_error`, `gear_phase`: ripple of θ̃ twice per motor turn; `lash_load` [N·m]: load that halves the lost motion.

        f = L H (1 + friction_direction H) + F_v
        L = (coulomb + coulomb_load τ_J² + load_linear |τ_J|) (1 + friction_position sin(θ + position_phase))
            + (static − coulomb) s(|ω|/stribeck_speed)
            + √|ω| (temperature_linear (T − T0) + temperature_cubic (T⁻³ − T0⁻³))
        F_v = (viscous + viscous_square |ω| + viscous_cubic ω²) ω

    and H the hysteresis with `radius`, `weight` (M,). With `wear` w: coulomb, coulomb_load, load_linear and static grow
    by `wear_friction` w, stiffness (all of it) shrinks by `wear_stiffness` w.
    Heat: `resistance` [Ω], `winding_capacity`, `joint_capacity` [J/K], `winding_path`, `joint_path` [K/W] thermal
    resistances, `temperature_lag` [s].

    Further constants for laws other than the methods' own (test/simulation/drawn_laws.py); with the methods' own they
    are 0, or the value in brackets: `cogging_cycles` (12) and `gear_cycles` (2) per motor turn;
    `gain_ripple`, share of the motor's torque six times per motor turn; `gain_saturation`, share of the gain lost at
    `max_current`;
    spring + stiffness_quintic φ⁵ − windup windup_range tanh(φ/windup_range) + slip_stiffness times a stop of
    ±slip_range [rad] in φ;
    `lash_law` of `dynamics.lost_motion_share`, `lash_lag` [s] of the load that the lost motion sees; `stribeck_form` of
    `dynamics.stribeck`;
    F_v with `viscous_power` p (1): viscous ω (ω² + ω₀²)^((p−1)/2), with `viscous_bend` ω_b > 0: viscous ω_b
    arsinh(ω/ω_b), and with
    + bristle_damping exp(−(ω/bristle_speed)²) ω; `viscosity_slope` β > 0 [1/K]: F_v times e = exp(−β (T − T0)), L times
    1 + viscosity_share (e − 1);
    `bristle` σ > 0: H by dH/dx = σ(1 − H sgn dx) instead of the plays, while |H| falls σ(1 + `unloading` |H|).
    """

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
    # what only drawn laws have is 0
    return Drives(**{name: np.zeros(n) for name in Drives._fields} | stated)


def _record(names: str) -> np.dtype[Any]:
    return np.dtype([(name, np.float64) for name in names.split()], align=True)


#: Columns of the maps in `PlantConstants.maps`: value here, slope in the next.
ERROR, WIDTH, TRAVEL = 0, 2, 4
#: Drives' arrays that are not one number per joint.
_SHARED = ('kinematic_error', 'backlash', 'travel', 'reference_temperature', 'temperature_range', 'radius', 'weight')
CONSTANTS = _record(
    ' '.join([*(name for name in Drives._fields if name not in _SHARED), 'reference_temperature coldest hottest'])
)
#: State of one joint: `current` [A] behind the current loop; `load` τ_J low-passed and the share `lash_gain` of the
#: lost motion it leaves; `lash` [1] where the lost motion's play stands,
#: `wind` [rad] where the spring's slipping part does; `winding`, `gear`, `sensed` temperatures [°C],
#: `temperature_effect` what the gear's does to friction (`dynamics.temperature_effect`); `heating` [W];
#: `wear`, its goal and rate [1/s]; `external` [N·m]; `integral` of the PID [N·m]; encoder readings and speeds.
JOINT = _record(
    'current load lash_gain lash wind winding gear sensed temperature_effect heating wear wear_goal wear_rate '
    'external integral link_reading motor_reading link_speed motor_speed'
)
#: Works that the energy audit integrates, in the order of `PlantState.work`; the last is booked when a setting jumps.
MOTOR, COGGING, EXTERNAL, FRICTION, DAMPING, SETTINGS = range(6)


class PlantConstants(NamedTuple):
    """Constants: `joints` (n,) records, `maps` (n, nodes, 6), `radius` and `weight` (M,) of the hysteresis."""

    joints: NDArray[Any]
    maps: FloatArray
    radius: FloatArray
    weight: FloatArray


class PlantState(NamedTuple):
    """State, changed in place: `motion` (4, n) q, q̇, θ, θ̇; `joints` (n,); `play` of H; `work` (6,) [J]."""

    motion: FloatArray
    joints: NDArray[Any]
    play: FloatArray
    work: FloatArray


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
    joints = np.zeros(n, dtype=JOINT).view(np.recarray)
    for name in ('winding', 'gear', 'sensed'):
        joints[name] = temperature
    return PlantState(np.zeros((4, n)), joints, np.zeros((n, max(operators, 2))), np.zeros(6))
