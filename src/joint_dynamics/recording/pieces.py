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

"""A recording in pieces, between gaps that are too long to be bridged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.aligned import Window, fields_on, gather, noted
from joint_dynamics.recording.common_grid import Aligner, make_grid
from joint_dynamics.recording.inputs import SLOW
from joint_dynamics.recording.plausibility import NEEDS_EFFORT, POSITION
from joint_dynamics.recording.samples import Samples, Table

#: s: of a shorter piece the filters of an identification leave little.
SHORTEST = 2.5


def align_pieces(samples: Samples, name: str, window: Window) -> list[dict[str, Any]]:
    """Return the recording in pieces between gaps that are too long to be bridged, each named `name@t0:t1`.

    Without such a gap there is one piece, that of `align`. The notes of the first piece list the omissions.

    Raises
    ------
    JointDynamicsError
        For samples that cannot be used, and where too much would be left out.
    """
    gathered = gather(samples.tables(name), samples.joint_names, samples.replacing, name)
    grid = make_grid(gathered.tables, samples, name, window)
    windows, note = _pieces_between_gaps(grid, gathered.tables)
    if not windows:
        return [noted(fields_on(samples, gathered, grid), after=samples.notes)]
    whole = name if window == (None, None) else name.rpartition('@')[0] or name
    moving = [window for window in windows if _moves(gathered.tables, grid, window)] or windows
    resting = [f'left out, nothing moves: {t0:.6g} to {t1:.6g} s' for t0, t1 in windows if (t0, t1) not in moving]
    grids = [make_grid(gathered.tables, samples, f'{whole}@{t0:.6g}:{t1:.6g}', (t0, t1)) for t0, t1 in moving]
    pieces = [fields_on(samples, gathered, aligner) for aligner in grids]
    return [noted(pieces[0], before=(note, *resting), after=samples.notes), *pieces[1:]]


def _moves(tables: Sequence[Table], aligner: Aligner, window: tuple[float, float]) -> bool:
    """Whether a position leaves its place within the window, s, by more than `NEEDS_EFFORT`."""
    for table in tables:
        time = (table.stamps - aligner.origin) * 1e-9
        values = table.values[(window[0] <= time) & (time < window[1])]
        if table.quantity in POSITION and values.size and not np.ptp(values, axis=0).max() <= NEEDS_EFFORT:
            return True
    return False


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
            f'{aligner.name}: expected no gap longer than {limit:.6g} s (recording.max_gap), found {stop - start:.6g} s'
            f' in {what} at {start:.6g} s: leave it out by a window PATH@t0:t1. Expected pieces of at least '
            f'{shortest:g} s with {100 * (1 - settings.max_left_out):.3g} % of the time (recording.max_left_out), '
            f'found {100 * (1 - left_out):.3g} %'
        )
    return (
        pieces,
        f'used in {len(pieces)} pieces, because of gaps longer than {limit * 1e3:.4g} ms (recording.max_gap): '
        f'{count}, the '
        f'longest of {(stop - start) * 1e3:.4g} ms in {what} at {start:.6g} s; {left_out * (end - begin):.3g} s '
        f'({100 * left_out:.2g} %) left out',
    )


def _gaps(aligner: Aligner, table: Table) -> list[tuple[float, float, tuple[float, str]]]:
    """Return begin and end of each gap inside the grid, s, with the longest allowed gap and its signal.

    Where NaN may be interpolated, each joint has gaps of its own.
    """
    time: FloatArray = np.asarray((table.stamps - aligner.origin) * 1e-9, dtype=np.float64)
    finite = np.isfinite(table.values)
    columns = [np.ones(time.size, dtype=bool)]
    if aligner.settings.nan == 'interpolate' and not finite.all():
        columns += list(finite.T)
    gaps: dict[tuple[float, float], tuple[float, str]] = {}
    for known in columns:
        present = time[known]
        if present.size < 2:
            continue
        limit = aligner.max_gap(table)
        long = np.flatnonzero(np.diff(present) > limit * (1 + 1e-6))
        for start, stop in zip(present[long], present[long + 1], strict=True):
            if stop > aligner.grid[0] and start < aligner.grid[-1]:
                gaps[float(start), float(stop)] = limit, f'{table.quantity} on {table.source}'
    return [(start, stop, limit_and_source) for (start, stop), limit_and_source in gaps.items()]
