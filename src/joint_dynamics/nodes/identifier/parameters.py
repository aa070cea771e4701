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

"""Parameters and topics of the identifier node."""

from __future__ import annotations

from typing import Any

from joint_dynamics.identification.identification_settings import IdentificationSettings, KnownPayload
from joint_dynamics.nodes.framework.tables import ParameterRow, at_once, publishes, service, subscribes
from joint_dynamics.nodes.interfaces.input_parameters import INPUT_PARAMETERS, INPUT_TOPICS
from joint_dynamics.recording import RecordingSettings


def _row(setting: str, **changes: Any) -> ParameterRow:
    return ParameterRow.of(IdentificationSettings, setting, applies='at once', **changes)


PARAMETERS = (
    *INPUT_PARAMETERS,
    ParameterRow.of(RecordingSettings, 'max_gap', upper=10),
    ParameterRow.of(RecordingSettings, 'max_left_out'),
    ParameterRow('max_duration', 600.0, 'longest recording', 's', 1, 36000),
    *(
        _row(name)
        for name in ('method', 'f_dyn', 'position_cutoff', 'parallel_cutoff', 'decimation', 'selection', 'rest_speed')
    ),
    _row('physical', description='nearest physically possible parameters (needs cvxpy)'),
    _row('essential', default='none', choices=('none', 'ratio', 'f')),
    at_once('loaded', False, 'whether new recordings have a payload at the last link'),
    ParameterRow.of(KnownPayload, 'mass', name='payload_mass', applies='at once'),
    _row('drive_gains', name='drive_gain', lower=0, upper=10000, per_joint=True),
    _row('drive_gain_deviation', per_joint=True),
    at_once('average_periods', True, 'average a repeated motion over its periods'),
    _row('condition_limit'),
    _row('proceed'),
    at_once('config_file', '', 'YAML whose section `identification` has further settings; parameters take precedence'),
    at_once('validation_recordings', 0, 'number of last recordings for validation only', '', 0, 100),
    ParameterRow(
        'output_folder',
        '',
        'folder of the results; empty: `joint_dynamics` and the name of the node, in `$ROS_HOME` or `~/.ros`',
        applies='start',
    ),
    at_once('save_recordings', True, 'write the recordings there too, as they come (rosbag2)'),
)
TOPICS = (
    *INPUT_TOPICS,
    subscribes(
        'motion_status',
        'std_msgs/String',
        'status of the motion; remapped to `excitation/status`, a recording ends with the motion',
    ),
    publishes('~/dynamics_description', 'std_msgs/String', 'the identified dynamics description (YAML), latched'),
    publishes(
        '~/status',
        'std_msgs/String',
        'state: idle, recording, identifying (with the step), done, failed (with the reason); latched',
    ),
    publishes(
        '~/heard',
        'sensor_msgs/JointState',
        'stamp of every twentieth processed joint state: a simulator that follows it (`follow_topics`) never runs '
        'ahead of the recording',
    ),
    service('~/start_recording', 'begin a recording of the inputs'),
    service('~/stop_recording', 'end it; it is kept for identify', ends=True),
    service('~/clear', 'forget all recordings (their files stay)'),
    service('~/identify', 'identify the robot from all recordings; answers when it is done'),
)
