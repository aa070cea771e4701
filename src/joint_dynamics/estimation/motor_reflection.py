"""Motor-side values of messages, whose joints have any order, reflected to the joint side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.conversions import MotorSide

ORDERS = 32
"""As many orders of names as are kept, those used last: two for each publisher of motor-side values."""


class MotorReflection:
    """The reflection of `MotorSide` as one affine map for each order of names, computed once.

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
        # Publishers have an order each; one that makes up names for every message must not fill the memory.
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
        # Nothing times a number that is none is none: a gripper's NaN must not reach the joints.
        # What overflows is infinite, and taken for a broken value as any other that is not finite.
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
