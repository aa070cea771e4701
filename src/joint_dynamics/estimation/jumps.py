"""Jumps of the error with which a torque is predicted: its present level against the usual one and the torque's own.

A model error, such as friction 5 % wrong, is always there and grows with the torque: it raises the usual level, but is
no jump.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray


class JumpDetector:
    """Levels of prediction error and torque of n joints, and where the error has jumped.

    joints  n.
    period  s per sample.
    window  samples over which the present levels are taken; the usual ones over twenty times as many.
    share   a jump is where the root mean square of the error exceeds this share of that of the torque, and three times
            its own usual level. inf: none is detected.
    floor   (n,) (N·m)², least mean square that an error is taken to have.

    (n,) each: `seen` (samples since the last jump), `excitation` (s of samples in all), `short` and `long` (mean square
    of the error, present and usual), `level` and `usual` (of the torque). (3, n): `sums` over the samples since the
    last look: their number, ε²/(1 + r), torque². All are changed in place, by the compiled kernels as well.
    """

    def __init__(self, joints: int, period: float, window: int, share: float, floor: FloatArray) -> None:
        self.period, self.window, self.share, self.floor = period, window, share, floor
        self.short, self.level, self.seen, self.usual, self.excitation = np.zeros((5, joints))
        self.long = floor.copy()
        self.sums = np.zeros((3, joints))

    def add(self, active: BoolArray, error: FloatArray, torque: FloatArray) -> None:
        """Take one sample: which joints count, ε²/(1 + r) and the torque (n,) each, zero where they do not."""
        self.sums[0] += active
        self.sums[1] += error
        self.sums[2] += torque * torque

    def jumped(self) -> BoolArray:
        """Bring the levels up to the samples since the last look, and return where the error has jumped, (n,)."""
        samples, squares, level = self.sums
        self.seen += samples
        self.excitation += self.period * samples
        seen = np.maximum(self.seen, 1.0)
        share = 1.0 / np.minimum(seen, self.window)
        self.short += share * (squares - samples * self.short)
        self.level += share * (level - samples * self.level)
        # The usual level never learns from a jump: what one sample can add to it is bounded.
        slow = np.minimum(samples / np.minimum(seen, 20.0 * self.window), 1.0)
        self.usual += slow * (self.level - self.usual)
        self.long += slow * (np.clip(self.short, self.floor, 2.0 * self.long) - self.long)
        found = (samples > 0) & (self.seen >= self.window)
        self.sums[:] = 0.0
        if np.isinf(self.share):
            return np.zeros_like(found)
        # Where little torque is transmitted, that of a friction not yet learnt is a large share of it, and no jump.
        torque = np.maximum(self.level, self.usual)
        found &= self.short > np.maximum(self.share**2 * torque, 9.0 * self.long)
        return found

    def forget(self, joints: IntArray) -> None:
        """Begin to watch these joints anew, as after a jump; the usual levels stay."""
        self.short[joints] = self.level[joints] = self.seen[joints] = 0.0
