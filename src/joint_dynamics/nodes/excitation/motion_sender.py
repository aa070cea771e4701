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

"""Motions of the excitation node on their way to a trajectory controller, stamped by the clock of its states.

Before one is sent, the robot rests, the way to the start is planned, and it still rests there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rclpy.task import Future
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import MotionSamples, Playback, Trajectory
from joint_dynamics.excitation.playback import ANSWER_DELAY, delay_of
from joint_dynamics.nodes.framework.worker import Background
from joint_dynamics.nodes.interfaces.messages import joint_trajectory, stamp
from joint_dynamics.nodes.interfaces.robot_states import REST, RobotStates
from joint_dynamics.nodes.interfaces.trajectory_controller import (
    STANDING_DISTANCE,
    SentMotion,
    TrajectoryOutput,
    staying,
)

MAX_POINTS = 20000


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
        joint states of it.
    rate
        points per second [Hz].
    """

    def __init__(self, output: TrajectoryOutput, joint_names: Sequence[str], states: RobotStates, rate: float):
        self._output, self._joint_names, self._states, self._rate = output, tuple(joint_names), states, rate

    def message(self, motion: Trajectory, refuse: Callable[[MotionSamples], None] | None = None) -> JointTrajectory:
        """Return the message of a motion, not stamped yet; for a thread, since a long motion has many points.

        Of `Trajectory.points` at `rate` Hz, MAX_POINTS at most and what its knots add.

        refuse: looks at the points and raises JointDynamicsError for those that must not be sent; None: a motion that
        ends one which was looked at.
        """
        samples = motion.points(min(self._rate, MAX_POINTS / motion.duration))
        if refuse is not None:
            refuse(samples)
        ddq = None if motion.jumps else samples.ddq
        return joint_trajectory(self._joint_names, samples.time, samples.q, samples.dq, ddq)

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
        goes on in the middle of it, where the braking still is the motion itself. To a first point that is still to
        come it would hurry from the measured state.
        """
        self.send(staying(self.message(braking)), now)

    def hold(self, posture: FloatArray, duration: float, now: float) -> None:
        """Send a posture (n,) [rad] to be at `duration` s after `now` [s], and to stay at."""
        still = np.zeros((1, len(posture)))
        self.send(staying(joint_trajectory(self._joint_names, [duration], posture[None], still)), now)


class RunningMotion(SentMotion):
    """A motion that the controller has; parameters and attributes are those of SentMotion, and the motion itself."""

    def __init__(self, motion: Trajectory, began: float, before: FloatArray | None = None):
        super().__init__(lambda time: motion.position(time)[0], motion.duration, began, before)
        self.motion = motion

    def distance(self, states: RobotStates) -> FloatArray:
        """Return how far each joint is from where it should be, (n,) [rad]."""
        return delay_of(self.motion, states.time - self.began, states.q, ANSWER_DELAY)[1]

    def cause(self, states: RobotStates, standstill: float, controller: str) -> str:
        """Say what a robot that does not follow points to.

        Parameters
        ----------
        standstill
            speed below which a joint rests [rad/s].
        controller
            name of the topic or action that takes the motion.
        """
        if np.abs(states.q - self.motion.position(0.0)[0]).max() < STANDING_DISTANCE:
            return (
                f' and has not moved at all: is the controller that takes {controller} active, and connected to'
                ' the robot?'
            )
        if np.nanmax(np.abs(states.dq), initial=0.0) < standstill:
            return ' and stands still: the controller was deactivated, or the robot stopped by itself'
        return ''


Prepared = tuple[Trajectory, JointTrajectory]


class Start:
    """One start; nothing in it waits, so that the executor goes on. `answer` is that of the service.

    Parameters
    ----------
    make
        makes the playback (called in a thread: its margins are computed); `playback` when it was.
    message_of
        makes the trajectory message of a motion (called in a thread).
    """

    def __init__(
        self,
        states: RobotStates,
        make: Callable[[], Playback],
        message_of: Callable[[Trajectory, Callable[[MotionSamples], None]], JointTrajectory],
    ):
        self.answer: Future = Future()
        self.playback: Playback | None = None
        self._make = make
        self._states, self._message_of = states, message_of
        self._asked = states.listening.time
        self._posture: FloatArray | None = None
        self._work: Background[Prepared] | None = None

    def step(self, timeout: float, standstill: float) -> Prepared | None:
        """Go one step further; return the motion and its message once they can be sent, None until then.

        Parameters
        ----------
        timeout
            greatest age of joint states [s].
        standstill
            speed below which a joint rests [rad/s].

        Raises
        ------
        JointDynamicsError
            With the reason why nothing is started.
        """
        if self._work is not None and self._work.outcome is None:
            return None
        waited = self._states.listening.time - self._asked
        # A node that has just come up hears a robot only once its topics have found each other.
        if self._states.missing() and waited <= timeout:
            return None
        posture = self._states.resting(timeout, standstill)
        if posture is None:
            if not waited <= REST + timeout:
                raise JointDynamicsError(f'start: expected joint states over {REST:g} s, found fewer')
            return None
        if self._work is None or self._posture is None:
            self._posture = posture
            self._work = Background(lambda say: self._prepare(posture))
            return None
        if isinstance(self._work.outcome, Exception):
            raise self._work.outcome
        moved = np.abs(posture - self._posture)
        if not moved.max() <= STANDING_DISTANCE:
            raise JointDynamicsError(
                f'start: expected the robot at rest, found {self._states.joint_names[int(moved.argmax())]} moved by '
                f'{moved.max():.3g} rad meanwhile'
            )
        return self._work.outcome

    def _prepare(self, posture: FloatArray) -> Prepared:
        self.playback = self._make()
        motion = self.playback.from_posture(posture)
        return motion, self._message_of(motion, self.playback.refuse_samples)

    def reply(self, success: bool, message: str) -> None:
        """Answer the service."""
        self.answer.set_result(Trigger.Response(success=success, message=message))
