"""Butterworth low-pass filters as recursions, forward, and forward and backward without phase.

Written out here because scipy.signal takes longer to import than a recording takes to be identified.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtbsv

from joint_dynamics.arrays import FloatArray


def butterworth_sections(order: int, cutoff: float, rate: float) -> FloatArray:
    """Return the sections (order/2 rounded up, 5) b0 b1 b2 a1 a2 (a0 = 1) of a low-pass filter of gain 1 at 0 Hz.

    The analogue poles lie evenly on the left half of a circle; the bilinear transformation, warped so that the cut-off
    stays where it is, brings a pair of them, s² + s/Q + 1, to z.

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
    """Return signals x (signals, samples) filtered forward, as if each had been at its first value for ever.

    With gain 1 at 0 Hz what is filtered is the difference from that value, from rest. The recursion
    y_k + a1 y_{k−1} + a2 y_{k−2} = v_k is a triangular system of two bands.
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
    both = filtered(sections, forward[:, ::-1])[:, ::-1]
    return np.ascontiguousarray(both[:, padding : padding + len(x)].T).reshape(np.shape(x))
