"""Measured and predicted torque at the recording's rate, and the residual in a band that is the same for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.signals.filtering import zero_phase_lowpass

BAND = 10.0
"""The band residuals are compared in [Hz], whatever the motion's own bandwidth: arms are controlled below it, and
most published residuals are too."""
MAX_RATE_SHARE = 0.4
"""Share of the sampling rate above which there is no filter left: a slower recording is compared up to here."""


@dataclass(frozen=True)
class FullRate:
    """Torque before any filter, (samples, joints): tau measured, predicted [N·m], dq [rad/s]; time (samples,) [s]."""

    time: FloatArray
    tau: FloatArray
    predicted: FloatArray
    dq: FloatArray

    @property
    def rate(self) -> float:
        """Samples per second."""
        return (len(self.time) - 1) / float(self.time[-1] - self.time[0])

    @property
    def band(self) -> float:
        """Band of `in_band` [Hz]: `BAND`, or less where the sampling rate requires."""
        return min(BAND, MAX_RATE_SHARE * self.rate)

    def in_band(self) -> tuple[FloatArray, FloatArray]:
        """Return residual and measured torque (samples, joints) [N·m], both zero-phase low-passed at `band`."""
        both = zero_phase_lowpass(np.concatenate([self.tau - self.predicted, self.tau], axis=1), self.band, self.rate)
        return both[:, : self.tau.shape[1]], both[:, self.tau.shape[1] :]
