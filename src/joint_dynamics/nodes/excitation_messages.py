"""Motions of the excitation node as trajectories for a controller."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from builtin_interfaces.msg import Duration, Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation import MotionSamples, Trajectory
from joint_dynamics.excitation.files import seconds_and_nanoseconds

MAX_POINTS = 20000


def moving(
    joint_names: Sequence[str], motion: Trajectory, rate: float, refuse: Callable[[MotionSamples], None] | None = None
) -> JointTrajectory:
    """Return a motion as its `Trajectory.points`, `rate` Hz, `MAX_POINTS` of them at most and what its knots add.

    refuse: looks at the points and raises JointDynamicsError for those that must not be sent; None: a motion that ends
    one which was looked at.
    """
    samples = motion.points(min(rate, MAX_POINTS / motion.duration))
    if refuse is not None:
        refuse(samples)
    message = JointTrajectory(joint_names=list(joint_names))
    for time, q, dq, ddq in zip(samples.time, samples.q, samples.dq, samples.ddq, strict=True):
        message.points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=dq.tolist(),
                accelerations=[] if motion.jumps else ddq.tolist(),
                time_from_start=_duration(time),
            )
        )
    return message


def standing(joint_names: Sequence[str], q: FloatArray, seconds: float) -> JointTrajectory:
    """Return the one point at which to stand, q (n,) [rad], `seconds` from its start."""
    point = JointTrajectoryPoint(positions=q.tolist(), velocities=[0.0] * len(q), time_from_start=_duration(seconds))
    return JointTrajectory(joint_names=list(joint_names), points=[point])


def stamp(seconds: float) -> Time:
    """Return a time [s] of the node's clock as a stamp."""
    sec, nanosec = seconds_and_nanoseconds(seconds)
    return Time(sec=sec, nanosec=nanosec)


def _duration(seconds: float) -> Duration:
    sec, nanosec = seconds_and_nanoseconds(seconds)
    return Duration(sec=sec, nanosec=nanosec)
