"""The smallest value of a function of time as a proof: branch and bound over intervals of time, never a grid of samples.

A function with a second derivative differs from the chord between two of its points, h apart, by no more than h²/8
sup|f″|; a merely Lipschitz one by h L/2. Whichever the caller has: an interval whose lower bound is above the smallest
value seen so far (less the tolerance) is done, any other is halved. Near a smooth minimum the two meet quadratically,
so that a few intervals per halving are left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_HALVINGS = 48
MOST_INTERVALS = 200_000
"""Bounds of effort: where they end the search the bound is true, but further than the tolerance from the smallest value."""


class Least(NamedTuple):
    """What is known of the smallest value: no value is below `bound`; `seen` is one, the smallest found; `time`: where the bound is from."""

    bound: float
    seen: float
    time: float


def certified_minimum(
    begin: NDArray,
    end: NDArray,
    values: Callable[[NDArray, NDArray], NDArray],
    lowest: Callable[[NDArray, NDArray, NDArray, NDArray], tuple[NDArray, NDArray]],
    tolerance: float,
    enough: float = np.inf,
) -> Least:
    """Bound the smallest value over intervals [begin, end] (N,) [s] from below.

    values: (t (M,), inside (M,)) → (m, M), whatever `lowest` needs of the function at t as seen from the interval that
    holds `inside`: at a jump each side has its own. lowest: (begin, end, values at begin, at end) → a lower bound and
    the smallest value seen, (N,) each. enough: an interval that is nowhere below this is done, whatever the smallest
    value; and a value seen below it ends the search.
    """
    inside = (begin + end) / 2
    first, last = values(begin, inside), values(end, inside)
    seen, bound, time = np.inf, np.inf, 0.0
    for halving in range(MOST_HALVINGS + 1):
        lower, met = lowest(begin, end, first, last)
        k = int(np.argmin(met))
        seen = min(seen, float(met[k]))
        if seen < enough < np.inf:
            return Least(float(min(lower.min(), bound)), seen, float(begin[k]))
        done = (lower >= seen - tolerance) | (lower >= enough)
        if halving == MOST_HALVINGS or 2 * np.count_nonzero(~done) > MOST_INTERVALS:
            done[:] = True
        if done.any():
            k = int(np.argmin(np.where(done, lower, np.inf)))
            if lower[k] < bound:
                bound, time = float(lower[k]), float((begin[k] + end[k]) / 2)
        if done.all():
            break
        begin, end, first, last = begin[~done], end[~done], first[:, ~done], last[:, ~done]
        middle = (begin + end) / 2
        half = values(middle, middle)
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
        first, last = np.concatenate([first, half], axis=1), np.concatenate([half, last], axis=1)
    return Least(bound, seen, time)
