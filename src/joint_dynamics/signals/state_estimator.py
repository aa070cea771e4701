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

"""Online state estimation: one symmetric FIR smoother for every signal, derivatives by central differences [M6 §6.1].

All signals pass through the same smoother S, and a derivative is the central difference of the smoothed signal. Hence S
commutes with any linear equation between the signals: an equation between position, acceleration and torque also holds
between their estimates. All estimates have the same delay, (n_LP + n_CD − 2)/2 samples with n_CD = 3 (in print wrongly
− n_CD). It is 51 samples for n_LP = 101.

S is a Savitzky-Golay smoother: the value at the middle of a least-squares polynomial over n_LP samples. The thesis
weights all samples equally (`taper=False`); such a kernel ends in a step, whose second difference amplifies encoder
quantisation about fifty times at 1 kHz. By default they are weighted by a Hann window, so that the kernel ends
smoothly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.compilation import compiled
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


class Smoother(NamedTuple):
    """State of a `StateEstimator` of C signals.

    Attributes
    ----------
    kernels
        (3, K) of value, first and second derivative.
    ring
        (2 K, C); every sample is written twice, half of it apart, so that the last K always lie in one piece.
    states
        (3, C), result.
    last
        (C,) last sample; a value that is not finite is replaced by the one before.
    clock
        (2,) where the next sample goes, and how many there were.

    """

    kernels: FloatArray
    ring: FloatArray
    states: FloatArray
    last: FloatArray
    clock: IntArray


@compiled
def smooth(s: Any, x: FloatArray) -> bool:
    """Take one sample (C,) into a `Smoother`; return whether all of its K samples are there.

    Before, the past is assumed to equal the first sample.
    """
    n, k, channels = s.kernels.shape[1], s.clock[0], len(x)
    for c in range(channels):
        if np.isfinite(x[c]):
            s.last[c] = x[c]
        elif s.clock[1] == 0:
            s.last[c] = 0.0
    if s.clock[1] == 0:
        for i in range(2 * n):
            for c in range(channels):
                s.ring[i, c] = s.last[c]
    for c in range(channels):
        s.ring[k, c] = s.ring[k + n, c] = s.last[c]
    s.clock[0], s.clock[1] = k + 1 if k + 1 < n else 0, s.clock[1] + 1
    for d in range(3):
        out = s.states[d]
        for c in range(channels):
            out[c] = 0.0
        for i in range(n):
            weight, row = s.kernels[d, i], s.ring[k + 1 + i]
            for c in range(channels):
                out[c] += weight * row[c]
    return s.clock[1] >= n


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
    smoother
        `Smoother`, the state, which `smooth` advances.

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
        kernel = smoothing_kernel(n_LP, degree, taper)
        self.samples = n_LP + 2
        self.delay = 0.5 * (self.samples - 1) * self.period
        self.kernels = np.zeros((3, self.samples))
        before, centre, after = (np.pad(kernel, (shift, 2 - shift)) for shift in (0, 1, 2))
        self.kernels[0] = centre
        self.kernels[1] = (after - before) / (2.0 * period)
        self.kernels[2] = (after - 2.0 * centre + before) / period**2
        ring, states, last = np.zeros((2 * self.samples, channels)), np.zeros((3, channels)), np.zeros(channels)
        self.smoother = Smoother(self.kernels, ring, states, last, np.zeros(2, dtype=np.int64))

    @property
    def ready(self) -> bool:
        """Whether the whole FIR is filled with samples."""
        return bool(self.smoother.clock[1] >= self.samples)

    @property
    def value(self) -> Array:
        """Smoothed signals, (C,); a view that the next update overwrites, as are the other two."""
        return self.smoother.states[0]

    @property
    def first(self) -> Array:
        """First derivatives, (C,), per second."""
        return self.smoother.states[1]

    @property
    def second(self) -> Array:
        """Second derivatives, (C,), per second squared."""
        return self.smoother.states[2]

    @property
    def states(self) -> Array:
        """All three, (3, C)."""
        return self.smoother.states

    def reset(self) -> None:
        """Discard all samples."""
        self.smoother.clock[1] = 0
        self.smoother.states[:] = 0.0

    def update(self, sample: ArrayLike) -> Array:
        """Take one sample (C,); return value, first and second derivative, (3, C), at `delay` s before it, a view.

        A value that is not finite is replaced by the last one of its signal. Before the FIR is full, the past is
        assumed to equal the first sample.
        """
        x = np.asarray(sample, dtype=float)
        if x.shape != (self.channels,):
            raise JointDynamicsError(f'state estimator: expected a sample of shape ({self.channels},), found {x.shape}')
        smooth(self.smoother, np.ascontiguousarray(x))
        return self.smoother.states
