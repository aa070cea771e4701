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

"""Messages from arrays and arrays from messages: stamps, durations, joint states, trajectories."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState, Temperature
from std_msgs.msg import Header as HeaderMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

MAX_POINTS = 50_000  # of a trajectory; a spline through them takes less than the timeout of joint states


def message_class(name: str, form: str) -> type:
    """Return the message class of `package/msg/Name`; raises JointDynamicsError where the package is not installed."""
    package, _, kind = name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), kind)
    except (ImportError, AttributeError):
        raise JointDynamicsError(
            f'{form}: expected {name}, found {package} not installed (it comes with ROS 2 itself)'
        ) from None


def stamp(nanoseconds: int) -> Time:
    """Return a time [ns] as a stamp."""
    sec, nanosec = divmod(nanoseconds, 10**9)
    return Time(sec=sec, nanosec=nanosec)


def duration(seconds: float) -> Duration:
    """Return s >= 0 as a duration, rounded to the nanosecond."""
    sec, nanosec = divmod(round(float(seconds) * 1e9), 10**9)
    return Duration(sec=sec, nanosec=nanosec)


def seconds(time: Any) -> float:
    """Return a stamp or a duration in s."""
    return time.sec + 1e-9 * time.nanosec


def temperature(when: Time, joint: str, value: float) -> Temperature:
    """Return the temperature message of one joint, °C."""
    return Temperature(header=HeaderMessage(stamp=when, frame_id=joint), temperature=float(value))


def joint_trajectory(
    names: Sequence[str],
    times: Sequence[float] | FloatArray,
    q: FloatArray,
    dq: FloatArray | None = None,
    ddq: FloatArray | None = None,
    effort: FloatArray | None = None,
    header: HeaderMessage | None = None,
) -> JointTrajectory:
    """Return the trajectory of arrays (points, n) at times (points,) s from its start, those not given left empty."""
    fields = {'positions': q, 'velocities': dq, 'accelerations': ddq, 'effort': effort}
    rows = {name: array.tolist() for name, array in fields.items() if array is not None}
    message = JointTrajectory(header=header or HeaderMessage(), joint_names=list(names))
    for k, time in enumerate(times):
        point = {name: values[k] for name, values in rows.items()}
        message.points.append(JointTrajectoryPoint(**point, time_from_start=duration(time)))
    return message


def trajectory_arrays(message: JointTrajectory) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return times (P,) s of the points, and their fields (P, n) by name: positions and those that all points have.

    Raises
    ------
    JointDynamicsError
        For no points, more than MAX_POINTS, no positions, or a field that has not one number for each joint.
    """
    count, n = len(message.points), len(message.joint_names)
    if not 0 < count <= MAX_POINTS:
        raise JointDynamicsError(
            f'trajectory: expected 1 to {MAX_POINTS} points, found {count}; leave points out, it is interpolated'
        )
    arrays = {}
    for field in ('positions', 'velocities', 'accelerations', 'effort'):
        rows = [getattr(point, field) for point in message.points]
        sizes = sorted({len(row) for row in rows})
        if not n or sizes not in ([0], [n]) or (field == 'positions' and sizes != [n]):
            needed = 'at every point' if field == 'positions' else 'at every point, or at none'
            raise JointDynamicsError(f'trajectory: expected {n} {field} {needed}, found {", ".join(map(str, sizes))}')
        if sizes == [n]:
            arrays[field] = np.array(rows)
    return np.array([seconds(point.time_from_start) for point in message.points]), arrays


def joint_state(
    when: Time,
    names: Sequence[str],
    effort: FloatArray | None = None,
    position: FloatArray | None = None,
    velocity: FloatArray | None = None,
) -> JointState:
    """Return a JointState of these arrays (n,), those not given left empty."""
    message = JointState(name=list(names))
    message.header.stamp = when
    for field, values in (('effort', effort), ('position', position), ('velocity', velocity)):
        if values is not None:
            # rclpy looks at each number of a list, and at none of an array.
            setattr(message, field, array('d', np.asarray(values, float).tobytes()))
    return message
