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

"""Zero-phase low-pass filters, medians and derivatives of recorded signals [M5 §4, H IV.B, G II.C].

A 4th-order Butterworth filter run forward and backward has the squared magnitude and no phase. Positions are filtered
over the whole recording. The *parallel* filter, applied to the torque and to every column of the regressor alike, has
the same response as a symmetric FIR kernel. It is evaluated block by block, at the samples kept by decimation only.
Near the ends the part of the kernel inside the recording suffices: any linear operation on both sides of Y = W χ leaves
χ unchanged.

Butterworth filters and medians are implemented here because importing scipy.signal and scipy.ndimage takes longer than
identifying a recording.
"""

from __future__ import annotations

import copy

import numpy as np
from scipy.linalg.blas import dtbsv

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError


def butterworth_sections(order: int, cutoff: float, rate: float) -> FloatArray:
    """Return the sections (order/2 rounded up, 5) b0 b1 b2 a1 a2 (a0 = 1) of a low-pass filter of gain 1 at 0 Hz.

    The analogue poles are evenly spaced on the left half of a circle; the bilinear transformation, pre-warped to
    preserve the cut-off, maps each pair of them, s² + s/Q + 1, to z.

    Parameters
    ----------
    cutoff, rate
        Hz; 0 < cutoff < rate/2.
    """
    K = np.tan(np.pi * cutoff / rate)
    sections = []
    for k in range(order // 2):
        inverse_Q = 2 * np.sin(np.pi * (2 * k + 1) / (2 * order))
        scale = 1 + K * inverse_Q + K**2
        b0 = K**2 / scale
        sections.append((b0, 2 * b0, b0, 2 * (K**2 - 1) / scale, (1 - K * inverse_Q + K**2) / scale))
    if order % 2:
        b0 = K / (1 + K)
        sections.append((b0, b0, 0.0, (K - 1) / (K + 1), 0.0))
    return np.array(sections)


def filtered(sections: FloatArray, x: FloatArray) -> FloatArray:
    """Return signals x (signals, samples) filtered forward, as if each had always been at its first value before.

    With gain 1 at 0 Hz, the difference from that value is filtered, starting from rest. The recursion
    y_k + a1 y_{k−1} + a2 y_{k−2} = v_k is a triangular system with two subdiagonals.
    """
    y = x - x[:, :1]
    samples = x.shape[1]
    for b0, b1, b2, a1, a2 in sections:
        v = b0 * y
        v[:, 1:] += b1 * y[:, :-1]
        v[:, 2:] += b2 * y[:, :-2]
        bands = np.empty((3, samples), order='F')
        bands[:] = np.array([[1.0], [a1], [a2]])
        y = np.array([dtbsv(2, bands, row, lower=1, diag=1) for row in v]).reshape(x.shape)
    return y + x[:, :1]


def forward_backward(sections: FloatArray, x: FloatArray, padding: int) -> FloatArray:
    """Return x (samples, …) filtered forward and backward, its ends extended by point reflection over `padding`."""
    flat = np.ascontiguousarray(np.asarray(x, dtype=float).reshape(len(x), -1).T)
    before = 2 * flat[:, :1] - flat[:, padding:0:-1]
    after = 2 * flat[:, -1:] - flat[:, -2 : -2 - padding : -1]
    forward = filtered(sections, np.concatenate([before, flat, after], axis=1))
    backward = filtered(sections, forward[:, ::-1])[:, ::-1]
    return np.ascontiguousarray(backward[:, padding : padding + len(x)].T).reshape(np.shape(x))


ORDER = 4
# Above this fraction of the sampling rate a filter would act on nothing but the last bins below Nyquist.
HIGHEST = 0.45
KERNEL_TOLERANCE = 1e-4
MAX_KEPT_BYTES = 32 * 2**20
"""Weights of a parallel filter are kept up to this size [bytes]."""


def _sections(cutoff: float, rate: float) -> FloatArray:
    if not (np.isfinite(cutoff) and cutoff > 0):
        raise JointDynamicsError(f'filter: expected a cut-off above 0 Hz, found {cutoff}')
    return butterworth_sections(ORDER, cutoff, rate)


def zero_phase_lowpass(x: FloatArray, cutoff: float, rate: float) -> FloatArray:
    """Return x (samples, …) low-pass filtered forward and backward at `cutoff` [Hz], sampled at `rate` [Hz].

    The ends are extended by point reflection over one and a half periods of the cut-off, which keeps value and slope.
    With a cut-off at or above 0.45 `rate`, x is returned unchanged.

    Raises
    ------
    JointDynamicsError
        For a cut-off that is not positive.
    """
    if cutoff >= HIGHEST * rate:
        return np.array(x, dtype=float)
    sections = _sections(cutoff, rate)
    return forward_backward(sections, x, min(len(x) - 1, int(np.ceil(1.5 * rate / cutoff))))


def zero_phase_kernel(cutoff: float, rate: float) -> FloatArray:
    """Return the symmetric kernel (2 h + 1,) of `zero_phase_lowpass`, of sum 1, cut below 1e-4 of its peak."""
    if cutoff >= HIGHEST * rate:
        return np.ones(1)
    # Near Nyquist, too, the response rings for long: as long as for a cut-off that far above zero.
    half = int(np.ceil(6 * rate / min(cutoff, 0.5 * rate - cutoff)))
    impulse = np.zeros(2 * half + 1)
    impulse[half] = 1.0
    response = forward_backward(_sections(cutoff, rate), impulse, 0)
    response = 0.5 * (response + response[::-1])
    reach = half - int(np.flatnonzero(np.abs(response) > KERNEL_TOLERANCE * response[half])[0])
    kernel = response[half - reach : half + reach + 1]
    return kernel / kernel.sum()


def central_difference(x: FloatArray, rate: float) -> FloatArray:
    """Return the derivative of x (samples, …) by central differences, one-sided (second order) at the ends."""
    if len(x) < 3:
        raise JointDynamicsError(f'derivative: expected at least 3 samples, found {len(x)}')
    return np.gradient(x, 1.0 / rate, axis=0, edge_order=2)


def second_difference(x: FloatArray, rate: float) -> FloatArray:
    """Return the second derivative of x (samples, …) by (x₊ − 2 x + x₋) f², repeated at the ends."""
    if len(x) < 3:
        raise JointDynamicsError(f'derivative: expected at least 3 samples, found {len(x)}')
    inner = (x[2:] - 2 * x[1:-1] + x[:-2]) * rate**2
    return np.concatenate([inner[:1], inner, inner[-1:]])


def filtered_motion(
    position: FloatArray, cutoff: float, rate: float, keep: slice = slice(None)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return position, speed and acceleration behind a zero-phase low-pass at `cutoff`, the rows `keep` of them.

    Parameters
    ----------
    position
        (samples, …) [rad or m], at `rate` [Hz].
    cutoff
        Hz.
    """
    # From where it began: a joint that rests has then no speed at all, instead of one made of rounding, which would
    # pass for excitation.
    moved = zero_phase_lowpass(position - position[0], cutoff, rate)
    return (position[0] + moved)[keep], central_difference(moved, rate)[keep], second_difference(moved, rate)[keep]


def decimation_factor(rate: float, f_dyn: float) -> int:
    """Return n = ⌊0.8 f_s / (4 f_dyn)⌋, at least 1: one of n samples is kept [M5 §4]."""
    return max(1, int(0.8 * rate / (4 * f_dyn)))


class ParallelDecimator:
    """The parallel filter followed by decimation, as one weighted sum per kept sample.

    Parameters
    ----------
    samples
        length of the signal.
    cutoff, rate
        Hz.
    factor
        one of so many samples is kept.

    Attributes
    ----------
    kept
        (K,) indices of the kept samples.
    cutoff
        Hz.
    half
        reach of the kernel to either side, samples.
    """

    def __init__(self, samples: int, cutoff: float, rate: float, factor: int):
        self.cutoff = cutoff
        self.kernel = zero_phase_kernel(cutoff, rate)
        self.half = len(self.kernel) // 2
        self.samples = samples
        self.kept = np.arange(0, samples, factor) + ((samples - 1) % factor) // 2
        self._weights: dict[tuple[int, int, int], FloatArray] = {}

    def thinned(self, stride: int) -> ParallelDecimator:
        """Return the same filter with every `stride`-th of the kept samples."""
        other = copy.copy(self)
        other.kept, other._weights = self.kept[stride // 2 :: stride], {}
        return other

    def span(self, part: slice) -> tuple[int, int]:
        """Return (first, end) of the input samples that the kept samples of `part` draw on."""
        kept = self.kept[part]
        return max(0, kept[0] - self.half), min(self.samples, kept[-1] + self.half + 1)

    def weights(self, part: slice) -> FloatArray:
        """Return (inputs of `span`, kept samples of `part`): each column the kernel around a kept sample, of sum 1."""
        # regressor, torque and friction columns are filtered one after the other, in the same parts; and parts that
        # the ends of the signal do not reach all have the same
        first, end = self.span(part)
        kept = self.kept[part]
        known = (len(kept), int(kept[0]) - first, end - int(kept[-1]))
        if known not in self._weights:
            if sum(weights.nbytes for weights in self._weights.values()) > MAX_KEPT_BYTES:
                self._weights.clear()
            self._weights[known] = self._new_weights(part)
        return self._weights[known]

    def _new_weights(self, part: slice) -> FloatArray:
        first, end = self.span(part)
        kept = self.kept[part]
        weights = np.zeros((end - first, len(kept)))
        for column, centre in zip(weights.T, kept, strict=True):
            low, high = max(first, centre - self.half), min(end, centre + self.half + 1)
            inside = self.kernel[low - centre + self.half : high - centre + self.half]
            column[low - first : high - first] = inside / np.cumsum(inside)[-1]
        weights.flags.writeable = False
        return weights

    def apply(self, x: FloatArray) -> FloatArray:
        """Return x (samples, …) filtered at the kept samples, (K, …)."""
        chunk = max(1, 4096 // max(1, self.half))
        out = []
        for start in range(0, len(self.kept), chunk):
            part = slice(start, min(start + chunk, len(self.kept)))
            first, end = self.span(part)
            out.append(np.tensordot(self.weights(part), x[first:end], axes=(0, 0)))
        return np.concatenate(out)


SMALL = 5
BLOCK = 4096


def running_median(x: FloatArray, size: int) -> FloatArray:
    """Return the median of `size` samples, an odd number, around every one of x (samples,), held beyond the ends.

    As `scipy.ndimage.median_filter` with mode 'nearest'.
    """
    half = size // 2
    extended = np.concatenate([np.repeat(x[:1], half), x, np.repeat(x[-1:], half)])
    if size == SMALL:
        return _of_five(*(extended[k : k + len(x)] for k in range(SMALL)))
    windows = np.lib.stride_tricks.sliding_window_view(extended, size)
    medians = np.empty(len(x))
    for first in range(0, len(x), BLOCK):
        medians[first : first + BLOCK] = np.partition(windows[first : first + BLOCK], half, axis=1)[:, half]
    return medians


def _of_five(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, e: FloatArray) -> FloatArray:
    """Return the median of five numbers, element by element.

    Neither the least of one and the greatest of the other pair, of two pairs put in order, can be it: it is the median
    of the three that are left.
    """
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    return np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))
