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

"""Samples at arbitrary times, resampled on one uniform grid, with a bound on the resulting error.

A signal x(t) interpolated linearly between two samples T apart is wrong by at most max|x''| T²/8. Without knowledge of
the signal, only the gap T and the distance of a grid point to the nearest real sample (at most T/2) can be bounded.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

Array = FloatArray
#: A grid point this close to a sample (s) takes the sample as it is: stamps are often rounded to microseconds.
COINCIDENT = 1e-6
#: The mean step replaces the median when they agree to this share: it is exact, the median of jittering steps is not.
RATE_TOLERANCE = 0.1
RATE_LAG = 4


def sample_period(time: Array) -> float:
    """Return the period (s) of samples at `time` (N,) s, increasing: a median, so that gaps and bursts do not count.

    It is the median of the time over RATE_LAG steps (of one step when there are few samples), so that messages that
    arrive in pairs do not shorten it. Where it agrees with the mean over all steps, with gaps counted as the missing
    samples, the mean is returned.

    Raises
    ------
    JointDynamicsError
        For fewer than two samples.
    """
    if time.size < 2:
        raise JointDynamicsError(f'sample rate: expected at least 2 samples, found {time.size}')
    steps = np.diff(time)
    lag = RATE_LAG if time.size > 4 * RATE_LAG else 1
    median = float(np.median(time[lag:] - time[:-lag])) / lag
    whole = _whole_steps(steps / median)
    mean = float((time[-1] - time[0]) / max(whole.sum(), 1.0))
    return mean if abs(mean - median) <= RATE_TOLERANCE * median else median


def _whole_steps(ratio: Array) -> Array:
    """Return how many periods each step is, from step / period.

    With jitter on both ends of it a single one is 0.3 to 1.7 long.
    """
    return np.where(np.abs(ratio - 1) < 0.7, 1.0, np.rint(ratio))


def alignment_error(grid: Array, time: Array) -> float:
    """Return the largest distance (s) of a grid point (N,) to the nearest sample at `time` (K,) s, both increasing."""
    after = np.searchsorted(time, grid).clip(0, time.size - 1)
    before = (after - 1).clip(0)
    return float(np.minimum(np.abs(time[after] - grid), np.abs(grid - time[before])).max())


def resample(grid: Array, time: Array, values: Array) -> Array:
    """Return `values` (K, n), sampled at `time` (K,) s, at the points of `grid` (N,) s, as (N, n).

    Linear in between, held constant before and after. Where every grid point coincides with a sample (within
    COINCIDENT), the samples are returned unchanged.
    """
    if grid.size == time.size and np.abs(grid - time).max() <= COINCIDENT:
        return values
    first = int(np.searchsorted(time, grid[0] - COINCIDENT))
    inside = time[first : first + grid.size]
    if inside.size == grid.size and np.abs(grid - inside).max() <= COINCIDENT:
        return values[first : first + grid.size]
    out = np.empty((grid.size, values.shape[1]))
    for column in range(values.shape[1]):
        out[:, column] = np.interp(grid, time, values[:, column])
    return out
