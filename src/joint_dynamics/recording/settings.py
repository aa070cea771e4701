"""Which topic of a recording holds what, in which unit, and how much disorder in it is allowed."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import (
    MOTOR_SIDE,
    ArrayInput,
    DynamicJointStateInput,
    Input,
    JointStateInput,
    StateInterfacesInput,
    TemperatureInput,
)
from joint_dynamics.recording.motor_side import MotorSide, parse_motor_side
from joint_dynamics.recording.recording import QUANTITIES

#: What `effort` of a link-side and of a motor-side JointState can be: its unit is stated, never inferred.
LINK_EFFORT = {'torque': 'tau', 'current': 'current', 'none': None}
MOTOR_EFFORT = {'torque': 'motor_torque', 'current': 'current', 'none': None}
INTERFACES = {'position': 'q', 'velocity': 'dq', 'effort': 'tau', 'torque': 'tau', 'current': 'current', 'temperature': 'temperature'}
#: Names of quantities in a configuration that are not those of the arrays of a Recording.
ALIASES = {'position': 'q', 'velocity': 'dq', 'torque': 'tau', 'load': 'load_torque'}


@dataclass(frozen=True)
class RecordingSettings:
    """The part `recording:` of a configuration file; docs/recordings.md has an example for each input form.

    Attributes:
        joint_states: link-side JointState (topic, effort: torque | current | none), or None. Unless stated: `joint_states`, torque.
        motor_states: motor-side JointState (topic, effort: current | torque | none), or None; reflected by `motor_side`.
        motor_current: JointState topic whose effort is the motor current in A.
        link_states: JointState topic of second encoders on the link side: its positions and speeds replace those of joint_states.
        load_torques: JointState topic whose effort is the known torque through the transmission, N·m (a joint torque sensor).
        temperatures: topics of sensor_msgs/Temperature, one joint each; `{joint}` stands for the joint's name.
        arrays: header-less Float64MultiArray (topic, quantity, joints in its order).
        dynamic_joint_states: DynamicJointState (topic, interfaces: interface name -> quantity).
        state_interfaces: Keys and Float64Values (topic of values, topic of names, interfaces).
        motor_side: how motor_states are reflected to the joint side.
        names: name used in the messages -> joint of the robot, where they differ.
        stamps: 'header' (reception where the header has none) or 'received'.
        max_gap: s, longest stretch without a sample that is bridged; None: 5 sample periods of the topic, at least 0.02 s.
        max_alignment_error: s, largest distance of a grid point to the nearest sample of a signal; None: 0.025 s, or half of the
            longest gap allowed on the link side if that is more.
        max_temperature_gap: s, the same for temperatures, which are slow: interpolated, and held before the first and after the last.
        nan: 'refuse' or 'interpolate' (a sample that is not a number is then left out, and max_gap applies to the hole).
        implausible: 'refuse' or 'note' (what no joint does, see `plausibility`, is then only told).
        min_duration: s; min_samples: shortest recording that is accepted.

    """

    joint_states: tuple[str, str] | None = ('joint_states', 'torque')
    motor_states: tuple[str, str] | None = None
    motor_current: str | None = None
    link_states: str | None = None
    load_torques: str | None = None
    temperatures: tuple[str, ...] = ()
    arrays: tuple[ArrayInput, ...] = ()
    dynamic_joint_states: tuple[str, Mapping[str, str]] | None = None
    state_interfaces: tuple[str, str, Mapping[str, str]] | None = None
    motor_side: MotorSide = field(default_factory=MotorSide)
    names: Mapping[str, str] = field(default_factory=dict)
    stamps: str = 'header'
    max_gap: float | None = None
    max_alignment_error: float | None = None
    max_temperature_gap: float = 30.0
    nan: str = 'refuse'
    implausible: str = 'refuse'
    min_duration: float = 0.5
    min_samples: int = 50

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any] | RecordingSettings | None) -> RecordingSettings:
        """Return the settings a mapping (of YAML) states; raises JointDynamicsError, with the key, for what it cannot be."""
        if isinstance(mapping, RecordingSettings):
            return mapping
        # The keys are the attributes; only motor_side is made from keys of motor_states.
        given = section_of(mapping or {}, 'recording', [name for name in cls.__dataclass_fields__ if name != 'motor_side'])
        keys: dict[str, Any] = {}
        for name, default, efforts in (('joint_states', 'joint_states', LINK_EFFORT), ('motor_states', 'motor_states', MOTOR_EFFORT)):
            if name in given:
                keys[name] = _joint_states(given[name], f'recording.{name}', default, efforts)
        if isinstance(given.get('motor_states'), Mapping):
            keys['motor_side'] = parse_motor_side(given['motor_states'])
        for name in ('motor_current', 'link_states', 'load_torques'):
            if given.get(name) is not None:
                keys[name] = text(given[name], f'recording.{name}')
        if given.get('temperatures') is not None:
            topics = given['temperatures']
            keys['temperatures'] = tuple(text(topic, 'recording.temperatures')
                                         for topic in ([topics] if isinstance(topics, str) else sequence(topics, 'recording.temperatures')))
        if given.get('arrays') is not None:
            keys['arrays'] = tuple(_array(item, f'recording.arrays[{index}]')
                                   for index, item in enumerate(sequence(given['arrays'], 'recording.arrays')))
        if given.get('dynamic_joint_states') is not None:
            part = section_of(given['dynamic_joint_states'], 'recording.dynamic_joint_states', ('topic', 'effort', 'interfaces'), 'topic')
            keys['dynamic_joint_states'] = (text(part.get('topic', 'dynamic_joint_states'), 'recording.dynamic_joint_states.topic'),
                                            _interfaces(part, 'recording.dynamic_joint_states'))
        if given.get('state_interfaces') is not None:
            part = section_of(given['state_interfaces'], 'recording.state_interfaces', ('values', 'names', 'effort', 'interfaces'))
            keys['state_interfaces'] = (
                text(part.get('values', 'state_interfaces_broadcaster/values'), 'recording.state_interfaces.values'),
                text(part.get('names', 'state_interfaces_broadcaster/names'), 'recording.state_interfaces.names'),
                _interfaces(part, 'recording.state_interfaces'))
        if given.get('names') is not None:
            keys['names'] = {text(theirs, 'recording.names'): text(ours, 'recording.names')
                             for theirs, ours in section_of(given['names'], 'recording.names').items()}
        for name, choices in (('stamps', ('header', 'received')), ('nan', ('refuse', 'interpolate')),
                              ('implausible', ('refuse', 'note'))):
            if name in given:
                keys[name] = choice(given[name], f'recording.{name}', choices)
        for name in ('max_gap', 'max_alignment_error', 'max_temperature_gap', 'min_duration', 'min_samples'):
            if given.get(name) is not None:
                keys[name] = positive(given[name], f'recording.{name}')
        settings = cls(**keys)
        if 'joint_states' not in given and any('q' in item.quantities and not item.replaces for item in settings.inputs()[1:]):
            return cls(**keys, joint_states=None)
        return settings

    def inputs(self, joint_names: Sequence[str] = ()) -> tuple[Input, ...]:
        """Return one new adapter per input; `joint_names` of the robot help to tell temperatures apart."""
        header = self.stamps == 'header'
        known = (*joint_names, *(theirs for theirs, ours in self.names.items() if ours in joint_names))
        found: list[Input] = []
        if self.joint_states:
            topic, effort = self.joint_states
            found.append(JointStateInput(topic, 'q', 'dq', LINK_EFFORT[effort], header=header))
        if self.motor_states:
            topic, effort = self.motor_states
            found.append(JointStateInput(topic, *MOTOR_SIDE[:2], MOTOR_EFFORT[effort], header=header))
        if self.motor_current:
            found.append(JointStateInput(self.motor_current, effort='current', header=header))
        if self.link_states:
            found.append(JointStateInput(self.link_states, 'q', 'dq', replaces=True, header=header))
        if self.load_torques:
            found.append(JointStateInput(self.load_torques, effort='load_torque', header=header))
        found += [TemperatureInput(topic, known, header) for topic in self.temperatures]
        found += self.arrays
        if self.dynamic_joint_states:
            found.append(DynamicJointStateInput(*self.dynamic_joint_states, header=header))
        if self.state_interfaces:
            found.append(StateInterfacesInput(*self.state_interfaces, header=header))
        return tuple(found)


def section_of(value: Any, path: str, allowed: Sequence[str] | None = None, short: str | None = None) -> Mapping[str, Any]:
    """Return a mapping whose keys are allowed; a bare text stands for the key `short`."""
    if short is not None and isinstance(value, str):
        return {short: value}
    if not isinstance(value, Mapping):
        raise JointDynamicsError(f'{path}: must be a mapping, found {value!r}')
    for key in value:
        if allowed is not None and key not in allowed:
            raise JointDynamicsError(f'{path}.{key}: unknown; must be one of {", ".join(allowed)}')
    return value


def text(value: Any, path: str) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise JointDynamicsError(f'{path}: must be a text, found {value!r}')
    return value


def sequence(value: Any, path: str) -> Sequence[Any]:
    """Return a list."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise JointDynamicsError(f'{path}: must be a list, found {value!r}')
    return value


def choice(value: Any, path: str, choices: Sequence[str]) -> str:
    """Return one of the choices; YAML's null and false stand for 'none'."""
    value = 'none' if value is None or value is False else value
    if value not in choices:
        raise JointDynamicsError(f'{path}: must be one of {", ".join(choices)}, found {value!r}')
    return str(value)


def positive(value: Any, path: str) -> float:
    """Return a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float('inf'):
        raise JointDynamicsError(f'{path}: must be a number above 0, found {value!r}')
    return value


def _joint_states(value: Any, path: str, topic: str, efforts: Mapping[str, str | None]) -> tuple[str, str] | None:
    if value is None or value is False or value == 'none':
        return None
    extra = ('gear_ratio', 'position_coupling', 'torque_coupling', 'zero_offsets') if efforts is MOTOR_EFFORT else ()
    part = section_of(value, path, ('topic', 'effort', *extra), 'topic')
    default = 'current' if efforts is MOTOR_EFFORT else 'torque'
    return text(part.get('topic', topic), f'{path}.topic'), choice(part.get('effort', default), f'{path}.effort', tuple(efforts))


def _array(value: Any, path: str) -> ArrayInput:
    part = section_of(value, path, ('topic', 'quantity', 'joints'))
    known = (*QUANTITIES, *MOTOR_SIDE, *ALIASES)
    quantity = choice(part.get('quantity'), f'{path}.quantity', known)
    joints = tuple(text(name, f'{path}.joints') for name in sequence(part.get('joints'), f'{path}.joints'))
    if not joints or len(set(joints)) != len(joints):
        raise JointDynamicsError(f'{path}.joints: must name every joint once, in the order of the array, found {list(joints)}')
    return ArrayInput(text(part.get('topic'), f'{path}.topic'), ALIASES.get(quantity, quantity), joints)


def _interfaces(part: Mapping[str, Any], path: str) -> Mapping[str, str]:
    """Return interface name -> quantity: as stated, or the standard names with `effort` in its stated unit."""
    if part.get('interfaces') is not None:
        known = (*QUANTITIES, *MOTOR_SIDE, *ALIASES)
        stated = {text(name, f'{path}.interfaces'): choice(value, f'{path}.interfaces.{name}', known)
                  for name, value in section_of(part['interfaces'], f'{path}.interfaces').items()}
        return {name: ALIASES.get(quantity, quantity) for name, quantity in stated.items()}
    effort = LINK_EFFORT[choice(part.get('effort', 'torque'), f'{path}.effort', tuple(LINK_EFFORT))]
    return {name: quantity for name, quantity in {**INTERFACES, 'effort': effort}.items() if quantity}
