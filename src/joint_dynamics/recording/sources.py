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

"""One source for each signal: which table gives a quantity of a joint, and whether one publisher sent it.

A second publisher of a topic (a `joint_state_publisher` beside the broadcaster, another arm with the same joint names)
interleaves its samples with the first one's. Then a sample is far from the one before, and near one of those before
that:

    |x_k − x_(k−1)| > RETURN · min_l |x_k − x_(k−l)|,    l = 2 … LAGS.

A position has to leave farther than a joint can in that time, another quantity by a share of its own size.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import NOT_OF_THE_ARM, POSITIONS, TORQUES
from joint_dynamics.recording.plausibility import ACCELERATION, CONTRADICTION, NEEDS_EFFORT, POSITION, UNIT
from joint_dynamics.recording.samples import Table

#: Speeds in a JointState that may be there for some joints only; they are left out then.
OPTIONAL = ('dq', 'dtheta', 'motor_velocity')
LAGS = 4  # samples that a publisher may send between two of the other one
RETURN = 3.0  # ratio of the distances to the sample before and to the nearest one before that
FEW = 0.003  # share of samples, above which positions are contradictory; fewer are damaged samples
DAMAGED = 4  # samples at least, as many as `plausibility.jump` names
JOINTS = 2  # joints that leave at once, of several; an encoder by itself jumps alone
# Share of the repeated stamps, and of all speeds and torques, above which samples are contradictory. Noise leaves and
# returns by itself, and a simulated clock that stands still repeats stamps.
MOST = 0.5


@dataclass(frozen=True)
class Gathered:
    """The joints, the tables with each quantity of each joint and each stamp once, and notes on omissions.

    received: the same tables with all samples; others: tables with positions of further joints.
    """

    joints: tuple[str, ...]
    tables: Sequence[Table]
    notes: Sequence[str]
    received: Sequence[Table]
    others: Sequence[Table]


def gather(
    tables: Sequence[Table], joint_names: tuple[str, ...] | None, replacing: Collection[str], name: str
) -> Gathered:
    """Return each quantity of each joint from one source.

    Parameters
    ----------
    tables
        of all sources, with positions of at least one joint.
    joint_names
        the requested joints, in their order; None: those of the link-side positions, in order of appearance.
    replacing
        sources that replace the others for their joints.
    name
        of the recording, in messages.

    Raises
    ------
    JointDynamicsError
        Where a requested joint has no position, or a quantity has two sources for a joint or none for some joints.
    """
    joints = _joints(tables, joint_names, name)
    received: list[Table] = []
    notes: list[str] = []
    for quantity in dict.fromkeys(table.quantity for table in tables):
        chosen = _one_source_each([table for table in tables if table.quantity == quantity], joints, replacing, name)
        if not chosen:
            continue
        known = chosen if quantity in POSITIONS else [one for table in chosen if (one := _measured(table)).names]
        missing = [joint for joint in joints if not any(joint in table.names for table in known)]
        source = ', '.join(dict.fromkeys(table.source for table in chosen))
        if missing and (not known or quantity in OPTIONAL):
            notes.append(f'{quantity} on {source} has no number of {", ".join(missing)}: left out')
        elif missing and quantity not in TORQUES:
            raise JointDynamicsError(
                f'{name}: expected {quantity} of every joint, found that {source} lacks {", ".join(missing)}'
            )
        else:
            received += known
    once = [last_of_each_stamp(table, notes) for table in received]
    others = [table for table in tables if table.quantity == 'q' and not set(table.names) <= set(joints)]
    return Gathered(joints, once, notes, received, others)


def _joints(tables: Sequence[Table], joint_names: tuple[str, ...] | None, name: str) -> tuple[str, ...]:
    """Return the joints wanted, or all there are; raise when none or not all of the wanted ones have a position."""
    leading = next(quantity for quantity in POSITIONS if any(table.quantity == quantity for table in tables))
    positions = [table for table in tables if table.quantity == leading]
    there = tuple(dict.fromkeys(joint for table in positions for joint in table.names))
    missing = [joint for joint in joint_names or () if joint not in there]
    if missing:
        where = ', '.join(dict.fromkeys(table.source for table in positions))
        raise JointDynamicsError(
            f'{name}: expected joints {", ".join(joint_names or ())}; not found: {", ".join(missing)}; '
            f'{where} has {", ".join(there)} (named differently? recording.names: {{theirs: ours}}; {NOT_OF_THE_ARM})'
        )
    return joint_names or there


def _one_source_each(tables: list[Table], joints: Sequence[str], replacing: Collection[str], name: str) -> list[Table]:
    """Return tables in which each joint is once; raise when two sources give the same quantity of a joint."""
    chosen: list[Table] = []
    taken: dict[str, str] = {}
    for source in sorted({table.source for table in tables}, key=lambda source: (source not in replacing, source)):
        own = [table for table in tables if table.source == source]
        there = [joint for joint in joints if any(joint in table.names for table in own)]
        twice = [joint for joint in there if joint in taken and taken[joint] not in replacing]
        if twice:
            raise JointDynamicsError(
                f'{name}: {tables[0].quantity} of {", ".join(twice)}: expected one input, found '
                f'{taken[twice[0]]} and {source} (effort: none, or joint_states: none, leaves one out)'
            )
        new = [joint for joint in there if joint not in taken]
        chosen += _merge(own, new)
        taken |= dict.fromkeys(new, source)
    return chosen


def _merge(tables: Sequence[Table], joint_names: Sequence[str]) -> list[Table]:
    """Return the tables of one quantity and source such that each joint is in one, rows in order of time."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for joint in joint_names:
        groups.setdefault(tuple(k for k, table in enumerate(tables) if joint in table.names), []).append(joint)
    merged = []
    for members, joints in groups.items():
        parts = [tables[k] for k in members]
        if len(parts) == 1 and parts[0].names == tuple(joints):
            merged.append(parts[0])
            continue
        stamps = np.concatenate([part.stamps for part in parts])
        values = np.concatenate([part.values[:, [part.names.index(joint) for joint in joints]] for part in parts])
        order = np.argsort(stamps, kind='stable')
        merged.append(replace(parts[0], names=tuple(joints), stamps=stamps[order], values=values[order]))
    return merged


def _measured(table: Table) -> Table:
    """Return the table without the joints whose values are nowhere a number."""
    known = np.asarray(np.isfinite(table.values).any(axis=0))
    names = tuple(name for name, there in zip(table.names, known, strict=True) if there)
    return table if known.all() else replace(table, names=names, values=table.values[:, known])


def last_of_each_stamp(table: Table, notes: list[str]) -> Table:
    """Return a table (stamps in order, some more than once) with the last of the samples that share a stamp.

    A note is added on the duplicates, and those among them with other values.
    """
    repeats = np.flatnonzero(np.diff(table.stamps) == 0)
    if not repeats.size:
        return table
    last = np.append(np.diff(table.stamps) > 0, True)
    differing = int(np.any(np.abs(table.values[repeats + 1] - table.values[repeats]) > 0, axis=1).sum())
    notes.append(
        f'{repeats.size} duplicate stamps of {table.quantity} on {table.source}, {differing} of them with other values:'
        ' the last sample of each kept'
    )
    return replace(table, stamps=table.stamps[last], values=table.values[last])


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
        repeated = np.diff(stamps) == 0
        same = repeated & far.any(axis=1)
        returning = (far.sum(axis=1) >= min(JOINTS, len(table.names))) & _returns(values, steps)
    if same.sum() > MOST * repeated.sum():
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
