"""A motion that a controller has, beside what the robot does of it."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation import Trajectory
from joint_dynamics.excitation.playback import distance_from
from joint_dynamics.nodes.robot_states import RobotStates
from joint_dynamics.nodes.sent_motion import SentMotion
from joint_dynamics.nodes.start import MOVED


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
