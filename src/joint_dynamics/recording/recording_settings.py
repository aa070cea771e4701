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

"""Settings of a recording: contents of its topics, with units stated and never inferred; tolerances of its timing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from joint_dynamics.recording.conversions import Corrections, MotorSide
from joint_dynamics.recording.inputs import (
    MOTOR_SIDE,
    QUANTITIES,
    ArrayInput,
    DynamicJointStateInput,
    Input,
    JointStateInput,
    StateInterfacesInput,
    TemperatureInput,
)
from joint_dynamics.settings import Settings, setting

#: What `effort` of a link-side and of a motor-side JointState can be.
WITHOUT_GRAVITY = 'torque_without_gravity'
LINK_EFFORT = {'torque': 'tau', WITHOUT_GRAVITY: 'tau', 'current': 'current', 'none': None}
MOTOR_EFFORT = {'torque': 'motor_torque', WITHOUT_GRAVITY: 'motor_torque', 'current': 'current', 'none': None}
INTERFACES = {'position': 'q', 'velocity': 'dq', 'torque': 'tau', 'current': 'current', 'temperature': 'temperature'}
#: Names of quantities in a configuration that are not those of the arrays of a Recording.
ALIASES = {'position': 'q', 'velocity': 'dq', 'torque': 'tau', WITHOUT_GRAVITY: 'tau', 'load': 'load_torque'}
KNOWN = (*QUANTITIES, *MOTOR_SIDE, *ALIASES)


def _named(texts: str | Sequence[str] | Mapping[str, str]) -> str | None:
    texts = (texts,) if isinstance(texts, str) else texts
    texts = (*texts, *texts.values()) if isinstance(texts, Mapping) else texts
    return None if all(texts) else 'texts that are not empty'


def _joints(joints: Sequence[str]) -> str | None:
    right = joints and all(joints) and len(set(joints)) == len(joints)
    return None if right else 'every joint once, in the order of the array'


def _effort(default: str, meaning: str) -> Any:
    """Return the setting of the meaning of an `effort`."""
    others = 'the same without gravity, motor current in A, or not used'
    return setting(default, f'{meaning} torque in N·m, {others}', choices=tuple(LINK_EFFORT))


def _topic(meaning: str) -> Any:
    return setting(None, f'JointState topic {meaning}', none='none', check=_named)


@dataclass(frozen=True)
class JointStates(Settings):
    """A link-side JointState."""

    SECTION = 'recording.joint_states'
    SHORT = 'topic'

    topic: str = setting('joint_states', 'of `sensor_msgs/JointState`', check=_named)
    effort: str = _effort('torque', 'meaning of `effort`: joint')
    velocity: bool = setting(True, 'read its `velocity`')


@dataclass(frozen=True)
class MotorStates(MotorSide):
    """A motor-side JointState, and how it is reflected to the joint side."""

    SHORT = 'topic'

    topic: str = setting('motor_states', 'of `sensor_msgs/JointState`', check=_named)
    effort: str = _effort('current', 'meaning of `effort`: motor')


@dataclass(frozen=True)
class ArrayTopic(Settings):
    """A `std_msgs/Float64MultiArray` without header and names, stamped with the time of reception."""

    SECTION = 'recording.arrays'

    topic: str = setting(..., 'of `std_msgs/Float64MultiArray`', check=_named)
    quantity: str = setting(..., 'quantity of its values', choices=KNOWN)
    joints: Sequence[str] = setting(..., 'the joints in the order of the array', check=_joints)


@dataclass(frozen=True)
class _Interfaces(Settings):
    effort: str = _effort('torque', 'meaning of an interface `effort`: joint')
    interfaces: Mapping[str, str] | None = setting(
        None,
        'interface → array of the recording',
        choices=KNOWN,
        none='position, velocity, effort, torque, current and temperature',
    )

    @property
    def quantities(self) -> Mapping[str, str]:
        """Interface name -> quantity: as stated, or the standard names with `effort` in its stated unit."""
        if self.interfaces is not None:
            return {name: ALIASES.get(quantity, quantity) for name, quantity in self.interfaces.items()}
        standard = {**INTERFACES, 'effort': LINK_EFFORT[self.effort]}
        return {name: quantity for name, quantity in standard.items() if quantity}


@dataclass(frozen=True)
class DynamicJointStates(_Interfaces):
    """`control_msgs/DynamicJointState`: interfaces by joint."""

    SECTION = 'recording.dynamic_joint_states'
    SHORT = 'topic'

    topic: str = setting('dynamic_joint_states', 'of `control_msgs/DynamicJointState`', check=_named)


@dataclass(frozen=True)
class StateInterfaces(_Interfaces):
    """`control_msgs/Keys` with `control_msgs/Float64Values`, of the state_interfaces_broadcaster."""

    SECTION = 'recording.state_interfaces'

    values: str = setting('state_interfaces_broadcaster/values', 'topic of `control_msgs/Float64Values`', check=_named)
    names: str = setting('state_interfaces_broadcaster/names', 'topic of `control_msgs/Keys`', check=_named)


@dataclass(frozen=True)
class RecordingSettings(Corrections, Settings):
    """The part `recording:` of a configuration file; docs/reference/recordings.md has an example per input form."""

    SECTION = 'recording'
    GONE: ClassVar = {'max_alignment_error': 'max_gap, which bounds every signal'}

    joint_states: JointStates | None = setting(
        JointStates(),
        'link-side `sensor_msgs/JointState`; a text is its topic. If another input gives the positions, it is read '
        'only if stated',
        none='none',
    )
    motor_states: MotorStates | None = setting(
        None, 'motor-side JointState, reflected to the joint side; a text is its topic', none='none'
    )
    motor_current: str | None = _topic('whose `effort` is the motor current in A')
    link_states: str | None = _topic(
        'of second encoders on the link side: replaces position and speed of the joints it names'
    )
    load_torques: str | None = _topic(
        'whose `effort` is the known torque through the transmission in N·m (a joint torque sensor)'
    )
    temperatures: Sequence[str] = setting(
        (),
        'topic or topics of `sensor_msgs/Temperature`, one joint each: `{joint}` stands for the name of the joint, as '
        'in `/{joint}/temperature`; otherwise `frame_id`, or one element of the topic, is that name',
        check=_named,
    )
    arrays: Sequence[ArrayTopic] = setting((), '`std_msgs/Float64MultiArray` without header and names')
    dynamic_joint_states: DynamicJointStates | None = setting(
        None, '`control_msgs/DynamicJointState`; a text is its topic', none='none'
    )
    state_interfaces: StateInterfaces | None = setting(
        None, '`control_msgs/Keys` with `Float64Values` (state_interfaces_broadcaster)', none='none'
    )
    without_torque: Sequence[str] = setting((), 'joints whose torque (current) is ignored', check=_named)
    names: Mapping[str, str] = setting(
        {}, 'name in the messages → joint of the robot, if they differ (also for motors and links)', check=_named
    )
    stamps: str = setting(
        'header',
        'time of a sample: header (without one, reception) or always reception',
        choices=('header', 'received'),
    )
    max_gap: float | None = setting(
        None,
        'longest gap that is interpolated',
        's',
        above=0,
        none='five periods of a signal, at least 0.02 s, at most 0.05 s or five periods of the positions',
    )
    max_left_out: float = setting(
        0.25,
        'largest share of a recording lost to longer gaps and to pieces under 2.5 s, for `identify` and `validate`; '
        '0: a longer gap is refused',
        lower=0,
        upper=1,
    )
    max_temperature_gap: float = setting(
        30.0, 'largest distance to a temperature (held before the first and after the last sample)', 's', above=0
    )
    nan: str = setting(
        'refuse',
        'interpolate: samples that are not numbers are left out, and `max_gap` applies',
        choices=('refuse', 'interpolate'),
    )
    implausible: str = setting(
        'refuse', 'note: implausible values (below) only become notes', choices=('refuse', 'note')
    )
    min_duration: float = setting(0.5, 'shortest recording that is accepted', 's', above=0)
    min_samples: int = setting(50, 'fewest samples that are accepted', lower=1)

    @property
    def motor_side(self) -> MotorSide:
        """How motor_states are reflected to the joint side."""
        return self.motor_states or MotorSide()

    @property
    def without_gravity(self) -> bool:
        """Whether the torques leave gravity out, as a correction or an input states."""
        inputs = (self.joint_states, self.motor_states, self.dynamic_joint_states, self.state_interfaces)
        kinds = {item.effort for item in inputs if item} | {array.quantity for array in self.arrays}
        for item in (self.dynamic_joint_states, self.state_interfaces):
            kinds |= set(item.interfaces.values()) if item and item.interfaces else set()
        return self.torque_without_gravity or WITHOUT_GRAVITY in kinds

    @classmethod
    def from_mapping(cls, mapping: Any, where: str = '') -> RecordingSettings:
        """Return the settings stated by a mapping (of YAML), or settings as they are.

        For joint_states and motor_states, `none` means no such input, as null does. joint_states that are not stated
        are not read beside other positions.

        Parameters
        ----------
        mapping
            keys and values, or settings.
        where
            prefix of the keys in error messages.

        Raises
        ------
        JointDynamicsError
            For an invalid key or value, naming the key.
        """
        if isinstance(mapping, RecordingSettings) or not isinstance(mapping, Mapping):
            return mapping if isinstance(mapping, RecordingSettings) else super().from_mapping(mapping, where)
        given = dict(mapping)
        given.update({key: None for key in ('joint_states', 'motor_states') if given.get(key) == 'none'})
        if isinstance(given.get('temperatures'), str):
            given['temperatures'] = (given['temperatures'],)
        settings = super().from_mapping(given, where)
        others = [item for item in settings.inputs() if not item.replaces][1:]
        has_positions = any('q' in item.quantities for item in others)
        return settings.replaced(joint_states=None) if has_positions and 'joint_states' not in given else settings

    def inputs(self, joint_names: Sequence[str] = ()) -> tuple[Input, ...]:
        """Return one new adapter per input; `joint_names` of the robot help to assign temperatures."""
        known = (*joint_names, *(theirs for theirs, ours in self.names.items() if ours in joint_names))
        adapters: list[Input] = []
        if states := self.joint_states:
            velocity = 'dq' if states.velocity else None
            adapters.append(JointStateInput(states.topic, 'q', velocity, LINK_EFFORT[states.effort]))
        if motors := self.motor_states:
            adapters.append(JointStateInput(motors.topic, *MOTOR_SIDE[:2], MOTOR_EFFORT[motors.effort]))
        if self.motor_current:
            adapters.append(JointStateInput(self.motor_current, effort='current'))
        if self.link_states:
            adapters.append(JointStateInput(self.link_states, 'q', 'dq', replaces=True))
        if self.load_torques:
            adapters.append(JointStateInput(self.load_torques, effort='load_torque'))
        adapters += [TemperatureInput(topic, known) for topic in self.temperatures]
        adapters += [
            ArrayInput(each.topic, ALIASES.get(each.quantity, each.quantity), each.joints) for each in self.arrays
        ]
        if dynamic := self.dynamic_joint_states:
            adapters.append(DynamicJointStateInput(dynamic.topic, dynamic.quantities))
        if state := self.state_interfaces:
            adapters.append(StateInterfacesInput(state.values, state.quantities, state.names))
        for adapter in adapters:
            adapter.header = self.stamps == 'header'
        return tuple(adapters)
