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

"""The uniform grid of a recording, at the rate of its positions, and tables with their own stamps brought onto it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import POSITIONS, SLOW
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.samples import Table
from joint_dynamics.signals.alignment import COINCIDENT, alignment_error, resample, sample_period

Array = FloatArray
Window = tuple[float | None, float | None]
TURN_TOLERANCE = 1.0  # rad, distance to a turn of a step from one sample to the next that counts as a turn
GAP_PERIODS = 5  # periods of the signal, default of the longest gap that is bridged
GAP_SECONDS = 0.02  # s, its lower bound
SLOWEST = 0.05  # s, longest gap that is bridged in a signal slower than the positions, unless these are as slow
MAX_POINTS = 54_000_000  # of a grid: three hours at 5 kHz


@dataclass(frozen=True)
class Gap:
    """A stretch without a sample of a table, from `start` to `stop` [s], longer than is bridged."""

    start: float
    stop: float
    table: Table

    @property
    def length(self) -> float:
        """From one sample to the next, s."""
        return self.stop - self.start

    def __str__(self) -> str:
        return f'a gap of {self.length:.6g} s in {self.table.quantity} on {self.table.source} at {self.start:.6g} s'


@dataclass
class Aligner:
    """The grid of one recording, with notes on the signals that were brought onto it.

    Attributes
    ----------
    origin
        ns, stamp of time 0, the first grid point of the whole recording.
    period
        s, of the grid.
    grid
        (N,) s from origin, the part inside the window.
    errors
        largest distance of a grid point to a real sample [s], by quantity.
    """

    settings: RecordingSettings
    name: str
    origin: int
    period: float
    grid: Array = field(default_factory=lambda: np.zeros(0))
    notes: list[str] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)

    def time(self, table: Table) -> Array:
        """Return the stamps (K,) of a table, s from the origin."""
        return np.asarray((table.stamps - self.origin) * 1e-9, dtype=np.float64)

    def align(self, table: Table) -> Array:
        """Return the table's values on the grid, (N, columns).

        Raises
        ------
        JointDynamicsError
            For values that are not numbers, gaps, and samples too far from the grid points.
        """
        time, values = self.time(table), table.values
        first, last = np.searchsorted(time, [self.grid[0] - COINCIDENT, self.grid[-1] + COINCIDENT])
        # One neighbour more on each side, but only where the grid's end has no sample of its own.
        first -= first > 0 and not (first < time.size and time[first] <= self.grid[0] + COINCIDENT)
        last += last < time.size and not (last > 0 and time[last - 1] >= self.grid[-1] - COINCIDENT)
        time, values = time[first:last], values[first:last]
        finite = np.isfinite(values)
        if finite.all():
            return self._resample(table, table.names, time, values)
        columns = []
        # NaN of the neighbours outside the window are only left out
        inside = (time >= self.grid[0] - self.period / 2) & (time <= self.grid[-1] + self.period / 2)
        for column, joint in enumerate(table.names):
            known = finite[:, column]
            holes = np.flatnonzero(inside & ~known)
            what = f'{table.quantity} of {joint} on {table.source}'
            if holes.size and self.settings.nan == 'refuse':
                raise JointDynamicsError(
                    f'{self.name}: {what}: expected numbers, found {holes.size} of {inside.sum()} samples that are none'
                    f', the first at {time[holes[0]]:.6g} s (recording.nan: interpolate bridges them up to max_gap)'
                )
            self.notes += [f'{holes.size} samples of {what} are not numbers: interpolated'] if holes.size else []
            columns.append(self._resample(table, (joint,), time[known], values[known, column : column + 1]))
        return np.hstack(columns)

    def _resample(self, table: Table, joints: Sequence[str], time: Array, values: Array) -> Array:
        what = f'{table.quantity} of {", ".join(joints)} on {table.source}'
        slow = table.quantity in SLOW
        if time.size < (1 if slow else 2):
            raise JointDynamicsError(f'{self.name}: expected at least two samples of {what}, found {time.size}')
        if not slow and (gaps := self.gaps(table, time)):
            longest = max(gaps, key=lambda gap: gap.length)
            raise JointDynamicsError(
                f'{self.name}: expected no gap longer than {self.max_gap(table):.6g} s (recording.max_gap), found '
                f'{longest} (a window PATH@t0:t1 leaves it out)'
            )
        error = alignment_error(self.grid, time)
        if slow and not error <= self.settings.max_temperature_gap:
            raise JointDynamicsError(
                f'{self.name}: {what}: expected a sample within {self.settings.max_temperature_gap:.6g} s of each grid '
                f'point (recording.max_temperature_gap), found the nearest {error:.6g} s away'
            )
        self.errors[table.quantity] = max(error, self.errors.get(table.quantity, 0.0))
        return resample(self.grid, time, self._unwrap(table, joints, values))

    def _unwrap(self, table: Table, joints: Sequence[str], values: Array) -> Array:
        """Take out jumps by a turn: drivers give the angle of a joint without stops between -π and π."""
        if table.quantity not in ('q', 'theta'):
            return values
        steps = np.diff(values, axis=0)
        turns = np.where(np.abs(np.abs(steps) - 2 * np.pi) < TURN_TOLERANCE, np.sign(steps), 0.0)
        if not turns.any():
            return values
        self.notes += [
            f'{table.quantity} of {joint} on {table.source} jumps by 2π, {count} times: taken out'
            for joint, count in zip(joints, np.count_nonzero(turns, axis=0), strict=True)
            if count
        ]
        return np.vstack([values[:1], values[1:] - 2 * np.pi * np.cumsum(turns, axis=0)])

    def gaps(self, table: Table, time: Array) -> list[Gap]:
        """Return the gaps between samples of a table at `time` (K,) s that are too long to be bridged."""
        long = np.flatnonzero(np.diff(time) > self.max_gap(table) * (1 + 1e-6))
        return [Gap(float(time[k]), float(time[k + 1]), table) for k in long]

    def max_gap(self, table: Table) -> float:
        """Return the longest gap that is bridged in a signal, s: one limit for the whole recording and its pieces."""
        own = _bridged(sample_period((table.stamps - table.stamps[0]) * 1e-9))
        return self.settings.max_gap or min(own, max(SLOWEST, _bridged(self.period)))

    def report(self) -> list[str]:
        """Return the notes: the distances of grid points to real samples, per quantity, and all others."""
        far = [f'{key} {error * 1e3:.3g} ms' for key, error in self.errors.items() if error > COINCIDENT]
        rate = f'resampled at {1 / self.period:.6g} Hz; largest distance to a real sample: {", ".join(far)}'
        return [rate, *self.notes] if far else self.notes


def _bridged(period: float) -> float:
    return max(GAP_PERIODS * period, GAP_SECONDS)


def make_grid(tables: Sequence[Table], settings: RecordingSettings, name: str, window: Window) -> Aligner:
    """Return the aligner for these tables: a grid from the first to the last link-side sample that every signal covers.

    The grid's rate is that of the positions of most of the joints. `window` is in s from the grid's start, its end
    excluded.

    Raises
    ------
    JointDynamicsError
        When the signals do not overlap in time, or the window contains too little of the recording.
    """
    fast = [table for table in tables if table.quantity not in SLOW]
    leading = max(
        (table for table in fast if table.quantity in POSITIONS),
        key=lambda table: (table.quantity == 'q', len(table.names)),
    )
    begin, end = max(table.stamps[0] for table in fast), min(table.stamps[-1] for table in fast)
    stamps = leading.stamps[np.searchsorted(leading.stamps, begin) :]
    if stamps.size < 2 or not end > stamps[0]:
        spans = {
            table.source: f'{table.source} {table.stamps[0] * 1e-9:.9g} to {table.stamps[-1] * 1e-9:.9g} s'
            for table in fast
        }
        raise JointDynamicsError(
            f'{name}: expected topics that have two samples of time in common, found {"; ".join(spans.values())} '
            '(too short, or different clocks? recording.stamps: received)'
        )
    origin = int(stamps[0])
    period = sample_period(np.asarray((stamps - origin) * 1e-9))
    # Only the points inside the window are made: one wrong stamp far away asks for more than there is memory.
    points = int(np.floor(float(end - origin) * 1e-9 / period + 1e-3)) + 1
    t0, t1 = window
    low, high = (points if t is None else min(points, max(0, int(np.ceil(t / period - 1e-6)))) for t in (t0 or 0.0, t1))
    aligner = Aligner(settings, name, origin, period)
    if high - low > MAX_POINTS:
        longest = max(aligner.gaps(leading, aligner.time(leading)), key=lambda gap: gap.length)
        raise JointDynamicsError(
            f'{name}: expected at most {MAX_POINTS} samples at {1 / period:.6g} Hz, found {high - low}, with {longest} '
            '(a window PATH@t0:t1 leaves it out)'
        )
    aligner.grid = period * np.arange(low, high, dtype=np.float64)
    count = aligner.grid.size
    if count < settings.min_samples or count * period < settings.min_duration:
        raise JointDynamicsError(
            f'{name}: expected at least {settings.min_samples:g} samples and {settings.min_duration:g} s '
            '(recording.min_samples, min_duration), found a recording too short: '
            f'{count} samples, {count * period:.6g} s of {(points - 1) * period:.6g} s recorded'
        )
    before = (begin - min(table.stamps[0] for table in fast)) * 1e-9
    after = (max(table.stamps[-1] for table in fast) - end) * 1e-9
    if max(before, after) > _bridged(period):
        aligner.notes.append(
            f'cut to the time common to all signals: {before:.4g} s left out at the start, {after:.4g} s at the end'
        )
    return aligner
