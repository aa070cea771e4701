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

"""Recordings of a motion that repeats: where the periods are, and their mean.

Candidates for the period are the lags at which the autocorrelation of the speeds peaks; a lag is accepted when, for at
least one whole period, all joints are within `TOLERANCE` of their positions one lag later, and move in between.

With M periods x_m(t) = x(t) + n_m(t) of a periodic excitation, averaging over m divides the noise variance by M,
without any filter. Σ_m Σ_t (x_m − x̄)² / ((M − 1) N_p) of a position is how much it differs between periods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.recording import Recording
from joint_dynamics.signals.alignment import resample

Array = FloatArray
RATE = 100.0  # Hz, of the search
CANDIDATES = 40  # lags examined
SHORTEST = 0.5  # s, shortest lag
MOVING = (
    0.3  # share of the recording's rms speed, least of a stretch that counts as motion: a long rest repeats nothing
)
TURNS = 5  # steps of the lag while it is refined; in half samples of the thinned motion it is off by a few of them
# Difference of positions one lag apart, as a share of the joint's deviation from its mean position (rms), or of a tenth
# of the largest deviation of all joints.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Repetition:
    """`count` periods of `period` s each, the first beginning at `start` s of the recording's time."""

    start: float
    period: float
    count: int

    @property
    def end(self) -> float:
        """End of the last whole period, s."""
        return self.start + self.count * self.period


def find_repetition(recording: Recording, period: float | None = None) -> Repetition | None:
    """Return the stretch with the most periods of the shortest lag at which the motion repeats, None where it does not.

    Parameters
    ----------
    recording
        of any length.
    period
        s, the only lag to consider; None: all.
    """
    step = max(1, int(recording.rate / RATE))
    position = recording.q[::step]
    spread = position.std(axis=0)
    if len(position) < 4 or not spread.max() > 0:
        return None
    scaled = position / np.maximum(spread, 0.1 * spread.max())
    speed = np.diff(scaled, axis=0)
    sample = step * recording.period
    for peak in _candidates(speed, sample) if period is None else [round(period / sample)]:
        # rests before and after shift a peak of the correlation by some samples, and a period may end between two
        runs = [
            (run, lag) for lag in peak + np.arange(-4, 5) / 2 if (run := _longest_run(scaled, speed, lag)) is not None
        ]
        if not runs:
            continue
        (first, last), lag = max(runs, key=lambda run_and_lag: run_and_lag[0][1] - run_and_lag[0][0] + run_and_lag[1])
        first, length = first * step, int((last + lag - first) * step)
        exact = (
            period / recording.period
            if period is not None
            else _refined(recording.q[first : first + length], round(lag * step), step)
        )
        # the last sample of a stretch is its last one, not the first of the next period
        count = int(length / exact + 1e-3)
        if count >= 2:
            exact = min(exact, length / count)
            room = length - int(np.ceil(count * exact - 1e-3))
            first += _best_start(recording.q[first : first + length], round(exact), room)
            return Repetition(float(recording.time[first]), exact * recording.period, count)
    return None


def average_periods(recording: Recording, period: float) -> Recording:
    """Return the mean over all whole periods of `period` s in the recording, from its start on.

    The transient at the start is not periodic and has to be excluded by a window. A period that is not a whole number
    of samples is resampled.

    Raises
    ------
    JointDynamicsError
        When there are fewer than two periods, or the motion does not repeat: the positions of a joint differ between
        periods by more than `TOLERANCE` of their own deviation from the mean position (rms).
    """
    if not (np.isfinite(period) and period > 2 * recording.period):
        raise JointDynamicsError(
            f'{recording.name}: period: expected more than two samples ({2 * recording.period:.6g} s), found {period}'
        )
    count = round(period * recording.rate)
    # One sample is missing at the end of a recording of whole periods, and a period is known to half a sample.
    periods = int((recording.duration + 1.5 * recording.period) / period)
    if periods < 2:
        raise JointDynamicsError(
            f'{recording.name}: expected at least 2 periods of {period:.6g} s, found '
            f'{recording.duration + recording.period:.6g} s'
        )
    grid = (np.arange(periods)[:, None] * period + np.arange(count) * (period / count)).ravel()
    time = recording.time - recording.time[0]
    arrays: dict[str, Any] = {}
    for name in recording.quantities:
        folded = resample(grid, time, getattr(recording, name)).reshape(periods, count, recording.n)
        arrays[name] = folded.mean(axis=0)
        if name == 'q':
            variance = ((folded - arrays[name]) ** 2).sum(axis=(0, 1)) / ((periods - 1) * count)
    spread, motion = np.sqrt(variance), arrays['q'].std(axis=0)
    # A joint that hardly moves is measured by a tenth of the motion of the one that moves most.
    for joint in np.flatnonzero(spread > TOLERANCE * np.maximum(motion, 0.1 * motion.max())):
        raise JointDynamicsError(
            f'{recording.name}: expected a motion that repeats every {period:.6g} s, found that '
            f'{recording.joint_names[joint]} '
            f'differs by {spread[joint]:.3g} rad between periods (it moves by {motion[joint]:.3g} rad, rms)'
        )
    note = f'mean of {periods} periods of {period:.6g} s: noise variance divided by {periods}'
    arrays['time'] = np.arange(count) * (period / count)
    return replace(recording, notes=(*recording.notes, note), **arrays)


def _candidates(speed: FloatArray, sample: float) -> list[int]:
    """Lags (in samples of the search) at which the speeds correlate with themselves, shortest first."""
    size = 2 * len(speed)
    spectrum = np.fft.rfft(speed, size, axis=0)
    correlation = np.fft.irfft((np.abs(spectrum) ** 2).sum(axis=1), size)[: len(speed) // 2 + 4]
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner > 0.1 * correlation[0]))
    peaks = peaks[peaks * sample >= SHORTEST]
    return sorted(int(lag) for lag in peaks[np.argsort(correlation[peaks])[::-1][:CANDIDATES]])


def _longest_run(scaled: FloatArray, speed: FloatArray, lag: float) -> tuple[int, int] | None:
    """First and last sample t of the longest moving stretch that is the same at t + lag (in half samples).

    None where it is shorter than lag.
    """
    whole, half = int(lag), lag % 1 > 0
    if not 1 <= whole < len(scaled) - half:
        return None
    later = 0.5 * (scaled[whole:-1] + scaled[whole + 1 :]) if half else scaled[whole:]
    # three times the mean tolerance at any one instant; the mean is held against it later, when periods are averaged
    same = np.abs(later - scaled[: len(later)]).max(axis=1) <= 3.0 * TOLERANCE
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    # positions a few samples later are the same because there was no time to move
    least = max(MOVING**2 * (speed**2).mean(), (3.0 * TOLERANCE / lag) ** 2)
    for run in np.argsort(starts - ends):
        first, last = int(starts[run]), int(ends[run])
        if last - first < lag - 1:
            break
        if (speed[first:last] ** 2).mean() >= least:
            return first, last
    return None


def _refined(q: FloatArray, lag: int, step: int) -> float:
    """Lag in samples, to a fraction of one: the least of the parabola through the distances about the nearest least."""
    for turn in range(TURNS):
        lags = np.arange(max(1, lag - step), min(len(q) - 2, lag + step) + 1)
        count = len(q) - lags[-1]
        distance = np.array([((q[other : other + count] - q[:count]) ** 2).mean() for other in lags])
        least = int(np.argmin(distance))
        if 0 < least < len(lags) - 1:
            break
        # The least is at an end, where a parabola says nothing: continue on that side.
        if abs(int(lags[least]) - lag) < step or turn == TURNS - 1:
            return float(lags[least])
        lag = int(lags[least])
    left, middle, right = distance[least - 1 : least + 2]
    curvature = left - 2 * middle + right
    return float(lags[least] + (0.5 * (left - right) / curvature if curvature > 0 else 0.0))


def _best_start(q: FloatArray, lag: int, room: int) -> int:
    """How many of the first `room` samples to leave out, so that the periods differ least.

    Ramps before and after are alike for a while, too.
    """
    if room < 1:
        return 0
    distance = np.concatenate([[0.0], np.cumsum(((q[lag:] - q[:-lag]) ** 2).sum(axis=1))])
    room = min(room, len(distance) - 1)
    compared = len(distance) - 1 - room
    return int(np.argmin(distance[compared : compared + room + 1] - distance[: room + 1]))
