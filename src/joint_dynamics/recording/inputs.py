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

"""The forms in which robots publish their signals, one adapter each.

An adapter turns one message into samples (quantity, stamp, names, values). It reads messages by attribute; those of a
bag and those that arrive over DDS have the same attributes, so the same adapters serve files and nodes, and no ROS is
imported here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from joint_dynamics.errors import JointDynamicsError

#: quantity, stamp in ns, names of joints, their values.
Sample = tuple[str, int, Sequence[str], Any]
#: Motor-side signals, which still have to be reflected to the joint side.
MOTOR_SIDE = ('motor_position', 'motor_velocity', 'motor_torque')
#: The arrays that a recording may have, in the order in which they are written.
QUANTITIES = ('q', 'dq', 'tau', 'current', 'theta', 'dtheta', 'temperature', 'load_torque')
#: The quantities that may be known of some joints only.
TORQUES = ('tau', 'current', 'motor_torque')
#: What says where the joints are, of a recording or its inputs; the first that is there gives the joints.
POSITIONS = ('q', 'motor_position', 'theta')
#: Remedy where a recording lacks joints of the robot.
NOT_OF_THE_ARM = (
    "no part of the arm, as a gripper? list the arm's in robot.joints of a URDF, leave their rows out of an MDH table"
)
#: Interpolated over long stretches and held at the ends; everything else must be there all the time.
SLOW = ('temperature',)
JOINT_STATE = 'sensor_msgs/msg/JointState'
TEMPERATURE = 'sensor_msgs/msg/Temperature'
FLOAT64_MULTI_ARRAY = 'std_msgs/msg/Float64MultiArray'
DYNAMIC_JOINT_STATE = 'control_msgs/msg/DynamicJointState'
KEYS = 'control_msgs/msg/Keys'
FLOAT64_VALUES = 'control_msgs/msg/Float64Values'
#: Values that came before the names they belong to are kept, this many (a latched message may be recorded a little
#: late).
MAX_WAITING_SAMPLES = 10_000


@dataclass
class Input:
    """One adapter: the topic it reads, and how a message becomes samples.

    Attributes
    ----------
    topic
        which may contain the placeholder `{joint}`.
    header
        whether the header's stamp counts, not the time of reception.
    replaces
        whether its samples replace those of another input (a second encoder) instead of contradicting them.
    """

    kind: ClassVar[str]
    topic: str
    header: bool = field(default=True, kw_only=True)
    replaces: bool = field(default=False, kw_only=True)

    @property
    def topics(self) -> Mapping[str, str]:
        """Topic -> message type."""
        return {self.topic: self.kind}

    @property
    def quantities(self) -> tuple[str, ...]:
        """What its samples may be of."""
        raise NotImplementedError

    def read(self, topic: str, message: Any, received: int) -> Iterator[Sample]:
        """Yield the samples of one message, received at time `received` (ns)."""
        raise NotImplementedError

    def _stamp(self, message: Any, received: int) -> int:
        return stamp_of(message, received) if self.header else received


def stamp_of(message: Any, received: int) -> int:
    """Return the header's stamp in ns, or the time of reception when the header has none (0)."""
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec) or received


@dataclass
class JointStateInput(Input):
    """`sensor_msgs/JointState`: each of its three arrays may be one quantity, or empty."""

    kind = JOINT_STATE
    position: str | None = None
    velocity: str | None = None
    effort: str | None = None

    @property
    def quantities(self) -> tuple[str, ...]:
        """What its samples may be of."""
        return tuple(name for name in (self.position, self.velocity, self.effort) if name)

    def read(self, topic: str, message: Any, received: int) -> Iterator[Sample]:
        """Yield up to three samples: position, velocity and effort, of those configured and present."""
        stamp = self._stamp(message, received)
        for quantity, values in (
            (self.position, message.position),
            (self.velocity, message.velocity),
            (self.effort, message.effort),
        ):
            if quantity is not None and len(values):
                if len(values) != len(message.name):
                    raise JointDynamicsError(
                        f'{topic}: expected as many values as names in a JointState, found {len(message.name)} names '
                        f'and {len(values)} values'
                    )
                yield quantity, stamp, message.name, values


@dataclass
class TemperatureInput(Input):
    """`sensor_msgs/Temperature`, one joint each.

    The joint is named by `{joint}` in the topic, by frame_id, or by the topic's path.
    """

    kind = TEMPERATURE
    quantities = ('temperature',)
    joint_names: tuple[str, ...] = ()

    def read(self, topic: str, message: Any, received: int) -> Iterator[Sample]:
        """Yield one sample of one joint."""
        joint = self._joint(topic, message.header.frame_id)
        yield 'temperature', self._stamp(message, received), (joint,), (message.temperature,)

    def _joint(self, topic: str, frame: str) -> str:
        match = topic_regex(self.topic).fullmatch(absolute(topic))
        if match and 'joint' in match.groupdict():
            return match['joint']
        for name in (frame, *topic.strip('/').split('/')):
            if name in self.joint_names:
                return name
        if frame and not self.joint_names:
            return frame
        raise JointDynamicsError(
            f'{topic}: expected the name of a joint as frame_id or in the topic '
            f'({", ".join(self.joint_names) or "no joints known"}), '
            f'found frame_id {frame!r}'
        )


@dataclass
class ArrayInput(Input):
    """`std_msgs/Float64MultiArray` without header and names.

    Its values have a configured joint order and the time of reception.
    """

    kind = FLOAT64_MULTI_ARRAY
    quantity: str
    joints: Sequence[str]

    @property
    def quantities(self) -> tuple[str, ...]:
        """What its samples are of."""
        return (self.quantity,)

    def read(self, topic: str, message: Any, received: int) -> Iterator[Sample]:
        """Yield one sample of all joints."""
        if len(message.data) != len(self.joints):
            raise JointDynamicsError(
                f'{topic}: expected {len(self.joints)} values ({", ".join(self.joints)}), found {len(message.data)}'
            )
        yield self.quantity, received, self.joints, message.data


@dataclass
class DynamicJointStateInput(Input):
    """`control_msgs/DynamicJointState`: per joint a list of interface names and values."""

    kind = DYNAMIC_JOINT_STATE
    interfaces: Mapping[str, str]

    @property
    def quantities(self) -> tuple[str, ...]:
        """What its samples may be of."""
        return tuple(dict.fromkeys(self.interfaces.values()))

    def read(self, topic: str, message: Any, received: int) -> Iterator[Sample]:
        """Yield one sample per quantity, of the joints that have it."""
        try:
            pairs = [
                (joint, interface, value)
                for joint, item in zip(message.joint_names, message.interface_values, strict=True)
                for interface, value in zip(item.interface_names, item.values, strict=True)
            ]
        except ValueError:
            raise JointDynamicsError(
                f'{topic}: expected as many values as names in a DynamicJointState, found another number, of joints '
                f'{", ".join(message.joint_names)}'
            ) from None
        yield from _by_quantity(topic, self._stamp(message, received), pairs, self.interfaces)


@dataclass
class StateInterfacesInput(DynamicJointStateInput):
    """`control_msgs/Keys` (latched, names as `joint/interface`) with `control_msgs/Float64Values`.

    As published by the state_interfaces_broadcaster.
    """

    kind = FLOAT64_VALUES
    names: str
    keys: tuple[str, ...] = ()
    waiting: deque[tuple[int, Any]] = field(default_factory=lambda: deque(maxlen=MAX_WAITING_SAMPLES))

    @property
    def topics(self) -> Mapping[str, str]:
        """Topics -> message types."""
        return {self.names: KEYS, **super().topics}

    def read(self, topic: str, message: Any, received: int) -> Iterator[Sample]:
        """Yield one sample per quantity; values that arrive before their names are kept until these arrive."""
        if hasattr(message, 'keys'):
            self.keys = tuple(message.keys)
            return
        self.waiting.append((self._stamp(message, received), np.array(message.values, dtype=np.float64)))
        while self.keys and self.waiting:
            stamp, values = self.waiting.popleft()
            if len(values) != len(self.keys):
                raise JointDynamicsError(
                    f'{topic}: expected {len(self.keys)} values, as many as names on {self.names}, found {len(values)}'
                )
            pairs = [(*key.rpartition('/')[::2], value) for key, value in zip(self.keys, values, strict=True)]
            yield from _by_quantity(topic, stamp, pairs, self.interfaces)


def _by_quantity(
    topic: str, stamp: int, pairs: Sequence[tuple[str, str, float]], interfaces: Mapping[str, str]
) -> Iterator[Sample]:
    """Yield the values of (joint, interface, value) triples as one sample per quantity."""
    by_quantity: dict[str, dict[str, float]] = {}
    for joint, interface, value in pairs:
        quantity = interfaces.get(interface)
        if quantity is None:
            continue
        if joint in by_quantity.setdefault(quantity, {}):
            raise JointDynamicsError(
                f'{topic}: {quantity} of {joint}: expected one interface, found two of '
                f'{", ".join(name for name, value in interfaces.items() if value == quantity)}'
            )
        by_quantity[quantity][joint] = value
    for quantity, values in by_quantity.items():
        yield quantity, stamp, tuple(values), tuple(values.values())


def absolute(topic: str) -> str:
    """Return the topic's name as a bag has it, with a leading slash."""
    return '/' + topic.lstrip('/')


def topic_regex(pattern: str) -> re.Pattern[str]:
    """Return the expression for absolute topics of a pattern, `{joint}` for one path element or a part of it."""
    before, _, after = absolute(pattern).partition('{joint}')
    return re.compile(
        f'{re.escape(before)}(?P<joint>[^/]+?){re.escape(after)}' if '{joint}' in pattern else re.escape(before)
    )
