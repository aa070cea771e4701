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

`RobotState` is the state that they are planned from.
The thread reads the points of a message, plans the path through them and fills in the effort, one trajectory after the
other. The executor asks `poll` for a plan.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray, IntArray
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
from joint_dynamics.nodes.framework.worker import Background, CancelledError
from joint_dynamics.nodes.interfaces.messages import joint_trajectory, seconds, stamp, trajectory_arrays
from joint_dynamics.nodes.interfaces.trajectory_controller import BRAKE_LEAD, STANDING_DISTANCE, staying

NAMES = {'position': 'joint state', 'temperature': 'temperature', 'friction_scale': 'friction scale of the estimator'}


class RobotState:
    """The latest values of each quantity, of all joints in the robot's order; times are s of the node's clock.

    Parameters
    ----------
    joint_names
        joints in the robot's order.
    timeout, slow_timeout
        s, largest age of positions, and of temperatures and α.
    """

    def __init__(self, joint_names: Sequence[str], timeout: float, slow_timeout: float):
        self._joint_names = tuple(joint_names)
        self._index = {name: k for k, name in enumerate(joint_names)}
        self._timeouts = {'position': timeout, 'temperature': slow_timeout, 'friction_scale': slow_timeout}
        self.forget()

    def forget(self) -> None:
        """Forget all values."""
        n = len(self._joint_names)
        self._values = {name: np.full((n, 2 if name == 'friction_scale' else 1), np.nan) for name in self._timeouts}
        self._times = {name: np.full(n, -math.inf) for name in self._timeouts}

    def take_sample(self, quantity: str, stamp: int, names: Sequence[str], values: Any) -> None:
        """Take a sample of an input, stamp [ns]; see `InputSet`."""
        name = {'q': 'position', 'temperature': 'temperature'}.get(quantity)
        if name is None:
            return
        for joint, value in zip(names, values, strict=True):
            k = self._index.get(joint)
            if k is not None:
                self._values[name][k], self._times[name][k] = value, stamp * 1e-9

    def take_friction(self, message: Float64MultiArray, now: float) -> None:
        """Take α₁ and α₂ of all joints; raises JointDynamicsError for another size."""
        n = len(self._joint_names)
        values = np.array(message.data, dtype=float)
        sizes = [dimension.size for dimension in message.layout.dim]
        if values.size != 2 * n or (sizes and sizes != [n, 2]):
            raise JointDynamicsError(
                f'friction_parameters: expected {n} rows of 2 values, found {sizes or values.size}'
            )
        self._values['friction_scale'][:] = values.reshape(n, 2)
        self._times['friction_scale'][:] = now

    @property
    def position(self) -> FloatArray:
        """The latest positions (n,) rad, whatever their age; NaN: none yet."""
        return self._values['position'][:, 0].copy()

    def fresh(self, name: str, now: float) -> FloatArray:
        """Return the values of a quantity (n, k), NaN where they are too old."""
        values = self._values[name].copy()
        values[~self._is_fresh(name, now)] = np.nan
        return values

    def fault(self, name: str, now: float) -> str:
        """Return why the values of a quantity cannot be used at `now` s, '' if they can."""
        values, times, timeout = self._values[name], self._times[name], self._timeouts[name]
        bad = ~(self._is_fresh(name, now) & np.isfinite(values).all(axis=1))
        if not bad.any():
            return ''
        j = int(np.argmax(bad))
        age = now - times[j]
        what = f'{NAMES[name]} of {self._joint_names[j]}'
        if math.isinf(age):
            return f'{what} has not arrived yet'
        if abs(age) <= timeout:
            return f'{what} is not a finite number'
        old = f'{age:.3f} s old' if age > 0.0 else f'stamped {-age:.3f} s ahead of the clock here'
        return f'{what} is {old}, allowed are {timeout:g} s'

    def _is_fresh(self, name: str, now: float) -> Any:
        # A value stamped as far in the future counts as old too, for its age is unknown.
        return np.abs(now - self._times[name]) <= self._timeouts[name]


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
