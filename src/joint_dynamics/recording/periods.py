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

"""Period of a repeating motion, and the mean over its periods.

Candidates for the period are the peaks of the autocorrelation of the speeds. A candidate is accepted if the motion
repeats after it for at least one whole period: every joint returns to its position within three times `TOLERANCE`.
A stretch at rest does not count.

Let x_m(t) = x(t) + n_m(t) be M periods of N_p samples. Their mean has the noise variance divided by M, without any
filter. The variance between periods is Σ_m Σ_t (x_m − x̄)² / ((M − 1) N_p).
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
RATE = 100.0  # Hz, approximate sample rate of the search
MAX_CANDIDATES = 40  # lags examined
MIN_LAG = 0.5  # s
MIN_SPEED = 0.3  # smallest rms speed of a stretch in motion, relative to that of the recording
MAX_REFINEMENTS = 5  # steps of the refined lag; the search finds it to a few decimated samples
# Largest difference of positions one lag apart, relative to the joint's rms deviation from its mean position, or to a
# tenth of the largest such deviation.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Repetition:
    """A repeating stretch: `count` periods of `period` s each, from time `start` of the recording on."""

    start: float
    period: float
    count: int

    @property
    def end(self) -> float:
        """End of the last whole period, s."""
        return self.start + self.count * self.period


def find_repetition(recording: Recording, period: float | None = None) -> Repetition | None:
    """Return the longest stretch that repeats with the shortest period, None if the motion does not repeat.

    Parameters
    ----------
    recording
        of any length.
    period
        s, known period; None: searched.
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
        # A rest before or after the motion shifts the peak by some samples. The period may end between two samples.
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
        # A stretch of n samples lasts n sample periods; the tolerance 1e-3 covers rounding.
        count = int(length / exact + 1e-3)
        if count >= 2:
            exact = min(exact, length / count)
            room = length - int(np.ceil(count * exact - 1e-3))
            first += _best_start(recording.q[first : first + length], round(exact), room)
            return Repetition(float(recording.time[first]), exact * recording.period, count)
    return None


def average_periods(recording: Recording, period: float) -> Recording:
    """Return the mean over all whole periods of `period` s, from the start of the recording on.

    Exclude the transient at the start with a window first. If a period is not a whole number of samples, the recording
    is resampled.

    Raises
    ------
    JointDynamicsError
        If there are fewer than two periods, or if the motion does not repeat: the rms difference of a joint's position
        between periods exceeds `TOLERANCE`.
    """
    # n samples span n − 1 sample periods (the 1), and the period is known to half a sample (the 0.5).
    periods = int((recording.duration + 1.5 * recording.period) / period) if period > 2 * recording.period else 0
    if periods < 2:
        raise JointDynamicsError(
            f'{recording.name}: period: expected more than two samples ({2 * recording.period:.6g} s) and at most half '
            f'of the recording ({0.5 * (recording.duration + recording.period):.6g} s), found {period} s'
        )
    count = round(period * recording.rate)
    grid = (np.arange(periods)[:, None] * period + np.arange(count) * (period / count)).ravel()
    time = recording.time - recording.time[0]
    arrays: dict[str, Any] = {}
    for name in recording.quantities:
        folded = resample(grid, time, getattr(recording, name)).reshape(periods, count, recording.n)
        arrays[name] = folded.mean(axis=0)
        if name == 'q':
            variance = ((folded - arrays[name]) ** 2).sum(axis=(0, 1)) / ((periods - 1) * count)
    spread, motion = np.sqrt(variance), arrays['q'].std(axis=0)
    # The tolerance of a hardly moving joint refers to a tenth of the largest motion.
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
    """Return the lags of the peaks of the autocorrelation, in decimated samples, shortest first."""
    size = 2 * len(speed)
    spectrum = np.fft.rfft(speed, size, axis=0)
    correlation = np.fft.irfft((np.abs(spectrum) ** 2).sum(axis=1), size)[: len(speed) // 2 + 4]
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner > 0.1 * correlation[0]))
    peaks = peaks[peaks * sample >= MIN_LAG]
    return sorted(int(lag) for lag in peaks[np.argsort(correlation[peaks])[::-1][:MAX_CANDIDATES]])


def _longest_run(scaled: FloatArray, speed: FloatArray, lag: float) -> tuple[int, int] | None:
    """Return start and end (exclusive) of the longest stretch in motion that repeats after `lag` samples.

    `lag` is a multiple of ½. None if the stretch is shorter than `lag`.
    """
    whole, half = int(lag), lag % 1 > 0
    if not 1 <= whole < len(scaled) - half:
        return None
    later = 0.5 * (scaled[whole:-1] + scaled[whole + 1 :]) if half else scaled[whole:]
    # TOLERANCE limits an rms difference (`average_periods`). A single sample may differ by three times as much.
    same = np.abs(later - scaled[: len(later)]).max(axis=1) <= 3.0 * TOLERANCE
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    # At a short lag, a slow motion stays within the tolerance without repeating: hence the second bound.
    least = max(MIN_SPEED**2 * (speed**2).mean(), (3.0 * TOLERANCE / lag) ** 2)
    for run in np.argsort(starts - ends):
        first, last = int(starts[run]), int(ends[run])
        if last - first < lag - 1:
            break
        if (speed[first:last] ** 2).mean() >= least:
            return first, last
    return None


def _refined(q: FloatArray, lag: int, step: int) -> float:
    """Return the period in fractional samples, from the parabola through the smallest distance and its neighbours."""
    for turn in range(MAX_REFINEMENTS):
        lags = np.arange(max(1, lag - step), min(len(q) - 2, lag + step) + 1)
        count = len(q) - lags[-1]
        distance = np.array([((q[other : other + count] - q[:count]) ** 2).mean() for other in lags])
        smallest = int(np.argmin(distance))
        if 0 < smallest < len(lags) - 1:
            break
        # The smallest distance is at an end and has one neighbour only: continue around it.
        if abs(int(lags[smallest]) - lag) < step or turn == MAX_REFINEMENTS - 1:
            return float(lags[smallest])
        lag = int(lags[smallest])
    left, middle, right = distance[smallest - 1 : smallest + 2]
    curvature = left - 2 * middle + right
    return float(lags[smallest] + (0.5 * (left - right) / curvature if curvature > 0 else 0.0))


def _best_start(q: FloatArray, lag: int, room: int) -> int:
    """Return the start (0 … `room`) from which the periods differ least.

    The ramps before and after the motion resemble a period for a short time, so the stretch may begin too early.
    """
    if room < 1:
        return 0
    distance = np.concatenate([[0.0], np.cumsum(((q[lag:] - q[:-lag]) ** 2).sum(axis=1))])
    room = min(room, len(distance) - 1)
    compared = len(distance) - 1 - room
    return int(np.argmin(distance[compared : compared + room + 1] - distance[: room + 1]))
