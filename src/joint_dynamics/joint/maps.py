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

"""Periodic maps over the joint angle: kinematic error θ̃(θ) and backlash 𝓑(θ) [M4 eq 30-32].

Both are look-up tables over one turn with linear interpolation, or Fourier series of at most twelve terms. One object
serves one joint (any shape of θ) or all joints at once (last axis of θ = joints), whole recordings and single samples
alike.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import laws
from joint_dynamics.joint.constants import MAP, Record, Tables, blank

MAX_HARMONICS = 12
TURN = 2.0 * np.pi


class PeriodicMap:
    """Look-up table over θ, equispaced, periodic, linear between its points.

    `PeriodicMap.stack(maps)` joins one map per joint into one that is evaluated on (…, n). Tables may differ in length.

    Parameters
    ----------
    values
        (K,), K ≥ 1: the map at θ = period·[0, 1, …, K−1]/K, in the unit of the map (rad for kinematic error and
        backlash).
    period
        rad, 2π by default (one turn of the joint).

    """

    def __init__(self, values: ArrayLike, period: float = TURN) -> None:
        table = np.atleast_1d(np.array(values, dtype=float))
        if table.ndim != 1 or table.size == 0 or not np.all(np.isfinite(table)):
            raise JointDynamicsError(f'PeriodicMap: expected a finite table of shape (K,), found shape {table.shape}')
        if not (np.isfinite(period) and period > 0):
            raise JointDynamicsError(f'PeriodicMap: expected a period > 0 rad, found {period}')
        self._take((table,), (float(period),), None)

    def _take(self, tables: tuple[FloatArray, ...], periods: tuple[float, ...], joints: int | None) -> None:
        self._tables, self._periods, self.joints = tables, periods, joints
        points = Tables()
        self._constants = blank(len(tables))
        self._constants['error'] = self.records(points)
        self._points = points.array()

    def records(self, points: Tables) -> Record:
        """Put the points into tables and return the map as the compiled laws take it, (n,) of `constants.MAP`."""
        records = np.zeros(len(self._tables), MAP)
        for record, table, period in zip(records, self._tables, self._periods, strict=True):
            # Closed by its first value, and once more: the closing point is met by rounding alone.
            record['start'] = points.add([*table, table[0], table[0]])
            record['size'], record['per_turn'] = len(table), 1.0 / period
        return records

    @classmethod
    def stack(cls, maps: Sequence[PeriodicMap]) -> PeriodicMap:
        """Join one-joint maps into one of n joints, evaluated on θ of shape (…, n)."""
        if not maps or any(item.joints is not None for item in maps):
            raise JointDynamicsError(
                'PeriodicMap.stack: expected at least one map, each of one joint, found '
                + (', '.join(f'{item.joints} joints' for item in maps if item.joints is not None) or 'none')
            )
        joined = cls.__new__(cls)
        joined._take(
            tuple(item._tables[0] for item in maps), tuple(item._periods[0] for item in maps), joints=len(maps)
        )
        return joined

    @classmethod
    def constant(cls, value: float) -> PeriodicMap:
        """Return the map of one joint that has this value everywhere."""
        return cls([value])

    @property
    def minimum(self) -> float:
        """Smallest value of the map, over all joints."""
        return float(min(table.min() for table in self._tables))

    @property
    def tables(self) -> tuple[FloatArray, ...]:
        """The points, one array per joint."""
        return tuple(table.copy() for table in self._tables)

    def _of(self, law: int, theta: ArrayLike) -> FloatArray:
        given = np.asarray(theta, dtype=float)
        if self.joints is not None and given.shape[-1:] != (self.joints,):
            raise JointDynamicsError(f'PeriodicMap: expected theta of shape (…, {self.joints}), found {given.shape}')
        return laws.evaluate(law, self.joints, self._constants, self._points, given)

    def __call__(self, theta: ArrayLike) -> FloatArray:
        """Value at θ (rad; any shape, or (…, n) for a stacked map), same shape as θ."""
        return self._of(laws.ERROR, theta)

    def for_joint(self, joint: int) -> PeriodicMap:
        """Return the map of one joint."""
        return PeriodicMap(self._tables[joint], self._periods[joint])

    def to_dict(self, joint: int = 0) -> dict[str, Any]:
        """Plain document of one joint's map: `{type: table, period: rad, values: [...]}`."""
        return {'type': 'table', 'period': self._periods[joint], 'values': self._tables[joint].tolist()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> PeriodicMap:
        """Build the map of one joint from its document, either a table or a Fourier series."""
        kind = document.get('type', 'table')
        unknown = set(document) - {
            'type',
            'period',
            'values',
            'mean',
            'cosine',
            'sine',
            'standard_deviations',
            'coverage',
            'load_shares',
            'load_lag',
        }
        if unknown:
            raise JointDynamicsError(f'periodic map: expected a known field, found {min(unknown, key=str)!r}')
        if kind == 'table':
            if 'values' not in document:
                raise JointDynamicsError(
                    f'periodic map of type table: expected the field values, found {", ".join(map(str, document))}'
                )
            return cls(_plain_list(document['values'], 'values'), _plain(document.get('period', TURN), 'period'))
        if kind == 'fourier':
            return FourierSeries.from_dict(document).tabulate()
        raise JointDynamicsError(f'periodic map: expected type table or fourier, found {kind!r}')


def _plain(value: Any, name: str) -> float:
    """Return a number of a document; numpy alone would take text and truth values for numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        raise JointDynamicsError(f'periodic map: expected a finite number in {name}, found {str(value)[:40]!r}')
    return float(value)


def _plain_list(value: Any, name: str) -> list[float]:
    if not isinstance(value, (list, tuple)):
        raise JointDynamicsError(f'periodic map: expected a list of numbers in {name}, found {str(value)[:40]!r}')
    return [_plain(item, name) for item in value]


class FourierSeries:
    """Fourier series of one joint: mean + Σ_h a_h cos hϑ + b_h sin hϑ, ϑ = 2π θ / period, 1 ≤ h ≤ H ≤ 12.

    Parameters
    ----------
    mean
        value, in the unit of the map.
    cosine, sine
        a and b, (H,) each, in the unit of the map.
    period
        rad, 2π by default (one turn of the joint).

    """

    def __init__(self, mean: float, cosine: ArrayLike, sine: ArrayLike, period: float = TURN) -> None:
        self.mean = float(mean)
        self.cosine = np.atleast_1d(np.array(cosine, dtype=float))
        self.sine = np.atleast_1d(np.array(sine, dtype=float))
        self.period = float(period)
        if self.cosine.shape != self.sine.shape or not 1 <= self.cosine.size <= MAX_HARMONICS:
            raise JointDynamicsError(
                f'FourierSeries: expected 1 to {MAX_HARMONICS} cosine and as many sine coefficients, '
                f'found {self.cosine.size} and {self.sine.size}'
            )

    @staticmethod
    def basis(theta: ArrayLike, harmonics: int, period: float = TURN) -> FloatArray:
        """Columns [1, cos ϑ … cos Hϑ, sin ϑ … sin Hϑ], shape θ.shape + (2H + 1,)."""
        angle = np.asarray(theta, dtype=float)[..., None] * (TURN / period) * np.arange(1, harmonics + 1)
        return np.concatenate([np.ones((*angle.shape[:-1], 1)), np.cos(angle), np.sin(angle)], axis=-1)

    @classmethod
    def fit(cls, theta: ArrayLike, values: ArrayLike, harmonics: int = 6, period: float = TURN) -> FourierSeries:
        """Least-squares fit to values (N,) at θ (N,) rad.

        Raises JointDynamicsError when the angles do not cover enough of the period for the harmonics.
        """
        if not 1 <= harmonics <= MAX_HARMONICS:
            raise JointDynamicsError(f'FourierSeries: expected 1 to {MAX_HARMONICS} harmonics, found {harmonics}')
        basis = cls.basis(np.ravel(theta), harmonics, period)
        solution, _, rank, _ = np.linalg.lstsq(basis, np.ravel(np.asarray(values, dtype=float)), rcond=1e-6)
        if rank < basis.shape[1]:
            raise JointDynamicsError(
                f'FourierSeries: expected angles over enough of a turn for {harmonics} harmonics, found too few '
                f'(rank {rank} of {basis.shape[1]})'
            )
        return cls(solution[0], solution[1 : harmonics + 1], solution[harmonics + 1 :], period)

    def __call__(self, theta: ArrayLike) -> FloatArray:
        """Value at θ (rad, any shape)."""
        coefficients = np.concatenate([[self.mean], self.cosine, self.sine])
        return self.basis(theta, self.cosine.size, self.period) @ coefficients

    def tabulate(self, points: int = 720) -> PeriodicMap:
        """Return the same map as a table.

        With 720 points the interpolation error is below (h·2π/720)²/8 of harmonic h.
        """
        return PeriodicMap(self(np.arange(points) * self.period / points), self.period)

    def to_dict(self) -> dict[str, Any]:
        """Plain document `{type: fourier, period, mean, cosine, sine}`."""
        return {
            'type': 'fourier',
            'period': self.period,
            'mean': self.mean,
            'cosine': self.cosine.tolist(),
            'sine': self.sine.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> FourierSeries:
        """Build from the document written by `to_dict`."""
        missing = {'mean', 'cosine', 'sine'} - set(document)
        if missing:
            raise JointDynamicsError(
                f'periodic map of type fourier: expected the field {sorted(missing)[0]}, found '
                f'{", ".join(map(str, document))}'
            )
        return cls(
            _plain(document['mean'], 'mean'),
            _plain_list(document['cosine'], 'cosine'),
            _plain_list(document['sine'], 'sine'),
            _plain(document.get('period', TURN), 'period'),
        )
