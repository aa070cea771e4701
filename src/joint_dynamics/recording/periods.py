"""Mean over the periods of a periodic motion, and the noise that the spread between the periods shows.

With M periods x_m(t) = x(t) + n_m(t) of a periodic excitation, the mean over m has M times less noise variance, without
any filter, and σ² = Σ_m Σ_t (x_m − x̄)² / ((M − 1) N_p) is the variance of the noise of one period.
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


@dataclass(frozen=True)
class PeriodAverage:
    """One mean period of a recording.

    Attributes
    ----------
    recording
        the mean, of one period's length.
    periods
        M, how many were averaged.
    noise_variance
        array of the recording -> (n,) variance of one sample's noise, unit of the quantity squared.
    mean_variance
        the same of the mean, noise_variance / M.

    """

    recording: Recording
    periods: int
    noise_variance: dict[str, Array]

    @property
    def mean_variance(self) -> dict[str, Array]:
        """Variance that is left in the mean of M periods: noise_variance / M."""
        return {name: variance / self.periods for name, variance in self.noise_variance.items()}


def average_periods(recording: Recording, period: float, *, tolerance: float = 0.05) -> PeriodAverage:
    """Return the mean over all whole periods of `period` s in the recording, counted from its start.

    The rest is left out.

    The transient at the start is no period: leave it out with a window. A period that is no whole number of samples is
    resampled.

    Raises
    ------
    JointDynamicsError
        When there are fewer than two periods, or the motion does not repeat: when the positions of a joint differ
        between periods by more than `tolerance` of their own deviation from the mean position (rms).
    """
    if not (np.isfinite(period) and period > 2 * recording.period):
        raise JointDynamicsError(
            f'{recording.name}: period: expected more than two samples ({2 * recording.period:.6g} s), found {period}'
        )
    count = round(period * recording.rate)
    # One sample is missing at the end of a recording that holds whole periods exactly.
    periods = int((recording.duration + recording.period) / period + 1e-6)
    if periods < 2:
        raise JointDynamicsError(
            f'{recording.name}: expected at least 2 periods of {period:.6g} s, found '
            f'{recording.duration + recording.period:.6g} s'
        )
    grid = (np.arange(periods)[:, None] * period + np.arange(count) * (period / count)).ravel()
    time = recording.time - recording.time[0]
    arrays: dict[str, Any] = {}
    variance: dict[str, Array] = {}
    for name in recording.quantities:
        folded = resample(grid, time, getattr(recording, name)).reshape(periods, count, recording.n)
        mean = folded.mean(axis=0)
        variance[name] = ((folded - mean) ** 2).sum(axis=(0, 1)) / ((periods - 1) * count)
        arrays[name] = mean
    spread, motion = np.sqrt(variance['q']), arrays['q'].std(axis=0)
    # A joint that hardly moves is measured by a tenth of the motion of the one that moves most.
    for joint in np.flatnonzero(spread > tolerance * np.maximum(motion, 0.1 * motion.max())):
        raise JointDynamicsError(
            f'{recording.name}: expected a motion that repeats every {period:.6g} s, found that '
            f'{recording.joint_names[joint]} '
            f'differs by {spread[joint]:.3g} rad between periods (it moves by {motion[joint]:.3g} rad, rms)'
        )
    note = f'mean of {periods} periods of {period:.6g} s: noise variance divided by {periods}'
    arrays['time'] = np.arange(count) * (period / count)
    mean_recording = replace(recording, notes=(*recording.notes, note), **arrays)
    return PeriodAverage(mean_recording, periods, variance)
