"""Motions of the excitation node on their way to a trajectory controller, stamped by the clock of its states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation import MotionSamples, Trajectory
from joint_dynamics.nodes import excitation_messages as messages
from joint_dynamics.nodes.robot_states import RobotStates
from joint_dynamics.nodes.trajectory_output import EitherOutput, staying


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

        refuse: as of `excitation_messages.moving`.
        """
        return messages.moving(self._joint_names, motion, self._rate, refuse)

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
            message.header.stamp = messages.stamp(begins)
        self._output.send(message, accepted)

    def brake(self, braking: Trajectory, now: float) -> None:
        """Send a motion that ends the one the controller has, and stay at its end.

        With its first point at the moment it was planned for, `now` s, which is past when it arrives: the controller
        goes on in the middle of it. To a first point that is still to come it would hurry from the measured state.
        """
        self.send(staying(self.message(braking)), now)

    def hold(self, posture: FloatArray, duration: float, now: float) -> None:
        """Send a posture (n,) [rad] to be at `duration` s after `now` [s], and to stay at."""
        self.send(staying(messages.standing(self._joint_names, posture, duration)), now)
