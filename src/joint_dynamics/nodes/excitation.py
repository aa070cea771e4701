"""Plays an exciting motion on the robot: plans or loads it, moves slowly to its start, plays it, and stops at once when it has to."""
from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import PlanSettings, Playback, Progress, Trajectory, load_trajectory, plan
from joint_dynamics.excitation.files import seconds_and_nanoseconds
from joint_dynamics.excitation.plan import NAMES, NO_FLOOR, with_options
from joint_dynamics.excitation.playback import distance_from
from joint_dynamics.nodes.diagnostics import ERROR, OK, STALE, WARN
from joint_dynamics.nodes.lifecycle import DynamicsNode, one_line
from joint_dynamics.nodes.parameters import ParameterRow
from joint_dynamics.nodes.run import run
from joint_dynamics.nodes.topics import SENSOR, STATUS, TopicRow
from joint_dynamics.nodes.trajectory_output import ActionOutput, TopicOutput

MOST_POINTS = 20000


class _Cancelled(Exception):
    """The node no longer wants the plan."""


class Planning:
    """A plan in the making, in a thread that mostly waits for the search processes. `outcome` is None while it lasts."""

    def __init__(self, make: Callable[[Callable[[Progress], None]], Playback]):
        self.line = 'planning'
        self.outcome: Playback | Exception | None = None
        self._cancelled = False
        self._make = make
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self._make(self._progress)
        except Exception as error:
            self.outcome = error

    def _progress(self, progress: Progress) -> None:
        if self._cancelled:
            raise _Cancelled
        best = 'nothing yet' if progress.best is None else f'best {progress.best:.2f}'
        self.line = f'planning: {progress.seconds:.0f} s, {best}'

    def cancel(self) -> None:
        """End it and wait until it has ended."""
        self._cancelled = True
        self._thread.join()


class ExcitationNode(DynamicsNode):
    """See the module. Nothing moves until `~/start` is called while the node is active."""

    NAME = 'excitation'
    PARAMETERS = (
        ParameterRow('trajectory_file', '', '`summary.json` or `trajectory.yaml` of `joint-dynamics excite`; empty: planned by `profile`'),
        ParameterRow('config_file', '', 'YAML whose section `excitation` has limits, posture and the settings of the profile (docs/excite.md)'),
        ParameterRow('profile', 'fourier', 'what is planned without a trajectory_file', choices=NAMES),
        ParameterRow('joint', '', 'the joint of a profile that moves one'),
        ParameterRow('repeats', 1, 'how often the motion is played; of a Fourier series the period, between one pair of ramps', '', 1, 1000),
        ParameterRow('rate', 100.0, 'points of the trajectory sent per second; a long one has 20,000 in all', 'Hz', 10, 1000),
        ParameterRow('approach_speed', 0.2, 'share of the allowed speed and acceleration on the way to the start', '', 0.01, 1),
        ParameterRow('state_timeout', 0.25, 'joint states older than this are lost: no start, and a stop on the way', 's', 0.01, 5,
                     applies='at once'),
        ParameterRow('standstill', 0.02, 'above this speed the robot does not rest, and nothing is started', 'rad/s', 0.0001, 1, applies='at once'),
        ParameterRow('tracking_error', 0.25, 'distance of a joint from where it should be at which the robot is held where it stands', 'rad',
                     0.001, 3, applies='at once'),
        ParameterRow('output', 'topic', 'how the controller is told: its topic, or its action (needs control_msgs)', choices=('topic', 'action')),
    )
    TOPICS = (
        TopicRow('joint_states', 'sensor_msgs/JointState', 'subscribes', 'where the robot stands: position rad, velocity rad/s; any order, '
                 'by name, also in several messages'),
        TopicRow('~/joint_trajectory', 'trajectory_msgs/JointTrajectory', 'publishes', 'the whole motion, approach included, with stamps from its '
                 'start; remap it to the topic of the trajectory controller'),
        TopicRow('~/follow_joint_trajectory', 'control_msgs/FollowJointTrajectory', 'action client', 'the same with output `action`; remap it '
                 'likewise'),
        TopicRow('~/status', 'std_msgs/String', 'publishes', 'planning, ready, playing, done, stopped (with the reason), failed; latched'),
        TopicRow('~/start', 'std_srvs/Trigger', 'service', 'move to the start and play the motion; answers when it has been sent'),
        TopicRow('~/stop', 'std_srvs/Trigger', 'service', 'come to rest at once, on the path of the motion'),
    )

    def configure(self) -> None:
        """Load or begin to plan the motion, listen to the robot, offer the services."""
        self._states: dict[str, tuple[float, float, float]] = {}
        self._playing: tuple[Trajectory, float] | None = None
        self._status = ''
        self._settings = with_options(PlanSettings.from_config(self._section(), self.parameters['profile']), joint=self.parameters['joint'] or None)
        self._status_publisher = self.advertise(String, '~/status', STATUS, when_inactive=True)
        self._output = self._make_output()
        self.subscribe(JointState, 'joint_states', self._take, SENSOR)
        self.serve('~/start', self._start)
        self.serve('~/stop', self._stop_by_request)
        if self._settings.limits.floor is None and self._settings.limits.height is None:
            self.get_logger().warning(NO_FLOOR)
        self._playback: Playback | None = None
        self._planning: Planning | None = None
        if self.parameters['trajectory_file']:
            self._playback = self._playback_of(load_trajectory(self.parameters['trajectory_file']))
            self._say('ready')
        else:
            self._planning = Planning(lambda progress: self._playback_of(plan(self.robot, self._settings, progress).trajectory))
            self._say('planning')
        self.every(0.02, self._watch, steady=True)

    def deactivate(self) -> None:
        """Bring the robot to rest."""
        self._stop('the node was deactivated')

    def cleanup(self) -> None:
        """End a plan in the making."""
        if self._planning is not None:
            self._planning.cancel()
            self._planning = None

    def on_time_jump(self, delta: float) -> None:
        """Forget a motion that was played in a time that is no more."""
        if self._playing is not None:
            self._playing = None
            self._say(f'stopped: time went back by {-delta:.3f} s')

    def _section(self) -> dict[str, Any]:
        path = self.parameters['config_file']
        if not path:
            return {}
        try:
            document = yaml.safe_load(Path(path).expanduser().read_text(encoding='utf-8')) or {}
            section = document.get('excitation') or {}
        except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError) as error:
            raise JointDynamicsError(f'config_file: cannot read {path}: {error}') from None
        return {key: value for key, value in section.items() if key != 'profile'}

    def _make_output(self) -> TopicOutput | ActionOutput:
        if self.parameters['output'] == 'action':
            return ActionOutput(self, '~/follow_joint_trajectory', self._refused)
        return TopicOutput(self.advertise(JointTrajectory, '~/joint_trajectory'))

    def _playback_of(self, trajectory: Trajectory) -> Playback:
        return Playback(self.robot, self._settings.limits, trajectory, self.parameters['repeats'], self.parameters['approach_speed'])

    # The robot.

    def _take(self, message: JointState) -> None:
        now = time.monotonic()
        for k, name in enumerate(message.name):
            if k < len(message.position) and math.isfinite(message.position[k]):
                speed = message.velocity[k] if k < len(message.velocity) else math.nan
                self._states[name] = message.position[k], speed, now

    def _stale(self) -> list[str]:
        """The joints whose position is missing or too old."""
        oldest = time.monotonic() - self.parameters['state_timeout']
        return [name for name in self.robot.joint_names if self._states.get(name, (0.0, 0.0, -math.inf))[2] < oldest]

    def _posture(self) -> NDArray:
        """Where the robot stands; raises JointDynamicsError when that is not known, or it moves."""
        stale = self._stale()
        if stale:
            never = [name for name in stale if name not in self._states]
            raise JointDynamicsError(f'start: expected fresh joint states, found {", ".join(never)} missing' if never else
                                     f'start: expected joint states younger than {self.parameters["state_timeout"]:g} s, found older ones of '
                                     f'{", ".join(stale)}')
        states = np.array([self._states[name][:2] for name in self.robot.joint_names])
        if np.nanmax(np.abs(states[:, 1]), initial=0.0) > self.parameters['standstill']:
            raise JointDynamicsError(f'start: expected the robot at rest, found it moving at {np.nanmax(np.abs(states[:, 1])):.3g} rad/s')
        return states[:, 0]

    # Start and stop.

    def _start(self) -> str:
        if not self.is_active:
            raise JointDynamicsError('start: expected the node to be active')
        if self._playing is not None:
            raise JointDynamicsError('start: a motion is being played')
        if self._playback is None:
            raise JointDynamicsError(f'start: expected a motion, found none: {self._status}')
        if not self._output.connected:
            raise JointDynamicsError(f'start: expected a trajectory controller on {self._output.name}, found none')
        motion = self._playback.from_posture(self._posture())
        self._send(motion)
        self._playing = motion, self._now()
        self._say('playing')
        return f'{motion.duration:.1f} s, of which {motion.duration - self._playback.trajectory.duration:.1f} s to get to the start'

    def _stop_by_request(self) -> str:
        if self._playing is None:
            raise JointDynamicsError('stop: nothing is being played')
        return f'at rest in {self._stop("~/stop was called"):.2f} s'

    def _stop(self, reason: str) -> float:
        """Brake on the path of what is being played; return how long that takes [s]."""
        if self._playing is None or self._playback is None:
            return 0.0
        motion, began = self._playing
        braking = self._playback.braking(motion, self._now() - began)
        self._send(braking, first=1)
        self._end(f'stopped: {reason}')
        return braking.duration

    def _hold(self, reason: str) -> None:
        """Hold the robot where it stands: it is not where the motion is."""
        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        posture = [self._states[name][0] for name in self.robot.joint_names]
        message.points = [JointTrajectoryPoint(positions=posture, velocities=[0.0] * len(posture), time_from_start=Duration(nanosec=100_000_000))]
        self._output.send(message)
        self._end(f'stopped: {reason}')

    def _refused(self, reason: str) -> None:
        """Learn that the controller does not follow."""
        if self._playing is not None:
            self._end(f'stopped: {reason}')

    def _end(self, status: str) -> None:
        self._playing = None
        self._say(status)
        self.get_logger().warning(status)

    def _send(self, motion: Trajectory, first: int = 0) -> None:
        samples = motion.sample(min(self.parameters['rate'], MOST_POINTS / motion.duration))
        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        for time_, q, dq, ddq in zip(samples.time[first:], samples.q[first:], samples.dq[first:], samples.ddq[first:], strict=True):
            sec, nanosec = seconds_and_nanoseconds(time_)
            message.points.append(JointTrajectoryPoint(positions=q.tolist(), velocities=dq.tolist(), accelerations=ddq.tolist(),
                                                       time_from_start=Duration(sec=sec, nanosec=nanosec)))
        self._output.send(message)

    def _watch(self) -> None:
        if self._planning is not None:
            self._follow_plan(self._planning)
        if self._playing is None:
            return
        motion, began = self._playing
        elapsed = self._now() - began
        stale = self._stale()
        if stale:
            self.diagnostics.set('joint states', STALE, f'lost: {", ".join(stale)}')
            self._stop(f'joint states of {", ".join(stale)} were lost')
            return
        self.diagnostics.set('joint states', OK, 'arrive')
        error = distance_from(motion, elapsed, [self._states[name][0] for name in self.robot.joint_names])
        if error.max() > self.parameters['tracking_error']:
            self._hold(f'{self.robot.joint_names[int(error.argmax())]} is {error.max():.3g} rad from where it should be')
        elif elapsed > motion.duration:
            self._playing = None
            self._say('done')

    def _follow_plan(self, planning: Planning) -> None:
        outcome = planning.outcome
        if outcome is None:
            self._say(planning.line)
            return
        self._planning = None
        if isinstance(outcome, Playback):
            self._playback = outcome
            self._say('ready')
        elif isinstance(outcome, JointDynamicsError):
            self._say(f'failed: {one_line(outcome)}')
            self.get_logger().error(one_line(outcome))
        else:
            self._say('failed: a defect ended the planning, see the log')
            self.get_logger().fatal(f'defect while planning: {outcome!r}')

    def _now(self) -> float:
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
