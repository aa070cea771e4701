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

"""Values of messages before they enter the timeline: motor-side ones reflected to the joint side, and their limits.

A single value of 1e150 would ruin a filter. A value is plausible within `recording.plausibility.bounds`, a position
also within the distance that its joint can have moved since the last one. Comparisons are written so that NaN fails
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.conversions import MotorSide
from joint_dynamics.recording.plausibility import ANY_ARM, POSITION, bounds
from joint_dynamics.robot import RobotModel

ORDERS = 32  # orders of names that are kept, the last used ones: two for each of sixteen publishers


class MotorReflection:
    """Reflection of motor signals to the joint side: one affine map for each order of names, computed once.

    Its matrix is diagonal unless drives are coupled.

    Parameters
    ----------
    side
        MotorSide, how motor signals are reflected.
    joint_names
        (n,) of the robot; other joints in a message are ignored.
    """

    def __init__(self, side: MotorSide, joint_names: Sequence[str]) -> None:
        self._side, self._joint_names = side, list(joint_names)
        # A publisher with new names in every message must not fill the memory.
        self._map = lru_cache(ORDERS)(self._worked_out)

    def reflected(self, quantity: str, names: Sequence[str], values: ArrayLike) -> FloatArray:
        """Return values of a message (len(names),) on the joint side, rad or N·m; of joints of others 0.

        Parameters
        ----------
        quantity
            `motor_position` or `motor_torque`.
        names, values
            of the motors, and theirs (len(names),) [rad, N·m].

        Raises
        ------
        JointDynamicsError
            Where drives are coupled and a message lacks one of their motors.
        """
        matrix, offset, ours = self._map(quantity, tuple(names))
        # 0 · NaN is NaN: the value of a gripper must not reach the joints. An overflow is infinite, a broken value.
        with np.errstate(over='ignore', invalid='ignore'):
            result: FloatArray = matrix @ np.where(ours, np.asarray(values, dtype=float), 0.0) + offset
        return result

    def _worked_out(self, quantity: str, names: tuple[str, ...]) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return matrix, offset and which of the names are the robot's."""
        whole = self._joint_names
        known = [k for k, name in enumerate(names) if name in whole]
        joints = [whole.index(names[k]) for k in known]
        if self._side.coupled and len(joints) != len(whole):
            raise JointDynamicsError(
                f'{quantity}: expected all motors of coupled drives in one message, found {", ".join(names)}'
            )
        reflect = self._side.position if quantity == 'motor_position' else self._side.torque
        zero = reflect(np.zeros((1, len(whole))), whole)[0]
        response = (reflect(np.eye(len(whole)), whole) - zero).T
        matrix, offset = np.zeros((len(names), len(names))), np.zeros(len(names))
        matrix[np.ix_(known, known)] = response[np.ix_(joints, joints)]
        offset[known] = zero[joints]
        return matrix, offset, np.isin(np.arange(len(names)), known)


Array = FloatArray
FASTER = 3.0  # largest plausible speed, in speed limits of commands: a joint that is hit or falls exceeds these
LEEWAY = 0.02  # s, error of the difference of two stamps: delayed messages arrive in a burst with new stamps


@dataclass(frozen=True)
class Plausible:
    """Limits of n joints: magnitude (n,) of a value, and of its change per s (n,), infinite where unlimited."""

    largest: Array
    fastest: Array

    @classmethod
    def finite(cls, n: int) -> Plausible:
        """Return limits that accept every finite value, for `n` joints."""
        return cls(np.full(n, np.finfo(float).max), np.full(n, np.inf))

    def of(self, joints: Sequence[int]) -> Plausible:
        """Return the limits of these joints."""
        return Plausible(self.largest[joints], self.fastest[joints])

    def values(self, given: Array) -> bool:
        """Whether joints can have these values (n,)."""
        return bool((np.abs(given) <= self.largest).all())

    def step(self, given: Array, before: Array, seconds: float) -> bool:
        """Whether joints can have moved from `before` (n,) to `given` (n,) in `seconds`."""
        return bool((np.abs(given - before) <= self.fastest * (seconds + LEEWAY)).all())

    def worst(self, given: Array, before: Array | None) -> int:
        """Return the column of the joint that exceeds its limits the most."""
        beyond = np.abs(given) / self.largest
        if np.isfinite(beyond).all() and not (beyond > 1.0).any() and before is not None:
            beyond = np.abs(given - before) / self.fastest
        return int(np.argmax(np.where(np.isnan(beyond), np.inf, beyond)))


def plausible_samples(robot: RobotModel, quantities: Sequence[str]) -> dict[str, Plausible]:
    """Return the limits of the joints of `robot`, for each of `quantities` of Recording."""
    fastest = np.minimum(FASTER * robot.limits.velocity, ANY_ARM['dq'])
    return {
        quantity: Plausible(
            bounds(quantity, robot.n, robot.limits), fastest if quantity in POSITION else np.full(robot.n, np.inf)
        )
        for quantity in quantities
    }
