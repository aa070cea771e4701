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

"""Controllers between commands and drives, with the semantics of ros2_control; one is active at a time.

`joint_trajectory_controller`: trajectories through the joint PID, `effort` as feedforward. `forward_effort_controller`:
torques in the controller's own joint order, the last one held indefinitely; a message that is not finite is dropped,
one of a wrong length deactivates the controller. `joint_commands`: a robot behind joint_state_topic_hardware_interface,
commanded by JointState. When no controller is active, or the active one has no command yet, the joint PID holds the
robot where it is.

`record` and `play` turn a trajectory into a recording in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RigidBody
from joint_dynamics.simulation.robot import FlexibleJointRobot
from joint_dynamics.simulation.trajectory import Command, Reference, Samples, TrajectoryPoints

TRAJECTORY = 'joint_trajectory_controller'
EFFORT = 'forward_effort_controller'
COMMANDS = 'joint_commands'
NONE = 'none'
CONTROLLERS = (TRAJECTORY, EFFORT, COMMANDS, NONE)
AT_REST = 1e-3  # rad/s, largest speed at the end of a trajectory, as by default in ros2_control


class Controllers:
    """The controllers of one robot.

    Parameters
    ----------
    robot
        the robot that they control.
    effort_joints
        joint order of the effort controller; None: the robot's.
    active
        the controller that is active initially.
    add_gravity
        whether the robot adds the gravity torque of its own description (payload unknown) to commanded torques, as a UR
        does.
    """

    def __init__(
        self,
        robot: FlexibleJointRobot,
        *,
        effort_joints: Sequence[str] | None = None,
        active: str = TRAJECTORY,
        add_gravity: bool = False,
    ):
        self._robot = robot
        self.add_gravity = add_gravity
        self._rigid: RigidBody | None = None
        self.effort_joints = tuple(effort_joints or robot.joint_names)
        self._order = self._columns(EFFORT, self.effort_joints)
        self.active = NONE
        self.switch(active)

    def switch(self, name: str) -> None:
        """Activate controller `name` of CONTROLLERS; the robot first stays where it is, held by its present torque."""
        if name not in CONTROLLERS:
            raise JointDynamicsError(f'controller: expected {", ".join(CONTROLLERS)}, found {name!r}')
        self.active = name
        self._robot.hold()
        position, zero = self._robot.truth.position[None], np.zeros((1, self._robot.n))
        self._held = Reference(position, zero, zero, zero)
        self._trajectory: TrajectoryPoints | None = None
        self._start = 0.0
        self._torque: FloatArray | None = None

    @property
    def end(self) -> float:
        """Simulated time at which the last trajectory ends [s]; 0 where there was none."""
        return 0.0 if self._trajectory is None else self._start + self._trajectory.duration

    @property
    def busy(self) -> bool:
        """Whether a trajectory is still running."""
        return self._robot.time < self.end

    def _expect(self, name: str) -> None:
        if self.active != name:
            raise JointDynamicsError(
                f'{name}: expected the active controller, found that {self.active} is: the command is ignored'
            )

    def _columns(self, controller: str, joint_names: Sequence[str]) -> list[int]:
        """Return where each joint of the robot stands among the names; raise where they are not those of all joints."""
        expected = self._robot.joint_names
        if sorted(joint_names) != sorted(expected):
            raise JointDynamicsError(
                f'{controller}: expected the joints {", ".join(expected)} in any order, found '
                f'{", ".join(joint_names) or "none"}'
            )
        return [list(joint_names).index(name) for name in expected]

    def follow(self, joint_names: Sequence[str], trajectory: TrajectoryPoints, start: float | None = None) -> None:
        """Take a trajectory of `joint_names` in any order, from simulated time `start` [s] (default: now) on.

        It replaces the present trajectory. Its first segment starts at the present reference.

        Raises
        ------
        JointDynamicsError
            Where the real controller rejects it: not active, other joints, an end in the past, an end in motion.
        """
        self._expect(TRAJECTORY)
        robot, now = self._robot, self._robot.time
        columns = self._columns(TRAJECTORY, joint_names)
        if trajectory.n != robot.n:
            raise JointDynamicsError(f'{TRAJECTORY}: expected {robot.n} positions per point, found {trajectory.n}')
        if trajectory.dq is not None and not np.abs(trajectory.dq[-1]).max() <= AT_REST:
            raise JointDynamicsError(
                f'{TRAJECTORY}: expected a last point at rest, found {np.abs(trajectory.dq[-1]).max():.3g} rad/s'
            )
        begin = now if start is None else start
        if begin + trajectory.duration < now:
            raise JointDynamicsError(
                f'{TRAJECTORY}: expected an end in the future, found one {now - begin - trajectory.duration:.3f} s ago'
            )
        moment = np.array([now])
        before = self._reference(moment)
        ordered = trajectory.select(columns)
        # The part of the wait before a start in the future belongs to the first segment.
        shifted = ordered.delayed(max(begin - now, 0.0))
        self._trajectory, self._start = shifted.from_here(before.q[0], before.dq[0]), min(begin, now)
        # A feedforward that sets in takes over from the integral, or gravity would be held twice for a while.
        robot.shift_integral(before.effort[0] - self._reference(moment).effort[0])

    def command_effort(self, values: ArrayLike) -> None:
        """Take torques [N·m] in the order of `effort_joints`, held until the next.

        Raises JointDynamicsError when the controller is not active, for values that are not finite (which are dropped),
        and for a wrong length (which deactivates the controller).
        """
        self._expect(EFFORT)
        torque = np.asarray(values, dtype=float)
        if torque.shape != (self._robot.n,):
            self.switch(NONE)
            raise JointDynamicsError(f'{EFFORT}: expected {self._robot.n} values, found {torque.size}: deactivated')
        if not np.isfinite(torque).all():
            raise JointDynamicsError(f'{EFFORT}: expected finite values, found {torque.tolist()}: dropped')
        self._torque = torque[self._order]

    def command_joints(
        self, joint_names: Sequence[str], position: Sequence[float], velocity: Sequence[float], effort: Sequence[float]
    ) -> None:
        """Take a JointState as command, held until the next.

        Positions go through the joint PID with speed and effort added; efforts may also come alone. Arrays may be
        empty, and NaN is not commanded; every joint of the robot must be named, in any order.

        Raises JointDynamicsError when the controller is not active, for joints or lengths that do not fit, and without
        positions and efforts.
        """
        self._expect(COMMANDS)
        robot, columns, given = self._robot, self._columns(COMMANDS, joint_names), {}
        for name, values in (('position', position), ('velocity', velocity), ('effort', effort)):
            array = np.asarray(values, dtype=float)
            if array.size not in (0, robot.n):
                raise JointDynamicsError(f'{COMMANDS}: expected {robot.n} values of {name} or none, found {array.size}')
            finite = np.isfinite(array)
            if array.size and finite.all():
                given[name] = array[columns]
            elif finite.any():
                raise JointDynamicsError(
                    f'{COMMANDS}: expected {name} for all joints or for none, found {array.tolist()}'
                )
        if 'position' in given:
            zero = np.zeros(robot.n)
            speed, feedforward = given.get('velocity', zero), given.get('effort', zero)
            self._torque = None
            self._held = Reference(given['position'][None], speed[None], zero[None], feedforward[None])
        elif 'effort' in given:
            self._torque = given['effort']
        else:
            raise JointDynamicsError(f'{COMMANDS}: expected positions or efforts, found neither')

    def _reference(self, times: FloatArray) -> Reference:
        """Return the reference at simulated `times` (k,) [s]."""
        if self._trajectory is not None:
            return self._trajectory.sample(times - self._start)
        return Reference(*(np.repeat(row, times.size, axis=0) for row in self._held))

    def commands(self, ticks: int) -> Command:
        """Return the commands of the next `ticks` ticks in the present state."""
        robot = self._robot
        if (torque := self._torque) is not None:
            if self.add_gravity:
                self._rigid = self._rigid or robot.model.rigid_body()
                torque = torque + self._rigid.gravity(robot.truth.position)
            return Command.torque(np.repeat(torque[None], ticks, axis=0))
        reference = self._reference(robot.time + robot.period * np.arange(ticks, dtype=float))
        return Command.track(reference.q, reference.dq, reference.effort)


#: Ticks per call into the compiled loop: bounds the memory of a long run.
BLOCK = 20000


def play(robot: FlexibleJointRobot, trajectory: TrajectoryPoints, *, hold: float = 0.0) -> Samples:
    """Let `robot` follow `trajectory` from its first point, then `hold` it [s]; return all `Samples`.

    A robot more than 1 mrad away is first placed at the first point, at rest (`FlexibleJointRobot.place`).
    """
    if trajectory.n != robot.n:
        raise JointDynamicsError(f'simulation: expected a trajectory of {robot.n} joints, found {trajectory.n}')
    first = trajectory.sample(0.0).q[0]
    if np.abs(robot.truth.position - first).max() > 1e-3:
        robot.place(first)
    ticks = int(round((trajectory.duration + hold) * robot.rate)) + 1
    blocks = []
    for start in range(0, ticks, BLOCK):
        reference = trajectory.sample(np.arange(start, min(start + BLOCK, ticks)) * robot.period)
        blocks.append(robot.run(Command.track(reference.q, reference.dq, reference.effort)))
    return Samples.joined(blocks)


def record(
    robot: FlexibleJointRobot, trajectory: TrajectoryPoints, *, hold: float = 0.0, name: str = 'simulation', **what: Any
) -> Recording:
    """Let `robot` follow `trajectory` (see `play`) and return the measurements; `what`: options of `recording_of`."""
    return recording_of(play(robot, trajectory, hold=hold), name=name, **what)


def recording_of(samples: Samples, *, name: str = 'simulation', torque: bool = False, every: int = 1) -> Recording:
    """Return measured `samples` as a Recording: q, dq, theta, dtheta, temperature and the motor current [A].

    Parameters
    ----------
    torque
        return `tau` [N·m], current times the drive's nominal gain, instead of the current.
    every
        keep one of so many samples.
    """
    if every < 1:
        raise JointDynamicsError(f'simulation: expected every >= 1 sample, found {every}')
    samples = samples.every(every)
    arrays: dict[str, Any] = {key: getattr(samples, key) for key in ('q', 'dq', 'theta', 'dtheta', 'temperature')}
    arrays |= {'tau': samples.effort} if torque else {'current': samples.current}
    return Recording(samples.joint_names, samples.time - samples.time[0], name=name, **arrays)
