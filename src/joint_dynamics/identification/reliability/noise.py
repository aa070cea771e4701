"""How much of a torque is noise, told by what lies above the band of the motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.preparation.observations import Observation

ABOVE = 1.5
"""So many times the cut-off of the parallel filter noise is looked at from: the filter's slope ends there."""
SEGMENT = 1024
"""Samples of one periodogram, a quarter of the recording where that is shorter."""


def torque_noise(observations: Sequence[Observation]) -> FloatArray:
    """Return the noise of each torque behind the parallel filter (rms), (n,) [N·m].

    Its density is the median of the power spectral density above the band, by Welch's method [Welch 1967], which no
    resonance moves; noise is taken to be white, so that as much of it lies below. Zero of what has no filter, or
    nothing above its band.
    """
    power, samples = np.zeros(observations[0].tau.shape[1]), 0
    for one in observations:
        samples += len(one.time)
        if one.decimator is None:
            continue
        rate = (len(one.time) - 1) / float(one.time[-1] - one.time[0])
        frequency, density = power_density(one.tau, rate, max(8, min(SEGMENT, len(one.tau) // 4)))
        above = frequency > ABOVE * one.decimator.cutoff
        if above.any():
            power += len(one.time) * np.median(density[above], axis=0) * one.decimator.cutoff
    return np.sqrt(power / max(samples, 1))


def power_density(x: FloatArray, rate: float, length: int) -> tuple[FloatArray, FloatArray]:
    """Return frequencies (F,) [Hz] and the power spectral density of x (samples, n) at them, (F, n) [x²/Hz].

    Welch's method: periodograms of segments of `length` samples behind a Hann window, overlapping by half, each less
    its straight line. As `scipy.signal.welch`, whose import takes longer than all of this.
    """
    segments = np.lib.stride_tricks.sliding_window_view(x, length, axis=0)[:: length - length // 2]
    line = np.linalg.qr(np.stack([np.ones(length), np.arange(length)], axis=1))[0]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    spectrum = np.fft.rfft((segments - segments @ line @ line.T) * window, axis=2)
    density = (np.abs(spectrum) ** 2).mean(axis=0).T * 2 / (rate * np.sum(window**2))
    density[0] /= 2
    if length % 2 == 0:
        density[-1] /= 2
    return np.asarray(np.fft.rfftfreq(length, 1 / rate), dtype=float), density
