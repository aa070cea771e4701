"""How fast a recorded motion is: the bandwidth from which the offline filters take their cut-offs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray

POWER = 0.95
"""Share of the power of the joint velocities below the motion's frequency."""
HARMONICS = 4.0
"""Torques hold products of velocities and the corners of friction.

So many times the motion's frequency are dynamics.
"""
HIGHEST_MOTION = 60.0
"""No arm moves faster [Hz]; velocity power above is noise of the encoders."""


def dynamics_bandwidth(positions: Sequence[FloatArray], rates: Sequence[float]) -> float:
    """Return f_dyn [Hz], the bandwidth of the dynamics in one or several recordings of one robot.

    Parameters
    ----------
    positions
        arrays (samples, joints) [rad]; rates [Hz]. f_dyn is `HARMONICS` times the frequency below which `POWER` of the
        power of all joint velocities lies, recordings and joints added up, so that joints at rest (encoder noise) weigh
        nothing.
    """
    grid = np.linspace(0.0, HIGHEST_MOTION, 6001)
    power = np.zeros_like(grid)
    for q, rate in zip(positions, rates, strict=True):
        # a joint a row: the transform runs along contiguous memory
        velocity = np.ascontiguousarray((np.gradient(q, 1.0 / rate, axis=0) * np.hanning(len(q))[:, None]).T)
        # zero-padding to 100 s interpolates the spectrum of a short recording
        length = max(len(q), int(100 * rate))
        asked = int(HIGHEST_MOTION * length / rate) + 2
        spectrum = (np.abs(np.fft.rfft(velocity, length)[:, :asked]) ** 2).sum(axis=0) / rate**2
        power += np.interp(grid, np.arange(len(spectrum)) * rate / length, spectrum) * (grid < rate / 4)
    total = np.cumsum(power)
    if total[-1] == 0.0:
        return HARMONICS
    return HARMONICS * float(max(grid[np.searchsorted(total, POWER * total[-1])], grid[1]))
