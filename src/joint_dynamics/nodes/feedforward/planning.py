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

"""Trajectories of the feedforward node on their way from message to motion: in a thread, so that the executor goes on.

The thread reads the points of a message, plans the path through them and fills in the effort, one trajectory after the
other. The executor asks `poll` for a plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import IntArray
from joint_dynamics.control import (
    FilledTrajectory,
    FillSettings,
    Follower,
    Law,
    Path,
    Points,
    check_motion,
    fill_effort,
)
from joint_dynamics.control.follower import BROUGHT_IN, DURATIONS, braking
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.feedforward.robot_state import RobotState
from joint_dynamics.nodes.framework.worker import Background, CancelledError
from joint_dynamics.nodes.interfaces.messages import joint_trajectory, seconds, stamp, trajectory_arrays
from joint_dynamics.nodes.interfaces.trajectory_controller import BRAKE_LEAD, STANDING_DISTANCE, staying

MAX_WAITING = 10
"""Trajectories that wait while one is being planned; a further one is refused."""


@dataclass(frozen=True)
class Output:
    """The trajectories that are sent: names of their joints, places of these in the robot's order, settings."""

    names: tuple[str, ...]
    order: IntArray
    settings: FillSettings


@dataclass(frozen=True)
class PlannedPath:
    """A path, and once it is filled the trajectory to send.

    Attributes
    ----------
    path
        the desired motion.
    start
        its beginning, s of the node's clock.
    stamped
        whether the sender has stated when it begins.
    brakes
        whether it ends another one.
    message, filled
        the trajectory to send; None before it is filled.
    """

    path: Path
    start: float
    stamped: bool
    brakes: bool = False
    message: JointTrajectory | None = None
    filled: FilledTrajectory | None = None


class Planning:
    """Plans trajectories for a law and its follower, in the order of their arrival; times are s of the node's clock."""

    def __init__(self, law: Law, follower: Follower, state: RobotState, output: Output):
        self._law, self._follower, self._state, self._output = law, follower, state, output
        self._waiting: deque[JointTrajectory] = deque()
        self._work: Background[PlannedPath] | None = None
        self._left: Background[PlannedPath] | None = None

    @property
    def line(self) -> str:
        """Progress of the plan under way, '' without one."""
        return '' if self._work is None else self._work.line

    def add(self, message: JointTrajectory, now: float) -> None:
        """Take a trajectory at `now` s.

        Raises
        ------
        JointDynamicsError
            When it is not known where the robot is, or too many are waiting.
        """
        reason = self._state.fault('position', now)
        if reason:
            raise JointDynamicsError(f'trajectory: expected a position of every joint, found that {reason}')
        if len(self._waiting) >= MAX_WAITING:
            raise JointDynamicsError(
                f'trajectory: expected at most {MAX_WAITING} waiting to be planned, found one more'
            )
        self._waiting.append(message)

    def cancel(self) -> None:
        """Forget the waiting trajectories and the plan under way."""
        self._waiting.clear()
        if self._work is not None:
            self._work.cancel()
            self._left, self._work = self._work, None

    @property
    def idle(self) -> bool:
        """Whether no cancelled plan still uses the law."""
        return self._left is None or self._left.outcome is not None

    def check_idle(self) -> None:
        """Raise JointDynamicsError while a cancelled plan still uses the law."""
        if not self.idle:
            raise JointDynamicsError(
                'activate: expected no trajectory in planning, found a cancelled one that is not finished; try again'
            )

    def poll(self, now: float) -> PlannedPath | None:
        """Return a finished plan, if any, and continue with the waiting ones; never waits itself.

        Raises
        ------
        JointDynamicsError
            When a trajectory cannot be followed; any other failure of the thread is raised as it is.
        """
        if self._work is None:
            if self._waiting:
                self._begin(self._waiting.popleft(), now)
            return None
        outcome = self._work.outcome
        if outcome is None:
            return None
        self._work = None
        if isinstance(outcome, CancelledError):
            return None
        if isinstance(outcome, Exception):
            raise outcome
        return self._timed(outcome, now)

    def brought_in(self, plan: PlannedPath) -> str:
        """Return which joint was the furthest from the first point a plan was asked for, '' where none had moved."""
        apart = plan.path.brought_in
        joint = int(np.argmax(np.abs(apart)))
        if not abs(apart[joint]) > STANDING_DISTANCE:
            return ''
        return (
            f'{self._follower.joint_names[joint]} was {apart[joint]:.3g} rad from its first point: the motion '
            f'starts there and joins the trajectory within {BROUGHT_IN:g} s'
        )

    def brake(self, now: float) -> None:
        """Forget all trajectories, and plan how the motion under way comes to rest on its path; `poll` has the plan."""
        self.cancel()
        followed = self._follower.followed(now)
        if followed is None:
            return
        path, at = followed
        first = braking(path, at, lead=BRAKE_LEAD)
        self.check_idle()
        fill = self._filler(Header(stamp=stamp(round(now * 1e9))), now)

        def work(say: Callable[[str], None]) -> PlannedPath:
            brake = first
            while True:
                try:
                    return fill(PlannedPath(brake, now, True, brakes=True), say)
                except JointDynamicsError:
                    # More torque than there is: more slowly, then.
                    if not brake.end - BRAKE_LEAD <= DURATIONS[-2]:
                        raise
                    brake = braking(path, at, 1.1 * (brake.end - BRAKE_LEAD), BRAKE_LEAD)

        self._work = Background(work, 'braking')

    def _begin(self, message: JointTrajectory, now: float) -> None:
        self.check_idle()
        begin = seconds(message.header.stamp)
        stamped = begin != 0.0
        start = begin if stamped else now
        origin = self._follower.origin(start, self._state.position)
        fill = self._filler(message.header, now)

        def work(say: Callable[[str], None]) -> PlannedPath:
            times, fields = trajectory_arrays(message)
            dq, ddq = fields.get('velocities'), fields.get('accelerations')
            points = Points(message.joint_names, times, fields['positions'], dq, ddq)
            path = self._follower.through(points, origin)
            check_motion(self._law, path)
            # Computed here: a braking must not wait for it.
            float(path.largest_acceleration.max())
            return fill(PlannedPath(path, start, stamped), say)

        self._work = Background(work, f'planning a trajectory of {len(message.points)} points')

    def _filler(self, header: Header, now: float) -> Callable[[PlannedPath, Callable[[str], None]], PlannedPath]:
        """Return a function that fills a plan, with the present temperatures, α and offset of the motors."""
        law, output = self._law, self._output
        law.adapt(self._state.fresh('temperature', now)[:, 0], self._state.fresh('friction_scale', now))
        before = self._follower.motion(now) if output.settings.trajectory_side == 'motor' else None
        offset = None if before is None else law.motor_motion(before[None])[0, 0] - before[0]

        def fill(plan: PlannedPath, say: Callable[[str], None]) -> PlannedPath:
            def report(share: float) -> None:
                say(f'planning a trajectory of {plan.path.end:.1f} s: {share:.0%}')

            filled = fill_effort(law, plan.path, output.settings, offset=offset, tell=report)
            q, dq, ddq, effort = (array[:, output.order] for array in (filled.q, filled.dq, filled.ddq, filled.effort))
            message = joint_trajectory(output.names, filled.time, q, dq, ddq, effort, header)
            return replace(plan, message=staying(message) if plan.brakes else message, filled=filled)

        return fill

    def _timed(self, plan: PlannedPath, now: float) -> PlannedPath:
        """Return the plan with the time at which it begins: without a stamp, when the controller gets it.

        Raises
        ------
        JointDynamicsError
            Where the robot would have to jump.
        """
        if plan.brakes:
            return plan
        desired = self._follower.motion(now)
        here = self._state.position if desired is None else desired[0]
        if not plan.stamped:
            plan = replace(plan, start=now)
        jump = np.abs(plan.path.at(max(now - plan.start, 0.0))[0] - here)
        if plan.start <= now and not (jump <= self._follower.start_tolerance).all():
            joint = int(np.argmax(np.nan_to_num(jump, nan=np.inf)))
            # The friction's hysteresis has moved along a motion that will not be executed.
            self._law.reset()
            raise JointDynamicsError(
                f'trajectory: expected it to be planned before it begins, found that it would make '
                f'{self._follower.joint_names[joint]} jump by {jump[joint]:.3g} rad now; stamp it further ahead'
            )
        return plan
