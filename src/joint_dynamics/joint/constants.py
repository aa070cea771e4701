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

"""Records, of which functions that are `@compiled` take fields by name: above all the constants of one joint (`laws`).

One record of `JOINT` per joint. Arrays of variable length (points of maps, Maxwell-slip operators, stiffness
coefficients) stand one after the other in `Tables`; each record holds the indices at which its own begin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.records import KernelRecord
from joint_dynamics.records import Record as Record


class Map(KernelRecord):
    """A periodic map of an angle in rad; no points: 0."""

    start: int  # first of its points in the tables
    size: int  # number of its points
    per_turn: float  # turns per rad


MAP = Map.dtype


class Joint(KernelRecord):
    """Constants of one joint, SI, joint side; friction and quadrants as in `FrictionModel`."""

    F_C0: float  # N·m, Coulomb friction
    F_Cl: float  # of the load |τ_J|
    F_C1: float  # 1/(N·m), of the load τ_J²
    tau_max: float  # N·m, bound of the load
    F_S: float  # N·m, static friction
    V_S: float  # rad/s, Stribeck speed
    mu: float  # Stribeck exponent
    F_V1: float  # N·m·s/rad
    F_V2: float  # N·m·s²/rad²
    F_V3: float  # N·m·s³/rad³
    F_T0: float  # N·m·√(s/rad)
    F_T1: float  # N·m·√(s/rad)/°C
    F_T2: float  # N·m·√(s/rad)·°C³
    T_0: float  # °C, reference temperature
    T_min: float  # °C, bounds of the temperature
    T_max: float
    offset: float  # N·m
    quadrants: int  # 1: Hamon's friction in the place of the others' dry and viscous part
    a_m: float  # motor quadrants: factors of the load, without unit
    b_m: float
    a_g: float  # generator quadrants
    b_g: float
    c_m: float  # N·m, motor quadrants: levels
    d_m: float
    c_g: float  # N·m, generator quadrants
    d_g: float
    F_V: float  # N·m·s/rad
    tau_off: float  # N·m
    dq_s: float  # rad/s
    speed_limit: float  # rad/s; beyond, friction is constant
    load_limit: float  # N·m; beyond, friction is constant
    operators: int  # Maxwell-slip: M, 0 for none; M limits Δ_i and then M shares k_i Δ_i in the tables
    slip: int  # first of these in the tables
    presliding: Annotated[Any, MAP]  # 𝓑(θ), rad
    error: Annotated[Any, MAP]  # θ̃(θ), rad
    order: int  # stiffness: P, 0 for rigid; P coefficients α_p in the tables
    elastic: int  # first of these in the tables
    phi_max: float  # rad, where the stiffness polynomial bends over
    elastic_range: float  # rad, beyond which the stiffness is constant
    rotor_inertia: float  # B, kg·m²
    damping: float  # D, N·m·s/rad


JOINT = Joint.dtype
_FIELDS = list(Joint.__annotations__)
FRICTION_FIELDS = tuple(_FIELDS[: _FIELDS.index('quadrants')])
"""Parameters of `FrictionModel`."""
QUADRANT_FIELDS = tuple(_FIELDS[_FIELDS.index('a_m') : _FIELDS.index('speed_limit')])
"""Parameters of its quadrants."""

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
"""Tables without anything in them."""


class Tables:
    """Arrays of variable length, one after the other; the laws take `array()`."""

    def __init__(self) -> None:
        self._parts: list[FloatArray] = []
        self._length = 0

    def add(self, values: Iterable[float] | FloatArray) -> int:
        """Append values (k,) and return where they begin."""
        part, start = np.array(values, dtype=float).ravel(), self._length
        self._parts.append(part)
        self._length += len(part)
        return start

    def array(self) -> FloatArray:
        """Return all numbers (m,), at least one."""
        return np.concatenate([*self._parts, np.zeros(1)])
