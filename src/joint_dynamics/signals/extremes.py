"""Proved lower bounds of a function of time, by branch and bound over intervals instead of a grid of samples.

A twice differentiable function differs from the chord between two of its points, h apart, by at most h²/8 sup|f″|; a
Lipschitz function by h L/2. With either bound, an interval whose lower bound is above the smallest value seen so far
(less the tolerance) is finished, and any other is halved. Near a smooth minimum the bounds converge quadratically, so
that only a few intervals per halving remain.
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
