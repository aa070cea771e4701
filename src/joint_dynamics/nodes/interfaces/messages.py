"""Messages that several nodes send, from numbers and arrays: stamps, durations, joint states."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState

from joint_dynamics.arrays import FloatArray


def stamp(nanoseconds: int) -> Time:
    """Return a time [ns] as a stamp."""
    sec, nanosec = divmod(nanoseconds, 10**9)
    return Time(sec=sec, nanosec=nanosec)


def duration(seconds: float) -> Duration:
    """Return s >= 0 as a duration, rounded to the nanosecond."""
    sec, nanosec = divmod(round(float(seconds) * 1e9), 10**9)
    return Duration(sec=sec, nanosec=nanosec)


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
            setattr(message, field, values.tolist())
    return message
