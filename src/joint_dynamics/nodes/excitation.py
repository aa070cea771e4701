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
from joint_dynamics.excitation import PlanSettings, Playback, Progress, Trajectory, load_trajectory, plan
from joint_dynamics.excitation.plan import NO_FLOOR, with_options
from joint_dynamics.excitation.stopping import come_to_rest, delay_of
from joint_dynamics.nodes import excitation_messages as messages
from joint_dynamics.nodes.background import Background
from joint_dynamics.nodes.config_file import section_of
from joint_dynamics.nodes.controller_watch import MANAGER_GONE, NOT_TAKEN, ControllerWatch
from joint_dynamics.nodes.diagnostics import ERROR, OK, STALE, WARN
from joint_dynamics.nodes.excitation_parameters import PARAMETERS, TOPICS
from joint_dynamics.nodes.heartbeat import Heartbeat, HeartbeatWatch
from joint_dynamics.nodes.lifecycle import DynamicsNode
from joint_dynamics.nodes.robot_states import RobotStates
from joint_dynamics.nodes.run import run
from joint_dynamics.nodes.running_motion import RunningMotion
from joint_dynamics.nodes.start import Start
from joint_dynamics.nodes.topics import SENSOR, STATUS
from joint_dynamics.nodes.trajectory_output import make_output, staying

LEAD = 0.25
"""A motion begins so long after it was sent [s]: a controller that gets it late joins in the middle, with a jump."""

CERTAIN = 50
"""Looks, 20 ms apart, after which stamps of another clock are named: /clock may come later than the states."""


class ExcitationNode(DynamicsNode):
    """See the module. Nothing moves until `~/start` is called while the node is active.

    Attributes
    ----------
    states
        RobotStates as heard. controller: ControllerWatch. output: where motions go. All of the last configuration.
    playback
        the motion with its approach and its braking; None where there is none yet. planning: a plan in the making.
    playing
        what the controller has, or None.

    """

    NAME = 'excitation'
    PARAMETERS = PARAMETERS
    TOPICS = TOPICS

    def configure(self) -> None:
        """Load the motion where there is a file of it, listen to the robot, offer the services."""
        self.states = RobotStates(self.robot.joint_names, self.now)
        self.playing: RunningMotion | None = None
        self._starting: Start | None = None
        self._status, self._foreign, self._unexplained = '', 0, False
        section = {
            key: value
            for key, value in section_of(self.parameters['config_file'], 'excitation').items()
            if key != 'profile'
        }
        self._settings = with_options(
            PlanSettings.from_config(section, self.parameters['profile']), joint=self.parameters['joint'] or None
        )
        self._status_publisher = self.advertise(String, '~/status', STATUS, when_inactive=True)
        self.output = make_output(
            self.parameters['output'], self, self.advertise(JointTrajectory, '~/joint_trajectory'), self._refused
        )
        self.subscribe(JointState, 'joint_states', self.states.take, SENSOR, stream=True)
        self.controller = ControllerWatch(self, self.robot.joint_names, self.states.listening, self.now)
        self.serve('~/plan', self._begin_plan)
        self.serve('~/start', self._start)
        self.serve('~/stop', self._stop_by_request)
        if self._settings.limits.floor is None and self._settings.limits.height is None:
            self.get_logger().warning(NO_FLOOR)
        self.playback: Playback | None = None
        self.planning: Background[Playback] | None = None
        if self.parameters['trajectory_file']:
            self.playback = self._playback_of(load_trajectory(self.parameters['trajectory_file']))
            self._say('ready')
        else:
            self._say('no motion yet')
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
        if self.planning is not None:
            self.planning.cancel()
            self.planning = None

    def on_time_jump(self, delta: float) -> None:
        """Forget a motion that was played in a time that is no more."""
        self.states.forget()
        if self.playing is not None:
            self.playing = None
            self._say(f'stopped: time went back by {-delta:.3f} s')

    # The motion.

    def _begin_plan(self) -> str:
        if self.parameters['trajectory_file']:
            raise JointDynamicsError('plan: expected no trajectory_file, found one: the motion is there, call ~/start')
        if self.planning is not None:
            raise JointDynamicsError(f'plan: expected none in the making, found one: {self._status}')
        if self.playing is not None or self._starting is not None:
            raise JointDynamicsError('plan: expected no motion, found one being played')
        self.playback = None
        self.planning = Background(self._plan, 'planning')
        self._say('planning')
        return 'planning; ~/status says how far it is, and when it is ready'

    def _plan(self, say: Callable[[str], None]) -> Playback:
        def tell(progress: Progress) -> None:
            best = 'nothing yet' if progress.best is None else f'best {progress.best:.2f}'
            say(f'planning: {progress.seconds:.0f} s, {best}')

        return self._playback_of(plan(self.robot, self._settings, tell).trajectory)

    def _playback_of(self, trajectory: Trajectory) -> Playback:
        return Playback(
            self.robot, self._settings.limits, trajectory, self.parameters['repeats'], self.parameters['approach_speed']
        )

    def _message(self, motion: Trajectory) -> JointTrajectory:
        return messages.moving(self.robot.joint_names, motion, self.parameters['rate'])

    def _stamp(self, message: JointTrajectory, now: float | None = None) -> float:
        """Stamp a message with `now` [s], by default that of the clock; return it.

        A robot without stamps has a clock of its own: then it starts on arrival (stamp 0).
        """
        now = self.now() if now is None else now
        if self.states.stamped:
            message.header.stamp = messages.stamp(now)
        return now

    # Start.

    def _start(self) -> Future:
        if not self.is_active:
            raise JointDynamicsError('start: expected the node to be active, found it inactive')
        if self.playing is not None or self._starting is not None:
            raise JointDynamicsError('start: expected no motion, found one being played')
        if self.playback is None:
            remedy = '' if self.planning is not None else ' (call ~/plan, or set trajectory_file)'
            raise JointDynamicsError(f'start: expected a motion, found none: {self._status}{remedy}')
        self.output.choose()
        if not self.output.connected:
            raise JointDynamicsError(f'start: expected a trajectory controller on {self.output.name}, found none')
        start = self._starting = Start(self.states, self.playback, self._message)
        self._say('starting')
        self._go_on(start)
        return start.answer

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
            told = self.controller.reference(self.parameters['state_timeout'])
            before = None if told is None else told[1]
            self.playing = RunningMotion(motion, self._stamp(message, self.now() + LEAD), before)
            self._heart.beat()
            self.output.send(message, lambda: self._accepted(start, motion))

    def _accepted(self, start: Start, motion: Trajectory) -> None:
        if self._starting is start:
            self._starting = None
            self._say('playing')
            approach = motion.duration - start.playback.trajectory.duration
            start.reply(True, f'{motion.duration:.1f} s, of which {approach:.1f} s to get to the start')

    def _refuse_start(self, reason: str) -> None:
        start, self._starting = self._starting, None
        if start is not None:
            self.get_logger().error(f'~/start: {reason}')
            if self.playing is None:
                self._say('ready')
            start.reply(False, reason)

    # Stop.

    def _stop_by_request(self) -> str:
        if self._starting is not None and self.playing is None:
            self._refuse_start('~/stop was called')
            return 'the start was called off'
        if self.playing is None:
            raise JointDynamicsError('stop: expected a motion, found none being played')
        return f'at rest in {self._stop("~/stop was called"):.2f} s'

    def _stop(self, reason: str) -> float:
        """Brake on the path of what is being played, from where the controller is on it.

        Return how long that takes [s].

        A robot that is not on its path is brought to rest where it stands.
        """
        if self.playing is None or self.playback is None:
            return 0.0
        motion, began = self.playing.motion, self.playing.began
        told = self.controller.reference(self.parameters['state_timeout'])
        at, q = told if told is not None else (self.states.time, self.states.q)
        delay, apart = delay_of(motion, at - began, q)
        if not apart <= self.parameters['tracking_error']:
            return self._hold(f'{reason}, and the robot was {apart:.3g} rad from its path')
        now = self.now()
        braking = self.playback.braking(motion, now - began - delay)
        # With its first point at the moment it is planned for, which is past when it arrives: the controller goes on in
        # the middle of it. To a first point that is still to come it would hurry from the measured state.
        message = staying(self._message(braking))
        self._stamp(message, now)
        self.output.send(message)
        self._end(f'stopped: {reason}')
        return braking.duration

    def _hold(self, reason: str) -> float:
        """Bring the robot to rest where it stands: it is not where the motion is. Return how long that takes [s]."""
        assert self.playback is not None
        posture, duration = come_to_rest(self.states.q, self.states.dq, self.playback.limits.acceleration)
        message = staying(messages.standing(self.robot.joint_names, posture, duration))
        self._stamp(message)
        self.output.send(message)
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
        self._say(status)
        self.get_logger().warning(status)

    def _lost(self, reason: str) -> None:
        """Stop without the node that gives the torque."""
        self._refuse_start(reason)
        if self.playing is not None:
            self._stop(reason)

    # What goes on.

    def _watch(self) -> None:
        self.states.listening.tick()
        self._look_at_clock()
        if self.planning is not None:
            self._follow_plan(self.planning)
        if self._starting is not None and self.playing is None:
            self._go_on(self._starting)
        if self.playing is not None:
            self._follow_motion(self.playing)
        elif self._unexplained:
            self._look_for_cause()

    def _look_at_clock(self) -> None:
        line, named = self.states.other_clock, self._foreign >= CERTAIN
        self._foreign = self._foreign + 1 if line else 0
        if line and not named and self._foreign >= CERTAIN:
            line = f'expected joint states stamped by the clock of this node, found {line}'
            self.diagnostics.set('joint states', ERROR, line)
            self.get_logger().error(line)
        elif named and not line:
            self.diagnostics.set('joint states', OK, 'arrive')

    def _follow_motion(self, playing: RunningMotion) -> None:
        timeout = self.parameters['state_timeout']
        stale = self.states.stale(timeout)
        if stale:
            self.diagnostics.set('joint states', STALE, f'lost: {", ".join(stale)}')
            # A manager that is gone takes its broadcaster along, and which of them is missed first is a matter of luck.
            if not self.output.connected or self.controller.silent(0.5 * timeout):
                self._stop(MANAGER_GONE)
            else:
                self._stop(f'joint states of {", ".join(stale)} were lost')
                self._unexplained = True
            return
        self.diagnostics.set('joint states', OK, 'arrive')
        complaint = self.controller.complaint(playing, timeout, self.states.heard)
        if complaint:
            (self._hold if complaint == NOT_TAKEN else self._stop)(complaint)
            return
        if not self.output.connected:
            self._stop(f'nobody takes trajectories on {self.output.name} any more: the controller is gone')
            return
        error = playing.distance(self.states)
        if error.max() > self.parameters['tracking_error']:
            self._hold(
                f'{self.robot.joint_names[int(error.argmax())]} is {error.max():.3g} rad from where it should'
                f' be'
                f'{playing.cause(self.states, self.parameters["standstill"], self.output.name)}'
            )
        elif self.states.time - playing.began > playing.motion.duration and self._starting is None:
            self.playing = None
            self._say('done')

    def _look_for_cause(self) -> None:
        """Name a manager that is gone where its joint states were missed before its controller was."""
        timeout = self.parameters['state_timeout']
        if not self.states.stale(timeout):
            self._unexplained = False
        elif not self.output.connected or self.controller.silent(timeout):
            self._unexplained = False
            self._say(f'stopped: {MANAGER_GONE}')

    def _follow_plan(self, planning: Background[Playback]) -> None:
        outcome = planning.outcome
        if outcome is None:
            self._say(planning.line)
            return
        self.planning = None
        if isinstance(outcome, Playback):
            self.playback = outcome
            self._say('ready')
        elif isinstance(outcome, JointDynamicsError):
            self._say(f'failed: {one_line(outcome)}')
            self.get_logger().error(one_line(outcome))
        else:
            self._say('failed: a defect ended the planning, see the log')
            self.get_logger().fatal(f'defect while planning: {outcome!r}')

    def now(self) -> float:
        """Return the time of the node's clock, s."""
        return self.get_clock().now().nanoseconds * 1e-9

    def _say(self, status: str) -> None:
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
