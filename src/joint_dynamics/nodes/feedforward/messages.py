"""Messages of the feedforward node as plain arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.control import FilledTrajectory
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces.messages import duration


def message_of(filled: FilledTrajectory, joint_names: Sequence[str], order: IntArray, header: Any) -> JointTrajectory:
    """Return the trajectory of `joint_names`.

    These are the robot's in `order`; the header is that of the one it was made from.
    """
    message = JointTrajectory(header=header, joint_names=list(joint_names))
    columns = [array[:, order] for array in (filled.q, filled.dq, filled.ddq, filled.effort)]
    for time, q, dq, ddq, effort in zip(filled.time, *columns, strict=True):
        message.points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=dq.tolist(),
                accelerations=ddq.tolist(),
                effort=effort.tolist(),
                time_from_start=duration(float(time)),
            )
        )
    return message


def table_of(message: Any, joint_names: Sequence[str], columns: int, what: str) -> FloatArray:
    """Return a Float64MultiArray of one row per joint, (n, columns); raises JointDynamicsError on another shape."""
    n = len(joint_names)
    values = np.array(message.data, dtype=float)
    sizes = [dimension.size for dimension in message.layout.dim]
    if values.size != n * columns or (sizes and sizes != [n, columns]):
        raise JointDynamicsError(f'{what}: expected {n} rows of {columns} values, found {sizes or values.size}')
    return values.reshape(n, columns)
