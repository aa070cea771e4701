"""Jumps of the prediction error of a torque: its present level compared with its usual level and with the torque.

A model error, such as friction that is 5 % wrong, is permanent and grows with the torque: it raises the usual level,
but is not a jump.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.estimation.learning_kernels import jumps


class JumpDetector:
    """Levels of prediction error and torque of n joints, and where the error has jumped.

    All attributes are changed in place by `learning_kernels`.

    Parameters
    ----------
    joints
        n.
    period
        s per sample.
    window
        samples over which the present levels are averaged; the usual ones over twenty times as many.
    share
        a jump is detected where the root mean square of the error exceeds this share of that of the torque, and three
        times its own usual level; inf: never.
    floor
        (n,) (N·m)², smallest mean square of an error.

    Attributes
    ----------
    seen
        (n,) samples since the last jump.
    excitation
        (n,) s of all samples.
    short, long
        (n,) present and usual mean square of the error.
    level, usual
        (n,) present and usual mean square of the torque.
    sums
        (3, n) over the samples since the last evaluation: their number, ε²/(1 + r), torque².

    """

    def __init__(self, joints: int, period: float, window: int, share: float, floor: FloatArray) -> None:
        self.period, self.window, self.share, self.floor = period, window, share, floor
        self.short, self.level, self.seen, self.usual, self.excitation = np.zeros((5, joints))
        self.long = floor.copy()
        self.sums = np.zeros((3, joints))

    def jumped(self) -> BoolArray:
        """Update the levels with the samples since the last evaluation, and return where the error has jumped, (n,)."""
        memory = self.seen, self.excitation, self.short, self.level, self.usual, self.long
        found = np.zeros(len(self.seen), dtype=bool)
        jumps((self.period, float(self.window), float(self.share)), self.floor, self.sums, memory, found)
        return found

    def forget(self, joints: IntArray) -> None:
        """Restart the detection for these joints, as after a jump; the usual levels stay."""
        self.short[joints] = self.level[joints] = self.seen[joints] = 0.0
