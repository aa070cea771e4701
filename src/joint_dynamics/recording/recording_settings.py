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
from typing import Any, TypeVar

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
EFFORTS = tuple(LINK_EFFORT)
INTERFACES = {
    'position': 'q',
    'velocity': 'dq',
    'effort': 'tau',
    'torque': 'tau',
    'current': 'current',
    'temperature': 'temperature',
}
#: Names of quantities in a configuration that are not those of the arrays of a Recording.
ALIASES = {'position': 'q', 'velocity': 'dq', 'torque': 'tau', WITHOUT_GRAVITY: 'tau', 'load': 'load_torque'}
KNOWN = (*QUANTITIES, *MOTOR_SIDE, *ALIASES)

S = TypeVar('S', bound=Settings)


def named(text: str) -> str | None:
    """Return the expectation that an empty name breaks; None for a name."""
    return None if text else 'a text that is not empty'


def _joints(joints: Sequence[str]) -> str | None:
    right = joints and all(joints) and len(set(joints)) == len(joints)
    return None if right else 'every joint once, in the order of the array'


@dataclass(frozen=True)
class _WithEffort(Settings):
    """A topic, by its mapping or its name alone; YAML's null and false stand for no effort."""

    @classmethod
    def from_mapping(cls: type[S], mapping: Any, where: str = '') -> S:
        """Return the topic of a mapping or of its name alone. Raises JointDynamicsError."""
        if isinstance(mapping, Mapping) and 'effort' in mapping and mapping['effort'] in (None, False):
            mapping = {**mapping, 'effort': 'none'}
        return super().from_mapping(mapping, where)


@dataclass(frozen=True)
class JointStates(_WithEffort):
    """A link-side JointState."""

    SECTION = 'recording.joint_states'
    SHORT = 'topic'

    topic: str = setting('joint_states', 'of `sensor_msgs/JointState`', check=named)
    effort: str = setting(
        'torque',
        'meaning of `effort`: joint torque in N·m, the same without gravity, motor current in A, or not used',
        choices=EFFORTS,
    )
    velocity: bool = setting(True, 'read its `velocity`')


@dataclass(frozen=True)
class MotorStates(_WithEffort, MotorSide):
    """A motor-side JointState, and how it is reflected to the joint side."""

    SHORT = 'topic'

    topic: str = setting('motor_states', 'of `sensor_msgs/JointState`', check=named)
    effort: str = setting(
        'current',
        'meaning of `effort`: motor torque in N·m, the same without gravity, motor current in A, or not used',
        choices=EFFORTS,
    )


@dataclass(frozen=True)
class ArrayTopic(Settings):
    """A `std_msgs/Float64MultiArray` without header and names, stamped with the time of reception."""

    SECTION = 'recording.arrays'

    topic: str = setting(..., 'of `std_msgs/Float64MultiArray`', check=named)
    quantity: str = setting(..., 'quantity of its values', choices=KNOWN)
    joints: Sequence[str] = setting(..., 'the joints in the order of the array', check=_joints)


@dataclass(frozen=True)
class _Interfaces(_WithEffort):
    effort: str = setting(
        'torque',
        'meaning of an interface `effort`: joint torque in N·m, the same without gravity, motor current in A, or '
        'not used',
        choices=EFFORTS,
    )
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

    topic: str = setting('dynamic_joint_states', 'of `control_msgs/DynamicJointState`', check=named)


@dataclass(frozen=True)
class StateInterfaces(_Interfaces):
    """`control_msgs/Keys` with `control_msgs/Float64Values`, of the state_interfaces_broadcaster."""

    SECTION = 'recording.state_interfaces'

    values: str = setting('state_interfaces_broadcaster/values', 'topic of `control_msgs/Float64Values`', check=named)
    names: str = setting('state_interfaces_broadcaster/names', 'topic of `control_msgs/Keys`', check=named)


def _all_named(texts: Sequence[str] | Mapping[str, str]) -> str | None:
    texts = [*texts, *texts.values()] if isinstance(texts, Mapping) else texts
    return None if all(texts) else 'texts that are not empty'


@dataclass(frozen=True)
class RecordingSettings(Corrections, Settings):
    """The part `recording:` of a configuration file; docs/reference/recordings.md has an example per input form."""

    SECTION = 'recording'

    joint_states: JointStates | None = setting(
        JointStates(),
        'link-side `sensor_msgs/JointState`; a text is its topic. If another input gives the positions, it is read '
        'only if stated',
        none='none',
    )
    motor_states: MotorStates | None = setting(
        None, 'motor-side JointState, reflected to the joint side; a text is its topic', none='none'
    )
    motor_current: str | None = setting(
        None, 'JointState topic whose `effort` is the motor current in A', none='none', check=named
    )
    link_states: str | None = setting(
        None,
        'JointState topic of second encoders on the link side: replaces position and speed of the joints it names',
        none='none',
        check=named,
    )
    load_torques: str | None = setting(
        None,
        'JointState topic whose `effort` is the known torque through the transmission in N·m (a joint torque sensor)',
        none='none',
        check=named,
    )
    temperatures: Sequence[str] = setting(
        (),
        'topic or topics of `sensor_msgs/Temperature`, one joint each: `{joint}` stands for the name of the joint, as '
        'in `/{joint}/temperature`; otherwise `frame_id`, or one element of the topic, is that name',
        check=_all_named,
    )
    arrays: Sequence[ArrayTopic] = setting((), '`std_msgs/Float64MultiArray` without header and names')
    dynamic_joint_states: DynamicJointStates | None = setting(
        None, '`control_msgs/DynamicJointState`; a text is its topic', none='none'
    )
    state_interfaces: StateInterfaces | None = setting(
        None, '`control_msgs/Keys` with `Float64Values` (state_interfaces_broadcaster)', none='none'
    )
    without_torque: Sequence[str] = setting((), 'joints whose torque (current) is ignored', check=_all_named)
    names: Mapping[str, str] = setting(
        {}, 'name in the messages → joint of the robot, if they differ (also for motors and links)', check=_all_named
    )
    stamps: str = setting(
        'header',
        'time of a sample: header (without one, reception) or always reception',
        choices=('header', 'received'),
    )
    max_gap: float | None = setting(
        None, 'longest gap that is interpolated', 's', above=0, none='five sample periods, at least 0.02 s'
    )
    max_left_out: float = setting(
        0.25,
        'largest share of a recording lost to longer gaps and to pieces under 2.5 s, for `identify` and `validate`; '
        '0: a longer gap is refused',
        lower=0,
        upper=1,
    )
    max_alignment_error: float | None = setting(
        None,
        'largest distance of a grid point to the nearest sample of a signal',
        's',
        above=0,
        none='half of the longest gap allowed on the link side, at least 0.025 s',
    )
    max_temperature_gap: float = setting(
        30.0, 'the same for temperatures (held before the first and after the last sample)', 's', above=0
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
        kinds = [item.effort for item in inputs if item is not None]
        kinds += [array.quantity for array in self.arrays]
        for item in (self.dynamic_joint_states, self.state_interfaces):
            kinds += [] if item is None or item.interfaces is None else item.interfaces.values()
        return self.torque_without_gravity or WITHOUT_GRAVITY in kinds

    @classmethod
    def from_mapping(cls, mapping: Any, where: str = '') -> RecordingSettings:
        """Return the settings stated by a mapping (of YAML).

        Null means the default; for joint_states and motor_states null, false and none mean no such input.

        Parameters
        ----------
        mapping
            keys and values; settings are returned as they are.
        where
            prefix of the keys in error messages.

        Raises
        ------
        JointDynamicsError
            For an invalid key or value, naming the key.
        """
        if isinstance(mapping, RecordingSettings):
            return mapping
        if not isinstance(mapping, Mapping):
            return super().from_mapping(mapping, where)
        states = ('joint_states', 'motor_states')
        given = {key: value for key, value in mapping.items() if value is not None or key in states}
        given.update({key: None for key in states if key in given and given[key] in (False, 'none')})
        if isinstance(given.get('temperatures'), str):
            given['temperatures'] = (given['temperatures'],)
        settings = super().from_mapping(given, where)
        if 'joint_states' not in given and any(
            'q' in item.quantities and not item.replaces for item in settings.inputs()[1:]
        ):
            return settings.replaced(joint_states=None)
        return settings

    def inputs(self, joint_names: Sequence[str] = ()) -> tuple[Input, ...]:
        """Return one new adapter per input; `joint_names` of the robot help to assign temperatures."""
        known = (*joint_names, *(theirs for theirs, ours in self.names.items() if ours in joint_names))
        adapters: list[Input] = []
        if self.joint_states:
            effort = LINK_EFFORT[self.joint_states.effort]
            velocity = 'dq' if self.joint_states.velocity else None
            adapters.append(JointStateInput(self.joint_states.topic, 'q', velocity, effort))
        if self.motor_states:
            effort = MOTOR_EFFORT[self.motor_states.effort]
            adapters.append(JointStateInput(self.motor_states.topic, *MOTOR_SIDE[:2], effort))
        if self.motor_current:
            adapters.append(JointStateInput(self.motor_current, effort='current'))
        if self.link_states:
            adapters.append(JointStateInput(self.link_states, 'q', 'dq', replaces=True))
        if self.load_torques:
            adapters.append(JointStateInput(self.load_torques, effort='load_torque'))
        adapters += [TemperatureInput(topic, known) for topic in self.temperatures]
        adapters += [
            ArrayInput(array.topic, ALIASES.get(array.quantity, array.quantity), tuple(array.joints))
            for array in self.arrays
        ]
        if (dynamic := self.dynamic_joint_states) is not None:
            adapters.append(DynamicJointStateInput(dynamic.topic, dynamic.quantities))
        if (state := self.state_interfaces) is not None:
            adapters.append(StateInterfacesInput(state.values, state.quantities, state.names))
        for adapter in adapters:
            adapter.header = self.stamps == 'header'
        return tuple(adapters)
