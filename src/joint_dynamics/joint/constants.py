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

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.arrays import FloatArray

Record = NDArray[np.void]
"""An array of records, such as of `JOINT`."""

MAP = np.dtype([('start', 'i8'), ('size', 'i8'), ('per_turn', 'f8')], align=True)
"""A periodic map [of an angle in rad]: first of its points in the tables, their number, turns per rad; no points: 0."""

FRICTION_FIELDS = (
    'F_C0', 'F_Cl', 'F_C1', 'tau_max', 'F_S', 'V_S', 'mu', 'F_V1', 'F_V2', 'F_V3',
    'F_T0', 'F_T1', 'F_T2', 'T_0', 'T_min', 'T_max', 'offset',
)  # fmt: skip
"""Parameters of `FrictionModel`, see there."""
QUADRANT_FIELDS = ('a_m', 'b_m', 'a_g', 'b_g', 'c_m', 'd_m', 'c_g', 'd_g', 'F_V', 'tau_off', 'dq_s')
"""Parameters of its quadrants, see there."""

JOINT = np.dtype(
    [
        *((name, 'f8') for name in FRICTION_FIELDS),
        ('quadrants', 'i8'),  # 1: Hamon's friction in the place of the others' dry and viscous part
        *((name, 'f8') for name in QUADRANT_FIELDS),
        ('speed_limit', 'f8'),  # rad/s and N·m: beyond, friction is what it is there
        ('load_limit', 'f8'),
        ('operators', 'i8'),  # Maxwell-slip: M, 0 for none; M limits Δ_i and then M shares k_i Δ_i in the tables
        ('slip', 'i8'),
        ('presliding', MAP),  # 𝓑(θ), rad
        ('error', MAP),  # θ̃(θ), rad
        ('order', 'i8'),  # stiffness: P, 0 for rigid; P coefficients α_p in the tables
        ('elastic', 'i8'),
        ('phi_max', 'f8'),  # rad, where the stiffness polynomial bends over
        ('elastic_range', 'f8'),  # rad, beyond which the stiffness stays what it is there
        ('rotor_inertia', 'f8'),  # B, kg·m²
        ('damping', 'f8'),  # D, N·m·s/rad
    ],
    align=True,
)
"""Constants of one joint, SI, joint side; the fields of friction and quadrants as their classes have them."""

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
