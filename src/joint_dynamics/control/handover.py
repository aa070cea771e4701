"""From one source of commands to another without a step: what they differ by fades out.

u(t) = u_new(t) + (1 − t/T) (u_old − u_new(0)) for 0 ≤ t < T, and u_new(t) from then on.

The first u_old is what the joints bear when the loop takes over from a controller that it knows nothing of
(`taken_over`).
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.loop_sample import HANDOVER, NO_SOURCE

REST = 1e-9
"""rad/s, of joints that are about to move: friction there is what holds them at rest at most."""


class Handover:
    """The command of n joints, continuous when its source changes; `loop_sample.blend` has the step.

    Attributes
    ----------
    constants, rest
        (1,) of `loop_sample.HANDOVER`, settings and state; (n,) the difference that fades.
    """

    def __init__(self, joints: int, time: float = 0.0):
        self.constants, self.rest = np.zeros(1, HANDOVER), np.zeros(joints)
        self.time = time

    @property
    def time(self) -> float:
        """T [s]; 0: the new source counts at once. Settable."""
        return float(self.constants['time'][0])

    @time.setter
    def time(self, value: float) -> None:
        self.constants['time'] = value

    def clear(self, source: int = NO_SOURCE) -> None:
        """Forget where commands came from; they come from `source` (of `loop_sample`) now."""
        self.constants['source'], self.constants['share'] = source, 0.0


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
