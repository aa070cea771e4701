"""Polynomials between points, and proved extremes of functions of time.

The Hermite segments of planned motions have bounds of all their derivatives. Lower bounds of a function are proved by
branch and bound over intervals instead of a grid of samples.

A twice differentiable function differs from the chord between two of its points, h apart, by at most h²/8 sup|f″|; a
Lipschitz function by h L/2. With either bound, an interval whose lower bound is above the smallest value seen so far
(less the tolerance) is finished, and any other is halved. Near a smooth minimum the bounds converge quadratically, so
that only a few intervals per halving remain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import comb, factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray

MAX_HALVINGS = 48
MAX_INTERVALS = 200_000
"""Bounds of effort: where they end the search the bound is true, but further than the tolerance from the smallest
value."""


class CertifiedMinimum(NamedTuple):
    """Bounds of the smallest value of a function.

    No value is below `bound`; `seen` is the smallest one computed, at one end of an interval [begin, end] [s].
    """

    bound: float
    seen: float
    begin: float
    end: float


def decided(
    lower: FloatArray, seen: float, tolerance: float, enough: float = np.inf, allowed: float | None = None
) -> BoolArray:
    """Return which intervals need no further refinement, (N,) bool.

    Parameters
    ----------
    lower
        lower bounds (N,) of the function over the intervals.
    seen
        the smallest value so far.
    tolerance
        largest allowed distance of a bound from the smallest value.
    enough
        where finite, it is only decided whether every value is above it.
    allowed
        where given, a bound must also be on the same side of 0 and of −allowed as the smallest value, so that a limit
        that is kept is not called broken for lack of precision; 0 itself is not decided within `allowed`.

    """
    if enough < np.inf:
        return lower >= enough
    done = lower >= seen - tolerance
    if allowed is not None:
        if seen >= allowed:
            done &= lower >= 0.0
        elif seen >= -allowed:
            done &= lower >= -allowed
    return done


def certified_minimum(
    begin: FloatArray,
    end: FloatArray,
    values: Callable[[FloatArray, FloatArray], FloatArray],
    lowest: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
    tolerance: float,
    enough: float = np.inf,
    allowed: float | None = None,
) -> CertifiedMinimum:
    """Bound the smallest value over intervals [begin, end] (N,) [s] from below.

    Parameters
    ----------
    values
        (t (M,), inside (M,)) → (m, M), the values that `lowest` needs, at t in the interval that contains `inside`: at
        a jump the two sides differ.
    lowest
        (begin, end, values at begin, at end) → a lower bound and the smallest value seen, (N,) each.
    enough, allowed
        see `decided`; a value seen below `enough` ends the search.
    """
    inside = (begin + end) / 2
    first, last = values(begin, inside), values(end, inside)
    seen, bound, where = np.inf, np.inf, (0.0, 0.0)
    for halving in range(MAX_HALVINGS + 1):
        lower, met = lowest(begin, end, first, last)
        k = int(np.argmin(met))
        if met[k] < seen:
            seen, where = float(met[k]), (float(begin[k]), float(end[k]))
        if seen < enough < np.inf:
            return CertifiedMinimum(float(min(lower.min(), bound)), seen, *where)
        done = decided(lower, seen, tolerance, enough, allowed)
        if halving == MAX_HALVINGS or 2 * np.count_nonzero(~done) > MAX_INTERVALS:
            done[:] = True
        if done.any():
            bound = min(bound, float(lower[done].min()))
        if done.all():
            break
        begin, end, first, last = begin[~done], end[~done], first[:, ~done], last[:, ~done]
        middle = (begin + end) / 2
        half = values(middle, middle)
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
        first, last = np.concatenate([first, half], axis=1), np.concatenate([half, last], axis=1)
    return CertifiedMinimum(bound, seen, *where)


MAX_BEYOND_DEGREE = 8
"""Derivatives beyond the degree that may be asked for."""
_BLOCK = 500
STEP_PEAKS = (1.0, 15 / 8, 10 / 3**0.5, 60.0, 360.0, 720.0)
"""Largest magnitudes over [0, 1] of the smooth step and its derivatives; from the sixth on they are zero."""


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
            ends[K + d, power] = factorial(power) / factorial(power - d)
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
    # In blocks: one call over many segments keeps every other thread from the interpreter.
    for first in range(0, len(duration), _BLOCK):
        T = duration[first : first + _BLOCK]
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
        powers = np.arange(coefficients.shape[1])
        # derivatives beyond the degree are zero, and may be asked for
        orders = np.arange(len(powers) + MAX_BEYOND_DEGREE)
        self._binomial = np.array([[comb(p, k) for p in powers] for k in orders], dtype=float)
        self._difference = np.maximum(powers[None, :] - orders[:, None], 0)

    @classmethod
    def hermite(cls, time: FloatArray, values: Sequence[FloatArray]) -> PiecewisePolynomial:
        """Return the function through values and derivatives, see `hermite_segments`."""
        return cls(time, hermite_segments(time, values))

    def segment(self, t: FloatArray) -> FloatArray:
        """Return the segment that contains each of the times t (samples,); the first and the last extend outside."""
        return np.clip(np.searchsorted(self.time, t, side='right') - 1, 0, len(self.coefficients) - 1)

    def taylor(self, t: FloatArray, count: int, inside: FloatArray | None = None) -> FloatArray:
        """Return the first Taylor coefficients f^(k)/k! (count, n, samples) at t (samples,).

        Parameters
        ----------
        inside
            times that select the segments (samples,); None: t.
        count
            at most 8 beyond the number of coefficients.
        """
        index = self.segment(t if inside is None else inside)
        x = (t - self.time[index])[:, None, None]
        shift = self._binomial[:count] * x ** self._difference[:count]
        return np.einsum('skp,spn->kns', shift, self.coefficients[index])

    def majorants(self, begin: FloatArray, end: FloatArray, count: int) -> FloatArray:
        """Return bounds of |f^(k)|/k! over each interval, (count, n, intervals); an interval lies within one segment.

        By the Taylor polynomial about the middle m, which is the function itself:
        |f^(k)(m + x)|/k! ≤ Σ_p C(p, k) |c_p| |x|^(p−k).
        """
        middle, half = (begin + end) / 2, (end - begin) / 2
        whole = np.abs(self.taylor(middle, self.coefficients.shape[1]))
        spread = self._binomial[:count] * half[:, None, None] ** self._difference[:count]
        return np.einsum('skp,pns->kns', spread, whole)

    def magnitude(self, count: int) -> FloatArray:
        """Return the largest sums of magnitudes of the terms of f and its derivatives, (count, n).

        They are the scale of rounding.
        """
        T = np.diff(self.time)[:, None]
        powers = np.arange(self.coefficients.shape[1])
        size = np.abs(self.coefficients) * T[:, :, None] ** powers[None, :, None]
        largest = [
            np.einsum('spn,p->sn', size, [factorial(p) / factorial(p - d) if p >= d else 0.0 for p in powers]) / T**d
            for d in range(count)
        ]
        return np.array([sums.max(axis=0) for sums in largest])

    def extremes(self, derivative: int, tolerance: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return bounds of a derivative over all time: lowest (n,), highest (n,), and a time of each.

        No value lies outside; each bound is at most `tolerance` ((n,) or a number, in its unit), and what rounding may
        change a value by (`ROUNDING` of its magnitude), away from the value at the returned time (the value on one
        side, where the derivative jumps).
        """
        n = self.coefficients.shape[2]
        factor, bend = factorial(derivative), factorial(derivative + 2) / 8
        allowance = ROUNDING * self.magnitude(derivative + 1)[derivative]
        extremes = np.empty((4, n))
        widest = np.broadcast_to(np.asarray(tolerance, dtype=float), (n,))
        for j in range(n):
            part = PiecewisePolynomial(self.time, self.coefficients[:, :, j : j + 1])
            for row, sign in ((0, 1.0), (1, -1.0)):

                def values(
                    t: FloatArray, inside: FloatArray, sign: float = sign, part: PiecewisePolynomial = part
                ) -> FloatArray:
                    return sign * factor * part.taylor(t, derivative + 1, inside)[derivative]

                def lowest(
                    begin: FloatArray,
                    end: FloatArray,
                    first: FloatArray,
                    last: FloatArray,
                    part: PiecewisePolynomial = part,
                ) -> tuple[FloatArray, FloatArray]:
                    seen, widths = np.minimum(first, last)[0], end - begin
                    bends = part.majorants(begin, end, derivative + 3)[derivative + 2, 0]
                    return seen - widths**2 * bend * bends, seen

                least = certified_minimum(self.time[:-1], self.time[1:], values, lowest, float(widest[j]))
                ends = np.array([least.begin, least.end])
                at_ends = values(ends, np.full(2, ends.mean()))[0]
                extremes[row, j], extremes[2 + row, j] = sign * (least.bound - allowance[j]), ends[at_ends.argmin()]
        return extremes[0], extremes[1], extremes[2], extremes[3]


ROUNDING = 1e-12
"""Share of the sum of magnitudes that rounding may change a sum by: 9000 operations of unit roundoff 1.1e-16, far more
than any sum here has."""
