"""Tables of samples with stamps of their own, aligned on the uniform grid of the link-side positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.plausibility import beyond, bounds, jump
from joint_dynamics.recording.quantities import SLOW
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.streams import Table
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.signals.alignment import (
    COINCIDENT,
    alignment_error,
    longest_gap,
    missing_samples,
    resample,
    sample_period,
)

Array = FloatArray
#: rad: a step from one sample to the next that is this close to a turn is a turn.
JUMP = 1.0
#: Where no setting says: the longer of these is the longest gap that is bridged, in periods of the signal and in s.
GAP_PERIODS, GAP_SECONDS = 5, 0.02
#: s from a grid point to the nearest sample, at most, where no setting says and no longer gap is bridged.
ALIGNMENT_SECONDS = 0.025


@dataclass
class Aligner:
    """The grid of one recording, and what was found while signals were brought onto it.

    Attributes
    ----------
    origin
        ns, stamp of time 0, the first grid point of the whole recording.
    period
        s, of the grid.
    grid
        (N,) s from origin, the part inside the window.
    robot_joints, limits
        the robot's, where it is known.
    unprotected
        what to add where values are not plausible, of a file without checksums.

    """

    settings: RecordingSettings
    name: str
    origin: int
    period: float
    grid: Array
    robot_joints: Sequence[str] | None = None
    limits: JointLimits | None = None
    unprotected: str = ''
    notes: list[str] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)

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
        limit = bounds(table.quantity, joints, self.robot_joints, self.limits)
        odd = beyond(table.quantity, time, values, limit) or jump(table.quantity, time, values)
        if odd is None:
            return
        found = (
            f'{table.quantity} of {joints[odd.column]} on {table.source} at {odd.time:.6g} s is not what a joint does:'
            f' {odd.found}'
        )
        if self.settings.implausible == 'refuse':
            raise JointDynamicsError(
                f'{self.name}: expected what a joint does, found that {found}{self.unprotected} '
                f'(recording.implausible: note lets it pass)'
            )
        self.notes.append(found + self.unprotected)

    def _unwrap(self, table: Table, joints: Sequence[str], values: Array) -> Array:
        """Take out jumps by a turn: drivers give the angle of a joint without stops between -π and π."""
        if table.quantity not in ('q', 'theta'):
            return values
        steps = np.diff(values, axis=0)
        turns = np.where(np.abs(np.abs(steps) - 2 * np.pi) < JUMP, np.sign(steps), 0.0)
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
        limit = self.max_gap(period)
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

    def max_gap(self, period: float) -> float:
        """Return the longest gap that is bridged in a signal with this period, s."""
        return self.settings.max_gap or max(GAP_PERIODS * period, GAP_SECONDS)

    @property
    def max_alignment_error(self) -> float:
        """The bound in force, s."""
        if self.settings.max_alignment_error is not None:
            return self.settings.max_alignment_error
        return max(ALIGNMENT_SECONDS, self.max_gap(self.period) / 2)

    def report(self) -> list[str]:
        """Return the notes: how far the grid points are from real samples, per quantity, and what was bridged."""
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
