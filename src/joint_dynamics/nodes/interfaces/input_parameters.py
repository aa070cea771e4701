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

"""Parameters and topics of a robot's inputs, and the settings of a recording that they state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.tables import NodeParameters, ParameterRow, row_of, subscribes
from joint_dynamics.recording.conversions import MOTOR_PARAMETERS
from joint_dynamics.recording.recording_settings import (
    KNOWN,
    JointStates,
    MotorStates,
    RecordingSettings,
    StateInterfaces,
)

FORMS = (
    'joint_states',
    'motor_states',
    'motor_current',
    'link_states',
    'load_torques',
    'temperatures',
    'arrays',
    'dynamic_joint_states',
    'state_interfaces',
)


def _arrays(values: list[str]) -> str | None:
    for value in values:
        quantity, _, topic = value.partition(' ')
        if quantity not in KNOWN or not topic.strip():
            return f'texts `quantity topic` with a quantity of {", ".join(KNOWN)}'
    return None


_EFFORT = (
    'meaning of `effort` of {}_states: {} torque in N·m, the same without gravity, motor current in A, or not used'
)
INPUT_PARAMETERS = (
    ParameterRow('inputs', ['joint_states'], 'inputs that the robot offers', choices=FORMS),
    ParameterRow.of(JointStates, 'effort', name='joint_states_effort', description=_EFFORT.format('joint', 'joint')),
    ParameterRow.of(MotorStates, 'effort', name='motor_states_effort', description=_EFFORT.format('motor', 'motor')),
    ParameterRow.of(
        StateInterfaces,
        'effort',
        name='interfaces_effort',
        description='meaning of an interface `effort` of dynamic_joint_states or state_interfaces',
    ),
    ParameterRow('source_name', '', 'name of the joint in the messages; empty: the same', per_joint=True),
    *(row_of(row) for row in MOTOR_PARAMETERS),
    ParameterRow(
        'temperature_topics',
        ['{joint}/temperature'],
        'topics of joint temperatures; `{joint}` stands for the joint, else `frame_id` names it',
    ),
    ParameterRow(
        'arrays', [], 'Float64MultiArray topics as `quantity topic`, e.g. `current rtde/actual_current`', check=_arrays
    ),
    ParameterRow('array_joints', [], 'the joint order of the arrays; empty: that of the robot'),
    ParameterRow.of(RecordingSettings, 'stamps'),
    ParameterRow('reliable_inputs', False, 'receive every sample, but only of reliable publishers'),
    ParameterRow('input_timeout', 0.5, 'silence after which an input other than temperature is stale', 's', 0.01, 60),
    ParameterRow('temperature_timeout', 30.0, 'silence after which a temperature is stale', 's', 0.01, 3600),
)
INPUT_TOPICS = (
    subscribes(
        'joint_states',
        'sensor_msgs/JointState',
        'link side: position rad, velocity rad/s, effort N·m or A; any joint order',
    ),
    subscribes('motor_states', 'sensor_msgs/JointState', 'motor side: position rad, velocity rad/s, effort A or N·m'),
    subscribes('motor_current', 'sensor_msgs/JointState', 'effort: motor current in A'),
    subscribes(
        'link_states',
        'sensor_msgs/JointState',
        'second encoders: position and velocity instead of those of joint_states',
    ),
    subscribes(
        'load_torques', 'sensor_msgs/JointState', 'effort: torque through the transmission in N·m (torque sensors)'
    ),
    subscribes('<temperature_topics>', 'sensor_msgs/Temperature', 'one joint each, °C'),
    subscribes(
        '<arrays>', 'std_msgs/Float64MultiArray', 'values without names in a stated joint order (ur_rtde_publisher)'
    ),
    subscribes(
        'dynamic_joint_states', 'control_msgs/DynamicJointState', 'interfaces by joint, where control_msgs is installed'
    ),
    subscribes('state_interfaces_broadcaster/names', 'control_msgs/Keys', 'names of the values below, latched'),
    subscribes('state_interfaces_broadcaster/values', 'control_msgs/Float64Values', 'state interfaces of ros2_control'),
)


def recording_settings(parameters: NodeParameters, joint_names: Sequence[str], **more: Any) -> RecordingSettings:
    """Return the settings stated by the input parameters.

    `more` are further fields of RecordingSettings (gap, alignment).
    """
    return RecordingSettings.from_mapping({**recording_mapping(parameters, joint_names), **more})


def recording_mapping(
    parameters: NodeParameters, joint_names: Sequence[str], resolved: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return the section `recording` of a configuration, as the input parameters state it.

    resolved: maps a topic of the node to its full name, as a bag has it.
    """
    inputs = parameters['inputs']
    if not inputs:
        raise JointDynamicsError(f'inputs: expected at least one of {", ".join(FORMS)}, found none')
    source = dict(zip(joint_names, parameters.per_joint('source_name', joint_names), strict=True))
    mapping: dict[str, Any] = {'joint_states': None, 'stamps': parameters['stamps']}
    mapping['names'] = {theirs: ours for ours, theirs in source.items() if theirs}
    if 'joint_states' in inputs:
        mapping['joint_states'] = {'topic': resolved('joint_states'), 'effort': parameters['joint_states_effort']}
    if 'motor_states' in inputs:
        mapping['motor_states'] = {
            'topic': resolved('motor_states'),
            'effort': parameters['motor_states_effort'],
            'gear_ratio': dict(zip(joint_names, parameters.per_joint('gear_ratio', joint_names), strict=True)),
            'zero_offsets': dict(zip(joint_names, parameters.per_joint('zero_offset', joint_names), strict=True)),
        }
    for name in ('motor_current', 'link_states', 'load_torques'):
        if name in inputs:
            mapping[name] = resolved(name)
    if 'temperatures' in inputs:
        mapping['temperatures'] = [
            resolved(topic.replace('{joint}', name or joint))
            for topic in parameters['temperature_topics']
            for joint, name in (source.items() if '{joint}' in topic else (('', ''),))
        ]
    if 'arrays' in inputs:
        joints = parameters['array_joints'] or list(joint_names)
        pairs = [text.split(maxsplit=1) for text in parameters['arrays']]
        mapping['arrays'] = [
            {'quantity': quantity, 'topic': resolved(topic.strip()), 'joints': joints} for quantity, topic in pairs
        ]
    for name in ('dynamic_joint_states', 'state_interfaces'):
        if name in inputs:
            mapping[name] = {'effort': parameters['interfaces_effort']}
    return mapping


def check_described_effort(description: DynamicsDescription, settings: RecordingSettings) -> None:
    """Raise JointDynamicsError where the efforts of the inputs and the described torques differ by gravity."""
    efforts = {'tau', 'motor_torque', 'current'}
    if any(efforts.intersection(item.quantities) for item in settings.inputs()):
        description.check_effort(settings.without_gravity, 'inputs')
