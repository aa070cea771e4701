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

"""The steps *plan* and *move*: motions planned within the limits, shown, played by the excitation node and recorded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from joint_dynamics.calibration.folder import CalibrationFolder
from joint_dynamics.calibration.robot import REST, Robot
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import load_trajectory
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.nodes.framework.tables import SENSOR, STATUS
from joint_dynamics.nodes.interfaces.messages import seconds, stamp
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.limits import column_unit
from joint_dynamics.terminal import Terminal

PREVIEW = 'preview/joint_states'
"""Topic of the planned motion, for a `robot_state_publisher` under a second name (`launch/preview.launch.py`)."""
PREVIEW_RATE = 30.0  # Hz
PATIENCE = 60.0  # s beyond its duration after which a motion has not ended
SETTLED = 0.5  # s at rest before a motion starts
PROFILES = {'friction': 'constant-speed', 'hysteresis': 'slow-reversals'}
"""Joint test -> profile of its motion."""
SAVED = re.compile(r'saved as (?P<folder>.+)$')


@dataclass(frozen=True)
class Motion:
    """A motion of the calibration: `name` of its folders, words for its purpose, options of `excite`."""

    name: str
    purpose: str
    options: tuple[str, ...] = ()


def motions(tests: Sequence[tuple[str, str]]) -> list[Motion]:
    """Return the motions to play: one for training, another for validation, and the joint tests."""
    found = [Motion('learn', 'for training', ('--seed', '0')), Motion('judge', 'for validation', ('--seed', '1'))]
    for test, joint in tests:
        options = ('--profile', PROFILES[test], '--joint', joint)
        found.append(Motion(f'{test}_{joint}', f'{test} of {joint}', options))
    return found


def plan(folder: CalibrationFolder, wanted: Sequence[Motion]) -> None:
    """Plan each motion by `joint-dynamics excite` into `motions/NAME`.

    Raises
    ------
    JointDynamicsError
        Where a motion does not excite the robot well enough; `excite` says what helps.
    """
    for motion in wanted:
        words = ['excite', '--robot', 'robot.urdf', '--config', 'config.yaml', *motion.options]
        if folder.command(*words, '--out', f'motions/{motion.name}') != 0:
            raise JointDynamicsError(
                f'calibrate: expected a motion {motion.purpose} that separates all parameters, found none: give '
                'the search more starts or a longer period (excitation.fourier in --config)'
            )


def describe(trajectory: Trajectory, model: RobotModel) -> tuple[list[str], list[list[Any]]]:
    """Return headers and a row per joint: its range and greatest speed, with units."""
    samples = trajectory.sample(100.0)
    travel, speed = (column_unit(unit, model.prismatic) for unit in ('rad', 'rad/s'))
    rows: list[list[Any]] = [
        [name, q.min(), q.max(), np.abs(dq).max()]
        for name, q, dq in zip(trajectory.joint_names, samples.q.T, samples.dq.T, strict=True)
    ]
    return ['joint', f'from, {travel}', f'to, {travel}', f'speed up to, {speed}'], rows


@contextmanager
def preview(robot: Robot, trajectory: Trajectory) -> Iterator[None]:
    """Publish the motion again and again on `preview/joint_states` while the client spins."""
    node, samples = robot.client.node, trajectory.sample(PREVIEW_RATE)
    publisher = node.create_publisher(JointState, f'{robot.namespace}/{PREVIEW}', QoSProfile(depth=10))
    at = [0]

    def show() -> None:
        q = samples.q[at[0] % len(samples.time)]
        at[0] += 1
        message = JointState(name=list(trajectory.joint_names), position=q.tolist())
        message.header.stamp = stamp(node.get_clock().now().nanoseconds)
        publisher.publish(message)

    timer = node.create_timer(1.0 / PREVIEW_RATE, show)
    try:
        yield
    finally:
        node.destroy_timer(timer)
        node.destroy_publisher(publisher)


class Player:
    """Plays motions of the folder through the excitation node and records them with the identifier."""

    def __init__(self, robot: Robot, folder: CalibrationFolder, terminal: Terminal):
        self._robot, self._folder, self._terminal = robot, folder, terminal
        self._client = robot.client
        self.status = ''
        self._client.listen(String, f'{robot.node("excitation")}/status', self._take, STATUS)
        self._client.listen(JointState, f'{robot.namespace}/joint_states', self._watch, SENSOR)
        self._now = self._moved = 0.0  # s, stamps of the last joint states, and of the last ones in motion

    def _take(self, message: String) -> None:
        self.status = message.data

    def _watch(self, message: JointState) -> None:
        self._now = seconds(message.header.stamp)
        speed = dict(zip(message.name, message.velocity, strict=False))
        if any(abs(speed.get(joint, 0.0)) > REST for joint in self._robot.model.joint_names):
            self._moved = self._now

    def play(self, name: str) -> Path:
        """Play one motion and return the folder of its recording, `recordings/NAME`.

        On Ctrl-C, the robot brakes on its path and the recording up to there is kept.

        Raises
        ------
        JointDynamicsError
            Where a node refuses, or the motion was stopped; the recording up to there is kept.
        """
        excitation, identifier = self._robot.node('excitation'), self._robot.node('identifier')
        trajectory = self._folder.path / 'motions' / name / 'summary.json'
        self._client.reconfigure(excitation, trajectory_file=str(trajectory))
        self._client.until(lambda: self.status.startswith('ready'), f'{excitation} to be ready')
        duration = load_trajectory(trajectory).duration
        # a controller settles after the end of a motion
        self._client.until(lambda: self._now - self._moved > SETTLED, 'the robot to come to rest')
        self._client.trigger(f'{identifier}/start_recording')
        complaint: JointDynamicsError | None = None
        try:
            words = self._client.trigger(f'{excitation}/start')
            with self._terminal.progress(f'playing {name} ({words})') as show:
                self._client.until(lambda: self._over(show), f'the motion {name} to end', 10.0 * duration + PATIENCE)
        except KeyboardInterrupt:
            self._terminal.problem(f'stopping: {self._client.trigger(f"{excitation}/stop")}')
            self._keep(name, self._client.trigger(f'{identifier}/stop_recording'))
            raise
        except JointDynamicsError as error:
            complaint = error
        kept = self._keep(name, self._client.trigger(f'{identifier}/stop_recording'))
        if complaint is not None:
            raise complaint
        return kept

    def _over(self, show: Any) -> bool:
        show(self.status)
        if self.status.startswith(('stopped', 'failed')):
            raise JointDynamicsError(f'calibrate: the motion {self.status}')
        return self.status.startswith('done')

    def _keep(self, name: str, answer: str) -> Path:
        """Move the recording that the identifier names in its answer to `recordings/NAME`."""
        saved = SAVED.search(answer)
        if saved is None:
            raise JointDynamicsError(f'calibrate: expected a saved recording, found: {answer}')
        target = self._folder.path / 'recordings' / name
        target.parent.mkdir(exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(saved['folder'], target)
        self._terminal.say(f'recorded: {target}')
        return target
