"""The `feedforward` node: a law of joint_dynamics.control between a desired motion and a robot's controller.

See docs/reference/nodes/feedforward.md.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any, ClassVar, Literal

import numpy as np
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.control import Follower, load
from joint_dynamics.control.applied import refuse_run_away
from joint_dynamics.control.loop_parameters import build_loop, foreign_parameters
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.feedforward.loop_inputs import LoopClock, LoopInputs
from joint_dynamics.nodes.feedforward.parameters import PARAMETERS, TOPICS
from joint_dynamics.nodes.feedforward.planning import Output, PlannedPath, Planning
from joint_dynamics.nodes.feedforward.senders import CommandSender, Refusals, TrajectorySender, report_command
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, WARN
from joint_dynamics.nodes.framework.heartbeat import Heartbeat, HeartbeatWatch
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.run import run
from joint_dynamics.nodes.framework.tables import STATE, row_of
from joint_dynamics.nodes.interfaces.input_parameters import check_described_effort, recording_settings
from joint_dynamics.nodes.interfaces.inputs import InputSet
from joint_dynamics.nodes.interfaces.messages import message_class
from joint_dynamics.nodes.interfaces.trajectory_bytes import read_trajectory

MAX_STEP_PERIOD = 0.02
"""Longest time between two steps of a streaming node [s]: then it goes on without joint states."""


class FeedforwardNode(DynamicsNode):
    """Fill the effort into trajectories, or stream commands; nothing goes out unless the node is active.

    Attributes
    ----------
    loop
        ControlLoop around the law. follower: Follower of what is desired. planning: Planning of trajectories.
        loop_clock: LoopClock. sender: TrajectorySender of trajectory mode. All are of the last configuration.
    refusals
        what was refused since activation and has not been mended by a good message, by what takes it.

    """

    NAME = 'feedforward'
    PARAMETERS = PARAMETERS
    TOPICS = TOPICS
    DESCRIPTION: ClassVar[Literal['none', 'optional', 'required']] = 'required'

    def __init__(self, node_name: str | None = None, **options: Any):
        super().__init__(node_name, **options)
        self._declared: set[str] = set()
        self.refusals = Refusals(self)
        self._ends, self._brought_in = False, ''
        if not self.parameters['use_description']:
            self.DESCRIPTION = 'none'  # type: ignore[misc]
        self._declare_law()

    # Configuring.

    def _declare_law(self) -> None:
        law = self.parameters['law']
        try:
            rows = [row_of(row) for row in foreign_parameters(law, load(law))]
        except JointDynamicsError:
            return  # said when it is configured
        if law not in self._declared:
            self._declared.add(law)
            self.parameters.declare(rows)

    def configure(self) -> None:
        """Build the loop around the law; raises JointDynamicsError when one part does not fit the other."""
        values = self.parameters
        self._declare_law()
        values.declare_joints(self.robot.joint_names)
        if values['mode'] != 'streaming' and not load(values['law']).OPEN_LOOP:
            raise JointDynamicsError(
                f'mode: expected streaming for the law {values["law"]}, which has to measure, found trajectory'
            )
        self._streaming = values['mode'] == 'streaming'
        self.get_logger().info('building the law; the first start on a machine compiles it')
        self.loop = build_loop(values, self.robot, self.description)
        if self._streaming:
            # Compiled or loaded here, while the gate is closed, so that the first command is not late.
            self.loop.step(0.0, 0.0)
        arm = self.loop.arm
        for remark in self.loop.remarks:
            self.get_logger().info(remark)
        self.diagnostics.report_doubtful(
            () if self.description is None else self.description.doubtful_joints(arm.joint_names)
        )
        self.follower = Follower(
            arm.joint_names, smooth=values['interpolation'] == 'smooth', start_tolerance=values['start_tolerance']
        )
        self._names = tuple(values['command_joints'] or arm.joint_names)
        # Where each joint of the command is in the robot's order; the command may leave joints out, but not have
        # others.
        unknown = [name for name in self._names if name not in arm.joint_names]
        if unknown or len(set(self._names)) != len(self._names):
            raise JointDynamicsError(
                f'command_joints: expected joints of {", ".join(arm.joint_names)}, each once, found'
                f' {", ".join(self._names)}'
            )
        self._order = np.array([arm.joint_names.index(name) for name in self._names])
        fill = {
            'period': values['plan_period'],
            'tolerance': values['effort_tolerance'],
            'max_spacing': values['max_spacing'],
            'side': values['trajectory_side'],
            'speed_gain': np.array(values.per_joint('speed_gain', arm.joint_names)),
        }
        output = None if self._streaming else Output(self._names, self._order, fill)
        self.planning = Planning(self.loop, self.follower, output)
        self.loop_clock = LoopClock(self)
        inputs = recording_settings(values, arm.joint_names)
        if self.description is not None:
            check_described_effort(self.description, inputs)
        self._inputs = LoopInputs(self.loop, inputs, self.loop_clock)
        self._forget_time()
        self._connect(type(self.loop.controller).__name__)

    def _connect(self, law: str) -> None:
        claimed = self.loop.state
        if self._streaming:
            self._commands = CommandSender(self, self._names, self._order)
            self.every(MAX_STEP_PERIOD, self._watch, steady=not self.loop_clock.simulated)
        else:
            self.sender = TrajectorySender(
                self, self.parameters['trajectory_output'], self._names, self._order, self._not_followed
            )
            self.every(MAX_STEP_PERIOD, self._check_followed, steady=True)
        if self._streaming and self.parameters['reference'] == 'controller_state':
            kind = message_class('control_msgs/msg/JointTrajectoryControllerState', 'reference')
            self.subscribe(kind, 'controller_state', self.refusals.guarded(self._take_controller_state), stream=True)
        else:
            take = self.refusals.guarded(self._take_trajectory)
            self.subscribe(JointTrajectory, '~/reference', take, STATE, raw=True, stream=True)
        if 'friction_scale' in claimed:
            self.subscribe(
                Float64MultiArray, 'friction_parameters', self.refusals.guarded(self._inputs.take_friction), STATE
            )
        if 'torque' in claimed and 'load_torques' not in self.parameters['inputs']:
            self.subscribe(JointState, 'joint_torques', self.refusals.guarded(self._inputs.take_torques), stream=False)
        InputSet(self, self._inputs.settings, self._inputs.take_sample, after=self._after_message)
        self._heart = Heartbeat(self, lambda: self.is_active)
        HeartbeatWatch(self, 'excitation', self._brake)
        self.every(0.1, self._report, steady=True)

    def activate(self) -> None:
        """Open the gate; refuses a friction compensation that would make a joint run away."""
        if self.parameters['check_compensation'] and self.description is not None:
            refuse_run_away(self.loop.controller)
        self.planning.check_idle()
        self._forget_time()
        self.follower.clear()
        self.refusals.clear()
        self.loop.activate()
        self._brought_in = ''
        self._report_law()

    def deactivate(self) -> None:
        """Go down to exactly zero within the limits, or at a shutdown to the command selected by `on_shutdown`.

        Returns when that has arrived.
        """
        self._heart.rest()
        self.planning.cancel()
        if not self._streaming:
            self.sender.forget()
            list(self.loop.deactivate())
            return
        period = 0.002
        holds = self._ends and self.parameters['on_shutdown'] == 'hold_gravity'
        try:
            for command in (
                self.loop.end_holding(self.parameters['hold_time'], period) if holds else self.loop.deactivate(period)
            ):
                self._commands.send(command)
                time.sleep(period)
        finally:
            self._commands.finish()

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate as `on_shutdown` says, and clean up."""
        self._ends = True
        return super().on_shutdown(state)

    def on_time_jump(self, delta: float) -> None:
        """Forget what was measured and desired before; the gate goes to the safe command."""
        if hasattr(self, 'loop'):
            self._forget_time()
            self._forget_motion()
            self.loop.state.clear()
            self.loop.reference.clear()

    def _forget_time(self) -> None:
        self._stepped = -math.inf
        self.loop_clock.forget()
        self._inputs.position_came = False

    def now(self) -> float:
        """Return the time of the loop, s: of a clock that does not jump, or of the simulation."""
        return self.loop_clock.now()

    def _forget_motion(self) -> None:
        self.planning.cancel()
        self.follower.clear()
        if not self._streaming:
            self.sender.forget()

    # What comes in.

    def _take_controller_state(self, message: Any) -> None:
        point = message.reference
        self.follower.set_point(message.joint_names, point.positions, point.velocities, point.accelerations, self.now())

    def _take_trajectory(self, data: bytes) -> None:
        message = read_trajectory(data)
        if not (self._streaming and message.is_set_point):
            self.planning.add(message, self.now())
            return
        self.planning.cancel()
        points = message.points()
        q, dq, ddq = (() if rows is None else np.asarray(rows)[0] for rows in (points.q, points.dq, points.ddq))
        self.follower.set_point(points.joint_names, q, dq, ddq, self.now())

    def _go_on(self, now: float | None = None) -> None:
        """Take over a trajectory that has been planned, and begin with the next one."""
        if not self.is_active:
            return
        try:
            now = self.now() if now is None else now
            plan = self.planning.poll(now, self.clock_time())
        except JointDynamicsError as error:
            self.refusals.note('_take_trajectory', error)
            return
        if plan is not None:
            self._follow(plan, now)

    def _follow(self, plan: PlannedPath, now: float) -> None:
        self.follower.follow(plan.path, plan.start, now)
        self._brought_in = self.planning.brought_in(plan)
        if self._brought_in:
            self.get_logger().warning(f'trajectory: {self._brought_in}')
        if plan.message is not None and plan.filled is not None:
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
        """Forget a motion that the controller has not: the next one begins where the robot is."""
        if not self.is_active:
            return
        self._forget_motion()
        if self.planning.idle:
            # The friction's hysteresis has gone along a motion that was not.
            self.loop.controller.on_activate()
        self.refusals.note('_take_trajectory', JointDynamicsError(reason))

    def _brake(self, reason: str) -> None:
        """Come to rest on the path of a motion whose sender is lost; a controller that plays it is told to."""
        if not self.is_active:
            return
        now = self.now()
        try:
            plan = self.planning.brake(now, self.clock_time())
        except JointDynamicsError as error:
            self.refusals.note('_take_trajectory', error)
            return
        if plan is not None:
            self._follow(plan, now)
        self.refusals['_take_trajectory'] = f'{reason}; braked what was being followed'

    # What goes out.

    def _after_message(self, topic: str) -> None:
        if self._inputs.position_came:
            self._inputs.position_came = False
            if not self._streaming:
                self.sender.hear()
            elif self.is_active:
                self._step(self.now())

    def _step(self, now: float) -> None:
        period = now - self._stepped if math.isfinite(self._stepped) else 1e-3
        self._stepped = now
        self._go_on(now)
        self.follower.write(self.loop.reference, now)
        command = self.loop.step(now, period)
        if command is not None:
            self._commands.send(command)

    def _watch(self) -> None:
        """Go on without joint states: a robot that stops talking must not keep the last torque."""
        now = self.now()
        if self.is_active and now - self._stepped > MAX_STEP_PERIOD:
            self._step(now)

    def _report_law(self) -> None:
        loop = self.loop
        if not self._streaming and loop.gate.is_open and not self.planning.busy:
            # Before a trajectory comes: whether α and temperatures will count in it.
            loop.refresh_inputs(self.now())
        self.diagnostics.set('law', WARN if loop.warning else OK, loop.warning or self.parameters['law'])
        if loop.arm.validity is not None:
            self.diagnostics.report_validity(loop.validity_violations)

    def _report(self) -> None:
        if not self.is_active:
            self.diagnostics.set('command', OK, 'not active: no command')
        elif self._streaming:
            report_command(self.diagnostics, self.loop)
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
