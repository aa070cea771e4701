"""How much of a torque is noise, told by what lies above the band of the motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.signal import welch

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
        frequency, density = welch(
            one.tau, rate, nperseg=max(8, min(SEGMENT, len(one.tau) // 4)), axis=0, detrend='linear'
        )
        above = frequency > ABOVE * one.decimator.cutoff
        if above.any():
            power += len(one.time) * np.median(density[above], axis=0) * one.decimator.cutoff
    return np.sqrt(power / max(samples, 1))
