"""Jumps of the error with which a torque is predicted: its present level against the usual one and the torque's own.

A model error, such as friction 5 % wrong, is always there and grows with the torque: it raises the usual level, but is
no jump.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.estimation.learning_kernels import jumps


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
    last look: their number, ε²/(1 + r), torque². All are changed in place by `learning_kernels`.
    """

    def __init__(self, joints: int, period: float, window: int, share: float, floor: FloatArray) -> None:
        self.period, self.window, self.share, self.floor = period, window, share, floor
        self.short, self.level, self.seen, self.usual, self.excitation = np.zeros((5, joints))
        self.long = floor.copy()
        self.sums = np.zeros((3, joints))

    def jumped(self) -> BoolArray:
        """Bring the levels up to the samples since the last look, and return where the error has jumped, (n,)."""
        memory = self.seen, self.excitation, self.short, self.level, self.usual, self.long
        found = np.zeros(len(self.seen), dtype=bool)
        jumps((self.period, float(self.window), float(self.share)), self.floor, self.sums, memory, found)
        return found

    def forget(self, joints: IntArray) -> None:
        """Begin to watch these joints anew, as after a jump; the usual levels stay."""
        self.short[joints] = self.level[joints] = self.seen[joints] = 0.0
