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

"""The largest value of a motion between its samples.

On an interval of length h, a twice differentiable f differs from the chord between its ends by at most h²/8 max|f″|.
The difference e is zero at both ends and has e′ = 0 at its extreme. Taylor's formula from there to the nearer end, at
most h/2 away, reads 0 = e + e″ (h/2)² / 2 at some instant of e″ = f″. Hence, on a grid of step h,

    max |f(t)| ≤ max_k |f(t_k)| + h²/8 max |f″|.

Here f is position, speed or acceleration; `Trajectory.derivative_bounds` bounds f″ by the coefficients of the motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.excitation.trajectory import Trajectory

MAX_SAMPLES = 2_000_000  # of one proof; beyond it the steps are longer, and the bound is farther from the true peak
BLOCK = 1000  # samples evaluated at once


class Samples(NamedTuple):
    """Times [s] of a motion, (samples,) each, both sides of every knot included."""

    time: FloatArray
    inside: FloatArray  # s, a time in the same piece between two knots, which selects the side of a jump
    piece: IntArray  # number of that piece


def samples(knots: FloatArray, count: IntArray) -> Iterator[Samples]:
    """Yield blocks of samples that divide every piece between two knots into `count` (pieces,) equal steps."""
    begin, length, middle = knots[:-1], np.diff(knots), (knots[:-1] + knots[1:]) / 2
    first = np.concatenate([[0], np.cumsum(count + 1)])
    for start in range(0, int(first[-1]), BLOCK):
        sample = np.arange(start, min(start + BLOCK, int(first[-1])))
        piece = np.searchsorted(first, sample, side='right') - 1
        share = (sample - first[piece]) / count[piece]
        yield Samples(begin[piece] + length[piece] * share, middle[piece], piece)


def largest(trajectory: Trajectory, order: int, centre: FloatArray, scale: FloatArray, tolerance: float) -> FloatArray:
    """Return a bound of |f − centre| / scale over the whole motion for every joint, (n,), NaN where f is.

    Parameters
    ----------
    order
        0: f is the position, 1: speed, 2: acceleration.
    centre, scale
        (n,) each.
    tolerance
        how far a bound may lie above the true peak; it sets the step.
    """
    knots = trajectory.knots
    length = np.diff(knots)
    bend = trajectory.derivative_bounds(knots[:-1] + length / 2)[order + 1] / scale[:, None]
    steps = np.nan_to_num(length * np.sqrt(bend.max(axis=0) / (8 * tolerance)), posinf=MAX_SAMPLES)
    count = np.maximum(1, np.ceil(steps * min(1.0, MAX_SAMPLES / max(steps.sum(), 1.0)))).astype(int)
    missed = (length / count) ** 2 / 8 * bend
    found = np.zeros(trajectory.n)
    for part in samples(knots, count):
        values = trajectory.one_sided(part.time, part.inside)[order]
        reached = np.abs(values - centre[:, None]) / scale[:, None] + missed[:, part.piece]
        found = np.maximum(found, reached.max(axis=1))
    return found
