"""Periodic maps over the joint angle: kinematic error θ̃(θ) and backlash 𝓑(θ) [M4 eq 30-32].

Both are look-up tables over one turn with linear interpolation, or Fourier series of at most twelve terms. One object serves one joint (any
shape of θ) or all joints at once (last axis of θ = joints), whole recordings and single samples alike.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.errors import JointDynamicsError

MAX_HARMONICS = 12
TURN = 2.0 * np.pi


class PeriodicMap:
    """Look-up table over θ, equispaced, periodic, linear between its points.

    values  (K,), K ≥ 1: the map at θ = period·[0, 1, …, K−1]/K, in the unit of the map (rad for kinematic error and backlash).
    period  rad, 2π by default (one turn of the joint).

    `PeriodicMap.stack(maps)` joins one map per joint into one that is evaluated on (…, n). Tables may differ in length.
    """

    def __init__(self, values: ArrayLike, period: float = TURN) -> None:
        table = np.atleast_1d(np.array(values, dtype=float))
        if table.ndim != 1 or table.size == 0 or not np.all(np.isfinite(table)):
            raise JointDynamicsError(f'PeriodicMap: expected a finite table of shape (K,), found shape {table.shape}')
        if not (np.isfinite(period) and period > 0):
            raise JointDynamicsError(f'PeriodicMap: expected a period > 0 rad, found {period}')
        self._tables: tuple[NDArray, ...] = (table,)
        self._periods: tuple[float, ...] = (float(period),)
        self._prepare(joints=None)

    def _prepare(self, joints: int | None) -> None:
        # All tables in one flat array, each closed by its own first value, so that one gather serves every joint.
        self.joints = joints
        self._flat = np.concatenate([np.append(table, table[0]) for table in self._tables])
        sizes = np.array([table.size for table in self._tables])
        starts = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
        scale = sizes / np.array(self._periods)
        # Scalars for one joint, so that any shape of θ broadcasts; (n,) for all joints.
        pick = slice(None) if joints is not None else 0
        self._size: NDArray = sizes[pick]
        self._start: NDArray = starts[pick]
        self._scale: NDArray = scale[pick]

    @classmethod
    def stack(cls, maps: Sequence[PeriodicMap]) -> PeriodicMap:
        """Join one-joint maps into one of n joints, evaluated on θ of shape (…, n)."""
        if not maps or any(item.joints is not None for item in maps):
            raise JointDynamicsError('PeriodicMap.stack: expected at least one map, each of one joint')
        joined = cls.__new__(cls)
        joined._tables = tuple(item._tables[0] for item in maps)
        joined._periods = tuple(item._periods[0] for item in maps)
        joined._prepare(joints=len(maps))
        return joined

    @classmethod
    def constant(cls, value: float) -> PeriodicMap:
        """Return the map that is the same everywhere."""
        return cls([value])

    @property
    def minimum(self) -> float:
        """Smallest value of the map, over all joints."""
        return float(min(table.min() for table in self._tables))

    @property
    def tables(self) -> tuple[NDArray, ...]:
        """The points, one array per joint."""
        return tuple(table.copy() for table in self._tables)

    def _locate(self, theta: ArrayLike) -> tuple[NDArray, NDArray]:
        given = np.asarray(theta, dtype=float)
        if self.joints is not None and given.shape[-1:] != (self.joints,):
            raise JointDynamicsError(f'PeriodicMap: expected theta of shape (…, {self.joints}), found {given.shape}')
        u = given * self._scale
        u = u - np.floor(u / self._size) * self._size
        # u == size happens by rounding just below a whole turn; the closing point makes it harmless.
        cell = np.minimum(u.astype(np.intp), self._size - 1)
        return cell + self._start, u - cell

    def __call__(self, theta: ArrayLike) -> NDArray:
        """Value at θ (rad; any shape, or (…, n) for a stacked map), same shape as θ."""
        index, fraction = self._locate(theta)
        low = self._flat[index]
        return low + fraction * (self._flat[index + 1] - low)

    def derivative(self, theta: ArrayLike) -> NDArray:
        """Slope d(map)/dθ at θ (per rad), constant between points."""
        index, _ = self._locate(theta)
        return (self._flat[index + 1] - self._flat[index]) * self._scale

    def for_joint(self, joint: int) -> PeriodicMap:
        """Return the map of one joint."""
        return PeriodicMap(self._tables[joint], self._periods[joint])

    def to_dict(self, joint: int = 0) -> dict:
        """Plain document of one joint's map: `{type: table, period: rad, values: [...]}`."""
        return {'type': 'table', 'period': self._periods[joint], 'values': self._tables[joint].tolist()}

    @classmethod
    def from_dict(cls, document: Mapping) -> PeriodicMap:
        """Build the map of one joint from its document, either a table or a Fourier series."""
        kind = document.get('type', 'table')
        unknown = set(document) - {'type', 'period', 'values', 'mean', 'cosine', 'sine', 'standard_deviations', 'coverage'}
        if unknown:
            raise JointDynamicsError(f'periodic map: unknown field {sorted(unknown)[0]!r}')
        if kind == 'table':
            if 'values' not in document:
                raise JointDynamicsError('periodic map of type table: expected the field values')
            return cls(document['values'], document.get('period', TURN))
        if kind == 'fourier':
            return FourierSeries.from_dict(document).tabulate()
        raise JointDynamicsError(f'periodic map: expected type table or fourier, found {kind!r}')


class FourierSeries:
    """Fourier series over θ with at most twelve harmonics: mean + Σ_h a_h cos hϑ + b_h sin hϑ, ϑ = 2π θ / period.

    mean  value; cosine (H,), sine (H,); 1 ≤ H ≤ 12. One joint.
    """

    def __init__(self, mean: float, cosine: ArrayLike, sine: ArrayLike, period: float = TURN) -> None:
        self.mean = float(mean)
        self.cosine = np.atleast_1d(np.array(cosine, dtype=float))
        self.sine = np.atleast_1d(np.array(sine, dtype=float))
        self.period = float(period)
        if self.cosine.shape != self.sine.shape or not 1 <= self.cosine.size <= MAX_HARMONICS:
            raise JointDynamicsError(f'FourierSeries: expected 1 to {MAX_HARMONICS} cosine and as many sine coefficients, '
                                     f'found {self.cosine.size} and {self.sine.size}')

    @staticmethod
    def basis(theta: ArrayLike, harmonics: int, period: float = TURN) -> NDArray:
        """Columns [1, cos ϑ … cos Hϑ, sin ϑ … sin Hϑ], shape θ.shape + (2H + 1,)."""
        angle = np.asarray(theta, dtype=float)[..., None] * (TURN / period) * np.arange(1, harmonics + 1)
        return np.concatenate([np.ones((*angle.shape[:-1], 1)), np.cos(angle), np.sin(angle)], axis=-1)

    @classmethod
    def fit(cls, theta: ArrayLike, values: ArrayLike, harmonics: int = 6, period: float = TURN) -> FourierSeries:
        """Least-squares fit to values (N,) at θ (N,) rad; raises when the angles do not span what the harmonics need."""
        if not 1 <= harmonics <= MAX_HARMONICS:
            raise JointDynamicsError(f'FourierSeries: expected 1 to {MAX_HARMONICS} harmonics, found {harmonics}')
        basis = cls.basis(np.ravel(theta), harmonics, period)
        solution, _, rank, _ = np.linalg.lstsq(basis, np.ravel(np.asarray(values, dtype=float)), rcond=1e-6)
        if rank < basis.shape[1]:
            raise JointDynamicsError(f'FourierSeries: the angles cover too little of a turn for {harmonics} harmonics '
                                     f'(rank {rank} of {basis.shape[1]})')
        return cls(solution[0], solution[1:harmonics + 1], solution[harmonics + 1:], period)

    def __call__(self, theta: ArrayLike) -> NDArray:
        """Value at θ (rad, any shape)."""
        coefficients = np.concatenate([[self.mean], self.cosine, self.sine])
        return self.basis(theta, self.cosine.size, self.period) @ coefficients

    def tabulate(self, points: int = 720) -> PeriodicMap:
        """Return the same map as a table; with 720 points the interpolation error is below (h·2π/720)²/8 of harmonic h."""
        return PeriodicMap(self(np.arange(points) * self.period / points), self.period)

    def to_dict(self) -> dict:
        """Plain document `{type: fourier, period, mean, cosine, sine}`."""
        return {'type': 'fourier', 'period': self.period, 'mean': self.mean, 'cosine': self.cosine.tolist(), 'sine': self.sine.tolist()}

    @classmethod
    def from_dict(cls, document: Mapping) -> FourierSeries:
        """Build from the document written by `to_dict`."""
        missing = {'mean', 'cosine', 'sine'} - set(document)
        if missing:
            raise JointDynamicsError(f'periodic map of type fourier: expected the field {sorted(missing)[0]}')
        return cls(document['mean'], document['cosine'], document['sine'], document.get('period', TURN))
