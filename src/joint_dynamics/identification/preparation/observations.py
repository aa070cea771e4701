"""Recordings prepared for regression: filtered motion, torque, the decimation of both sides [M5 §4], samples at rest.

Friction of a joint that does not move is unknown within its Coulomb level, and constant. Treated like the others, such
samples would repeat the same error many times, and pull friction and gravity parameters towards the torque at which the
drive happened to stop. So each joint's rows at rest have a deviation of their own, estimated from the data, and a rest
interval counts as one observation however long it lasts: its m rows are divided by √m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.preparation.data import FilterPlan
from joint_dynamics.recording import Recording
from joint_dynamics.signals.filtering import ParallelDecimator, filtered_motion

REST_SPEED = 0.01
"""Speed [rad/s or m/s] below which a joint counts as resting."""
SHARE = 0.5
"""A filtered row counts as resting when its joint rested for more than this share of what the filter saw."""
ABOVE = 1.5
"""So many times the cut-off of the parallel filter noise is looked at from: the filter's slope ends there."""


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
        the parallel filter, None when the samples are taken as they are.
    reading
        the unfiltered position of the motor (of the link where that was not measured); None: not kept.
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
    decimator: ParallelDecimator | None
    reading: FloatArray | None = None

    @property
    def kept(self) -> IntArray:
        """Indices of the samples that count."""
        return np.arange(len(self.time)) if self.decimator is None else self.decimator.kept

    def at_kept(self, x: FloatArray) -> FloatArray:
        """Return a signal x (samples, …) behind the parallel filter at the samples that count, (K, …)."""
        return x if self.decimator is None else self.decimator.apply(x)


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
    motor, (theta, dtheta, ddtheta) = recording.q, (q, dq, ddq)
    if recording.theta is not None:
        motor = recording.theta
        theta, dtheta, ddtheta = filtered_motion(motor, plan.position_cutoff, recording.rate, keep)
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
        motor[keep],
    )


def torque_noise(observations: Sequence[Observation]) -> FloatArray:
    """Return the noise of each torque behind the parallel filter (rms), (n,) [N·m].

    Noise is taken to be white. Its density is the median of the periodogram above the band, which no resonance moves,
    over that of an exponential law of mean one, ln 2; behind a Hann window, less a straight line. Zero of what has no
    filter, or nothing above its band.
    """
    power, samples = np.zeros(observations[0].tau.shape[1]), 0
    for part in observations:
        samples += len(part.time)
        if part.decimator is None:
            continue
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
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        for start, end in edges.reshape(-1, 2):
            scale[j, start:end] = 1.0 / np.sqrt(end - start)
    return Rest(resting, scale)
