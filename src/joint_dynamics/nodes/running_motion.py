"""A motion that a controller has, beside what the robot does of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation import Trajectory
from joint_dynamics.excitation.playback import distance_from
from joint_dynamics.nodes.robot_states import RobotStates
from joint_dynamics.nodes.start import MOVED

FAR = 10 * MOVED
"""Way [rad] of the motion within which the reference of a controller that plays it must have begun to move."""


@dataclass(frozen=True)
class RunningMotion:
    """A motion that the controller has, when it began, s of the node's clock, and its reference before (n,) [rad]."""

    motion: Trajectory
    began: float
    before: FloatArray | None = None

    def not_taken(self, told: tuple[float, FloatArray] | None) -> bool:
        """Whether the controller's reference stays where it was, while the motion has gone on.

        Parameters
        ----------
        told
            time [s] and positions (n,) [rad] of that reference, None where it is not known.
        """
        if told is None or self.before is None or np.abs(told[1] - self.before).max() > MOVED:
            return False
        way = self.motion.position(max(told[0] - self.began, 0.0))[0] - self.motion.position(0.0)[0]
        return bool(np.abs(way).max() > FAR)

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
