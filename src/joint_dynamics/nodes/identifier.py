"""Records the robot's topics, identifies its dynamics on request, publishes the dynamics description and writes the report."""
from __future__ import annotations

import copy
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.settings import METHODS, IdentificationSettings
from joint_dynamics.nodes.config_file import section_of
from joint_dynamics.nodes.diagnostics import ERROR, OK, WARN
from joint_dynamics.nodes.identify_worker import Job
from joint_dynamics.nodes.inputs import INPUT_PARAMETERS, INPUT_TOPICS, InputSet, recording_settings
from joint_dynamics.nodes.lifecycle import DynamicsNode
from joint_dynamics.nodes.parameters import ParameterRow
from joint_dynamics.nodes.run import run
from joint_dynamics.nodes.saving import Saving
from joint_dynamics.nodes.topics import LATCHED, STATE, STATUS, TopicRow
from joint_dynamics.nodes.worker import Worker
from joint_dynamics.recording import RecordingBuilder

HEARD_EVERY = 20
_FROM_DATA = '; 0: from the data'


class IdentifierNode(DynamicsNode):
    """See the module; the work itself is `identify_worker.work`, in a process of its own."""

    NAME = 'identifier'
    PARAMETERS = (
        *INPUT_PARAMETERS,
        ParameterRow('max_gap', 0.0, 'longest stretch without a sample that is bridged; 0: five sample periods, at least 0.02 s', 's', 0, 10),
        ParameterRow('max_duration', 600.0, 'a recording is stopped after so long', 's', 1, 36000),
        ParameterRow('method', 'wls', 'how the parameters are estimated', choices=METHODS, applies='at once'),
        ParameterRow('f_dyn', 0.0, 'bandwidth of the dynamics, from which the cut-offs follow' + _FROM_DATA, 'Hz', 0, 1000, applies='at once'),
        ParameterRow('position_cutoff', 0.0, 'zero-phase filter on positions; 0: 5 f_dyn', 'Hz', 0, 10000, applies='at once'),
        ParameterRow('parallel_cutoff', 0.0, 'filter on torque and regressor; 0: 2 f_dyn', 'Hz', 0, 10000, applies='at once'),
        ParameterRow('decimation', 0, 'keep every n-th filtered sample' + _FROM_DATA, '', 0, 10000, applies='at once'),
        ParameterRow('selection', True, 'try further friction terms on held-out parts of the data and keep those that pay', applies='at once'),
        ParameterRow('rest_speed', 0.01, 'a joint slower than this rests, and its friction is not known', 'rad/s', 0, 1, applies='at once'),
        ParameterRow('physical', False, 'move the estimate into the set of physical parameters (needs cvxpy)', applies='at once'),
        ParameterRow('essential', 'none', 'drop parameters that the data does not need, by relative deviation or by F-statistic',
                     choices=('none', 'ratio', 'f'), applies='at once'),
        ParameterRow('loaded', False, 'recordings begun from now on are with a payload at the last link', applies='at once'),
        ParameterRow('payload_mass', 0.0, 'weighed mass of that payload; 0: not known', 'kg', 0, 1000, applies='at once'),
        ParameterRow('drive_gain', 0.0, 'torque per current on the joint side of the gear; 0: not known', 'N·m/A', 0, 10000, per_joint=True,
                     applies='at once'),
        ParameterRow('drive_gain_deviation', 0.0, 'relative standard deviation of that (± 5 % of a data sheet: 0.03; '
                     '0 for all joints: 0.058 is assumed), it goes into those of the parameters', '', 0, 0.99,
                     per_joint=True, applies='at once'),
        ParameterRow('average_periods', True, 'a recording that repeats its motion is averaged over its periods', applies='at once'),
        ParameterRow('condition_limit', 300.0, 'above this condition number a recording does not excite the robot enough', '', 1, 1e12,
                     applies='at once'),
        ParameterRow('proceed', False, 'accept a result that cannot be believed', applies='at once'),
        ParameterRow('config_file', '', 'YAML whose part `identification` has further settings; parameters that are set go before it',
                     applies='at once'),
        ParameterRow('validation_recordings', 0, 'how many of the last recordings only validate', '', 0, 100, applies='at once'),
        ParameterRow('output_folder', '', 'where results go; empty: `joint_dynamics` and the name of the node, in `$ROS_HOME` or `~/.ros`',
                     applies='at once'),
        ParameterRow('save_recordings', True, 'write the recordings there too, as they come (rosbag2)', applies='at once'),
    )
    TOPICS = (
        *INPUT_TOPICS,
        TopicRow('motion_status', 'std_msgs/String', 'subscribes', 'what moves the robot says of it; remapped to `excitation/status`, a recording '
                 'ends when that says stopped or failed'),
        TopicRow('~/dynamics_description', 'std_msgs/String', 'publishes', 'the identified dynamics description (YAML), latched'),
        TopicRow('~/status', 'std_msgs/String', 'publishes', 'what the node does: idle, recording, identifying (with the step), done, failed '
                 '(with the reason); latched'),
        TopicRow('~/heard', 'sensor_msgs/JointState', 'publishes', 'stamp of the joint states worked through, every twentieth: a simulator that '
                 'follows it (`follow_topics`) never runs ahead of what is recorded'),
        TopicRow('~/start_recording', 'std_srvs/Trigger', 'service', 'begin a recording of the inputs'),
        TopicRow('~/stop_recording', 'std_srvs/Trigger', 'service', 'end it; it is kept for identify'),
        TopicRow('~/clear', 'std_srvs/Trigger', 'service', 'forget all recordings (their files stay)'),
        TopicRow('~/identify', 'std_srvs/Trigger', 'service', 'identify the robot from all recordings; answers when it is done'),
    )

    def configure(self) -> None:
        """Subscribe to the inputs and offer the services."""
        settings = recording_settings(self.parameters, self.robot.joint_names, max_gap=self.parameters['max_gap'] or None)
        self._identification_settings()
        self._builder = RecordingBuilder(self.robot.joint_names, settings)
        self._recording: RecordingBuilder | None = None
        self._started = 0.0
        self._recordings: list[tuple[str, RecordingBuilder]] = []
        self._loaded: list[tuple[str, RecordingBuilder]] = []
        self._count = 0
        self._saving = Saving(self)
        if self.parameters['save_recordings']:
            self._saving.end_leftovers(self._folder())
        self._is_loaded = False
        self._worker: Worker | None = None
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
        self._say('idle')

    def deactivate(self) -> None:
        """Stop recording and identifying."""
        if self._recording is not None:
            self._stop_recording()
        self._cancel('the node was deactivated')

    def cleanup(self) -> None:
        """Forget the recordings."""
        self._clear()

    def on_time_jump(self, delta: float) -> None:
        """End a recording whose stamps would run backwards."""
        if self._recording is not None:
            self._stop_recording()
            self.diagnostics.set('recording', WARN, f'stopped: time went back by {-delta:.3f} s')

    def _start_recording(self) -> str:
        self._must_be_active()
        if self._recording is not None:
            raise JointDynamicsError('start_recording: a recording is going on already')
        unnamed = self._inputs.checks.unnamed_joints()
        if unnamed:
            raise JointDynamicsError(f'start_recording: expected joint states of all joints, found none of {", ".join(unnamed)}')
        if self.parameters['save_recordings']:
            self._count = self._saving.begin(self._folder(), self._count, self.get_clock().now().nanoseconds)
        else:
            self._count += 1
        # The node's own builder only ever learns the names of interfaces, which are latched and come once, before any recording.
        self._recording = copy.deepcopy(self._builder)
        self._started = self._now()
        self._is_loaded = self.parameters['loaded']
        self._say(f'recording {self._count}')
        return f'recording {self._count} started'

    def _stop_recording(self) -> str:
        if self._recording is None:
            raise JointDynamicsError('stop_recording: no recording is going on')
        builder, self._recording = self._recording, None
        seconds = self._now() - self._started
        (self._loaded if self._is_loaded else self._recordings).append((f'recording_{self._count}', builder))
        messages = ', '.join(f'{count} on {topic}' for topic, count in builder.counts.items()) or 'none'
        saved = self._saving.end(f'recording_{self._count}')
        self._say('idle')
        return f'recording {self._count}{", loaded" * self._is_loaded}: {seconds:.2f} s, messages: {messages}{saved}'

    def _take_motion_status(self, message: String) -> None:
        if self._recording is not None and message.data.startswith(('stopped', 'failed')):
            self.get_logger().warning(f'{self._stop_recording()}: the motion {message.data}')

    def _clear(self) -> str:
        forgotten = len(self._recordings) + len(self._loaded)
        self._saving.saved.clear()
        self._recordings.clear()
        self._loaded.clear()
        return f'{forgotten} recordings forgotten'

    def _take(self, topic: str, message: Any, received: int) -> None:
        if hasattr(message, 'keys'):
            self._builder.add_message(topic, message, received)
        if self._recording is not None:
            self._recording.add_message(topic, message, received)
        if topic == 'joint_states':
            self._hearings += 1
            if self._hearings % HEARD_EVERY == 0:
                self._heard.publish(JointState(header=message.header))

    def _identify(self) -> Future:
        self._must_be_active()
        if self._worker is not None:
            raise JointDynamicsError('identify: it is going on already')
        if self._recording is not None:
            raise JointDynamicsError('identify: stop the recording first')
        validation = self.parameters['validation_recordings']
        if len(self._recordings) <= validation:
            raise JointDynamicsError(f'identify: expected more recordings without load than the {validation} for validation, '
                                     f'found {len(self._recordings)}')
        job = Job(self.parameters['robot_file'] or self.robot.urdf or '', tuple(self.parameters['joints']), tuple(self.robot.mounting or ()),
                  tuple(self._recordings), tuple(self._loaded), validation, self._identification_settings(), str(self._folder()),
                  dict(self._saving.saved))
        with tempfile.NamedTemporaryFile(prefix='joint_dynamics_job_', delete=False) as file:
            pickle.dump(job, file, protocol=pickle.HIGHEST_PROTOCOL)
        self._worker = Worker('joint_dynamics.nodes.identify_worker', file.name)
        self._say(f'identifying from {len(self._recordings) - validation} recordings')
        self._answer = Future()
        return self._answer

    def _poll(self) -> None:
        if self._recording is not None and self._now() - self._started > self.parameters['max_duration']:
            self.get_logger().warning(self._stop_recording())
        self._saving.poll()
        if self._worker is None:
            return
        status = self._worker.status
        for line in self._worker.poll():
            if 'progress' in line:
                self._say(f'identifying: {line["progress"]}')
            elif 'done' in line:
                self._finish(line['done'])
                return
            else:
                self._fail(line['failed'])
                return
        if status is not None:
            self.get_logger().fatal(f'identification ended with status {status}:\n{self._worker.errors}')
            self._fail(f'a defect ended the identification (status {status}), see the log')

    def _finish(self, done: dict[str, Any]) -> None:
        if not done['believable']:
            self._fail(done['line'])
            return
        self._publisher.publish(String(data=done['yaml']))
        self.diagnostics.set('identification', OK, done['line'])
        self.get_logger().info(done['line'])
        self._say(f'done: {done["line"]}')
        self._reply(Trigger.Response(success=True, message=done['line']))

    def _fail(self, reason: str) -> None:
        self.diagnostics.set('identification', ERROR, reason)
        self.get_logger().error(f'identify: {reason}')
        self._say(f'failed: {reason}')
        self._reply(Trigger.Response(success=False, message=reason))

    def _reply(self, response: Trigger.Response) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        if self._answer is not None:
            self._answer.set_result(response)
            self._answer = None

    def _cancel(self, reason: str) -> None:
        if self._worker is not None:
            self._fail(f'cancelled: {reason}')

    def _say(self, status: str) -> None:
        if status != self._status:
            self._status = status
            self._status_publisher.publish(String(data=status))

    def _now(self) -> float:
        return self.get_clock().now().nanoseconds * 1e-9

    def _must_be_active(self) -> None:
        if not self.is_active:
            raise JointDynamicsError('expected the node to be active')

    def _folder(self) -> Path:
        if self.parameters['output_folder']:
            return Path(self.parameters['output_folder']).expanduser().absolute()
        home = Path(os.environ.get('ROS_HOME') or Path.home() / '.ros')
        return home / 'joint_dynamics' / self.get_fully_qualified_name().strip('/')

    def _identification_settings(self) -> dict[str, Any]:
        settings = section_of(self.parameters['config_file'], 'identification')
        for row in self.PARAMETERS:
            if row.name not in IdentificationSettings.__dataclass_fields__ or row.per_joint:
                continue
            if (value := self.parameters[row.name]) != row.default:
                settings[row.name] = value
        if not self.parameters['average_periods']:
            settings['period'] = 0.0
        gains = dict(zip(self.robot.joint_names, self.parameters.per_joint('drive_gain'), strict=True))
        if any(gains.values()):
            settings['drive_gains'] = {joint: gain for joint, gain in gains.items() if gain}
        deviations = dict(zip(self.robot.joint_names, map(float, self.parameters.per_joint('drive_gain_deviation')), strict=True))
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
