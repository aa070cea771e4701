"""Settings of the robot in addition to its URDF: which joints, in which order, and the mounting of its base."""

from __future__ import annotations

from joint_dynamics.settings import Parameter


def _mounting(values: list[float]) -> str | None:
    return None if len(values) in (0, 3, 4) else 'nothing, roll-pitch-yaw (3 numbers) or a quaternion x y z w (4)'


JOINTS = Parameter('joints', [], 'the joints to work with, in this order; empty: all movable joints of the robot')
MOUNTING = Parameter(
    'mounting',
    [],
    'rotation from base to world, roll-pitch-yaw in rad or quaternion x y z w; empty: base z axis up',
    element=float,
    check=_mounting,
)
