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

"""From samples to the arrays of a recording: one source per signal, one grid, on the joint side, checked.

Gaps that are too long to be bridged divide a recording into pieces, where the caller wants that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.common_grid import Aligner, Gap, Window, make_grid
from joint_dynamics.recording.conversions import EFFORTS, Corrections, MotorSide
from joint_dynamics.recording.inputs import SLOW
from joint_dynamics.recording.plausibility import NEEDS_EFFORT, POSITION, check_signals
from joint_dynamics.recording.samples import Samples, Table
from joint_dynamics.recording.sources import Gathered, gather, refuse_several_publishers

#: Motor-side quantity -> the array of the Recording it becomes.
REFLECTED = {'motor_position': 'theta', 'motor_velocity': 'dtheta', 'motor_torque': 'tau'}
SHORTEST = 2.5  # s, shortest piece that is used: of a shorter one the filters of an identification leave little


def align(samples: Samples, name: str, window: Window, in_pieces: bool = False) -> list[dict[str, Any]]:
    """Return everything in `samples` on one grid, as the fields of a `Recording` by name.

    Parameters
    ----------
    samples
        of all sources.
    name
        of the recording.
    window
        (t0, t1) [s from the start], t1 excluded, None for an open end. Defects outside it are ignored.
    in_pieces
        return a recording for each piece between gaps that are too long to be bridged, named `name@t0:t1`; the notes of
        the first one list the omissions. Without such a gap there is one piece, that of the whole.

    Raises
    ------
    JointDynamicsError
        For samples that cannot be used, and where too much would be left out.
    """
    gathered = gather(samples.tables(name), samples.joint_names, samples.replacing, name)
    whole = make_grid(gathered.tables, samples.settings, name, window)
    grids, notes = [whole], list[str]()
    if in_pieces and (gaps := _gaps(whole, gathered.tables)):
        pieces, notes = _between(whole, gaps)
        moving = [piece for piece in pieces if _moves(gathered.tables, whole, piece)] or pieces
        notes += [f'left out, nothing moves: {t0:.6g} to {t1:.6g} s' for t0, t1 in pieces if (t0, t1) not in moving]
        name = name if window == (None, None) else name.rpartition('@')[0] or name
        grids = [
            make_grid(gathered.tables, samples.settings, f'{name}@{t0:.6g}:{t1:.6g}', (t0, t1)) for t0, t1 in moving
        ]
    aligned = [_fields(samples, gathered, grid) for grid in grids]
    aligned[0]['notes'] = [*notes, *aligned[0]['notes'], *samples.notes]
    return aligned


def _fields(samples: Samples, gathered: Gathered, aligner: Aligner) -> dict[str, Any]:
    """Return everything that was gathered on the grid, as the fields of a `Recording` by name, checked."""
    joints, settings, name = gathered.joints, samples.settings, aligner.name
    begin, end = (aligner.origin + round(at * 1e9) for at in (aligner.grid[0], aligner.grid[-1]))
    for table in gathered.received:
        refuse_several_publishers(table, begin, end, name)
    arrays: dict[str, FloatArray] = {}
    for table in gathered.tables:
        array = arrays.setdefault(table.quantity, np.full((aligner.grid.size, len(joints)), np.nan))
        array[:, [joints.index(joint) for joint in table.names]] = aligner.align(table)
    notes = [*aligner.report(), *gathered.notes, *_reflect(arrays, settings.motor_side, joints)]
    time = aligner.grid - aligner.grid[0]
    corrections = settings.stated()
    arrays = settings.correct(joints, time, arrays)
    unmeasured = _without_torque(arrays, joints, settings.without_torque, name)
    limits = samples.limits if samples.joint_names else None
    arrays, odd = check_signals(name, joints, aligner.grid, arrays, settings.implausible, unmeasured, limits)
    notes += odd
    notes += [f'no torque of {", ".join(unmeasured)}: only their motion is used'] if unmeasured else []
    notes += [f'corrected: {", ".join(corrections)}'] if corrections else []
    if settings.without_gravity:
        if 'current' in arrays:
            raise JointDynamicsError(
                f'{name}: expected torque without gravity or motor currents, found both (effort: none, or one topic '
                'less, leaves one out)'
            )
        corrections['torque_without_gravity'] = True
    fields = {'name': name, 'joint_names': joints, 'time': time, **arrays, 'notes': notes}
    others = _extent(gathered, begin, end)
    return {**fields, 'corrections': Corrections(**corrections), 'others': others, 'without_torque': unmeasured}


def _without_torque(
    arrays: Mapping[str, FloatArray], joints: Sequence[str], stated: Sequence[str], name: str
) -> tuple[str, ...]:
    """Return the joints without torque, stated or not measured; set their columns in `arrays` to 0."""
    strange = [joint for joint in stated if joint not in joints]
    if strange:
        raise JointDynamicsError(
            f'recording.without_torque: expected joints of the recording ({", ".join(joints)}), found {strange[0]!r}'
        )
    efforts = [arrays[quantity] for quantity in EFFORTS if quantity in arrays]
    silent = np.isin(joints, stated)
    for values in efforts:
        silent |= np.isnan(values).all(axis=0)
    for values in efforts:
        values[:, silent] = 0.0
    if efforts and silent.all():
        raise JointDynamicsError(f'{name}: expected the torque of at least one joint, found none (without_torque)')
    return tuple(np.array(joints)[silent].tolist()) if efforts else ()


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
    reflections = (side.position, side.velocity, side.torque)
    for (motor, quantity), reflect in zip(REFLECTED.items(), reflections, strict=True):
        if motor in arrays:
            if quantity in arrays:
                raise JointDynamicsError(
                    f'{quantity}: expected one input, found it on the link side and on the motor side '
                    '(effort: none for one of them)'
                )
            arrays[quantity] = reflect(arrays.pop(motor), joints)
    if 'q' in arrays:
        return []
    arrays['q'] = arrays['theta']
    if 'dq' not in arrays and 'dtheta' in arrays:
        arrays['dq'] = arrays['dtheta']
    return ['no link-side positions: q is the reflected motor angle (rigid transmission)']


def _moves(tables: Sequence[Table], aligner: Aligner, window: tuple[float, float]) -> bool:
    """Whether a position leaves its place within the window, s, by more than `NEEDS_EFFORT`."""
    for table in tables:
        time = aligner.time(table)
        values = table.values[(window[0] <= time) & (time < window[1])]
        if table.quantity in POSITION and values.size and not np.ptp(values, axis=0).max() <= NEEDS_EFFORT:
            return True
    return False


def _gaps(aligner: Aligner, tables: Sequence[Table]) -> list[Gap]:
    """Return the gaps of all signals inside the grid that are too long to be bridged, in order of time.

    Where NaN may be interpolated, each joint has gaps of its own.
    """
    gaps = []
    for table in tables:
        time = aligner.time(table)
        finite = np.isfinite(table.values)
        by_joint = aligner.settings.nan == 'interpolate' and not finite.all()
        for known in finite.T if by_joint else (np.ones(time.size, dtype=bool),):
            gaps += aligner.gaps(table, time[known]) if table.quantity not in SLOW else []
    inside = [gap for gap in gaps if gap.stop > aligner.grid[0] and gap.start < aligner.grid[-1]]
    return sorted(inside, key=lambda gap: (gap.start, gap.stop))


def _between(aligner: Aligner, gaps: Sequence[Gap]) -> tuple[list[tuple[float, float]], list[str]]:
    """Return the windows (t0, t1) s between gaps, and a note, in a list.

    A piece begins a period after the sample behind a gap, so that no value of it is interpolated over the gap.

    Raises
    ------
    JointDynamicsError
        Where more than `max_left_out` of the time, or all of it, lies in gaps and in pieces too short to be used.
    """
    settings = aligner.settings
    begin, end = float(aligner.grid[0]), float(aligner.grid[-1]) + aligner.period
    shortest = max(SHORTEST, settings.min_duration, settings.min_samples * aligner.period)
    pieces, clear = [], begin
    for gap in [*gaps, replace(gaps[-1], start=end)]:
        if min(gap.start, end) - clear >= shortest:
            pieces.append((clear, min(gap.start, end)))
        clear = max(clear, gap.stop + aligner.period)
    left_out = 1.0 - sum(t1 - t0 for t0, t1 in pieces) / (end - begin)
    longest = max(gaps, key=lambda gap: gap.length)
    limit = f'gaps longer than {aligner.max_gap(longest.table) * 1e3:.4g} ms (recording.max_gap)'
    if not pieces or not left_out <= settings.max_left_out:
        raise JointDynamicsError(
            f'{aligner.name}: expected no {limit}, or pieces of at least {shortest:g} s between them with '
            f'{100 * (1 - settings.max_left_out):.3g} % of the time (recording.max_left_out), found '
            f'{100 * (1 - left_out):.3g} %, and {longest} (a window PATH@t0:t1 leaves it out)'
        )
    lost = f'{left_out * (end - begin):.3g} s ({100 * left_out:.2g} %) left out'
    return pieces, [f'used in {len(pieces)} pieces, because of {limit}: {longest}; {lost}']
