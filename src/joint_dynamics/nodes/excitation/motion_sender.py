"""Motions of the excitation node on their way to a trajectory controller, stamped by the clock of its states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation import MotionSamples, Trajectory
from joint_dynamics.excitation.playback import distance_from
from joint_dynamics.nodes.interfaces.messages import duration, stamp
from joint_dynamics.nodes.interfaces.robot_states import RobotStates
from joint_dynamics.nodes.interfaces.sent_motion import SentMotion
from joint_dynamics.nodes.interfaces.start import MOVED
from joint_dynamics.nodes.interfaces.trajectory_output import EitherOutput, staying


class MotionSender:
    """Sends motions, and what brings a robot to rest.

    A robot without stamps has a clock of its own: then a motion starts on arrival (stamp 0).

    Parameters
    ----------
    output
        where motions go.
    joint_names
        (n,) of the robot.
    states
        what is heard of it.
    rate
        points per second [Hz].
    """

    def __init__(self, output: EitherOutput, joint_names: Sequence[str], states: RobotStates, rate: float):
        self._output, self._joint_names, self._states, self._rate = output, tuple(joint_names), states, rate

    def message(self, motion: Trajectory, refuse: Callable[[MotionSamples], None] | None = None) -> JointTrajectory:
        """Return the message of a motion, not stamped yet; for a thread, since a long motion has many points.

        refuse: as of `moving`.
        """
        return moving(self._joint_names, motion, self._rate, refuse)

    def send(self, message: JointTrajectory, begins: float, accepted: Callable[[], None] | None = None) -> None:
        """Send a message.

        Parameters
        ----------
        begins
            when its first point counts, s of the node's clock.
        accepted
            called when the controller has taken it.
        """
        if self._states.stamped:
            message.header.stamp = stamp(round(begins * 1e9))
        self._output.send(message, accepted)

    def brake(self, braking: Trajectory, now: float) -> None:
        """Send a motion that ends the one the controller has, and stay at its end.

        With its first point at the moment it was planned for, `now` s, which is past when it arrives: the controller
        goes on in the middle of it. To a first point that is still to come it would hurry from the measured state.
        """
        self.send(staying(self.message(braking)), now)

    def hold(self, posture: FloatArray, duration: float, now: float) -> None:
        """Send a posture (n,) [rad] to be at `duration` s after `now` [s], and to stay at."""
        self.send(staying(standing(self._joint_names, posture, duration)), now)


class RunningMotion(SentMotion):
    """A motion that the controller has; parameters and attributes are those of SentMotion, and the motion itself."""

    def __init__(self, motion: Trajectory, began: float, before: FloatArray | None = None):
        super().__init__(lambda time: motion.position(time)[0], motion.duration, began, before)
        self.motion = motion

    def distance(self, states: RobotStates) -> FloatArray:
        """Return how far each joint is from where it should be, (n,) [rad]."""
        return distance_from(self.motion, states.time - self.began, states.q)

    def cause(self, states: RobotStates, standstill: float, controller: str) -> str:
        """Say what a robot that does not follow points to.

        Parameters
        ----------
        standstill
            speed below which a joint rests [rad/s].
        controller
            name of the topic or action that takes the motion.
        """
        if np.abs(states.q - self.motion.position(0.0)[0]).max() < MOVED:
            return (
                f' and has not moved at all: is the controller that takes {controller} active, and connected to'
                ' the robot?'
            )
        if np.nanmax(np.abs(states.dq), initial=0.0) < standstill:
            return ' and stands still: the controller was deactivated, or the robot stopped by itself'
        return ''


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
                time_from_start=duration(time),
            )
        )
    return message


def standing(joint_names: Sequence[str], q: FloatArray, seconds: float) -> JointTrajectory:
    """Return the one point at which to stand, q (n,) [rad], `seconds` from its start."""
    point = JointTrajectoryPoint(positions=q.tolist(), velocities=[0.0] * len(q), time_from_start=duration(seconds))
    return JointTrajectory(joint_names=list(joint_names), points=[point])
