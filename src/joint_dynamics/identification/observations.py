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

"""Recordings prepared for regression: cut-offs from the motion, applied alike to both sides of the system [M5 §4].

Friction of a joint that does not move is unknown within its Coulomb level, and constant. Treated like the others, such
samples would repeat the same error many times, and pull friction and gravity parameters towards the torque at which the
drive happened to stop. So each joint's rows at rest have a deviation of their own, estimated from the data, and a rest
interval counts as one observation however long it lasts: its m rows are divided by √m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.recording import Recording
from joint_dynamics.signals.filtering import ParallelDecimator, decimation_factor, filtered_motion

MIN_SAMPLES = 10  # kept samples that an identification needs of a recording
POWER = 0.95  # share of the power of the joint velocities below the motion's frequency
HARMONICS = 4.0  # bandwidth of the dynamics over the motion's frequency: products of velocities, corners of friction
HIGHEST_MOTION = 60.0  # Hz, no arm moves faster; velocity power above is noise of the encoders
BELOW_NYQUIST = 0.4  # share of the sampling rate that an automatic cut-off has at most; a filter needs room to fall
CHIRP_COST = 6  # cost of a chirp z-transform in real transforms: two complex ones of the signal, one of the chirp
REST_SPEED = 0.01  # rad/s (m/s), speed below which a joint counts as resting
SHARE = 0.5  # share of the filter's window in which a joint rests, above which its row counts as resting
ABOVE = 1.5  # lowest frequency of the noise estimate over the parallel cut-off: the filter's slope ends there


@dataclass(frozen=True)
class FilterPlan:
    """Cut-offs [Hz] that all recordings of one identification share; `trim` in s."""

    f_dyn: float
    position_cutoff: float
    parallel_cutoff: float
    decimation: int | None
    trim: float

    def factor(self, rate: float) -> int:
        """Return of how many samples at `rate` [Hz] one is kept."""
        return int(self.decimation or decimation_factor(rate, self.f_dyn))

    def least_samples(self, rate: float) -> int:
        """Return how many samples at `rate` [Hz] a recording has to have."""
        return MIN_SAMPLES * self.factor(rate) + 2 * int(round(self.trim * rate))

    def shortest(self, recordings: Sequence[Recording]) -> float:
        """Return how long a piece of these recordings has to be, s; 0 of no recordings."""
        rate = min((recording.rate for recording in recordings), default=0.0)
        return self.least_samples(rate) / rate if rate else 0.0


def filter_plan(
    recordings: Sequence[Recording], settings: IdentificationSettings, before: Mapping[str, float] | None = None
) -> FilterPlan:
    """Return the cut-offs: the settings' own, the rest from the bandwidth of the training recordings' motion.

    before: fields of an earlier plan, taken in place of what follows from the motion where the settings have no f_dyn.
    """
    known = {} if before is None or settings.f_dyn is not None else before
    f_dyn = (
        settings.f_dyn
        or known.get('f_dyn')
        or dynamics_bandwidth([recording.q for recording in recordings], [recording.rate for recording in recordings])
    )
    highest = BELOW_NYQUIST * min((recording.rate for recording in recordings), default=np.inf)
    position = settings.position_cutoff or min(known.get('position_cutoff', 5.0 * f_dyn), highest)
    return FilterPlan(
        f_dyn,
        position,
        settings.parallel_cutoff or min(known.get('parallel_cutoff', 2.0 * f_dyn), highest),
        settings.decimation,
        1.0 / position if settings.trim is None else settings.trim,
    )


def dynamics_bandwidth(positions: Sequence[FloatArray], rates: Sequence[float]) -> float:
    """Return f_dyn [Hz], the bandwidth of the dynamics in one or several recordings of one robot.

    Parameters
    ----------
    positions
        arrays (samples, joints) [rad] of each recording.
    rates
        Hz, of each.

    Returns
    -------
    float
        `HARMONICS` times the frequency below which the share `POWER` of the power of all joint velocities lies. It is
        summed over recordings and joints, so joints at rest (encoder noise) have no weight.
    """
    grid = np.linspace(0.0, HIGHEST_MOTION, 6001)
    power = np.zeros_like(grid)
    for q, rate in zip(positions, rates, strict=True):
        # a joint a row: the transform runs along contiguous memory
        velocity = np.ascontiguousarray((np.gradient(q, 1.0 / rate, axis=0) * np.hanning(len(q))[:, None]).T)
        # zero-padding to 100 s interpolates the spectrum of a short recording
        length = max(len(q), int(100 * rate))
        count = int(HIGHEST_MOTION * length / rate) + 2
        spectrum = (np.abs(lowest_frequencies(velocity, length, count)) ** 2).sum(axis=0) / rate**2
        power += np.interp(grid, np.arange(len(spectrum)) * rate / length, spectrum) * (grid < rate / 4)
    total = np.cumsum(power)
    if total[-1] == 0.0:
        return HARMONICS
    return HARMONICS * float(max(grid[np.searchsorted(total, POWER * total[-1])], grid[1]))


def lowest_frequencies(x: FloatArray, length: int, count: int) -> ComplexArray:
    """Return the first `count` frequencies of the discrete Fourier transform of signals padded with zeros to `length`.

    As `np.fft.rfft(x, length)[:, :count]`, up to rounding. Shorter transforms are used where most of the
    input is zero and most of the output unused, with k n = (k² + n² − (k − n)²)/2 (chirp z-transform [Bluestein 1970];
    `scipy.signal.czt` is the same, but takes longer to import than it saves).

    Parameters
    ----------
    x
        (signals, samples), at most `length` samples.
    """
    samples = x.shape[1]
    short = 1 << (samples + count - 2).bit_length()
    if CHIRP_COST * short > length:
        return np.fft.rfft(x, length)[:, :count]
    squares = np.arange(max(samples, count)) ** 2 % (2 * length)
    chirp = np.exp(-1j * np.pi * squares / length)
    answer = np.zeros(short, dtype=complex)
    answer[:count], answer[short - samples + 1 :] = chirp[:count].conj(), chirp[samples - 1 : 0 : -1].conj()
    answer = np.fft.fft(answer)
    spectrum = np.empty((len(x), count), dtype=complex)
    # signal by signal, so that a long recording takes little memory
    for row, result in zip(x, spectrum, strict=True):
        convolved = np.fft.ifft(np.fft.fft(row * chirp[:samples], short) * answer)
        result[:] = convolved[:count] * chirp[:count]
    return spectrum


@dataclass(frozen=True)
class Observation:
    """One recording prepared for regression, at its full rate: arrays (samples, joints).

    Attributes
    ----------
    q, dq, ddq
        link side.
    theta, dtheta, ddtheta
        motor side reflected, equal to the link side where it was not measured.
    tau
        torque, unfiltered; temperature [°C] or None; time [s].
    decimator
        the parallel filter.
    measured
        (joints,) bool, whose torque was recorded; the rows of the others are left out.
    """

    name: str
    time: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    theta: FloatArray
    dtheta: FloatArray
    ddtheta: FloatArray
    tau: FloatArray
    temperature: FloatArray | None
    decimator: ParallelDecimator
    measured: BoolArray

    @property
    def kept(self) -> IntArray:
        """Indices of the samples that count."""
        return self.decimator.kept

    @property
    def motor(self) -> dict[str, FloatArray | None]:
        """What `Arm.drives` takes of the motor side, by name; no θ where it was not measured."""
        theta = None if self.theta is self.q else self.theta
        return {'theta': theta, 'dtheta': self.dtheta, 'ddtheta': self.ddtheta, 'temperature': self.temperature}

    def at_kept(self, x: FloatArray) -> FloatArray:
        """Return a signal x (samples, …) behind the parallel filter at the samples that count, (K, …)."""
        return self.decimator.apply(x)


def observe(recording: Recording, plan: FilterPlan, drive_gains: Mapping[str, float] | None = None) -> Observation:
    """Filter one recording; raise JointDynamicsError where it has no torque, or is too short for the filters."""
    tau = recording.torque(drive_gains)
    trim = int(round(plan.trim * recording.rate))
    least = plan.least_samples(recording.rate)
    if recording.samples < least:
        raise JointDynamicsError(
            f'{recording.name}: expected at least {least * recording.period:.2f} s at these filter settings '
            f'(f_dyn {plan.f_dyn:.3g} Hz), found {recording.duration:.2f} s'
        )
    keep = slice(trim, recording.samples - trim)
    q, dq, ddq = filtered_motion(recording.q, plan.position_cutoff, recording.rate, keep)
    theta, dtheta, ddtheta = q, dq, ddq
    if recording.theta is not None:
        theta, dtheta, ddtheta = filtered_motion(recording.theta, plan.position_cutoff, recording.rate, keep)
    return Observation(
        recording.name,
        recording.time[keep],
        q,
        dq,
        ddq,
        theta,
        dtheta,
        ddtheta,
        tau[keep],
        None if recording.temperature is None else recording.temperature[keep],
        ParallelDecimator(len(q), plan.parallel_cutoff, recording.rate, plan.factor(recording.rate)),
        ~np.isin(recording.joint_names, recording.without_torque),
    )


def torque_noise(observations: Sequence[Observation]) -> FloatArray:
    """Return the noise of each torque behind the parallel filter (rms), (n,) [N·m].

    Noise is taken to be white. Its density is the median of the periodogram above the band, which no resonance moves,
    over that of an exponential law of mean one, ln 2; behind a Hann window, less a straight line. Zero with nothing
    above the band.
    """
    power, samples = np.zeros(observations[0].tau.shape[1]), 0
    for part in observations:
        samples += len(part.time)
        length, rate = len(part.time), (len(part.time) - 1) / float(part.time[-1] - part.time[0])
        line = np.linalg.qr(np.stack([np.ones(length), np.arange(length)], axis=1))[0]
        window = np.hanning(length)[:, None]
        spectrum = np.fft.rfft((part.tau - line @ (line.T @ part.tau)) * window, axis=0)
        above = np.fft.rfftfreq(length, 1 / rate) > ABOVE * part.decimator.cutoff
        if above.any():
            median = np.median(np.abs(spectrum[above]) ** 2, axis=0) / np.log(2)
            power += length * part.decimator.cutoff * median * 2 / (rate * np.sum(window**2))
    return np.sqrt(power / max(samples, 1))


@dataclass(frozen=True)
class Rest:
    """resting (n, K) bool and scale (n, K) of the kept samples of one observation: 1/√m at rest for m rows, else 1."""

    resting: BoolArray
    scale: FloatArray


def find_rest(observation: Observation, speed: float = REST_SPEED) -> Rest:
    """Return which rows of an observation's kept samples are at rest."""
    still = (np.abs(observation.dtheta) < speed).astype(float)
    resting = (observation.at_kept(still) > SHARE).T
    scale = np.ones(resting.shape)
    for j, row in enumerate(resting):
        for stay in rest_intervals(row):
            scale[j, stay] = 1.0 / np.sqrt(stay.stop - stay.start)
    return Rest(resting, scale)


def rest_intervals(at_rest: BoolArray) -> list[slice]:
    """Return the runs of true values (K,), such as the stays of one joint."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], at_rest, [False]]).astype(int)))
    return [slice(start, end) for start, end in edges.reshape(-1, 2)]


def stays(observation: Observation, speed: float) -> BoolArray:
    """Return where the joints stand still at the full rate, (samples, n).

    A pause shorter than half a period of the parallel filter is a reversal.
    """
    still = np.abs(observation.dtheta) < speed
    if still.any():
        rate = (len(observation.time) - 1) / float(observation.time[-1] - observation.time[0])
        shortest = 0.5 * rate / observation.decimator.cutoff
        for column in still.T:
            for stay in rest_intervals(column):
                column[stay] = stay.stop - stay.start >= shortest
    return np.asarray(still)
