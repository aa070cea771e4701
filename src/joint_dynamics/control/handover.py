"""From one source of commands to another without a step: what they differ by fades out.

u(t) = u_new(t) + (1 − t/T) (u_old − u_new(0)) for 0 ≤ t < T, and u_new(t) from then on.

The first u_old is what the joints bear when the loop takes over from a controller that it knows nothing of
(`taken_over`).
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray

REST = 1e-9
"""rad/s, of joints that are about to move: friction there is what holds them at rest at most."""


class Handover:
    """The command of n joints, continuous when its source changes.

    Attributes
    ----------
    time
        T [s]; 0: the new source counts at once.
    source
        the present one, '' where there is none.
    """

    def __init__(self, joints: int, time: float = 0.0):
        self.time = float(time)
        self.source = ''
        self._rest, self._share = np.zeros(joints), 0.0

    def clear(self, source: str = '') -> None:
        """Forget where commands came from; they come from `source` now."""
        self.source, self._share = source, 0.0

    def wait(self, period: float) -> None:
        """Let `period` s pass in which nobody commands: what is left to fade gets less all the same."""
        if self._share > 0.0:
            # A period that is no number is none.
            self._share = max(self._share - max(0.0, period) / self.time, 0.0)

    def blended(
        self, source: str, command: FloatArray, last: FloatArray, limit: FloatArray, period: float
    ) -> FloatArray:
        """Return the command (n,) of `source`, with what is left of the difference to the source before.

        Parameters
        ----------
        source
            whose the command is.
        command, last
            (n,) of this source; of the step before, as it went out.
        limit
            (n,) largest command: more than that is no difference to fade.
        period
            s since the step before.
        """
        if source != self.source:
            if self.source and self.time > 0.0:
                self._rest, self._share = last - np.clip(command, -limit, limit), 1.0
            self.source = source
        else:
            self.wait(period)
        return command + self._share * self._rest if self._share > 0.0 else command


def taken_over(
    arm: Arm, q: FloatArray, measured: FloatArray, left: FloatArray, *, holds_gravity: bool = True
) -> FloatArray | None:
    """Return the torque (n,) N·m with which whoever had the joints before holds them, None where nothing tells.

    What is measured tells it; else what stands on the command interface, where it can be what holds the arm: a
    torque that was left there long ago, for another posture, is not within friction of gravity. Zeros tell nothing: a
    trajectory controller leaves them when it ends, and a driver that measures no torque may show them.

    Parameters
    ----------
    arm
        whose gravity and friction they are.
    q
        (n,) rad, where it is.
    measured, left
        (n,) N·m: of the motors, gravity in it; the last command that stands there. NaN: not known.
    holds_gravity
        whether a command holds gravity, or the robot adds that itself.
    """
    gravity = arm.rigid.gravity(q)
    added = np.zeros(arm.n) if holds_gravity else gravity
    if _tells(measured):
        return measured - added
    speed = np.outer([-REST, REST], np.ones(arm.n))
    low, high = gravity - added + arm.friction_torque(np.sign(speed), speed, np.tile(gravity, (2, 1)))
    return left if _tells(left) and np.all((low <= left) & (left <= high)) else None


def _tells(torque: FloatArray) -> bool:
    return bool(np.isfinite(torque).all() and torque.any())
