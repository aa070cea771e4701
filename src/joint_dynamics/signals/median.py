"""Running medians of a signal, for what stands out from its neighbours."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray

SMALL = 5
BLOCK = 4096


def running_median(x: FloatArray, size: int) -> FloatArray:
    """Return the median of `size` samples, an odd number, around every one of x (samples,), held beyond the ends.

    As `scipy.ndimage.median_filter` with mode 'nearest', whose import takes longer than this.
    """
    half = size // 2
    held = np.concatenate([np.repeat(x[:1], half), x, np.repeat(x[-1:], half)])
    if size == SMALL:
        return _of_five(*(held[k : k + len(x)] for k in range(SMALL)))
    windows = np.lib.stride_tricks.sliding_window_view(held, size)
    found = np.empty(len(x))
    for first in range(0, len(x), BLOCK):
        found[first : first + BLOCK] = np.partition(windows[first : first + BLOCK], half, axis=1)[:, half]
    return found


def _of_five(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, e: FloatArray) -> FloatArray:
    """Return the median of five numbers, element by element.

    Neither the least of one and the greatest of the other pair, of two pairs put in order, can be it: it is the median
    of the three that are left.
    """
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    return np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))
