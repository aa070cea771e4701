"""Contents of the topics of a recording, as configured: units are stated, never inferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from joint_dynamics.recording.inputs import MOTOR_SIDE, QUANTITIES
from joint_dynamics.recording.motor_side import MotorSide
from joint_dynamics.settings import Settings, setting

#: What `effort` of a link-side and of a motor-side JointState can be.
LINK_EFFORT = {'torque': 'tau', 'current': 'current', 'none': None}
MOTOR_EFFORT = {'torque': 'motor_torque', 'current': 'current', 'none': None}
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
ALIASES = {'position': 'q', 'velocity': 'dq', 'torque': 'tau', 'load': 'load_torque'}
KNOWN = (*QUANTITIES, *MOTOR_SIDE, *ALIASES)

S = TypeVar('S', bound=Settings)


def named(text: str) -> str | None:
    """Return what is expected instead of an empty name; None for a name."""
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
        'torque', 'what its `effort` is: joint torque in N·m, motor current in A, or not used', choices=EFFORTS
    )


@dataclass(frozen=True)
class MotorStates(_WithEffort, MotorSide):
    """A motor-side JointState, and how it is reflected to the joint side."""

    SHORT = 'topic'

    topic: str = setting('motor_states', 'of `sensor_msgs/JointState`', check=named)
    effort: str = setting(
        'current', 'what its `effort` is: motor torque in N·m, motor current in A, or not used', choices=EFFORTS
    )


@dataclass(frozen=True)
class ArrayTopic(Settings):
    """A `std_msgs/Float64MultiArray` without header and names, stamped with the time of reception."""

    SECTION = 'recording.arrays'

    topic: str = setting(..., 'of `std_msgs/Float64MultiArray`', check=named)
    quantity: str = setting(..., 'what its values are', choices=KNOWN)
    joints: Sequence[str] = setting(..., 'the joints in the order of the array', check=_joints)


@dataclass(frozen=True)
class _Interfaces(_WithEffort):
    effort: str = setting(
        'torque', 'what an interface `effort` is: joint torque in N·m, motor current in A, or not used', choices=EFFORTS
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
