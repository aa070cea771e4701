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

"""Plays an exciting motion on the robot.

Plans or loads it, moves slowly to its start, plays it, and stops at once when it has to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.excitation import Playback, Trajectory
from joint_dynamics.excitation.plan import FOURIER
from joint_dynamics.excitation.playback import come_to_rest, delay_of
from joint_dynamics.nodes.excitation.motion_sender import MotionSender, RunningMotion, Start
from joint_dynamics.nodes.excitation.parameters import PARAMETERS, TOPICS
from joint_dynamics.nodes.excitation.planning import MotionPlanner, Planning
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, STALE, WARN
from joint_dynamics.nodes.framework.heartbeat import Heartbeat, HeartbeatWatch
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.run import run
from joint_dynamics.nodes.framework.tables import SENSOR, STATUS
from joint_dynamics.nodes.interfaces.robot_states import RobotStates
from joint_dynamics.nodes.interfaces.trajectory_controller import (
    BRAKE_LEAD,
    NOT_TAKEN,
    ControllerWatch,
    TrajectoryOutput,
)

LEAD = (
    1.0  # s from sending a motion to its begin; a controller that gets it later would join in the middle, with a jump
)


class ExcitationNode(DynamicsNode):
    """See the module. Nothing moves until `~/start` is called while the node is active.

    Attributes
    ----------
    states
        joint states as heard.
    controller
        the controller's own state.
    output
        topic or action of the motions.
    playback
        the motion with its approach and its braking; None without one.
    planned
        the motion of a plan, not started yet; None without one.
    planning
        the plan in the making; None without one.
    playing
        the motion that the controller has; None without one.

    """

    NAME = 'excitation'
    PARAMETERS = PARAMETERS
    TOPICS = TOPICS

    def configure(self) -> None:
        """Load the motion where there is a file of it, listen to the robot, offer the services."""
        self.states = RobotStates(self.robot.joint_names, self.clock_time)
        self.playing: RunningMotion | None = None
        self._starting: Start | None = None
        self._status = ''
        self._planner = MotionPlanner(self.robot, self.parameters)
        self._status_publisher = self.advertise(String, '~/status', STATUS, when_inactive=True)
        self.output = TrajectoryOutput(
            self.parameters['output'], self, self.advertise(JointTrajectory, '~/joint_trajectory'), self._refused
        )
        self._sender = MotionSender(self.output, self.robot.joint_names, self.states, self.parameters['rate'])
        self.subscribe(JointState, 'joint_states', self.states.take, SENSOR, stream=True)
        self.controller = ControllerWatch(self, self.robot.joint_names, self.states.listening, self.clock_time)
        self.serve('~/plan', self._begin_plan)
        self.serve('~/start', self._start)
        self.serve('~/stop', self._stop_by_request)
        self.playback: Playback | None = None
        self.planned: Trajectory | None = None
        self._played: list[Trajectory] = []
        self.planning: Planning | None = None
        if self.parameters['trajectory_file']:
            self.playback = self._planner.load(self.parameters['trajectory_file'])
            self._set_status('ready')
        else:
            self._set_status('no motion yet')
        if self._planner.remark:
            self.get_logger().warning(self._planner.remark)
        self.every(0.02, self._watch, steady=True)
        self._heart = Heartbeat(self, lambda: self.playing is not None)
        HeartbeatWatch(self, 'feedforward', self._lost)

    def deactivate(self) -> None:
        """Bring the robot to rest."""
        self._refuse_start('the node was deactivated')
        self._stop('the node was deactivated')

    def cleanup(self) -> None:
        """End a plan in the making."""
        self._refuse_start('the node was cleaned up')
        self._end_planning()

    def on_time_jump(self, delta: float) -> None:
        """Forget a motion that was played in a time that is no more."""
        self.states.forget()
        if self.playing is not None:
            self._end(f'stopped: time went back by {-delta:.3f} s')

    # The motion.

    def _begin_plan(self) -> str:
        if self.parameters['trajectory_file']:
            raise JointDynamicsError('plan: expected no trajectory_file, found one: the motion is there, call ~/start')
        if self.planning is not None:
            raise JointDynamicsError(f'plan: expected no search in progress, found one: {self._status}')
        if self.playing is not None or self._starting is not None:
            raise JointDynamicsError('plan: expected no motion, found one being played')
        self.playback = self.planned = None
        self.planning = self._planner.begin(self._played)
        self._set_status('planning')
        adds = self._played and self.parameters['profile'] == FOURIER
        return 'planning; ~/status reports the progress' + (
            f'; the plan complements the motions played so far ({len(self._played)}): condition numbers are those '
            'of all'
            if adds
            else ''
        )

    # Start.

    def _start(self) -> Future:
        if not self.is_active:
            raise JointDynamicsError('start: expected the node to be active, found it inactive')
        if self.playing is not None or self._starting is not None:
            raise JointDynamicsError('start: expected no motion, found one being played')
        make = self._make_playback()
        if make is None:
            remedy = '' if self.planning is not None else ' (call ~/plan, or set trajectory_file)'
            raise JointDynamicsError(f'start: expected a motion, found none: {self._status}{remedy}')
        self.output.choose()
        if not self.output.connected:
            raise JointDynamicsError(f'start: expected a trajectory controller on {self.output.name}, found none')
        self._end_planning()
        start = self._starting = Start(self.states, make, self._sender.message)
        self._set_status('starting')
        self._go_on(start)
        return start.answer

    def _make_playback(self) -> Callable[[], Playback] | None:
        """Return what makes the playback of the motion there is, None where there is none."""
        playback, planned = self.playback, self.planned
        if planned is not None:
            return lambda: self._planner.playback_of(planned)
        return None if playback is None else lambda: playback

    def _end_planning(self) -> None:
        """End a plan in the making, with the best motion so far."""
        if self.planning is not None:
            self.planning.close()
            self.planning = None

    def _go_on(self, start: Start) -> None:
        try:
            ready = start.step(self.parameters['state_timeout'], self.parameters['standstill'])
        except JointDynamicsError as error:
            self._refuse_start(one_line(error))
            return
        except Exception as error:
            self.get_logger().fatal(f'defect while starting: {error!r}')
            self._refuse_start('a defect ended the start, see the log')
            return
        if ready is not None:
            motion, message = ready
            self.playback, self.planned = start.playback, None
            desired = self.controller.reference(self.parameters['state_timeout'])
            before = None if desired is None else desired[1]
            self.playing = RunningMotion(motion, self.clock_time() + LEAD, before)
            self._heart.beat()
            self._sender.send(message, self.playing.began, lambda: self._accepted(start, motion))

    def _accepted(self, start: Start, motion: Trajectory) -> None:
        if self._starting is start:
            self._starting = None
            self._set_status(f'playing, {motion.duration:.1f} s')
            assert start.playback is not None
            approach = motion.duration - start.playback.trajectory.duration
            start.reply(True, f'{motion.duration:.1f} s, of which {approach:.1f} s to get to the start')

    def _refuse_start(self, reason: str) -> None:
        start, self._starting = self._starting, None
        if start is not None:
            self.get_logger().error(f'~/start: {reason}')
            if self.playing is None:
                self._set_status('ready')
            start.reply(False, reason)

    # Stop.

    def _stop_by_request(self) -> str:
        if self._starting is not None and self.playing is None:
            self._refuse_start('~/stop was called')
            return 'the start was cancelled'
        if self.playing is None:
            raise JointDynamicsError('stop: expected a motion, found none being played')
        return f'at rest in {self._stop("~/stop was called"):.2f} s'

    def _stop(self, reason: str) -> float:
        """Brake on the path of the motion, from the controller's place on it.

        Return how long that takes [s].

        A robot that is not on its path is brought to rest where it stands.
        """
        if self.playing is None or self.playback is None:
            return 0.0
        motion, began = self.playing.motion, self.playing.began
        desired = self.controller.reference(self.parameters['state_timeout'])
        at, q = desired if desired is not None else (self.states.time, self.states.q)
        delay, apart = delay_of(motion, at - began, q)
        if not apart.max() <= self.parameters['tracking_error']:
            return self._hold(f'{reason}, and the robot was {apart.max():.3g} rad from its path')
        now = self.clock_time()
        braking = self.playback.braking(motion, now - began - delay, BRAKE_LEAD)
        self._sender.brake(braking, now)
        self._end(f'stopped: {reason}')
        return braking.duration

    def _hold(self, reason: str) -> float:
        """Bring the robot to rest where it stands: it is not where the motion is. Return how long that takes [s]."""
        assert self.playback is not None
        posture, duration = come_to_rest(self.states.q, self.states.dq, self.playback.limits.acceleration)
        self._sender.hold(posture, duration, self.clock_time())
        self._end(f'stopped: {reason}')
        return duration

    def _refused(self, reason: str) -> None:
        """Learn that the controller does not follow."""
        self._refuse_start(reason)
        if self.playing is not None:
            self._end(f'stopped: {reason}')

    def _end(self, status: str) -> None:
        self.playing = None
        self._refuse_start(status)
        self._set_status(status)
        self.get_logger().warning(status)

    def _lost(self, reason: str) -> None:
        """Stop without the node that gives the torque."""
        self._refuse_start(reason)
        if self.playing is not None:
            self._stop(reason)

    # What goes on.

    def _watch(self) -> None:
        self.states.listening.tick()
        if self.planning is not None:
            self._follow_plan(self.planning)
        if self._starting is not None and self.playing is None:
            self._go_on(self._starting)
        if self.playing is not None:
            self._follow_motion(self.playing)

    def _follow_motion(self, playing: RunningMotion) -> None:
        timeout = self.parameters['state_timeout']
        stale = self.states.stale(timeout)
        if stale:
            self.diagnostics.set('joint states', STALE, f'lost: {", ".join(stale)}')
            self._stop(f'joint states of {", ".join(stale)} were lost')
            return
        self.diagnostics.set('joint states', OK, 'arrive')
        complaint = self.controller.complaint(playing, timeout)
        if complaint:
            (self._hold if complaint == NOT_TAKEN else self._stop)(complaint)
            return
        if not self.output.connected:
            self._stop(f'nothing receives trajectories on {self.output.name} any more: the controller is gone')
            return
        error = playing.distance(self.states)
        if error.max() > self.parameters['tracking_error']:
            self._hold(
                f'{self.robot.joint_names[int(error.argmax())]} is {error.max():.3g} rad away from the motion'
                f'{playing.cause(self.states, self.parameters["standstill"], self.output.name)}'
            )
        # a stamp may be ahead of the time, and the robot is not where it will be then
        elif min(self.states.time, self.clock_time()) - playing.began > playing.motion.duration and not self._starting:
            self.playing = None
            assert self.playback is not None
            self._played.append(self.playback.trajectory)
            self._set_status('done')

    def _follow_plan(self, planning: Planning) -> None:
        planning.receive()
        if planning.motion is not None:
            self.planned = planning.motion
        if planning.better:
            self.get_logger().info(planning.line)
        if planning.failure:
            self.get_logger().error(f'{planning.failure}{planning.defect and ": "}{planning.defect}')
        if self._starting is None:
            self._set_status(f'failed: {planning.failure}' if planning.failure else planning.line)
        if planning.ended:
            self._end_planning()

    def _set_status(self, status: str) -> None:
        if status == self._status:
            return
        self._status = status
        self._status_publisher.publish(String(data=status))
        level = ERROR if status.startswith('failed') else WARN if status.startswith('stopped') else OK
        self.diagnostics.set('excitation', level, status)


def main() -> int:
    """Run the node; return the exit status."""
    return run(ExcitationNode)


if __name__ == '__main__':
    sys.exit(main())
