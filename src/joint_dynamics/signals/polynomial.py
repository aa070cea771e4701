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

"""Polynomials between points: Hermite segments, the bounds of their derivatives, their extremes.

The bounds come from Bernstein's form. On [0, T] a polynomial Σ c_p x^p of degree d lies within its Bernstein
coefficients, of which the first and the last are its values at both ends:

    b_i = Σ_{p ≤ i} C(i, p) / C(d, p) c_p T^p.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb, factorial, perm

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray

BLOCK = 500  # segments solved at once; one call over all of them would block the other threads of the interpreter
STEP_PEAKS = (1.0, 15 / 8, 10 / 3**0.5, 60.0, 360.0)  # largest |s| … |s⁽⁴⁾| of the smooth step over [0, 1]


def smooth_step(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return s = 10 x³ − 15 x⁴ + 6 x⁵ and its first two derivatives for x in [0, 1].

    The quintic from rest at 0 to rest at 1.
    """
    return x**3 * (10 - 15 * x + 6 * x**2), 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)


@cache
def _hermite(K: int) -> FloatArray:
    """Return the matrix from [x₀, x₀′, …, x₁, x₁′, …] in time scaled to 1 to the 2K ascending coefficients."""
    ends = np.zeros((2 * K, 2 * K))
    for d in range(K):
        ends[d, d] = factorial(d)
        for power in range(d, 2 * K):
            ends[K + d, power] = perm(power, d)
    # its entries are whole multiples of 1 / (K − 1)!
    return np.round(np.linalg.inv(ends) * factorial(K - 1)) / factorial(K - 1)


def hermite_segments(time: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
    """Return the ascending coefficients (points − 1, 2K, n), in time since the segment's first point.

    Parameters
    ----------
    values
        the function at `time` (points,) and its first K − 1 derivatives, (points, n) each, which every segment matches
        at both ends: K = 1 straight lines, 2 cubics, 3 quintics, 4 septics.
    """
    K = len(values)
    duration = np.diff(time)
    coefficients = np.empty((len(duration), 2 * K, values[0].shape[1]))
    for first in range(0, len(duration), BLOCK):
        T = duration[first : first + BLOCK]
        begin, end = slice(first, first + len(T)), slice(first + 1, first + len(T) + 1)
        ends = np.concatenate(
            [
                [v[begin] * T[:, None] ** d for d, v in enumerate(values)],
                [v[end] * T[:, None] ** d for d, v in enumerate(values)],
            ]
        )
        scaled = np.einsum('pk,ksn->spn', _hermite(K), ends)
        coefficients[begin] = scaled / T[:, None, None] ** np.arange(2 * K)[None, :, None]
    return coefficients


class PiecewisePolynomial:
    """n functions of time, polynomials between the points `time` (points,) [s].

    Parameters
    ----------
    coefficients
        (points − 1, degree + 1, n), ascending, in time since the segment's first point.
    """

    def __init__(self, time: ArrayLike, coefficients: FloatArray):
        self.time = np.asarray(time, dtype=float)
        self.coefficients = coefficients
        self._known: dict[int, FloatArray] = {}  # coefficients of derivatives that were asked for

    @classmethod
    def hermite(cls, time: FloatArray, values: Sequence[FloatArray]) -> PiecewisePolynomial:
        """Return the function through values and derivatives, see `hermite_segments`."""
        return cls(time, hermite_segments(time, values))

    def segment(self, t: FloatArray) -> FloatArray:
        """Return the segment that contains each of the times t (samples,); the first and the last extend outside."""
        return np.clip(np.searchsorted(self.time, t, side='right') - 1, 0, len(self.coefficients) - 1)

    def derivatives(self, t: FloatArray, count: int, inside: FloatArray | None = None) -> FloatArray:
        """Return the function and its first count − 1 derivatives at t (samples,), (count, n, samples).

        Parameters
        ----------
        inside
            times that select the segments (samples,); None: t.
        """
        index = self.segment(t if inside is None else inside)
        x = (t - self.time[index])[:, None]
        return np.array(
            [
                np.einsum('sp,spn->ns', x ** np.arange(part.shape[1]), part[index])
                for part in map(self._derivative, range(count))
            ]
        )

    def _derivative(self, order: int) -> FloatArray:
        """Return the coefficients of a derivative, (segments, powers, n)."""
        if order not in self._known:
            powers = self.coefficients.shape[1]
            factors = np.array([perm(p, order) for p in range(order, powers)])[:, None]
            part = self.coefficients[:, order:] * factors if order < powers else 0.0 * self.coefficients[:, :1]
            self._known[order] = part
        return self._known[order]

    def bernstein(self, order: int) -> FloatArray:
        """Return the Bernstein coefficients of a derivative, (segments, degree + 1, n), between which it stays."""
        part = self._derivative(order)
        d = part.shape[1] - 1
        T = np.diff(self.time)[:, None, None]
        matrix = [[comb(i, p) / comb(d, p) for p in range(d + 1)] for i in range(d + 1)]
        return np.einsum('ip,spn->sin', matrix, part * T ** np.arange(d + 1)[:, None])

    def extremes(self, order: int, tolerance: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return bounds of a derivative over all time: lowest (n,), highest (n,), and a time of each.

        No value lies outside. Each bound is at most `tolerance` ((n,) or a number, in its unit) from a value that is
        reached, on one side of a jump, at the returned time.

        Segments whose Bernstein coefficients exceed the values at the points are examined at the roots of the next
        derivative; of all others the coefficients themselves are the bound.
        """
        hull, slope = self.bernstein(order), self._derivative(order + 1)
        n = hull.shape[2]
        found = np.empty((4, n))
        allowed = np.broadcast_to(np.asarray(tolerance, dtype=float), (n,))
        for j in range(n):
            for row, sign in ((0, -1.0), (1, 1.0)):
                outer = (sign * hull[:, :, j]).max(axis=1)
                ends = sign * hull[:, [0, -1], j]
                segment, side = divmod(int(ends.argmax()), 2)
                reached, when = ends[segment, side], self.time[segment + side]
                for k in np.flatnonzero(outer > reached + allowed[j]):
                    turns = np.roots(slope[k, ::-1, j]).real
                    turns = self.time[k] + turns[(turns > 0) & (turns < self.time[k + 1] - self.time[k])]
                    inside = np.full(len(turns), (self.time[k] + self.time[k + 1]) / 2)
                    values = sign * self.derivatives(turns, order + 1, inside)[order, j]
                    outer[k] = values.max(initial=ends[k].max())
                    if outer[k] > reached:
                        reached, when = outer[k], turns[values.argmax()]
                found[row, j], found[2 + row, j] = sign * outer.max(), when
        return found[0], found[1], found[2], found[3]
