"""Orientation of the base relative to gravity: the same arm on a wall has other base parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

GRAVITY = 9.81
"""Standard acceleration used throughout [m/s²]; the value pinocchio, URDF tools and Gazebo use (9.8 there)."""


def mounting_rotation(mounting: Any) -> FloatArray:
    """Return the rotation (3, 3) from the robot's base frame to a world whose gravity is along −z.

    `mounting` is None (base z axis up), a rotation matrix (3, 3), roll-pitch-yaw [rad] as three numbers (URDF order:
    fixed axes x, y, z), a quaternion (x, y, z, w) as four numbers, or a mapping with one of the keys `rpy`,
    `quaternion`.

    Raises
    ------
    JointDynamicsError
        For anything else.
    """
    if mounting is None:
        return np.eye(3)
    if isinstance(mounting, Mapping):
        if set(mounting) not in ({'rpy'}, {'quaternion'}):
            raise JointDynamicsError(f'mounting: expected one key rpy or quaternion, found {sorted(mounting, key=str)}')
        (mounting,) = mounting.values()
    try:
        values = np.asarray(mounting, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise JointDynamicsError(f'mounting: expected numbers, found {mounting!r}') from None
    if not np.all(np.isfinite(values)):
        raise JointDynamicsError(f'mounting: expected finite numbers, found {values.tolist()}')
    if values.shape == (3,):
        return np.asarray(pinocchio.rpy.rpyToMatrix(values))
    if values.shape == (4,):
        norm = np.linalg.norm(values)
        if not abs(norm - 1) <= 1e-3:
            raise JointDynamicsError(f'mounting: expected a unit quaternion (x, y, z, w), found one of norm {norm:.4g}')
        return np.asarray(pinocchio.Quaternion(values / norm).toRotationMatrix())
    if values.shape == (3, 3):
        if not (np.abs(values @ values.T - np.eye(3)).max() <= 1e-6 and np.linalg.det(values) > 0):
            raise JointDynamicsError(
                'mounting: expected a rotation matrix, found one that is not orthonormal and right-handed'
            )
        return values
    raise JointDynamicsError(
        'mounting: expected roll-pitch-yaw (3 numbers), a quaternion x y z w (4) or a 3 by 3 rotation matrix, found'
        f' shape {values.shape}'
    )


def gravity_in_base(mounting: Any) -> FloatArray:
    """Return the acceleration of gravity in the base frame (3,) [m/s²]."""
    return mounting_rotation(mounting).T @ np.array([0.0, 0.0, -GRAVITY])
