"""A chain of clips over a whole recording at once, to the bit of one after the other.

Clips compose without any rounding: (l₁, u₁) then (l₂, u₂) is the clip to (clip(l₁), clip(u₁)) by the second.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray


def clip_scan(start: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return s_k = clip(s_{k−1}, low_k, high_k), (N, …), from s_{−1} = start (…), for all k; low and high (N, …).

    Blocks of √N samples side by side: first the composed clip of every prefix of every block, then the starts of the
    blocks in a row.
    """
    samples = len(low)
    length = max(1, int(np.sqrt(samples)))
    blocks = -(-samples // length)
    pad = blocks * length - samples
    if pad:
        low = np.concatenate([low, np.repeat(low[-1:], pad, axis=0)])
        high = np.concatenate([high, np.repeat(high[-1:], pad, axis=0)])
    shape = (blocks, length, *low.shape[1:])
    low, high = low.reshape(shape), high.reshape(shape)
    lower, upper = low.copy(), high.copy()
    for j in range(1, length):
        np.minimum(np.maximum(lower[:, j - 1], low[:, j]), high[:, j], out=lower[:, j])
        np.minimum(np.maximum(upper[:, j - 1], low[:, j]), high[:, j], out=upper[:, j])
    begin = np.empty((blocks, *low.shape[2:]))
    begin[0] = start
    for b in range(1, blocks):
        begin[b] = np.minimum(np.maximum(begin[b - 1], lower[b - 1, -1]), upper[b - 1, -1])
    sliders = np.minimum(np.maximum(begin[:, None], lower), upper)
    return sliders.reshape(blocks * length, *low.shape[2:])[:samples]
