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

"""Samples of one signal from several publishers, which contradict each other under one stamp or in alternation.

A second publisher of a topic (a `joint_state_publisher` beside the broadcaster, another arm with the same joint names)
interleaves its samples with the first one's. Then a sample is far from the one before, and near one of those before
that:

    |x_k − x_(k−1)| > RETURN · min_l |x_k − x_(k−l)|,    l = 2 … LAGS.

A position has to leave farther than a joint can in that time, another quantity by a share of its own size.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.plausibility import ACCELERATION, CONTRADICTION, NEEDS_EFFORT, POSITION, UNIT
from joint_dynamics.recording.samples import Table

LAGS = 4  # samples that a publisher may send between two of the other one
RETURN = 3.0  # ratio of the distances to the sample before and to the nearest one before that
FEW = 0.003  # share of samples, above which positions are contradictory; fewer are damaged samples
DAMAGED = 4  # samples at least, as many as `plausibility.jump` names
JOINTS = 2  # joints that leave at once, of several; an encoder by itself jumps alone
MOST = 0.5  # the same of speeds and torques, whose noise leaves and returns by itself


def last_of_each_stamp(table: Table) -> Table:
    """Return a table (stamps in order, some more than once) with the last of the samples that share a stamp.

    It counts the duplicates, and those among them with other values.
    """
    repeats = np.flatnonzero(np.diff(table.stamps) == 0)
    if not repeats.size:
        return table
    last = np.append(np.diff(table.stamps) > 0, True)
    differing = int(np.any(np.abs(table.values[repeats + 1] - table.values[repeats]) > 0, axis=1).sum())
    return replace(
        table, stamps=table.stamps[last], values=table.values[last], duplicates=repeats.size, differing=differing
    )


def refuse_several_publishers(table: Table, begin: int, end: int, name: str) -> None:
    """Raise JointDynamicsError where samples contradict each other under one stamp or in alternation.

    Parameters
    ----------
    table
        of one quantity from one source, as received: stamps in order, some more than once.
    begin, end
        stamps [ns] of the window that is looked at.
    name
        of the recording, in messages.
    """
    first, last = np.searchsorted(table.stamps, [begin, end + 1])
    stamps, values = table.stamps[first:last], table.values[first:last]
    if stamps.size <= LAGS + 1:
        return
    with np.errstate(invalid='ignore', over='ignore'):
        steps = np.abs(np.diff(values, axis=0))
        if table.quantity in POSITION:
            period = max(int(stamps[-1] - stamps[0]), 1) * 1e-9 / stamps.size
            limit, share = max(0.5 * ACCELERATION * period**2, NEEDS_EFFORT), FEW
        else:
            limit, share = CONTRADICTION * float(np.sqrt(np.mean(values**2, axis=0).max(initial=0.0))), MOST
        far = steps > limit
        same = (np.diff(stamps) == 0) & far.any(axis=1)
        returning = (far.sum(axis=1) >= min(JOINTS, len(table.names))) & _returns(values, steps)
    if same.any():
        where, how = same, 'under one stamp'
    elif returning.sum() > max(share * returning.size, DAMAGED):
        where, how = returning, 'one after the other'
    else:
        return
    k = int(np.argmax(where))
    j = int(np.nanargmax(steps[k]))
    raise JointDynamicsError(
        f'{name}: {table.quantity} of {table.names[j]} on {table.source}: expected one publisher, found samples that '
        f'contradict each other, {values[k, j]:.4g} and {values[k + 1, j]:.4g} {UNIT[table.quantity]} {how} at '
        f'{(stamps[k + 1] - table.stamps[0]) * 1e-9:.4g} s ({100 * where.mean():.2g} % of all); `ros2 topic info -v '
        f'{table.source}` lists the publishers: record one of them'
    )


def _returns(values: FloatArray, steps: FloatArray) -> BoolArray:
    """Return which samples (K − 1) from the second on are far nearer to an earlier one than to the one before."""
    nearest = np.full(len(steps), np.inf)
    for lag in range(2, LAGS + 1):
        distance = np.abs(values[lag:] - values[:-lag]).max(axis=1)
        nearest[lag - 1 :] = np.fmin(nearest[lag - 1 :], distance)
    return steps.max(axis=1) > RETURN * nearest
