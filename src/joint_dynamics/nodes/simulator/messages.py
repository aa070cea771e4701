"""Messages in and out of the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces.messages import JointStateWriter, seconds
from joint_dynamics.simulation import TrajectoryPoints


def nanoseconds(time: Time) -> int:
    """Return a time message in nanoseconds."""
    return int(time.sec) * 10**9 + int(time.nanosec)


class JointStatePublisher:
    """Publishes JointState samples of the same joints as bytes: a message of rclpy's costs more than the plant."""

    def __init__(self, publisher: Any, joint_names: Sequence[str]):
        self.publisher = publisher
        self._writer = JointStateWriter(joint_names)

    def publish(self, nanoseconds: int, position: FloatArray, velocity: FloatArray, effort: FloatArray) -> None:
        """Publish one sample, stamped in ns, arrays (n,) in joint order."""
        self.publisher.publish(self._writer.write(nanoseconds, position, velocity, effort))


def trajectory(message: JointTrajectory) -> TrajectoryPoints:
    """Return the points of a message as arrays; raise JointDynamicsError where the real controller rejects them."""
    if not message.points:
        raise JointDynamicsError('trajectory: expected points, found none')
    times = [seconds(point.time_from_start) for point in message.points]
    arrays: dict[str, FloatArray | None] = {}
    for name, field in (('q', 'positions'), ('dq', 'velocities'), ('ddq', 'accelerations'), ('effort', 'effort')):
        rows = [np.array(getattr(point, field), dtype=float) for point in message.points]
        if any(row.size for row in rows):
            if any(row.size != len(message.joint_names) for row in rows):
                raise JointDynamicsError(
                    f'trajectory: expected {len(message.joint_names)} {field} in every point or in none, found '
                    f'{", ".join(sorted({str(row.size) for row in rows}))}'
                )
            arrays[name] = np.array(rows)
    if 'q' not in arrays:
        raise JointDynamicsError('trajectory: expected positions, found none')
    return TrajectoryPoints(np.array(times), **arrays)  # type: ignore[arg-type]
