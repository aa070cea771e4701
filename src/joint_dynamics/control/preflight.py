"""Before a law is let loose: would its friction compensation make a joint run away? The check of `check-compensation`.

    applied     what the law's own compensation adds in steady slip: its gain, its α, its smoothing
    identified  the friction of the arm at its present α (`arm.SteadyFriction`): quadrants, terms, coupled motors, range

Both are the same model, so nothing runs away with a gain of 1; it does with more, and with a friction that the
description itself states to be different in the two directions, which a compensation of one set of parameters is not.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import SteadyFriction
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.applied import DIRECTIONS
from joint_dynamics.control.compensation import DirectionCheck, check_direction, speed_limits_of
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.interface import Controller
from joint_dynamics.control.law import TorqueLaw
from joint_dynamics.errors import JointDynamicsError

POINTS = 40
"""Speeds that are looked at: what counts is the speed limit, which is one of them."""


class LawCompensation:
    """What a law's friction compensation adds to joint `joint` (index) in steady slip, the other joints at rest."""

    loads = (0.0,)

    def __init__(self, friction: FrictionCompensation, joint: int, n: int):
        self._friction, self._joint, self._n = friction, joint, n

    def torque(
        self, speed: FloatArray, load: float = 0.0, position: float = 0.0, temperature: FloatArray | None = None
    ) -> FloatArray:
        """Return the compensation (G,) N·m; see `arm.SteadyFriction.torque`, but at the law's own temperature."""
        speeds, loads, q = np.zeros((3, len(speed), self._n))
        speeds[:, self._joint], loads[:, self._joint], q[:, self._joint] = speed, load, position
        return self._friction.in_slip(q, speeds, loads)[:, self._joint]


def run_away(law: Controller) -> list[str]:
    """Return, in words, each joint and direction in which what `law` compensates exceeds friction at the speed limit.

    What is within two standard deviations of the identified friction does not count. A law without friction
    compensation, or not of this package, has nothing to be checked.
    """
    if not isinstance(law, TorqueLaw) or law.friction.kind == 'none':
        return []
    limits = speed_limits_of(law.arm)
    reasons = []
    for k, name in enumerate(law.arm.joint_names):
        for direction in DIRECTIONS:
            check = check_law(law, k, direction, limits.get(name, np.pi))
            excess = check.excess[-1]
            if excess > 2.0 * check.deviation[-1]:
                where = f' under {check.load:.3g} N·m' if abs(check.load) > 1e-3 else ''
                reasons.append(
                    f'{name} in {direction} direction: {excess:.3g} N·m more than friction at '
                    f'{check.speed[-1]:.3g} rad/s{where} ({check.verdict})'
                )
    return reasons


def refuse_run_away(law: Controller) -> None:
    """Raise JointDynamicsError, with what `run_away` returns, where that is anything."""
    reasons = run_away(law)
    if reasons:
        raise JointDynamicsError(
            f'friction compensation: expected none that would run away, found {"; ".join(reasons)} '
            '(lower friction_gain, or set check_compensation to false)'
        )


def check_law(law: TorqueLaw, joint: int, direction: str, speed_limit: float) -> DirectionCheck:
    """Return the check of one joint (index) and direction of a law, up to `speed_limit` rad/s, at its temperature."""
    applied = LawCompensation(law.friction, joint, law.arm.n)
    return check_direction(
        SteadyFriction(law.arm, joint), applied, direction, speed_limit, law.friction.temperature, POINTS
    )
