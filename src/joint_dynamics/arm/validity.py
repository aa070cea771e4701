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

"""The range in which a described friction was checked, and the friction at its limit beyond.

The magnitudes of speed and load are bounded, |ω| ≤ ω_max and |τ_J| ≤ τ_max, and temperature to [low, high]: outside the
range, friction stays at its value at the limit instead of following a polynomial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray


@dataclass(frozen=True)
class Validity:
    """Limits of n joints, infinite where not stated.

    Attributes
    ----------
    speed
        (n,) rad/s, on the motor side.
    load
        (n,) N·m.
    low, high
        (n,) °C.

    """

    speed: FloatArray
    load: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, documents: Sequence[Mapping[str, Any] | None]) -> Validity | None:
        """Return the limits of `joints.<name>.validity`, one document or None per joint.

        None where no joint has one.
        """
        if not any(documents):
            return None
        given = [document or {} for document in documents]
        temperature = np.array([document.get('temperature', (-np.inf, np.inf)) for document in given], dtype=float)
        return cls(
            np.array([document.get('speed', np.inf) for document in given], dtype=float),
            np.array([document.get('load', np.inf) for document in given], dtype=float),
            temperature[:, 0],
            temperature[:, 1],
        )

    def only_where_dependent(self, loaded: FloatArray, warm: FloatArray) -> Validity:
        """Return the same with limits of load only where `loaded`, of temperature only where `warm`, (n,) bool each."""
        return Validity(
            self.speed,
            np.where(loaded, self.load, np.inf),
            np.where(warm, self.low, -np.inf),
            np.where(warm, self.high, np.inf),
        )


def _grow(most: FloatArray, values: FloatArray) -> None:
    size = np.abs(values)
    np.fmax(most, size if size.ndim == 1 else np.fmax.reduce(size), out=most)


class RangeWatch:
    """Record of the motion against the range of validity: the largest |ω| and |τ_J|, the lowest and highest T so far.

    Parameters
    ----------
    validity
        None: everything is within.
    joint_names
        (n,), for `notes`.

    Attributes
    ----------
    seen
        (4, n) largest |ω| rad/s and |τ_J| N·m, highest and lowest T °C since `reset`; compiled laws write to it
        directly.
    """

    def __init__(self, validity: Validity | None, joint_names: Sequence[str]):
        self._validity, self._names = validity, tuple(joint_names)
        self.seen: FloatArray = np.empty((4, len(self._names)))
        self.reset()

    def reset(self) -> None:
        """Forget all values so far."""
        self.seen[:] = np.array([0.0, 0.0, -np.inf, np.inf])[:, None]

    def update(self, speed: FloatArray, load: FloatArray) -> None:
        """Take motor speeds rad/s and loads N·m, (n,) or (N, n); NaN is ignored."""
        if self._validity is None:
            return
        _grow(self.seen[0], speed)
        _grow(self.seen[1], load)

    def update_temperature(self, temperature: ArrayLike) -> None:
        """Take temperatures °C, (n,) or (N, n); NaN is ignored."""
        if self._validity is None:
            return
        values = np.atleast_2d(np.asarray(temperature, dtype=float))
        np.fmin(self.seen[3], np.fmin.reduce(values), out=self.seen[3])
        np.fmax(self.seen[2], np.fmax.reduce(values), out=self.seen[2])

    def notes(self) -> list[str]:
        """Return a note on each joint and quantity that left the range, without values, so that it stays the same."""
        limits = self._validity
        if limits is None:
            return []
        return [
            f'joints.{self._names[j]}.validity.{key}: {side} {limit[j]:.3g} {unit}, friction is held at its value there'
            for key, unit, side, beyond, limit in (
                ('speed', 'rad/s', 'above', self.seen[0] > limits.speed, limits.speed),
                ('load', 'N·m', 'above', self.seen[1] > limits.load, limits.load),
                ('temperature', '°C', 'above', self.seen[2] > limits.high, limits.high),
                ('temperature', '°C', 'below', self.seen[3] < limits.low, limits.low),
            )
            for j in np.flatnonzero(beyond)
        ]
