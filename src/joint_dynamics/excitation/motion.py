"""A motion at a batch of samples, with what limits and criterion ask of it, and the gradient they hand back."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.kinematics import LinkFrames
from joint_dynamics.excitation.regressor_gradient import RegressorGradient
from joint_dynamics.robot import RobotModel


class RobotMotion:
    """q, dq, ddq of a robot, (joints, samples) each; regressor and link frames are computed when first asked for.

    Parameters
    ----------
    sign_speed
        see `RegressorGradient`.
    """

    def __init__(self, model: RobotModel, q: FloatArray, dq: FloatArray, ddq: FloatArray, sign_speed: float = 0.0):
        self.model = model
        self.q, self.dq, self.ddq = q, dq, ddq
        self._sign_speed = sign_speed

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.q.shape[1]

    @cached_property
    def regressor(self) -> RegressorGradient:
        """The regressor and its reverse pass."""
        return RegressorGradient(self.model, self.q, self.dq, self.ddq, self._sign_speed)

    @cached_property
    def frames(self) -> LinkFrames:
        """Frames of all links in the base frame."""
        return LinkFrames(self.model.chain, self.q)


class Sensitivity:
    """Gradient of a scalar with respect to a motion.

    `q`, `dq`, `ddq` (joints, samples), and `rows`, that of the regressor, as it is.
    """

    def __init__(self, motion: RobotMotion):
        self._motion = motion
        self.q, self.dq, self.ddq = (np.zeros_like(motion.q) for _ in range(3))
        self._rows: FloatArray | None = None

    @property
    def rows(self) -> FloatArray:
        """Gradient with respect to the regressor (joints, p, samples); add to it in place."""
        if self._rows is None:
            self._rows = np.zeros_like(self._motion.regressor.rows)
        return self._rows

    def collect(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradients with respect to q, dq, ddq, what comes through the regressor included."""
        if self._rows is None:
            return self.q, self.dq, self.ddq
        through = self._motion.regressor.pull_back(self._rows)
        return self.q + through[0], self.dq + through[1], self.ddq + through[2]
