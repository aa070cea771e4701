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

"""From samples to the arrays of a recording: one source per signal, one grid, on the joint side, checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.common_grid import Aligner, make_grid
from joint_dynamics.recording.conversions import Corrections, MotorSide
from joint_dynamics.recording.inputs import NOT_OF_THE_ARM, POSITIONS
from joint_dynamics.recording.plausibility import check_signals
from joint_dynamics.recording.publishers import last_of_each_stamp, refuse_several_publishers
from joint_dynamics.recording.samples import Samples, Table

#: Motor-side quantity -> the array of the Recording it becomes.
REFLECTED = {'motor_position': 'theta', 'motor_velocity': 'dtheta', 'motor_torque': 'tau'}
Window = tuple[float | None, float | None]


#: Speeds in a JointState that may be there for some joints only; they are left out then.
OPTIONAL = ('dq', 'dtheta', 'motor_velocity')


@dataclass(frozen=True)
class Gathered:
    """The joints, the tables of each quantity with each joint and each stamp once, and notes on omissions.

    received: the same tables with all samples; others: tables with positions of further joints.
    """

    joints: tuple[str, ...]
    quantities: Mapping[str, Sequence[Table]]
    notes: Sequence[str]
    received: Sequence[Table] = ()
    others: Sequence[Table] = ()

    @property
    def tables(self) -> list[Table]:
        """All of them."""
        return [table for members in self.quantities.values() for table in members]


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
    merged: dict[str, list[Table]] = {}
    for quantity in dict.fromkeys(table.quantity for table in tables):
        members = _one_source_each([table for table in tables if table.quantity == quantity], joints, replacing, name)
        if members:
            merged[quantity] = members
    notes = _leave_out(merged, joints, name)
    received = [table for members in merged.values() for table in members]
    once = {quantity: list(map(last_of_each_stamp, members)) for quantity, members in merged.items()}
    others = [table for table in tables if table.quantity == 'q' and not set(table.names) <= set(joints)]
    return Gathered(joints, once, notes, received, others)


def align(samples: Samples, name: str, window: Window) -> dict[str, Any]:
    """Return everything in `samples` on one grid, as the fields of a `Recording` by name.

    Parameters
    ----------
    samples
        of all sources.
    name
        of the recording.
    window
        (t0, t1) [s from the start], t1 excluded, None for an open end. Defects outside it are ignored.

    Raises
    ------
    JointDynamicsError
        For samples that cannot be used.
    """
    gathered = gather(samples.tables(name), samples.joint_names, samples.replacing, name)
    fields = fields_on(samples, gathered, make_grid(gathered.tables, samples, name, window))
    return noted(fields, after=samples.notes)


def noted(fields: dict[str, Any], before: Sequence[str] = (), after: Sequence[str] = ()) -> dict[str, Any]:
    """Return the fields of a recording with further notes before and after its own."""
    return {**fields, 'notes': (*before, *fields['notes'], *after)}


def fields_on(samples: Samples, gathered: Gathered, aligner: Aligner) -> dict[str, Any]:
    """Return everything that was gathered on the grid, as the fields of a `Recording` by name, checked."""
    joints, notes = gathered.joints, list(gathered.notes)
    begin, end = (aligner.origin + round(at * 1e9) for at in (aligner.grid[0], aligner.grid[-1]))
    for table in gathered.received:
        refuse_several_publishers(table, begin, end, aligner.name)
    arrays: dict[str, FloatArray] = {}
    duplicates = []
    for quantity, members in gathered.quantities.items():
        array = np.empty((aligner.grid.size, len(joints)))
        for table in members:
            array[:, [joints.index(joint) for joint in table.names]] = aligner.align(table)
            if table.duplicates:
                other = f', {table.differing} of them with other values' if table.differing else ''
                duplicates.append(
                    f'{table.duplicates} duplicate stamps of {quantity} on {table.source}{other}: the last sample of '
                    'each kept'
                )
        arrays[quantity] = array
    notes += _reflect(arrays, samples.settings.motor_side, joints)
    time = aligner.grid - aligner.grid[0]
    corrections = samples.settings.stated()
    arrays = samples.settings.correct(joints, time, arrays)
    arrays, odd = check_signals(aligner.name, joints, time, arrays, samples.settings.implausible)
    notes = [*aligner.report(), *duplicates, *notes, *odd]
    if corrections:
        notes.append(f'corrected: {", ".join(corrections)}')
    if samples.settings.without_gravity:
        if 'current' in arrays:
            raise JointDynamicsError(
                f'{aligner.name}: expected torque without gravity or motor currents, found both (effort: none, or one '
                'topic less, leaves one out)'
            )
        corrections['torque_without_gravity'] = True
    by = {'corrections': Corrections(**corrections)}
    standing = {'others': _extent(gathered, begin, end)}
    return {'name': aligner.name, 'joint_names': joints, 'time': time, **arrays, 'notes': notes, **by, **standing}


def _extent(gathered: Gathered, begin: int, end: int) -> dict[str, tuple[float, float]]:
    """Return lowest and highest position of the joints that are not gathered, between two stamps [ns]."""
    extent = {}
    for table in gathered.others:
        values = table.values[(table.stamps >= begin) & (table.stamps <= end)]
        for name, column in zip(table.names, values.T, strict=True):
            known = column[np.isfinite(column)]
            if name not in gathered.joints and known.size:
                extent[name] = (float(known.min()), float(known.max()))
    return extent


def _reflect(arrays: dict[str, FloatArray], side: MotorSide, joints: Sequence[str]) -> list[str]:
    """Bring motor-side signals to the joint side; without a link side, a rigid transmission gives q = θ, noted."""
    for motor, quantity in REFLECTED.items():
        if motor in arrays:
            if quantity in arrays:
                raise JointDynamicsError(
                    f'{quantity}: expected one input, found it on the link side and on the motor side '
                    '(effort: none for one of them)'
                )
            reflect = {'theta': side.position, 'dtheta': side.velocity, 'tau': side.torque}[quantity]
            arrays[quantity] = reflect(arrays.pop(motor), joints)
    if 'q' not in arrays:
        arrays['q'] = arrays['theta']
        if 'dq' not in arrays and 'dtheta' in arrays:
            arrays['dq'] = arrays['dtheta']
        return ['no link-side positions: q is the reflected motor angle (rigid transmission)']
    return []


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
    for source in sorted({table.source for table in tables}, key=lambda source: (source not in replacing, source)):
        own = [joint for joint in joints if any(table.source == source and joint in table.names for table in tables)]
        taken = {joint: table.source for table in chosen for joint in table.names}
        twice = [joint for joint in own if joint in taken and taken[joint] not in replacing]
        if twice:
            raise JointDynamicsError(
                f'{name}: {tables[0].quantity} of {", ".join(twice)}: expected one input, found '
                f'{taken[twice[0]]} and {source} (effort: none, or joint_states: none, leaves one out)'
            )
        chosen += _merge(
            [table for table in tables if table.source == source], [joint for joint in own if joint not in taken]
        )
    return chosen


def _merge(tables: Sequence[Table], joint_names: Sequence[str]) -> list[Table]:
    """Return the tables of one quantity and source such that each joint is in one.

    Rows of several publishers are put in order of time; joints that are not among `joint_names` are left out.
    """
    groups: dict[tuple[int, ...], list[str]] = {}
    for joint in joint_names:
        members = tuple(index for index, table in enumerate(tables) if joint in table.names)
        if members:
            groups.setdefault(members, []).append(joint)
    merged = []
    for members, joints in groups.items():
        sources = [tables[index] for index in members]
        if len(sources) == 1:
            same = sources[0].names == tuple(joints)
            columns = [sources[0].names.index(joint) for joint in joints]
            merged.append(
                sources[0] if same else replace(sources[0], names=tuple(joints), values=sources[0].values[:, columns])
            )
            continue
        stamps = np.concatenate([source.stamps for source in sources])
        values = np.concatenate(
            [source.values[:, [source.names.index(joint) for joint in joints]] for source in sources]
        )
        order = np.argsort(stamps, kind='stable')
        merged.append(replace(sources[0], names=tuple(joints), stamps=stamps[order], values=values[order]))
    return merged


def _leave_out(merged: dict[str, list[Table]], joints: Sequence[str], name: str) -> list[str]:
    """Drop quantities without any number, and speeds that some joints lack.

    Raise for other quantities that some joints lack.
    """
    notes = []
    for quantity, members in list(merged.items()):
        source = ', '.join(dict.fromkeys(table.source for table in members))
        if quantity not in POSITIONS and not any(np.isfinite(table.values).any() for table in members):
            notes.append(f'{quantity} on {source} is nowhere a number: left out')
            del merged[quantity]
            continue
        missing = [joint for joint in joints if not any(joint in table.names for table in members)]
        if missing and quantity in OPTIONAL:
            notes.append(f'{quantity} on {source} lacks {", ".join(missing)}: left out')
            del merged[quantity]
        elif missing:
            raise JointDynamicsError(
                f'{name}: expected {quantity} of every joint, found that {source} lacks {", ".join(missing)}'
            )
    return notes
