"""The smallest value of a function of time as a proof.

Branch and bound over intervals of time, never a grid of samples.

A function with a second derivative differs from the chord between two of its points, h apart, by no more than h²/8
sup|f″|; a merely Lipschitz one by h L/2. Whichever the caller has: an interval whose lower bound is above the smallest
value seen so far (less the tolerance) is done, any other is halved. Near a smooth minimum the two meet quadratically,
so that a few intervals per halving are left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray

MAX_HALVINGS = 48
MAX_INTERVALS = 200_000
"""Bounds of effort: where they end the search the bound is true, but further than the tolerance from the smallest
value."""


class CertifiedMinimum(NamedTuple):
    """What is known of the smallest value.

    No value is below `bound`; `seen` is the smallest one computed, at one of the ends of an interval [begin, end] [s].
    """

    bound: float
    seen: float
    begin: float
    end: float


def decided(
    lower: FloatArray, seen: float, tolerance: float, enough: float = np.inf, allowed: float | None = None
) -> BoolArray:
    """Return which intervals, with these lower bounds (N,), need no closer look; `seen`: the smallest value so far.

    Parameters
    ----------
    enough
        where finite, the only question is whether everything is above it. Otherwise a bound is to be within `tolerance`
        of the smallest value and, with `allowed`, on its side of 0 and of −allowed, so that a limit that is kept is not
        called broken for want of precision; 0 itself is not decided where less than `allowed` is left.
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
        (t (M,), inside (M,)) → (m, M), whatever `lowest` needs of the function at t as seen from the interval that
        holds `inside`: at a jump each side has its own.
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
