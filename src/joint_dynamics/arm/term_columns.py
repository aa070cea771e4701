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

"""The columns of further terms as data, along the motion of one joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arm import sample as laws
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.joint.constants import Record, blank


@compiled
def columns_along(
    terms: Any, motion: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], out: FloatArray
) -> None:
    """Write `column` of terms (k,) along a motion of one joint into out (k, samples).

    motion: q, ω, s, H, τ_J, T, (samples,) each; H is what HYSTERESIS takes for s.
    """
    q, omega, s, H, load, temperature = motion
    for k in range(len(terms)):
        term = terms[k]
        for i in range(len(q)):
            direction = H[i] if term.kind == laws.HYSTERESIS else s[i]
            out[k, i] = laws.column(term, q[i], omega[i], direction, load[i], temperature[i])


LOADED = ('F_Cl', 'F_C1', 'load_gain', 'load_sign')
WARM = ('F_T1', 'F_T2')
FRICTION = ('F_T0', 'F_V2', 'F_V3', *LOADED[:2], *WARM, *LOADED[2:])
"""Friction that one parameter scales, by its name (`sample`)."""


@dataclass(frozen=True)
class Motion:
    """The motion of one joint on which its terms depend, arrays (samples,).

    Attributes
    ----------
    q
        link side [rad].
    dq
        motor side [rad/s].
    sign
        direction of slip s; None: sgn(dq).
    load
        torque through the transmission, τ_J [N·m].
    temperature
        [°C].
    slip
        H of a hysteresis by its width [rad].

    """

    q: FloatArray
    dq: FloatArray
    sign: FloatArray | None = None
    load: FloatArray | None = None
    temperature: FloatArray | None = None
    slip: Mapping[float, FloatArray] = field(default_factory=dict)

    @property
    def s(self) -> FloatArray:
        """Direction of slip, in [−1, 1]."""
        return np.sign(self.dq) if self.sign is None else self.sign

    def need(self, name: str) -> FloatArray:
        """Return an optional field; raise JointDynamicsError where it is missing."""
        value = getattr(self, name)
        if value is None:
            raise JointDynamicsError(
                f'terms: expected a recording with {name} for a term that depends on it, found none'
            )
        return value


class Column(NamedTuple):
    """One column: `kind` and `order` of `sample`, the fields of its friction law."""

    kind: int
    law: tuple[tuple[str, float], ...] = ()
    order: float = 0.0

    @classmethod
    def of_friction(cls, name: str, bounds: Mapping[str, float]) -> Column:
        """Return the column of a parameter of `FRICTION`; bounds: T_0 [°C], tau_max [N·m]."""
        kind = {'load_gain': laws.LOAD_GAIN, 'load_sign': laws.LOAD_SIGN}.get(name, laws.LAW)
        return cls(kind, (*bounds.items(), *(((name, 1.0),) if kind == laws.LAW else ())))


def records_of(columns: Sequence[Column]) -> Record:
    """Return columns as the compiled laws take them, (k,) of `sample.TermConstants`, each with the parameter 1."""
    records = np.zeros(len(columns), laws.TermConstants.dtype)
    records['law'], records['value'] = blank(len(columns)), 1.0
    for record, column in zip(records, columns, strict=True):
        record['kind'], record['order'] = column.kind, column.order
        for name, value in column.law:
            record['law'][name] = value
            record['warm'] |= name in WARM
    return records


def needs_of(name: str) -> frozenset[str]:
    """Return the quantities that a term of `FRICTION` takes beside position and speed."""
    return frozenset({'load'} if name in LOADED else {'temperature'} if name in WARM else ())


def slip_of(theta: FloatArray, width: float) -> FloatArray:
    """Return H (samples, n) in [−1, 1] of one operator per joint that slips after `width` [rad].

    It is undeformed at the first sample. theta: (samples, n) [rad].
    """
    return MaxwellSlip(theta.shape[1], width, limits=[1.0], stiffness=[1.0]).run(theta)
