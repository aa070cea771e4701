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

"""A desired motion between points, and how many of its derivatives exist.

Every segment is the Hermite polynomial of degree 2K − 1 through position and K − 1 derivatives at both ends. The motion
is K − 1 times continuously differentiable, and K times with jumps in between:

    K = 1  positions: a straight line        K = 2  + velocities: cubic
    K = 3  + accelerations: quintic          K = 4  + jerks: septic

`joint_trajectory_controller` does the same for K ≤ 3. A smooth motion (K = 4) is made from any of them. A missing
derivative at a point is the mean of its two segments there; for positions alone, that of the quintic spline through all
points. Flexible joints need K = 4: the torque contains the fourth derivative [M2 2.3.3].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import factorial

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.signals.polynomial import PiecewisePolynomial, hermite_segments

#: Rows of a motion: q, q̇, q̈, q⃛, q⁗.
DERIVATIVES = 5
#: Below this a velocity (rad/s), acceleration, jerk of an end point is rest.
REST = 1e-6


def _mean_derivative(time: FloatArray, values: Sequence[FloatArray], d: int) -> FloatArray:
    """Return the d-th derivative (points, n) of the segments through `values`.

    The mean of both sides, 0 at both ends.
    """
    coefficients = hermite_segments(time, values)
    powers = np.arange(d, coefficients.shape[1])
    factors = np.array([factorial(p) / factorial(p - d) for p in powers])
    T = np.diff(time)[:, None]
    left = factorial(d) * coefficients[:, d]
    right = np.einsum('spn,sp->sn', coefficients[:, d:], factors * T ** (powers - d))
    out = np.zeros_like(values[0])
    out[1:-1] = 0.5 * (right[:-1] + left[1:])
    return out


def _at_rest(motion: FloatArray) -> int:
    """Return how many derivatives of a motion (5, n), from the first on, are zero."""
    largest = np.abs(motion[1:]).max(axis=1)
    moving = largest > REST * np.array([1.0, 1e2, 1e4, 1e6])
    return int(np.argmax(moving)) if moving.any() else DERIVATIVES - 1


class Path:
    """A desired motion of n joints through P ≥ 2 points, at rest at the end and held there.

    Parameters
    ----------
    time
        (P,) s, increasing.
    q
        (P, n) rad.
    dq, ddq
        (P, n) rad/s and rad/s², or None.
    smooth
        whether the motion is made with K = 4.
    start
        motion (5, n) at the first point, with the position of that point; None: at rest.

    Attributes
    ----------
    derivatives
        number of derivatives that exist, counting the standstill after the motion (and before it, unless it starts in
        motion).
    start, end
        s.
    brought_in
        (n,) rad, distance from the requested first point to the actual one; zeros unless set by the creator.

    Raises
    ------
    JointDynamicsError
        For shapes that do not fit, values that are not finite, and a last point that is not at rest.

    """

    def __init__(
        self,
        time: ArrayLike,
        q: ArrayLike,
        dq: ArrayLike | None = None,
        ddq: ArrayLike | None = None,
        *,
        smooth: bool = True,
        start: FloatArray | None = None,
    ):
        t = np.array(time, dtype=float)
        given: list[FloatArray] = [np.array(q, dtype=float)] + [
            np.array(values, dtype=float) for values in (dq, ddq) if values is not None
        ]
        if dq is None and ddq is not None:
            raise JointDynamicsError('trajectory: expected velocities where accelerations are given, found none')
        if t.ndim != 1 or t.size < 2 or any(values.shape != (t.size, given[0].shape[-1]) for values in given):
            raise JointDynamicsError(
                f'trajectory: expected at least two points with as many rows of every quantity, found time {t.shape}'
                f' and {", ".join(str(values.shape) for values in given)}'
            )
        if not np.isfinite(t).all() or np.any(np.diff(t) <= 0):
            raise JointDynamicsError(
                f'trajectory: expected finite times that increase from point to point, found {str(t.tolist())[:80]}'
            )
        for name, numbers in zip(('positions', 'velocities', 'accelerations'), given, strict=False):
            if not np.isfinite(numbers).all():
                raise JointDynamicsError(
                    f'trajectory: expected finite {name}, found {numbers[~np.isfinite(numbers)][0]}'
                )
        if len(given) > 1 and not np.all(np.abs(given[1][-1]) <= REST):
            raise JointDynamicsError(
                f'trajectory: expected the last point at rest (to {REST:g} rad/s), found velocities'
                f' {given[1][-1].tolist()}'
            )
        if start is not None:
            for d in range(1, len(given)):
                given[d][0] = start[d]
        values: list[FloatArray] = self._completed(t, given, start) if smooth else given
        self._time = t
        self.brought_in: FloatArray = np.zeros(given[0].shape[1])
        self._coefficients = hermite_segments(t, values)
        powers = np.arange(self._coefficients.shape[1])
        self._factors = np.array(
            [[factorial(p) / factorial(p - d) if p >= d else 0.0 for p in powers] for d in range(DERIVATIVES)]
        )
        self._powers = np.maximum(powers - np.arange(DERIVATIVES)[:, None], 0)
        self._first, self._last = (
            np.concatenate([values[0][k : k + 1], np.zeros((DERIVATIVES - 1, values[0].shape[1]))])
            for k in (0, t.size - 1)
        )
        ends = self._inside(np.array([t.size - 2, 0]), np.array([t[-1] - t[-2], 0.0]))[: 2 if start is None else 1]
        self.derivatives = min([len(values), *(1 + _at_rest(end) for end in ends)])

    @staticmethod
    def _completed(t: FloatArray, given: list[FloatArray], start: FloatArray | None) -> list[FloatArray]:
        values = list(given)
        begin = np.zeros((DERIVATIVES, given[0].shape[1])) if start is None else start
        if len(values) == 1:
            zero = np.zeros(given[0].shape[1])
            spline = make_interp_spline(
                t, given[0], k=5, bc_type=([(1, begin[1]), (2, begin[2])], [(1, zero), (2, zero)])
            )
            values += [spline(t, nu=d) for d in (1, 2, 3)]
            for derivative in values[1:]:
                derivative[-1] = 0.0
        while len(values) < 4:
            values.append(_mean_derivative(t, values, len(values)))
        for d in range(len(given), 4):
            values[d][0] = begin[d]
        return values

    @property
    def start(self) -> float:
        """Time of the first point, s."""
        return float(self._time[0])

    @property
    def end(self) -> float:
        """Time of the last point, s."""
        return float(self._time[-1])

    @property
    def times(self) -> FloatArray:
        """Times of the points (P,), s."""
        return self._time.copy()

    def at(self, time: float) -> FloatArray:
        """Return the motion (5, n) at `time` s, as `sample` does."""
        return self.sample([time])[0]

    def sample(self, times: ArrayLike) -> FloatArray:
        """Return the motion (N, 5, n) at `times` (N,) s: q, q̇, q̈, q⃛, q⁗.

        At rest before the first and from the last point on.
        """
        t = np.ravel(np.asarray(times, dtype=float))
        segment = np.clip(np.searchsorted(self._time, t, side='right') - 1, 0, self._time.size - 2)
        motion = self._inside(segment, t - self._time[segment])
        motion[t < self._time[0]] = self._first
        motion[~(t < self._time[-1])] = self._last
        return motion

    def _inside(self, segment: IntArray, s: FloatArray) -> FloatArray:
        """Return the motion (N, 5, n) at `s` (N,) seconds after the beginning of the segments (N,)."""
        return np.asarray((self._factors * s[:, None, None] ** self._powers) @ self._coefficients[segment])

    def extremes(self, derivative: int, tolerance: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return proved bounds of a derivative (0: position, 1: speed, …) of each joint over the whole path.

        The bounds hold between the points as well; each is at most `tolerance`, in its unit, from a value that is
        reached.

        Returns
        -------
        lowest, highest
            (n,) each, rad, rad/s, ….
        times of both
            (n,) s each, on the time axis of the points.

        """
        return PiecewisePolynomial(self._time, self._coefficients).extremes(derivative, tolerance)

    @cached_property
    def largest_acceleration(self) -> FloatArray:
        """Largest accelerations (n,) rad/s² at the points, on both sides of each, and at seven instants in between."""
        times = self._time[:-1, None] + np.diff(self._time)[:, None] * np.linspace(0.0, 1.0 - 1e-9, 9)
        return np.asarray(np.abs(self.sample(times)[:, 2]).max(axis=0))


def order_joints(joint_names: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return where each of the robot's joints is in `names`.

    Raises
    ------
    JointDynamicsError
        When a name is missing, occurs twice, or is not a joint of the robot.
    """
    index = {name: k for k, name in enumerate(names)}
    unknown = [name for name in names if name not in joint_names]
    missing = [name for name in joint_names if name not in index]
    if unknown or missing or len(index) != len(names):
        raise JointDynamicsError(
            f'trajectory: expected each of the joints {", ".join(joint_names)} once, found {", ".join(names) or "none"}'
        )
    return [index[name] for name in joint_names]
