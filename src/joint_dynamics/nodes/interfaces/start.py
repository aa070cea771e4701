"""The steps from the request to start a motion until it can be sent.

The robot rests, the way to the start is planned, it still rests there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.task import Future
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import MotionSamples, Playback, Trajectory
from joint_dynamics.nodes.framework.worker import Background
from joint_dynamics.nodes.interfaces.robot_states import REST, RobotStates

MOVED = 2e-3
"""Way [rad] of a joint below which the robot stands where it stood."""
Prepared = tuple[Trajectory, JointTrajectory]


class Start:
    """One start; nothing in it waits, so that the executor goes on. `answer` is that of the service.

    Parameters
    ----------
    make
        makes the playback (called in a thread: its limits are proved); `playback` when it was.
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
        if not moved.max() <= MOVED:
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
