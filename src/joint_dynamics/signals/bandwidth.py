"""How fast a recorded motion is: the bandwidth from which the offline filters take their cut-offs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import ComplexArray, FloatArray

POWER = 0.95
"""Share of the power of the joint velocities below the motion's frequency."""
HARMONICS = 4.0
"""Torques hold products of velocities and the corners of friction.

So many times the motion's frequency are dynamics.
"""
HIGHEST_MOTION = 60.0
"""No arm moves faster [Hz]; velocity power above is noise of the encoders."""
CHIRP_COST = 6
"""A chirp z-transform makes two complex transforms of a signal in place of one real one, and a third of the chirp."""


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
        count = int(HIGHEST_MOTION * length / rate) + 2
        spectrum = (np.abs(lowest_frequencies(velocity, length, count)) ** 2).sum(axis=0) / rate**2
        power += np.interp(grid, np.arange(len(spectrum)) * rate / length, spectrum) * (grid < rate / 4)
    total = np.cumsum(power)
    if total[-1] == 0.0:
        return HARMONICS
    return HARMONICS * float(max(grid[np.searchsorted(total, POWER * total[-1])], grid[1]))


def lowest_frequencies(x: FloatArray, length: int, count: int) -> ComplexArray:
    """Return the first `count` frequencies of the discrete Fourier transform of signals padded with zeros to `length`.

    As `np.fft.rfft(x, length)[:, :count]`, to rounding. Where that is mostly zeros in and frequencies thrown away out,
    they come from transforms as long as what is given and asked for, with k n = (k² + n² − (k − n)²)/2 (chirp
    z-transform [Bluestein 1970]; `scipy.signal.czt` is the same, but takes longer to import than this saves).

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
    convolved = np.fft.ifft(np.fft.fft(x * chirp[:samples], short) * np.fft.fft(answer))
    return convolved[:, :count] * chirp[:count]
