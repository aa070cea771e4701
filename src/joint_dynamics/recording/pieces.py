"""Where a recording with gaps too long to be bridged is cut, and how much of it that leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.align import Aligner
from joint_dynamics.recording.quantities import SLOW
from joint_dynamics.recording.streams import Table
from joint_dynamics.signals.alignment import sample_period

#: s: what is left of a shorter piece behind the filters of an identification tells little.
SHORTEST = 2.5


@dataclass(frozen=True)
class Pieces:
    """The windows (t0, t1) between the gaps, s from the recording's start, and what there is to say of them."""

    windows: tuple[tuple[float, float], ...]
    note: str


def pieces_between_gaps(aligner: Aligner, tables: Sequence[Table]) -> Pieces | None:
    """Return the pieces of the aligner's grid in which no signal has a gap longer than max_gap; None without gaps.

    A piece begins a period after the sample behind a gap, so that no value of it is interpolated over the gap.

    Raises
    ------
    JointDynamicsError
        Where more than `max_left_out` of the time, or all of it, lies in gaps and in pieces too short to be used.
    """
    gaps = [gap for table in tables if table.quantity not in SLOW for gap in _gaps(aligner, table)]
    gaps.sort(key=lambda gap: gap[:2])
    if not gaps:
        return None
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
    windows = tuple((t0, t1) for t0, t1 in edges if t1 - t0 >= shortest)
    left_out = 1.0 - sum(t1 - t0 for t0, t1 in windows) / (end - begin)
    start, stop, limit, what = max(
        ((start, stop, limit, what) for start, stop, (limit, what) in gaps), key=lambda gap: gap[1] - gap[0]
    )
    if not windows or not left_out <= settings.max_left_out:
        raise JointDynamicsError(
            f'{aligner.name}: expected no gap longer than {limit:.6g} s (recording.max_gap), or pieces of at least '
            f'{shortest:g} s between the gaps with {100 * (1 - settings.max_left_out):.3g} % of the time '
            f'(recording.max_left_out), found {100 * (1 - left_out):.3g} %, and a gap of {stop - start:.6g} s in '
            f'{what} at {start:.6g} s (a window PATH@t0:t1 leaves it out)'
        )
    return Pieces(
        windows,
        f'used in {len(windows)} pieces, for gaps longer than {limit * 1e3:.4g} ms (recording.max_gap): {count}, the '
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
    found = {}
    for there in columns:
        present = time[there]
        if present.size < 2:
            continue
        limit = aligner.max_gap(sample_period(present))
        long = np.flatnonzero(np.diff(present) > limit * (1 + 1e-6))
        for start, stop in zip(present[long], present[long + 1], strict=True):
            if stop > aligner.grid[0] and start < aligner.grid[-1]:
                found[float(start), float(stop)] = limit, f'{table.quantity} on {table.source}'
    return [(start, stop, said) for (start, stop), said in found.items()]
