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

"""Constants of the joints, as records whose fields the compiled functions of `laws` read by name.

Each joint has one `JOINT` record. Arrays of variable length (points of maps, Maxwell-slip operators, stiffness
coefficients) are concatenated in `Tables`; the record holds the index of the first value of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.records import KernelRecord
from joint_dynamics.records import Record as Record


class Map(KernelRecord):
    """A periodic function of an angle [rad] as equispaced points in the tables; without points it is 0."""

    start: int  # index of its first point
    size: int  # number of its points
    per_turn: float  # turns per rad


MAP = Map.dtype


class Joint(KernelRecord):
    """Constants of one joint, SI, joint side; friction and quadrants as in `FrictionModel`."""

    F_C0: float  # N·m, Coulomb friction
    F_Cl: float  # Coulomb friction per N·m of load |τ_J|, without unit
    F_C1: float  # 1/(N·m), Coulomb friction per τ_J²
    tau_max: float  # N·m, |τ_J| at which the Coulomb friction stops growing
    F_S: float  # N·m, static friction
    V_S: float  # rad/s, Stribeck speed
    mu: float  # Stribeck exponent
    F_V1: float  # N·m·s/rad, factor of ω
    F_V2: float  # N·m·s²/rad², factor of |ω| ω
    F_V3: float  # N·m·s³/rad³, factor of ω³
    F_T0: float  # N·m·√(s/rad), factor of sgn(ω) √|ω| at T_0
    F_T1: float  # N·m·√(s/rad)/°C, its change per T − T_0
    F_T2: float  # N·m·√(s/rad)·°C³, its change per T⁻³ − T_0⁻³
    T_0: float  # °C, reference temperature
    T_min: float  # °C, lower bound of T
    T_max: float  # °C, upper bound of T
    offset: float  # N·m, constant torque
    quadrants: int  # 1: Hamon's friction replaces the terms above, except those of √|ω|
    a_m: float  # motor quadrants: factor of the load, without unit
    b_m: float  # its part that decays with exp(−|ω|/dq_s)
    a_g: float  # generator quadrants: factor of the load, without unit
    b_g: float  # its decaying part, subtracted
    c_m: float  # N·m, motor quadrants: level
    d_m: float  # N·m, its decaying part
    c_g: float  # N·m, generator quadrants: level
    d_g: float  # N·m, its decaying part
    F_V: float  # N·m·s/rad, viscous friction with quadrants
    tau_off: float  # N·m, offset with quadrants
    dq_s: float  # rad/s, speed of the decay
    speed_limit: float  # rad/s; beyond, friction is constant
    load_limit: float  # N·m; beyond, friction is constant
    operators: int  # number M of Maxwell-slip operators; 0: none
    slip: int  # index of their M limits Δ_i in the tables; M shares k_i Δ_i follow
    presliding: Annotated[Any, MAP]  # presliding length 𝓑(θ), rad
    error: Annotated[Any, MAP]  # kinematic error θ̃(θ), rad
    order: int  # number P of stiffness coefficients; 0: rigid
    elastic: int  # index of the P coefficients α_p in the tables
    phi_max: float  # rad, deformation at which the stiffness falls to zero
    elastic_range: float  # rad, beyond which the stiffness is constant
    rotor_inertia: float  # B, kg·m²
    damping: float  # D, N·m·s/rad


JOINT = Joint.dtype
_FIELDS = list(Joint.__annotations__)
FRICTION_FIELDS = tuple(_FIELDS[: _FIELDS.index('quadrants')])
"""Names of the parameters of `FrictionModel`."""
QUADRANT_FIELDS = tuple(_FIELDS[_FIELDS.index('a_m') : _FIELDS.index('speed_limit')])
"""Names of the parameters of Hamon's friction."""

NEUTRAL = {'tau_max': np.inf, 'V_S': 1.0, 'mu': 1.0, 'T_0': 25.0, 'T_min': 5.0, 'T_max': 80.0, 'a_m': 1.0, 'a_g': 1.0,
           'dq_s': 1.0, 'speed_limit': np.inf, 'load_limit': np.inf, 'phi_max': np.inf,
           'elastic_range': np.inf}  # fmt: skip


def blank(joints: int) -> Record:
    """Return the constants of n rigid joints without friction, (n,) of `JOINT`."""
    records = np.zeros(joints, JOINT)
    for name, value in NEUTRAL.items():
        records[name] = value
    return records


NONE: FloatArray = np.zeros(1)
"""Empty tables, for joints without arrays of variable length."""


class Tables:
    """Concatenated arrays of variable length; `array()` is the argument `tables` of the laws."""

    def __init__(self) -> None:
        self._parts: list[FloatArray] = []
        self._length = 0

    def add(self, values: Iterable[float] | FloatArray) -> int:
        """Append values (k,) and return the index of the first."""
        part, start = np.array(values, dtype=float).ravel(), self._length
        self._parts.append(part)
        self._length += len(part)
        return start

    def array(self) -> FloatArray:
        """Return all numbers (m,), at least one."""
        return np.concatenate([*self._parts, np.zeros(1)])
