"""Trajectories of the feedforward node on their way from message to motion: in a thread, so that the executor goes on.

A message is taken as bytes and only its head is read at once; its points are read, the path through them is planned
and, in trajectory mode, the torque is filled in, in a thread, one trajectory after the other. The executor asks `poll`
for what is ready. A node that streams so gives a command with every joint state while a plan is under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control import ControlLoop, FilledTrajectory, Follower, Path, check_motion, fill_effort
from joint_dynamics.control.follower import BROUGHT_IN, DURATIONS, braking
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.worker import Background, CancelledError
from joint_dynamics.nodes.interfaces.messages import joint_trajectory, stamp
from joint_dynamics.nodes.interfaces.trajectory_bytes import TrajectoryBytes
from joint_dynamics.nodes.interfaces.trajectory_controller import BRAKE_LEAD, STANDING_DISTANCE, staying

MAX_WAITING = 10
"""Trajectories that wait while one is being planned; a further one is refused."""
AT_REST = 1e-9
"""Largest derivative of a motion that rests: where it waits for the next, a later start changes nothing."""


@dataclass(frozen=True)
class Output:
    """How trajectory mode fills a path.

    Attributes
    ----------
    names
        of the joints that are sent.
    order
        their places in the robot's.
    arguments
        of `fill_effort`.
    """

    names: tuple[str, ...]
    order: Any
    arguments: dict[str, Any]


@dataclass(frozen=True)
class PlannedPath:
    """A path that is ready.

    path; start: its beginning, s of the loop's clock; stamped: whether the sender has said when it begins; origin:
    motion (5, n) it was planned from; brakes: whether it is how another one ends; message, filled: what
    trajectory mode sends, else None.
    """

    path: Path
    start: float
    stamped: bool
    origin: FloatArray
    brakes: bool = False
    message: JointTrajectory | None = None
    filled: FilledTrajectory | None = None


class Planning:
    """Plans trajectories for a loop and its follower, in the order in which they come.

    Parameters
    ----------
    output
        None for a streaming node.
    """

    def __init__(self, loop: ControlLoop, follower: Follower, output: Output | None):
        self._loop, self._follower, self._output = loop, follower, output
        self._waiting: deque[TrajectoryBytes] = deque()
        self._work: Background[PlannedPath] | None = None
        self._left: Background[PlannedPath] | None = None

    @property
    def busy(self) -> bool:
        """Whether a plan is being made: the law belongs to the thread then."""
        return self._work is not None

    @property
    def line(self) -> str:
        """How far it is."""
        return '' if self._work is None else self._work.line

    def add(self, message: TrajectoryBytes, now: float) -> None:
        """Take a trajectory at `now` s of the loop's clock.

        Raises
        ------
        JointDynamicsError
            When it is not known where the robot is, or too many are waiting.
        """
        reason = self._loop.state.why_invalid(('position',), now, 'state')
        if reason:
            raise JointDynamicsError(
                f'trajectory: expected a position of every joint to plan from, found that {reason}'
            )
        if self.waiting >= MAX_WAITING:
            raise JointDynamicsError(
                f'trajectory: expected at most {MAX_WAITING} waiting to be planned, found one more'
            )
        self._waiting.append(message)

    def cancel(self) -> None:
        """Forget what is waiting and being planned."""
        self._waiting.clear()
        if self._work is not None:
            self._work.cancel()
            self._left, self._work = self._work, None

    @property
    def waiting(self) -> int:
        """How many trajectories are to be planned after the present one."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether no plan that was called off still uses the law."""
        return self._left is None or self._left.outcome is not None

    def check_idle(self) -> None:
        """Raise JointDynamicsError while a plan that was called off still uses the law."""
        if not self.idle:
            raise JointDynamicsError(
                'activate: expected no trajectory in planning, found one that was called off and is not done yet; '
                'try again'
            )

    def poll(self, now: float, clock: float) -> PlannedPath | None:
        """Return a plan that is ready, if any, and go on with what waits; never waits itself.

        Parameters
        ----------
        now
            s of the loop's clock.
        clock
            s of the clock of the stamps.

        Raises
        ------
        JointDynamicsError
            When a trajectory cannot be followed; anything else that went wrong in the thread is raised as it is.
        """
        plan = None
        if self._work is not None:
            outcome = self._work.outcome
            if outcome is None:
                return None
            self._work = None
            if isinstance(outcome, CancelledError):
                return None
            if isinstance(outcome, Exception):
                raise outcome
            plan = self._timed(outcome, now)
        elif self._waiting:
            self._begin(self._waiting.popleft(), now, clock)
        return plan

    def brought_in(self, plan: PlannedPath) -> str:
        """Return which joint was the furthest from the first point a plan was asked for, '' where none had moved."""
        apart = plan.path.brought_in
        joint = int(np.argmax(np.abs(apart)))
        if not abs(apart[joint]) > STANDING_DISTANCE:
            return ''
        return (
            f'{self._follower.joint_names[joint]} was {apart[joint]:.3g} rad from its first point: begins there, and'
            f' goes over to it within {BROUGHT_IN:g} s'
        )

    def brake(self, now: float, clock: float) -> PlannedPath | None:
        """Forget all trajectories and bring what is being followed to rest on its path.

        Returns the plan of a streaming node, None in trajectory mode, where `poll` will have it, and where nothing is
        being followed.
        """
        self.cancel()
        lead = 0.0 if self._output is None else BRAKE_LEAD
        followed = self._follower.followed(now)
        if followed is None:
            return None
        path, at = followed
        first = braking(path, at, lead=lead)
        if self._output is None:
            return PlannedPath(first, now, True, path.at(at))
        self.check_idle()
        fill = self._filler(Header(stamp=stamp(round(clock * 1e9))), now, self._offset(now))

        def work(say: Callable[[str], None]) -> PlannedPath:
            brake = first
            while True:
                try:
                    return fill(PlannedPath(brake, now, True, path.at(at), brakes=True), say)
                except JointDynamicsError:
                    # More torque than there is: more slowly, then.
                    if not brake.end - lead <= DURATIONS[-2]:
                        raise
                    brake = braking(path, at, 1.1 * (brake.end - lead), lead)

        self._work = Background(work, 'braking')
        return None

    def _begin(self, message: TrajectoryBytes, now: float, clock: float) -> None:
        self.check_idle()
        stamped = message.stamp != 0.0
        start = now + (message.stamp - clock) if stamped else now
        origin = self._follower.origin(start, self._loop.state['position'])
        header = Header(frame_id=message.frame_id)
        header.stamp.sec, header.stamp.nanosec = message.sec, message.nanosec
        fill = None if self._output is None else self._filler(header, now, self._offset(now))

        def work(say: Callable[[str], None]) -> PlannedPath:
            path = self._follower.through(message.points(), origin)
            check_motion(self._loop, path)
            # Worked out here, for a braking must not wait for it.
            float(path.largest_acceleration.max())
            plan = PlannedPath(path, start, stamped, origin)
            return plan if fill is None else fill(plan, say)

        self._work = Background(work, f'planning a trajectory of {message.count} points')

    def _offset(self, now: float) -> FloatArray | None:
        assert self._output is not None
        before = self._follower.motion(now) if self._output.arguments['side'] == 'motor' else None
        return None if before is None else self._loop.controller.motor_reference(before)[0] - before[0]

    def _filler(
        self, header: Header, now: float, offset: FloatArray | None
    ) -> Callable[[PlannedPath, Callable[[str], None]], PlannedPath]:
        output = self._output
        assert output is not None

        def fill(plan: PlannedPath, say: Callable[[str], None]) -> PlannedPath:
            def report(share: float) -> None:
                say(f'planning a trajectory of {plan.path.end:.1f} s: {share:.0%}')

            filled = fill_effort(self._loop, plan.path, now=now, offset=offset, tell=report, **output.arguments)
            rows = (array[:, output.order] for array in (filled.q, filled.dq, filled.ddq, filled.effort))
            q, dq, ddq, effort = rows
            message = joint_trajectory(output.names, filled.time, q, dq, ddq, effort, header)
            return replace(plan, message=staying(message) if plan.brakes else message, filled=filled)

        return fill

    def _timed(self, plan: PlannedPath, now: float) -> PlannedPath:
        """Return the plan with the time at which it begins, now that it is ready.

        One that is not stamped begins now, unless it goes on from a motion. Raises JointDynamicsError where the robot
        would have to jump.
        """
        if plan.brakes:
            return plan
        desired = self._follower.motion(now)
        here = self._loop.state['position'] if desired is None else desired[0]
        resting = not (np.abs(plan.origin[1:]) > AT_REST).any()
        # In trajectory mode the controller begins when it gets the message.
        if not plan.stamped and (resting or self._output is not None):
            plan = replace(plan, start=now)
        jump = np.abs(plan.path.at(max(now - plan.start, 0.0))[0] - here)
        if plan.start <= now and not (jump <= self._follower.start_tolerance).all():
            joint = int(np.argmax(np.nan_to_num(jump, nan=np.inf)))
            if self._output is not None:
                # The friction's hysteresis has gone along a motion that will not be.
                self._loop.controller.on_activate()
            raise JointDynamicsError(
                f'trajectory: expected it to be planned before it begins, found that it would make '
                f'{self._follower.joint_names[joint]} jump by {jump[joint]:.3g} rad now; stamp it further ahead'
            )
        return plan
