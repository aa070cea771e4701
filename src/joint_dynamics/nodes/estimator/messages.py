"""Messages of the estimator node, from arrays."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from joint_dynamics.arrays import FloatArray


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
