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

"""Records the robot's topics, identifies its dynamics on request.

Publishes the dynamics description and writes the report.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from pathlib import Path
from typing import Any

import yaml
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from joint_dynamics.documents import section_of
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, WARN
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.run import run
from joint_dynamics.nodes.framework.tables import LATCHED, STATE, STATUS
from joint_dynamics.nodes.framework.worker import Worker
from joint_dynamics.nodes.identifier.parameters import PARAMETERS, TOPICS
from joint_dynamics.nodes.identifier.worker import Job
from joint_dynamics.nodes.interfaces.input_parameters import recording_mapping, recording_settings
from joint_dynamics.nodes.interfaces.inputs import InputSet
from joint_dynamics.output_files import prepare_folder, write_atomically
from joint_dynamics.recording import BagWriter, RecordingBuilder, new_recording
from joint_dynamics.recording.inputs import KEYS

HEARD_CHECK_EVERY = 20  # joint states


class Saving:
    """The recording that is written, at most one; a failure is an error in the diagnostics, under `recording`."""

    def __init__(self, node: DynamicsNode):
        self._node = node
        self._writer: BagWriter | None = None
        self._cut = ''
        # Names of interfaces come once, before any recording, which cannot be read without them.
        self._latched: dict[str, tuple[str, bytes]] = {}

    def begin(self, folder: Path, after: int, now: int) -> int:
        """Begin a recording at this time (ns); return its number, above `after` and all in the folder.

        Raises
        ------
        JointDynamicsError
            Where it cannot be written.
        """
        number, self._writer = new_recording(folder, after)
        self._cut = ''
        self._node.diagnostics.clear('recording')
        for topic, (kind, data) in self._latched.items():
            self.write(topic, kind, data, now)
        return number

    def write(self, topic: str, kind: str, data: bytes, received: int) -> None:
        """Write the bytes of a message of type `kind`, received at this time (ns), where anything is being written."""
        if kind == KEYS:
            self._latched[topic] = kind, data
        if self._writer is not None:
            try:
                self._writer.write(topic, kind, received, data)
            except JointDynamicsError as error:
                self._fail(f'{error}; it continues in memory only')

    def end(self) -> str:
        """End the recording; return what to say of it."""
        if self._writer is not None:
            folder = self._writer.folder
            try:
                if not self._writer.file.is_file():
                    raise JointDynamicsError(f'{folder}: expected the recording there, found it deleted meanwhile')
                self._writer.close()
            except JointDynamicsError as error:
                self._fail(str(error))
        if self._writer is None:
            return f'; cut on disk: {self._cut}' * bool(self._cut)
        self._writer = None
        return f'; saved as {folder}'

    def poll(self) -> None:
        """Write messages that have waited long enough; to be called several times a second."""
        if self._writer is not None:
            try:
                self._writer.flush_when_due()
            except JointDynamicsError as error:
                self._fail(f'{error}; it continues in memory only')

    def _fail(self, line: str) -> None:
        if self._writer is not None:
            self._writer.abandon()
            self._writer, self._cut = None, line
        self._node.diagnostics.set('recording', ERROR, line)
        self._node.get_logger().error(line)


class IdentifierNode(DynamicsNode):
    """See the module; the work itself is `identify_worker.work`, in a process of its own.

    Attributes
    ----------
    recording
        the recording in progress; None without one.
    worker
        the process that identifies; None without one.
    motion_end
        of the motion being played, s of the node's clock; None without one.

    """

    NAME = 'identifier'
    PARAMETERS = PARAMETERS
    TOPICS = TOPICS

    def configure(self) -> None:
        """Subscribe to the inputs and offer the services."""
        settings = recording_settings(
            self.parameters,
            self.robot.joint_names,
            max_gap=self.parameters['max_gap'] or None,
            max_left_out=self.parameters['max_left_out'],
        )
        self._identification_settings()
        self._builder = RecordingBuilder(self.robot.joint_names, settings)
        self.recording: RecordingBuilder | None = None
        self._started, self._ended = 0.0, ''
        self.motion_end: float | None = None
        self._remarks: dict[str, str] = {}
        self._recordings: list[tuple[str, RecordingBuilder]] = []
        self._loaded: list[tuple[str, RecordingBuilder]] = []
        self._count = 0
        self._saving = Saving(self)
        if self.parameters['save_recordings']:
            try:
                self._write_configuration()
            except JointDynamicsError as error:
                # start_recording refuses; recordings in memory need no folder
                self.diagnostics.set('recording', ERROR, str(error))
                self.get_logger().error(str(error))
        self._is_loaded = False
        self.worker: Worker | None = None
        self._answer: Future | None = None
        self._inputs = InputSet(self, settings, on_message=self._take, on_bytes=self._saving.write)
        self.subscribe(String, 'motion_status', self._take_motion_status, STATE)
        self._publisher = self.advertise(String, '~/dynamics_description', LATCHED, when_inactive=True)
        self._status_publisher = self.advertise(String, '~/status', STATUS, when_inactive=True)
        self._status = ''
        self._heard, self._hearings = self.advertise(JointState, '~/heard', when_inactive=True), 0
        self.serve('~/start_recording', self._start_recording)
        self.serve('~/stop_recording', self._stop_recording)
        self.serve('~/clear', self._clear)
        self.serve('~/identify', self._identify)
        self.every(0.05, self._poll, steady=True)
        self._set_status('idle')

    def deactivate(self) -> None:
        """Stop recording and identifying."""
        if self.recording is not None:
            self._stop_recording()
        if self.worker is not None:
            self._fail('cancelled: the node was deactivated')

    def cleanup(self) -> None:
        """Forget the recordings."""
        self._clear()

    def on_time_jump(self, delta: float) -> None:
        """End a recording whose stamps would run backwards."""
        if self.recording is not None:
            self._end_recording(f'when time went back by {-delta:.3f} s')
            self.diagnostics.set('recording', WARN, f'stopped: time went back by {-delta:.3f} s')

    def _start_recording(self) -> str:
        self._must_be_active()
        if self.recording is not None:
            raise JointDynamicsError('start_recording: expected no recording, found one going on already')
        unnamed = self._inputs.checks.unnamed_joints()
        if unnamed:
            raise JointDynamicsError(
                f'start_recording: expected joint states of all joints, found none of {", ".join(unnamed)}'
            )
        if self.parameters['save_recordings']:
            self._count = self._saving.begin(self._folder(), self._count, self.get_clock().now().nanoseconds)
        else:
            self._count += 1
        # The node's own builder only ever learns the names of interfaces, which are latched and come once, before any
        # recording.
        self.recording = copy.deepcopy(self._builder)
        self._started = self.clock_time()
        self._is_loaded = self.parameters['loaded']
        self._set_status(f'recording {self._count}')
        return f'recording {self._count} started'

    def _stop_recording(self) -> str:
        if self.recording is None:
            if not self._ended:
                raise JointDynamicsError('stop_recording: expected a recording, found none going on')
            # With its motion, or by max_duration: whoever asks for the end has it.
            return f'ended already: {self._ended}'
        left = 0.0 if self.motion_end is None else self.motion_end - self.clock_time()
        return self._end_recording(f'{left:.1f} s before the end of the motion' if left > 0.0 else '')

    def _end_recording(self, remark: str) -> str:
        """End the recording; the remark, empty where it ended as planned, goes into the answer and the verdict."""
        assert self.recording is not None
        builder, self.recording = self.recording, None
        seconds, name = self.clock_time() - self._started, f'recording_{self._count}'
        (self._loaded if self._is_loaded else self._recordings).append((name, builder))
        messages = ', '.join(f'{count} on {topic}' for topic, count in builder.counts.items()) or 'none'
        saved = self._saving.end()
        self._set_status('idle')
        loaded = ', loaded' * self._is_loaded
        if remark:
            self._remarks[name] = f'ended {remark}'
        ended = f'; {self._remarks[name]}' if remark else ''
        self._ended = f'recording {self._count}{loaded}: {seconds:.2f} s, messages: {messages}{ended}{saved}'
        return self._ended

    def _take_motion_status(self, message: String) -> None:
        state, _, seconds = message.data.removesuffix(' s').partition(', ')
        self.motion_end = None
        with contextlib.suppress(ValueError):
            if state == 'playing':
                self.motion_end = self.clock_time() + float(seconds)
        if self.recording is not None and message.data.startswith(('stopped', 'failed')):
            self.get_logger().warning(self._end_recording(f'with the motion, which {message.data}'))

    def _clear(self) -> str:
        forgotten = len(self._recordings) + len(self._loaded)
        self._remarks.clear()
        self._ended = ''
        self._recordings.clear()
        self._loaded.clear()
        return f'{forgotten} recordings forgotten'

    def _take(self, topic: str, message: Any, received: int) -> None:
        if hasattr(message, 'keys'):
            self._builder.add_message(topic, message, received)
        if self.recording is not None:
            self.recording.add_message(topic, message, received)
        if topic == 'joint_states':
            self._hearings += 1
            if self._hearings % HEARD_CHECK_EVERY == 0:
                self._heard.publish(JointState(header=message.header))

    def _identify(self) -> Future:
        self._must_be_active()
        if self.worker is not None:
            raise JointDynamicsError('identify: expected no identification, found one going on already')
        if self.recording is not None:
            raise JointDynamicsError('identify: expected no recording, found one going on: stop it first')
        validation = self.parameters['validation_recordings']
        if len(self._recordings) <= validation:
            raise JointDynamicsError(
                f'identify: expected more recordings without load than the {validation} for validation, '
                f'found {len(self._recordings)}'
            )
        job = Job(
            self.parameters['robot_file'] or self.robot.urdf or '',
            tuple(self.parameters['joints']),
            tuple(self.robot.mounting or ()),
            tuple(self._recordings),
            tuple(self._loaded),
            validation,
            self._identification_settings(),
            str(self._folder()),
            dict(self._remarks),
        )
        self.worker = Worker('joint_dynamics.nodes.identifier.worker:serve_identification', job, 'identification')
        self._set_status(f'identifying from {len(self._recordings) - validation} recordings')
        self._answer = Future()
        return self._answer

    def _poll(self) -> None:
        if self.recording is not None and self.clock_time() - self._started > self.parameters['max_duration']:
            self.get_logger().warning(self._end_recording('after max_duration'))
        self._saving.poll()
        if self.worker is None:
            return
        for message in self.worker.poll():
            if 'progress' in message:
                self._set_status(f'identifying: {message["progress"]}')
            elif 'done' in message:
                self._finish(message['done'])
            else:
                if 'defect' in message:
                    self.get_logger().fatal(f'identification ended:\n{message["defect"]}')
                self._fail(message['failed'])

    def _finish(self, done: dict[str, Any]) -> None:
        if not done['reliable']:
            self._fail(done['line'])
            return
        self._publisher.publish(String(data=done['yaml']))
        self.diagnostics.set('identification', OK, done['line'])
        self.get_logger().info(done['line'])
        self.get_logger().info(f'next: {done["next"]}')
        self._set_status(f'done: {done["line"]}')
        self._reply(Trigger.Response(success=True, message=f'{done["line"]}; next: {done["next"]}'))

    def _fail(self, reason: str) -> None:
        self.diagnostics.set('identification', ERROR, reason)
        self.get_logger().error(reason if reason.startswith('identify: ') else f'identify: {reason}')
        self._set_status(f'failed: {reason}')
        self._reply(Trigger.Response(success=False, message=reason))

    def _reply(self, response: Trigger.Response) -> None:
        if self.worker is not None:
            self.worker.close()
            self.worker = None
        if self._answer is not None:
            self._answer.set_result(response)
            self._answer = None

    def _set_status(self, status: str) -> None:
        if status != self._status:
            self._status = status
            self._status_publisher.publish(String(data=status))

    def _must_be_active(self) -> None:
        if not self.is_active:
            raise JointDynamicsError('expected the node to be active, found it inactive')

    def _folder(self) -> Path:
        return self.output_folder(self.get_fully_qualified_name().strip('/'))

    def _write_configuration(self) -> None:
        """Write robot.urdf and config.yaml, with which `joint-dynamics identify` reads the recordings beside them."""
        robot: dict[str, Any] = {'joints': list(self.robot.joint_names)}
        if self.robot.mounting is not None:
            robot['mounting'] = [float(value) for value in self.robot.mounting]
        document = {
            'robot': robot,
            'recording': recording_mapping(self.parameters, self.robot.joint_names, self.resolve_topic_name),
            'identification': self._identification_settings(),
        }
        folder = prepare_folder(self._folder())
        write_atomically(folder / 'config.yaml', yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
        if self.robot.urdf:
            write_atomically(folder / 'robot.urdf', self.robot.urdf)

    def _identification_settings(self) -> dict[str, Any]:
        settings = section_of(self.parameters['config_file'], 'identification')
        for row in PARAMETERS:
            if row.name not in IdentificationSettings.__dataclass_fields__ or row.per_joint:
                continue
            if (value := self.parameters[row.name]) != row.default:
                settings[row.name] = value
        if not self.parameters['average_periods']:
            settings['period'] = 0.0
        gains = dict(zip(self.robot.joint_names, self.parameters.per_joint('drive_gain'), strict=True))
        if any(gains.values()):
            settings['drive_gains'] = {joint: gain for joint, gain in gains.items() if gain}
        deviations = dict(
            zip(self.robot.joint_names, map(float, self.parameters.per_joint('drive_gain_deviation')), strict=True)
        )
        if any(deviations.values()):
            settings['drive_gain_deviation'] = deviations
        if self.parameters['payload_mass']:
            settings['payload'] = {**(settings.get('payload') or {}), 'mass': self.parameters['payload_mass']}
        IdentificationSettings.from_config(settings)
        return settings


def main() -> int:
    """Run the node; return the exit status."""
    return run(IdentifierNode)


if __name__ == '__main__':
    sys.exit(main())
