"""Messages of the feedforward node as plain arrays, and back."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.control import FilledTrajectory, Points
from joint_dynamics.errors import JointDynamicsError


def seconds(stamp: Any) -> float:
    """Return a time or duration message in s."""
    return stamp.sec + stamp.nanosec * 1e-9


def duration(value: float) -> Duration:
    """Return s >= 0 as a duration message, rounded to the nanosecond."""
    nanoseconds = round(value * 1e9)
    return Duration(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def points_of(message: JointTrajectory) -> Points:
    """Return the points of a trajectory; raises JointDynamicsError when some have velocities or accelerations and others have not."""
    arrays: list[Any] = []
    for name in ('positions', 'velocities', 'accelerations'):
        rows = [getattr(point, name) for point in message.points]
        lengths = {len(row) for row in rows}
        if len(lengths) > 1:
            raise JointDynamicsError(f'trajectory: expected as many {name} at every point, found {sorted(lengths)}')
        arrays.append(np.array([list(row) for row in rows]) if lengths - {0} else None)
    q, dq, ddq = arrays
    if q is None:
        raise JointDynamicsError('trajectory: expected points with positions, found none')
    return Points(tuple(message.joint_names), [seconds(point.time_from_start) for point in message.points], q, dq, ddq)


def is_set_point(message: JointTrajectory) -> bool:
    """Whether the message is one point at time 0: what is desired now."""
    return len(message.points) == 1 and seconds(message.points[0].time_from_start) == 0.0


def message_of(filled: FilledTrajectory, joint_names: Sequence[str], order: NDArray, header: Any) -> JointTrajectory:
    """Return the trajectory of `joint_names`, which are the robot's in `order`, under the header of the one it was made from."""
    message = JointTrajectory(header=header, joint_names=list(joint_names))
    columns = [array[:, order] for array in (filled.q, filled.dq, filled.ddq, filled.effort)]
    for time, q, dq, ddq, effort in zip(filled.time, *columns, strict=True):
        message.points.append(JointTrajectoryPoint(positions=q.tolist(), velocities=dq.tolist(), accelerations=ddq.tolist(), effort=effort.tolist(),
                                                   time_from_start=duration(float(time))))
    return message


def table_of(message: Any, joint_names: Sequence[str], columns: int, what: str) -> NDArray:
    """Return a Float64MultiArray of one row per joint, (n, columns); raises JointDynamicsError on another shape."""
    n = len(joint_names)
    values = np.array(message.data, dtype=float)
    sizes = [dimension.size for dimension in message.layout.dim]
    if values.size != n * columns or (sizes and sizes != [n, columns]):
        raise JointDynamicsError(f'{what}: expected {n} rows of {columns} values, found {sizes or values.size}')
    return values.reshape(n, columns)
