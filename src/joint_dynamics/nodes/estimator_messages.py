"""Messages of the estimator node, from arrays."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from joint_dynamics.arrays import FloatArray


def stamp_message(stamp: int) -> Time:
    """Return a stamp in ns as a message."""
    return Time(sec=stamp // 1_000_000_000, nanosec=stamp % 1_000_000_000)


def joint_state(
    stamp: Time,
    names: Sequence[str],
    effort: FloatArray | None = None,
    position: FloatArray | None = None,
    velocity: FloatArray | None = None,
) -> JointState:
    """Return a JointState of these arrays (n,), those not given left empty."""
    message = JointState(name=list(names))
    message.header.stamp = stamp
    if effort is not None:
        message.effort = effort.tolist()
    if position is not None:
        message.position = position.tolist()
    if velocity is not None:
        message.velocity = velocity.tolist()
    return message


def table(labels: Sequence[str], values: FloatArray) -> Float64MultiArray:
    """Return an array with its layout labelled, row-major."""
    message = Float64MultiArray(data=values.ravel().tolist())
    stride = values.size
    for label, size in zip(labels, values.shape, strict=True):
        message.layout.dim.append(MultiArrayDimension(label=label, size=size, stride=stride))
        stride //= max(size, 1)
    return message


def payload_message(stamp: Time, frame: str, mass: float, first_moments: FloatArray) -> InertiaStamped:
    """Return mass and centre of mass in `frame`; the inertia is not estimated and stays 0."""
    message = InertiaStamped()
    message.header.stamp, message.header.frame_id = stamp, frame
    message.inertia.m = mass
    if mass > 0:
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = (
            float(value) / mass for value in first_moments
        )
    return message
