"""From samples to the arrays of a recording: one source per signal, one grid, on the joint side, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.common_grid import Aligner, make_grid
from joint_dynamics.recording.corrections import Corrections
from joint_dynamics.recording.gathering import Gathered, gather
from joint_dynamics.recording.inputs import SLOW
from joint_dynamics.recording.motor_side import MotorSide
from joint_dynamics.recording.plausibility import NEEDS_EFFORT, POSITION, check_signals
from joint_dynamics.recording.samples import Samples, Table
from joint_dynamics.signals.alignment import sample_period

#: Motor-side quantity -> the array of the Recording it becomes.
REFLECTED = {'motor_position': 'theta', 'motor_velocity': 'dtheta', 'motor_torque': 'tau'}
#: s: of a shorter piece the filters of an identification leave little.
SHORTEST = 2.5


Window = tuple[float | None, float | None]


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
    fields = _align(samples, gathered, _grid(samples, gathered, name, window))
    return _noted(fields, after=samples.notes)


def align_pieces(samples: Samples, name: str, window: Window) -> list[dict[str, Any]]:
    """Return the recording in pieces between gaps that are too long to be bridged, each named `name@t0:t1`.

    Without such a gap there is one piece, that of `align`. The notes of the first piece state what was left out.

    Raises
    ------
    JointDynamicsError
        For samples that cannot be used, and where too much would be left out.
    """
    gathered = gather(samples.tables(name), samples.joint_names, samples.replacing, name)
    grid = _grid(samples, gathered, name, window)
    windows, note = _pieces_between_gaps(grid, gathered.tables)
    if not windows:
        return [_noted(_align(samples, gathered, grid), after=samples.notes)]
    whole = name if window == (None, None) else name.rpartition('@')[0] or name
    moving = [window for window in windows if _moves(gathered.tables, grid, window)] or windows
    resting = [f'left out, nothing moves: {t0:.6g} to {t1:.6g} s' for t0, t1 in windows if (t0, t1) not in moving]
    pieces = [
        _align(samples, gathered, _grid(samples, gathered, f'{whole}@{t0:.6g}:{t1:.6g}', (t0, t1))) for t0, t1 in moving
    ]
    return [_noted(pieces[0], before=(note, *resting), after=samples.notes), *pieces[1:]]


def _moves(tables: Sequence[Table], aligner: Aligner, window: tuple[float, float]) -> bool:
    """Whether a position leaves its place within the window, s, by more than `NEEDS_EFFORT`."""
    for table in tables:
        time = (table.stamps - aligner.origin) * 1e-9
        values = table.values[(window[0] <= time) & (time < window[1])]
        if table.quantity in POSITION and values.size and not np.ptp(values, axis=0).max() <= NEEDS_EFFORT:
            return True
    return False


def _noted(fields: dict[str, Any], before: Sequence[str] = (), after: Sequence[str] = ()) -> dict[str, Any]:
    return {**fields, 'notes': (*before, *fields['notes'], *after)}


def _grid(samples: Samples, gathered: Gathered, name: str, window: Window) -> Aligner:
    return make_grid(
        gathered.tables, samples.settings, name, window, samples.joint_names, samples.limits, samples.unprotected
    )


def _align(samples: Samples, gathered: Gathered, aligner: Aligner) -> dict[str, Any]:
    joints, notes = gathered.joints, list(gathered.notes)
    arrays: dict[str, FloatArray] = {}
    duplicates = []
    for quantity, members in gathered.quantities.items():
        array = np.empty((aligner.grid.size, len(joints)))
        for table in members:
            array[:, [joints.index(joint) for joint in table.names]] = aligner.align(table)
            if table.duplicates:
                duplicates.append(
                    f'{table.duplicates} duplicate stamps of {quantity} on {table.source}: the last sample of each kept'
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
    by = {'corrections': Corrections(**corrections)}
    return {'name': aligner.name, 'joint_names': joints, 'time': time, **arrays, 'notes': notes, **by}


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


def _pieces_between_gaps(aligner: Aligner, tables: Sequence[Table]) -> tuple[list[tuple[float, float]], str]:
    """Return the windows (t0, t1) s in which no signal has a gap longer than max_gap, and a note; none without gaps.

    A piece begins a period after the sample behind a gap, so that no value of it is interpolated over the gap.

    Raises
    ------
    JointDynamicsError
        Where more than `max_left_out` of the time, or all of it, lies in gaps and in pieces too short to be used.
    """
    gaps = [gap for table in tables if table.quantity not in SLOW for gap in _gaps(aligner, table)]
    gaps.sort(key=lambda gap: gap[:2])
    if not gaps:
        return [], ''
    begin, end = float(aligner.grid[0]), float(aligner.grid[-1]) + aligner.period
    edges, clear, count = [], begin, 0
    for start, stop, _ in gaps:
        # of several signals of one message there is one gap
        count += start >= clear or count == 0
        edges.append((clear, min(start, end)))
        clear = max(clear, stop + aligner.period)
    edges.append((clear, end))
    settings = aligner.settings
    shortest = max(SHORTEST, settings.min_duration, settings.min_samples * aligner.period)
    pieces = [(t0, t1) for t0, t1 in edges if t1 - t0 >= shortest]
    left_out = 1.0 - sum(t1 - t0 for t0, t1 in pieces) / (end - begin)
    start, stop, limit, what = max(
        ((start, stop, limit, what) for start, stop, (limit, what) in gaps), key=lambda gap: gap[1] - gap[0]
    )
    if not pieces or not left_out <= settings.max_left_out:
        raise JointDynamicsError(
            f'{aligner.name}: expected no gap longer than {limit:.6g} s (recording.max_gap), or pieces of at least '
            f'{shortest:g} s between the gaps with {100 * (1 - settings.max_left_out):.3g} % of the time '
            f'(recording.max_left_out), found {100 * (1 - left_out):.3g} %, and a gap of {stop - start:.6g} s in '
            f'{what} at {start:.6g} s (a window PATH@t0:t1 leaves it out)'
        )
    return (
        pieces,
        f'used in {len(pieces)} pieces, for gaps longer than {limit * 1e3:.4g} ms (recording.max_gap): {count}, the '
        f'longest of {(stop - start) * 1e3:.4g} ms in {what} at {start:.6g} s; {left_out * (end - begin):.3g} s '
        f'({100 * left_out:.2g} %) left out',
    )


def _gaps(aligner: Aligner, table: Table) -> list[tuple[float, float, tuple[float, str]]]:
    """Return begin and end of each gap inside the grid, s, with the longest that is allowed and what has it.

    Where numbers that are none may be interpolated, joint by joint: each is missing by itself.
    """
    time: FloatArray = np.asarray((table.stamps - aligner.origin) * 1e-9, dtype=np.float64)
    finite = np.isfinite(table.values)
    columns = [np.ones(time.size, dtype=bool)]
    if aligner.settings.nan == 'interpolate' and not finite.all():
        columns += list(finite.T)
    gaps = {}
    for known in columns:
        present = time[known]
        if present.size < 2:
            continue
        limit = aligner.max_gap(sample_period(present))
        long = np.flatnonzero(np.diff(present) > limit * (1 + 1e-6))
        for start, stop in zip(present[long], present[long + 1], strict=True):
            if stop > aligner.grid[0] and start < aligner.grid[-1]:
                gaps[float(start), float(stop)] = limit, f'{table.quantity} on {table.source}'
    return [(start, stop, limit_and_source) for (start, stop), limit_and_source in gaps.items()]
