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

"""The `feedforward` node: fills the effort of a law into trajectories, between a planner and a robot's controller.

See docs/reference/nodes/feedforward.md.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Literal

import numpy as np
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arm import Arm
from joint_dynamics.control import Follower, Law
from joint_dynamics.control.applied import refuse_run_away
from joint_dynamics.control.path import DERIVATIVES
from joint_dynamics.control.trajectory import checked_effort
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.feedforward.parameters import GONE, PARAMETERS, TOPICS, fill_settings, foreign_rows, law_of
from joint_dynamics.nodes.feedforward.planning import Output, PlannedPath, Planning, RobotState
from joint_dynamics.nodes.feedforward.senders import Refusals, TrajectorySender
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, WARN
from joint_dynamics.nodes.framework.heartbeat import Heartbeat, HeartbeatWatch
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.run import run
from joint_dynamics.nodes.framework.tables import STATE
from joint_dynamics.nodes.interfaces.input_parameters import check_described_effort, recording_settings
from joint_dynamics.nodes.interfaces.inputs import InputSet

WATCH_PERIOD = 0.02
"""Time between two looks at planning and controller [s]."""


class FeedforwardNode(DynamicsNode):
    """Fill the effort into trajectories; nothing goes out unless the node is active.

    Attributes
    ----------
    law, robot_state, follower, planning, sender
        the law; the latest measurements; the motion under way; trajectories in planning; sender of trajectories. All
        are of the last configuration.
    refusals
        reasons of refusals since activation that no good message has followed, by the name of the callback.

    """

    NAME = 'feedforward'
    PARAMETERS = PARAMETERS
    TOPICS = TOPICS
    GONE = GONE
    DESCRIPTION: ClassVar[Literal['none', 'optional', 'required']] = 'required'

    law: Law

    def __init__(self, node_name: str | None = None, **options: Any):
        super().__init__(node_name, **options)
        self._declared: set[str] = set()
        self.refusals = Refusals(self)
        self._brought_in = ''
        if not self.parameters['use_description']:
            self.DESCRIPTION = 'none'  # type: ignore[misc]
        self._declare_law()

    # Configuring.

    def _declare_law(self) -> None:
        law = self.parameters['law']
        try:
            rows = foreign_rows(law)
        except JointDynamicsError:
            return  # said when it is configured
        if law not in self._declared:
            self._declared.add(law)
            self.parameters.declare(rows)

    def configure(self) -> None:
        """Build the law; raises JointDynamicsError when one part does not fit the other."""
        values = self.parameters
        self._declare_law()
        values.declare_joints(self.robot.joint_names)
        description = self.description
        arm = Arm(self.robot) if description is None else Arm.from_description(self.robot, description)
        self.get_logger().info('building the law; the first start on a machine compiles it')
        self.law = law_of(values, arm)
        # Compiled or loaded here: the interpreter would be busy with it in the middle of the first motion.
        checked_effort(self.law, np.zeros((1, DERIVATIVES, arm.n)))
        self.law.reset()
        for remark in self.law.remarks:
            self.get_logger().warning(remark)
        self.diagnostics.report_doubtful(() if description is None else description.doubtful_joints(arm.joint_names))
        settings = fill_settings(values, arm)
        settings.bounds(self.law)
        self.follower = Follower(
            arm.joint_names, smooth=values['interpolation'] == 'smooth', start_tolerance=values['start_tolerance']
        )
        names = tuple(values['command_joints'] or arm.joint_names)
        # The command may leave joints out, but not have others.
        unknown = [name for name in names if name not in arm.joint_names]
        if unknown or len(set(names)) != len(names):
            raise JointDynamicsError(
                f'command_joints: expected joints of {", ".join(arm.joint_names)}, each once, found {", ".join(names)}'
            )
        order = np.array([arm.joint_names.index(name) for name in names])
        if self.description is not None:
            check_described_effort(self.description, recording_settings(values, arm.joint_names))
        self.robot_state = RobotState(arm.joint_names, values['timeout'], values['slow_timeout'])
        self.planning = Planning(self.law, self.follower, self.robot_state, Output(names, order, settings))
        self.sender = TrajectorySender(self, values['trajectory_output'], names, order, self._not_followed)
        self._connect()

    def _connect(self) -> None:
        self.every(WATCH_PERIOD, self._check_followed, steady=True)
        self.subscribe(JointTrajectory, '~/reference', self.refusals.guarded(self._take_trajectory), STATE, stream=True)
        if 'friction_scale' in self.law.inputs:
            take = self.refusals.guarded(self._take_friction)
            self.subscribe(Float64MultiArray, 'friction_parameters', take, STATE)
        settings = recording_settings(self.parameters, self.law.arm.joint_names)
        InputSet(self, settings, self.robot_state.take_sample)
        self._heart = Heartbeat(self, lambda: self.is_active)
        HeartbeatWatch(self, 'excitation', self._brake)
        self.every(0.1, self._report, steady=True)

    def activate(self) -> None:
        """Begin; refuses a friction compensation that would make a joint run away."""
        if self.parameters['check_compensation'] and self.description is not None:
            refuse_run_away(self.law)
        self.planning.check_idle()
        self.robot_state.forget()
        self.follower.clear()
        self.refusals.clear()
        self.law.reset()
        self._brought_in = ''
        self._report_law()

    def deactivate(self) -> None:
        """Forget all trajectories; the controller executes the last one to its end."""
        self._heart.rest()
        self.planning.cancel()
        self.sender.forget()

    def on_time_jump(self, delta: float) -> None:
        """Forget all earlier measurements and motions."""
        if hasattr(self, 'robot_state'):
            self._forget_motion()
            self.robot_state.forget()

    def _forget_motion(self) -> None:
        self.planning.cancel()
        self.follower.clear()
        self.sender.forget()

    # Input.

    def _take_trajectory(self, message: JointTrajectory) -> None:
        self.planning.add(message, self.clock_time())

    def _take_friction(self, message: Float64MultiArray) -> None:
        self.robot_state.take_friction(message, self.clock_time())

    # Output.

    def _go_on(self) -> None:
        """Take over a planned trajectory, and begin with the next one."""
        now = self.clock_time()
        try:
            plan = self.planning.poll(now)
        except JointDynamicsError as error:
            self.refusals.note('_take_trajectory', error)
            return
        if plan is not None:
            self._follow(plan, now)

    def _follow(self, plan: PlannedPath, now: float) -> None:
        assert plan.filled is not None
        self.follower.follow(plan.path, plan.start, now)
        self._brought_in = self.planning.brought_in(plan)
        if self._brought_in:
            self.get_logger().warning(f'trajectory: {self._brought_in}')
        self.sender.send(plan, plan.start - now)
        self.diagnostics.set(
            'trajectory',
            OK,
            'published',
            points=len(plan.filled.time),
            largest_interpolation_error=float(plan.filled.error.max()),
        )

    def _check_followed(self) -> None:
        if self.is_active:
            self.sender.check_followed()
            self._go_on()

    def _not_followed(self, reason: str) -> None:
        """Forget a motion that the controller does not execute: the next one begins where the robot is."""
        if not self.is_active:
            return
        self._forget_motion()
        if self.planning.idle:
            # The friction's hysteresis has moved along a motion that was not executed.
            self.law.reset()
        self.refusals.note('_take_trajectory', JointDynamicsError(reason))

    def _brake(self, reason: str) -> None:
        """Come to rest on the path of a motion whose sender is lost; the controller gets the braking."""
        if not self.is_active:
            return
        try:
            self.planning.brake(self.clock_time())
        except JointDynamicsError as error:
            self.refusals.note('_take_trajectory', error)
            return
        self.refusals['_take_trajectory'] = f'{reason}; braked the motion under way'

    # Diagnostics.

    def _report_law(self) -> None:
        now = self.clock_time()
        missing = [reason for name in self.law.inputs if (reason := self.robot_state.fault(name, now))]
        without = f'{missing[-1]}: continuing with the last valid or described value' if missing else ''
        self.diagnostics.set('law', WARN if missing else OK, without or self.parameters['law'])
        if self.law.arm.validity is not None:
            self.diagnostics.report_validity(self.law.validity_violations)

    def _report(self) -> None:
        self._report_law()
        refusal = '; '.join(self.refusals.values())
        self.diagnostics.set(
            'reference', ERROR if refusal else OK, refusal or self.planning.line or self._brought_in or 'accepted'
        )


def main() -> int:
    """Run the node as a process."""
    return run(FeedforwardNode)


if __name__ == '__main__':
    sys.exit(main())
