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

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import POSITIONS, SLOW
from joint_dynamics.recording.plausibility import bounds, first_beyond, jump, note_of
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.samples import Samples, Table
from joint_dynamics.signals.alignment import (
    COINCIDENT,
    alignment_error,
    longest_gap,
    missing_samples,
    resample,
    sample_period,
)

Array = FloatArray
TURN_TOLERANCE = 1.0  # rad, distance to a turn of a step from one sample to the next that counts as a turn
GAP_PERIODS = 5  # periods of the signal, default of the longest gap that is bridged
GAP_SECONDS = 0.02  # s, its lower bound
ALIGNMENT_SECONDS = 0.025  # s from a grid point to the nearest sample, least default of the bound
MAX_POINTS = 54_000_000  # of a grid: three hours at 5 kHz


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

    """

    samples: Samples
    name: str
    origin: int
    period: float
    grid: Array
    notes: list[str] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def settings(self) -> RecordingSettings:
        """Of the samples."""
        return self.samples.settings

    def align(self, table: Table) -> Array:
        """Return the table's values on the grid, (N, columns).

        Raises
        ------
        JointDynamicsError
            For values that are not numbers, gaps, and samples too far from the grid points.
        """
        time: Array = np.asarray((table.stamps - self.origin) * 1e-9, dtype=np.float64)
        values = table.values
        first, last = np.searchsorted(time, [self.grid[0] - COINCIDENT, self.grid[-1] + COINCIDENT])
        # One neighbour more on each side, but only where the grid's end has no sample of its own.
        first -= first > 0 and not (first < time.size and time[first] <= self.grid[0] + COINCIDENT)
        last += last < time.size and not (last > 0 and time[last - 1] >= self.grid[-1] - COINCIDENT)
        time, values = time[first:last], values[first:last]
        finite = np.isfinite(values)
        if finite.all():
            return self._resample(table, table.names, time, values)
        self._refuse_nan(table, time, finite)
        return np.hstack(
            [
                self._resample(table, (joint,), time[finite[:, column]], values[finite[:, column], column : column + 1])
                for column, joint in enumerate(table.names)
            ]
        )

    def _refuse_nan(self, table: Table, time: Array, finite: BoolArray) -> None:
        """Raise for NaN inside the window, unless they may be interpolated.

        Those of the neighbours outside are only left out.
        """
        inside = (time >= self.grid[0] - self.period / 2) & (time <= self.grid[-1] + self.period / 2)
        holes = ~finite & inside[:, None]
        for column, joint in enumerate(table.names):
            count = int(holes[:, column].sum())
            if count and self.settings.nan == 'refuse':
                raise JointDynamicsError(
                    f'{self.name}: {table.quantity} of {joint} on {table.source}: expected numbers, found {count} of '
                    f'{inside.sum()} samples that are not, the first at {time[np.argmax(holes[:, column])]:.6g} s '
                    '(recording.nan: interpolate bridges them up to max_gap)'
                )
            if count:
                self.notes.append(f'{count} samples of {table.quantity} of {joint} are not numbers: interpolated')

    def _resample(self, table: Table, joints: Sequence[str], time: Array, values: Array) -> Array:
        what = f'{table.quantity} of {", ".join(joints)} on {table.source}'
        slow = table.quantity in SLOW
        if time.size < (1 if slow else 2):
            raise JointDynamicsError(f'{self.name}: expected at least two samples of {what}, found {time.size}')
        if not slow:
            self._refuse_gap(table, time)
        error = alignment_error(self.grid, time)
        limit = self.settings.max_temperature_gap if slow else self.max_alignment_error
        if not error <= limit:
            raise JointDynamicsError(
                f'{self.name}: {what}: expected a sample within {limit:.6g} s of each grid point (recording.'
                f'{"max_temperature_gap" if slow else "max_alignment_error"}), found the nearest {error:.6g} s away'
            )
        self.errors[table.quantity] = max(error, self.errors.get(table.quantity, 0.0))
        values = self._unwrap(table, joints, values)
        self._refuse_odd(table, joints, time, values)
        return resample(self.grid, time, values)

    def _refuse_odd(self, table: Table, joints: Sequence[str], time: Array, values: Array) -> None:
        """Raise for a value that no joint has, or note it where the settings say so."""
        limit = bounds(table.quantity, joints, self.samples.joint_names, self.samples.limits)
        odd = first_beyond(table.quantity, time, values, limit) or jump(table.quantity, time, values)
        if odd is not None:
            what = f'{table.quantity} of {joints[odd.column]} on {table.source}'
            self.notes.append(note_of(self.name, what, odd, self.settings.implausible))

    def _unwrap(self, table: Table, joints: Sequence[str], values: Array) -> Array:
        """Take out jumps by a turn: drivers give the angle of a joint without stops between -π and π."""
        if table.quantity not in ('q', 'theta'):
            return values
        steps = np.diff(values, axis=0)
        turns = np.where(np.abs(np.abs(steps) - 2 * np.pi) < TURN_TOLERANCE, np.sign(steps), 0.0)
        if not turns.any():
            return values
        counts = np.count_nonzero(turns, axis=0)
        self.notes += [
            f'{table.quantity} of {joint} on {table.source} jumps by 2π, {count} times: taken out'
            for joint, count in zip(joints, counts, strict=True)
            if count
        ]
        return np.vstack([values[:1], values[1:] - 2 * np.pi * np.cumsum(turns, axis=0)])

    def _refuse_gap(self, table: Table, time: Array) -> None:
        period, gap = sample_period(time), longest_gap(time)
        limit = self.max_gap(table)
        if not gap.length <= limit * (1 + 1e-6):
            raise JointDynamicsError(
                f'{self.name}: expected no gap longer than {limit:.6g} s (recording.max_gap), found a gap of '
                f'{gap.length:.6g} s in {table.quantity} on {table.source} at {gap.start:.6g} s (a window PATH@t0:t1 '
                'leaves it out)'
            )
        missing = missing_samples(time, period)
        note = (
            f'{missing} missing samples on {table.source} interpolated, longest gap {gap.length * 1e3:.4g} ms '
            f'({limit * 1e3:.4g} ms allowed)'
        )
        if missing and note not in self.notes:
            self.notes.append(note)

    def max_gap(self, table: Table) -> float:
        """Return the longest gap that is bridged in a signal, s: one limit for the whole recording and its pieces."""
        return self.settings.max_gap or self._bridged(sample_period((table.stamps - table.stamps[0]) * 1e-9))

    def _bridged(self, period: float) -> float:
        return max(GAP_PERIODS * period, GAP_SECONDS)

    @property
    def max_alignment_error(self) -> float:
        """The bound in force on the distance of grid points to real samples, s."""
        if self.settings.max_alignment_error is not None:
            return self.settings.max_alignment_error
        return max(ALIGNMENT_SECONDS, (self.settings.max_gap or self._bridged(self.period)) / 2)

    def report(self) -> list[str]:
        """Return the notes: the distances of grid points to real samples, per quantity, and the gaps bridged."""
        far = [
            f'{quantity} {error * 1e3:.3g} ms'
            for quantity, error in self.errors.items()
            if error > COINCIDENT and quantity not in SLOW
        ]
        if far:
            self.notes.insert(
                0,
                f'resampled at {1 / self.period:.6g} Hz; largest distance to a real sample: {", ".join(far)} '
                f'(bound {self.max_alignment_error * 1e3:.4g} ms)',
            )
        self.notes += [
            f'{quantity} interpolated, largest distance to a real sample {self.errors[quantity]:.3g} s '
            f'(bound {self.settings.max_temperature_gap:g} s)'
            for quantity in SLOW
            if self.errors.get(quantity, 0.0) > COINCIDENT
        ]
        return self.notes


def make_grid(
    tables: Sequence[Table], samples: Samples, name: str, window: tuple[float | None, float | None]
) -> Aligner:
    """Return the aligner for these tables: a grid from the first to the last link-side sample that every signal covers.

    The grid's rate is that of the positions of most of the joints. `window` is in s from the grid's start, its end
    excluded.

    Raises
    ------
    JointDynamicsError
        When the signals do not overlap in time, or the window contains too little of the recording.
    """
    settings = samples.settings
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
    aligner = Aligner(samples, name, origin, period, grid)
    if t1 is not None and t1 > total + 1.5 * period:
        aligner.notes.append(f'the window should end at {t1:.6g} s, the recording ends at {total:.6g} s')
    cut = (
        (begin - min(table.stamps[0] for table in fast)) * 1e-9,
        (max(table.stamps[-1] for table in fast) - end) * 1e-9,
    )
    if max(cut) > max(GAP_SECONDS, GAP_PERIODS * period):
        aligner.notes.append(
            f'cut to the time common to all signals: {cut[0]:.4g} s left out at the start, {cut[1]:.4g} s at the end'
        )
    return aligner
