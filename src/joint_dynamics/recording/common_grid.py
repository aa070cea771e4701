"""The uniform grid of a recording: the time that all its signals cover, at the rate of the positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.align import GAP_PERIODS, GAP_SECONDS, Aligner
from joint_dynamics.recording.quantities import POSITIONS, SLOW
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.streams import Table
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.signals.alignment import longest_gap, sample_period

#: Longest grid: three hours at 5 kHz.
MAX_POINTS = 54_000_000


def make_grid(
    tables: Sequence[Table],
    settings: RecordingSettings,
    name: str,
    window: tuple[float | None, float | None],
    robot_joints: Sequence[str] | None = None,
    limits: JointLimits | None = None,
    unprotected: str = '',
) -> Aligner:
    """Return the aligner for these tables: a grid from the first to the last link-side sample that every signal covers.

    The grid's rate is that of the positions of most of the joints. `window` is in s from the grid's start, its end left
    out.

    Raises
    ------
    JointDynamicsError
        When the signals have no time in common, or the window holds too little of the recording.
    """
    fast = [table for table in tables if table.quantity not in SLOW]
    leading = max(
        (table for table in fast if table.quantity in POSITIONS),
        key=lambda table: (table.quantity == 'q', len(table.names)),
    )
    begin, end = max(table.stamps[0] for table in fast), min(table.stamps[-1] for table in fast)
    first = int(np.searchsorted(leading.stamps, begin))
    if leading.stamps.size - first < 2 or not end > leading.stamps[first]:
        spans = {
            table.source: f'{table.source} {table.stamps[0] * 1e-9:.9g} to {table.stamps[-1] * 1e-9:.9g} s'
            for table in fast
        }
        if leading.stamps.size < 2 or len(spans) < 2:
            raise JointDynamicsError(
                f'{name}: expected at least {settings.min_samples:g} samples and {settings.min_duration:g} s, found a '
                f'recording too short: {leading.stamps.size} samples of {leading.quantity} on {leading.source}'
            )
        raise JointDynamicsError(
            f'{name}: expected topics that have time in common, found {"; ".join(spans.values())} '
            '(different clocks? recording.stamps: received)'
        )
    origin = int(leading.stamps[first])
    period = sample_period(np.asarray((leading.stamps[first:] - origin) * 1e-9))
    # Only the points inside the window are made: one wrong stamp far away asks for more than there is memory.
    points = int(np.floor(float(end - origin) * 1e-9 / period + 1e-3)) + 1
    total, (t0, t1) = (points - 1) * period, window
    low, high = (points if t is None else min(points, max(0, int(np.ceil(t / period - 1e-6)))) for t in (t0 or 0.0, t1))
    if high - low > MAX_POINTS:
        gap = longest_gap(np.asarray((leading.stamps[first:] - origin) * 1e-9))
        raise JointDynamicsError(
            f'{name}: expected at most {MAX_POINTS} samples at {1 / period:.6g} Hz, found {high - low} (gap of '
            f'{gap.length:.6g} s in {leading.quantity} on {leading.source} at {gap.start:.6g} s); a window '
            'PATH@t0:t1 leaves it out'
        )
    grid = period * np.arange(low, high, dtype=np.float64)
    if grid.size < settings.min_samples or grid.size * period < settings.min_duration:
        where = (
            ''
            if window == (None, None)
            else f' in the window {"" if t0 is None else f"{t0:g}"}:{"" if t1 is None else f"{t1:g}"}'
        )
        raise JointDynamicsError(
            f'{name}: expected at least {settings.min_samples:g} samples and {settings.min_duration:g} s '
            '(recording.min_samples, min_duration), found a recording too short: '
            f'{grid.size} samples, {grid.size * period:.6g} s{where} of {total:.6g} s recorded'
        )
    aligner = Aligner(settings, name, origin, period, grid, robot_joints, limits, unprotected)
    if t1 is not None and t1 > total + 1.5 * period:
        aligner.notes.append(f'the window was to end at {t1:.6g} s, the recording ends at {total:.6g} s')
    cut = (
        (begin - min(table.stamps[0] for table in fast)) * 1e-9,
        (max(table.stamps[-1] for table in fast) - end) * 1e-9,
    )
    if max(cut) > max(GAP_SECONDS, GAP_PERIODS * period):
        aligner.notes.append(
            f'cut to the time common to all signals: {cut[0]:.4g} s left out at the start, {cut[1]:.4g} s at the end'
        )
    return aligner
