"""Recordings prepared for regression: filtered motion, torque, and the decimation of both sides [M5 §4]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.recording import Recording
from joint_dynamics.signals.filtering import (
    ParallelDecimator,
    central_difference,
    decimation_factor,
    dynamics_bandwidth,
    second_difference,
    zero_phase_lowpass,
)

MIN_SAMPLES = 10
"""Kept samples below which nothing can be identified from a recording."""
ABOVE = 1.5
"""So many times the cut-off of the parallel filter noise is looked at from: the filter's slope ends there."""


@dataclass(frozen=True)
class FilterPlan:
    """Cut-offs [Hz] that all recordings of one identification share; `trim` in s."""

    f_dyn: float
    position_cutoff: float
    parallel_cutoff: float
    decimation: int | None
    trim: float


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


def filter_plan(recordings: Sequence[Recording], settings: IdentificationSettings) -> FilterPlan:
    """Return the cut-offs: the settings' own, the rest from the bandwidth of the training recordings' motion."""
    f_dyn = settings.f_dyn or dynamics_bandwidth(
        [recording.q for recording in recordings], [recording.rate for recording in recordings]
    )
    position = settings.position_cutoff or 5.0 * f_dyn
    return FilterPlan(
        f_dyn,
        position,
        settings.parallel_cutoff or 2.0 * f_dyn,
        settings.decimation,
        1.0 / position if settings.trim is None else settings.trim,
    )


def shortest(plan: FilterPlan, recordings: Sequence[Recording]) -> float:
    """Return how long a recording has to be for this plan, s."""
    rate = min((recording.rate for recording in recordings), default=np.inf)
    return _least_samples(plan, rate) / rate if np.isfinite(rate) else 0.0


def _least_samples(plan: FilterPlan, rate: float) -> int:
    factor = int(plan.decimation or decimation_factor(rate, plan.f_dyn))
    return MIN_SAMPLES * factor + 2 * int(round(plan.trim * rate))


def _derivatives(
    position: FloatArray, plan: FilterPlan, rate: float, keep: slice
) -> tuple[FloatArray, FloatArray, FloatArray]:
    # From where it began: a joint that rests has then no speed at all, instead of one made of rounding, which would
    # pass for excitation.
    moved = zero_phase_lowpass(position - position[0], plan.position_cutoff, rate)
    return (position[0] + moved)[keep], central_difference(moved, rate)[keep], second_difference(moved, rate)[keep]


def observe(recording: Recording, plan: FilterPlan, drive_gains: Mapping[str, float] | None = None) -> Observation:
    """Filter one recording; raise JointDynamicsError where it has no torque, or is too short for the filters."""
    tau = recording.torque(drive_gains)
    trim = int(round(plan.trim * recording.rate))
    factor = int(plan.decimation or decimation_factor(recording.rate, plan.f_dyn))
    least = _least_samples(plan, recording.rate)
    if recording.samples < least:
        raise JointDynamicsError(
            f'{recording.name}: expected at least {least * recording.period:.2f} s at these filter settings '
            f'(f_dyn {plan.f_dyn:.3g} Hz), found {recording.duration:.2f} s'
        )
    keep = slice(trim, recording.samples - trim)
    q, dq, ddq = _derivatives(recording.q, plan, recording.rate, keep)
    if recording.theta is None:
        theta, dtheta, ddtheta = q, dq, ddq
    else:
        theta, dtheta, ddtheta = _derivatives(recording.theta, plan, recording.rate, keep)
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
        ParallelDecimator(len(q), plan.parallel_cutoff, recording.rate, factor),
        (recording.q if recording.theta is None else recording.theta)[keep],
    )


def torque_noise(observations: Sequence[Observation]) -> FloatArray:
    """Return the noise of each torque behind the parallel filter (rms), (n,) [N·m].

    Noise is taken to be white. Its density is the median of the periodogram above the band, which no resonance moves,
    over that of an exponential law of mean one, ln 2; behind a Hann window, less a straight line. Zero of what has no
    filter, or nothing above its band.
    """
    power, samples = np.zeros(observations[0].tau.shape[1]), 0
    for one in observations:
        samples += len(one.time)
        if one.decimator is None:
            continue
        length, rate = len(one.time), (len(one.time) - 1) / float(one.time[-1] - one.time[0])
        line = np.linalg.qr(np.stack([np.ones(length), np.arange(length)], axis=1))[0]
        window = np.hanning(length)[:, None]
        spectrum = np.fft.rfft((one.tau - line @ (line.T @ one.tau)) * window, axis=0)
        above = np.fft.rfftfreq(length, 1 / rate) > ABOVE * one.decimator.cutoff
        if above.any():
            median = np.median(np.abs(spectrum[above]) ** 2, axis=0) / np.log(2)
            power += length * one.decimator.cutoff * median * 2 / (rate * np.sum(window**2))
    return np.sqrt(power / max(samples, 1))
