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

"""The step of position readings, determined from a recording.

Readings are multiples of a step: of the encoder, of a 32-bit number, or of a file's digits. Between samples they change
by 0, 1, 2, … steps; where the joint moves slowly, these are few different values. With a filter between encoder and
file (or a simulation in floating point) changes have any size, and there is no visible step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray

TOLERANCE = 0.1  # steps from a multiple; of changes of any size a share of 2 · 0.1 lies within it by chance
SHARE = 0.95  # of the small changes, least that are multiples; 19 of 20 are so by chance with a probability of 1e-12
LARGEST = 20  # steps of the largest change examined; rounding of the numbers adds up over larger ones
MIN_CHANGES = 20
MULTIPLES = 3  # least number of different multiples; at a constant speed all changes are alike, without any step
EACH = 3  # least number of changes of each of them
MAX_CANDIDATES = 200


def encoder_step(recordings: Sequence[ArrayLike]) -> FloatArray:
    """Return the step of each joint's readings (n,) [rad], NaN where none is visible.

    It is the coarsest step of all recordings, and of all decades of |reading| in them (a fixed number of significant
    digits makes a step that grows with the reading). A recording in which a joint hardly moves, or only fast, does not
    count; slow motion without a visible step rules a step out.

    Parameters
    ----------
    recordings
        readings (N, n) [rad] of each recording.

    """
    columns = [np.asarray(readings, dtype=float).T for readings in recordings]
    return np.array([_coarsest(readings) for readings in zip(*columns, strict=True)])


def _coarsest(readings: Sequence[FloatArray]) -> float:
    decades = [_decades(values) for values in readings]
    steps = [[_step_of(part) for part in parts] for parts in decades]
    shown = [step for own in steps for step in own if step is not None]
    if not shown:
        return np.nan
    coarsest = max(shown)
    for parts, own in zip(decades, steps, strict=True):
        small = np.concatenate([part[part < (LARGEST + 0.5) * coarsest] for part in parts])
        # passed fast, readings say nothing; slowly, they have to go by this step where they show none of their own
        silent = not any(step is not None for step in own)
        if silent and len(small) >= MIN_CHANGES and _multiples(small, coarsest).mean() < SHARE:
            return np.nan
    return coarsest


def _decades(values: FloatArray) -> list[FloatArray]:
    """Return the changes within each decade of |value|, sorted, none of rounding; below 1/1000 is one decade."""
    change = np.abs(np.diff(values))
    size = np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
    real = change > 16 * np.finfo(float).eps * np.abs(values).max(initial=0.0)
    decade = np.floor(np.log10(np.maximum(size, 1e-3)))
    return [np.sort(change[(decade == k) & real]) for k in np.unique(decade)]


def _multiples(changes: FloatArray, step: float) -> BoolArray:
    multiple = np.round(changes / step)
    return (np.abs(changes / step - multiple) < TOLERANCE) & (multiple > 0)


def _step_of(changes: FloatArray) -> float | None:
    """Return the step of sorted changes (N,) > 0, None where none shows."""
    apart = np.diff(changes, prepend=-np.inf) > TOLERANCE * changes
    for candidate in changes[apart][:MAX_CANDIDATES][::-1]:
        small = changes[: np.searchsorted(changes, (LARGEST + 0.5) * candidate)]
        if len(small) < MIN_CHANGES:
            continue
        # the changes are rounded: the step is their median
        step = float(np.median(small[np.abs(small - candidate) < TOLERANCE * candidate]))
        fits = _multiples(small, step)
        _, times = np.unique(np.round(small[fits] / step), return_counts=True)
        if fits.mean() >= SHARE and (times >= EACH).sum() >= MULTIPLES:
            return step
    return None
