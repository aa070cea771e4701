"""Online state estimation: one symmetric FIR smoother for every signal, derivatives by central differences [M6 §6.1].

All signals pass through the same smoother S, and a derivative is the central difference of the smoothed signal. Hence S
commutes with any linear equation between the signals: an equation between position, acceleration and torque also holds
between their estimates, and all of them have the same delay of (n_LP + n_CD − 2)/2 samples with n_CD = 3 (in print
wrongly − n_CD): 51 samples for n_LP = 101.

S is a Savitzky-Golay smoother: the value at the middle of a least-squares polynomial over n_LP samples. The thesis
weights all samples equally (`taper=False`); such a kernel ends in a step, whose second difference amplifies encoder
quantisation about fifty times at 1 kHz. By default they are weighted by a Hann window, so that the kernel ends
smoothly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

Array = FloatArray


def smoothing_kernel(samples: int, degree: int = 2, taper: bool = True) -> Array:
    """Kernel (samples,) of the Savitzky-Golay smoother, for the middle of an odd number of samples; it sums to one.

    Parameters
    ----------
    samples
        length of the kernel, odd.
    degree
        of the local polynomial; polynomials of that degree (of degree + 1, when it is even) pass unchanged.
    taper
        Hann weights in the local least squares instead of equal ones.

    """
    if samples < 1 or samples % 2 == 0:
        raise JointDynamicsError(f'smoothing kernel: expected an odd number of samples, found {samples}')
    half = samples // 2
    x = np.arange(-half, half + 1) / max(half, 1)
    weight = 0.5 + 0.5 * np.cos(np.pi * np.arange(-half, half + 1) / (half + 1)) if taper else np.ones(samples)
    V = np.vander(x, min(degree, samples - 1) + 1, increasing=True)
    return np.linalg.solve(V.T @ (weight[:, None] * V), (weight[:, None] * V).T)[0]


class StateEstimator:
    """Smoothed value, first and second derivative of several signals at once, all with the same delay.

    Parameters
    ----------
    channels
        number of signals C.
    period
        sample period, s.
    window
        length of the smoother, s; n_LP is the odd number of samples nearest to window/period + 1: for 0.1 s, the
        thesis's 101 samples at 1 kHz, and 11 samples at 100 Hz.
    degree, taper
        as in `smoothing_kernel`.

    Attributes
    ----------
    delay
        of the estimates, s.
    samples
        length of the whole FIR filter, n_LP + 2.

    """

    def __init__(
        self, channels: int, period: float, *, window: float = 0.1, degree: int = 2, taper: bool = True
    ) -> None:
        if channels < 1 or not (np.isfinite(period) and period > 0) or not (np.isfinite(window) and window >= 0):
            raise JointDynamicsError(
                'state estimator: expected channels >= 1, period > 0 s and window >= 0 s, '
                f'found {channels}, {period} and {window}'
            )
        self.channels = int(channels)
        self.period = float(period)
        self.window = float(window)
        n_LP = 2 * int(round(0.5 * window / period)) + 1
        smooth = smoothing_kernel(n_LP, degree, taper)
        self.samples = n_LP + 2
        self.delay = 0.5 * (self.samples - 1) * self.period
        self.kernels = np.zeros((3, self.samples))
        before, centre, after = (np.pad(smooth, (shift, 2 - shift)) for shift in (0, 1, 2))
        self.kernels[0] = centre
        self.kernels[1] = (after - before) / (2.0 * period)
        self.kernels[2] = (after - 2.0 * centre + before) / period**2
        # Every sample is written twice, half a buffer apart, so that the last n samples always lie in one piece.
        self._ring = np.zeros((2 * self.samples, self.channels))
        self._states = np.zeros((3, self.channels))
        self._last = np.zeros(self.channels)
        self._next = 0
        self.count = 0

    @property
    def ready(self) -> bool:
        """Whether the whole FIR is filled with samples."""
        return self.count >= self.samples

    @property
    def value(self) -> Array:
        """Smoothed signals, (C,); a view that the next update overwrites, as are the other two."""
        return self._states[0]

    @property
    def first(self) -> Array:
        """First derivatives, (C,), per second."""
        return self._states[1]

    @property
    def second(self) -> Array:
        """Second derivatives, (C,), per second squared."""
        return self._states[2]

    @property
    def states(self) -> Array:
        """All three, (3, C)."""
        return self._states

    def reset(self) -> None:
        """Discard all samples."""
        self.count = 0
        self._states[:] = 0.0

    def update(self, sample: ArrayLike) -> Array:
        """Take one sample (C,); return value, first and second derivative, (3, C), at `delay` s before it, a view.

        A value that is not finite is replaced by the last one of its signal. Before the FIR is full, the past is
        assumed to equal the first sample.
        """
        x = np.asarray(sample, dtype=float)
        if x.shape != (self.channels,):
            raise JointDynamicsError(f'state estimator: expected a sample of shape ({self.channels},), found {x.shape}')
        if np.count_nonzero(np.isfinite(x)) != len(x):
            x = np.where(np.isfinite(x), x, self._last if self.count else 0.0)
        n, ring = self.samples, self._ring
        if self.count == 0:
            ring[:] = x
        self._last[:] = x
        k = self._next
        ring[k] = x
        ring[k + n] = x
        self._next = k + 1 if k + 1 < n else 0
        self.count += 1
        return np.matmul(self.kernels, ring[k + 1 : k + 1 + n], out=self._states)
