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

"""The robot's signals as subscriptions, in whatever form it publishes them.

Parameters choose, adapters of `recording` read.

Every sample reaches the node as (quantity, stamp [ns], joint names, values), as the samples of a recorded file do.
Defects of the messages are reported: joints without states, and stamps of another clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rclpy.serialization import deserialize_message

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, STALE
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.tables import LATCHED, RELIABLE_SENSOR, SENSOR
from joint_dynamics.nodes.interfaces.messages import message_class
from joint_dynamics.nodes.interfaces.robot_states import OTHER_CLOCK
from joint_dynamics.recording.inputs import KEYS, TEMPERATURE, Input
from joint_dynamics.recording.recording_settings import RecordingSettings

RECENT_TIME = 10.0


class InputSet:
    """The subscriptions of one node to the robot's signals, from `configure` to cleanup.

    A message that cannot be read is counted and reported, never passed on. An input that replaces a quantity of others
    (second encoders) never mixes with them: their samples are passed on for other joints only, and only after its first
    message.

    Parameters
    ----------
    on_sample
        called with (quantity, stamp [ns], names, values) for every sample, in the order of arrival. Quantities are
        those of Recording, and motor_position, motor_velocity, motor_torque before reflection; names are the robot's.
    on_message
        called with (topic, message, received [ns]), for a node with a RecordingBuilder.
    after
        called with the topic after all samples of a message.
    on_bytes
        called first, with (full topic, type, bytes, received [ns]).
    """

    def __init__(
        self,
        node: DynamicsNode,
        settings: RecordingSettings,
        on_sample: Callable[[str, int, Sequence[str], Any], None] | None = None,
        on_message: Callable[[str, Any, int], None] | None = None,
        after: Callable[[str], None] | None = None,
        on_bytes: Callable[[str, str, bytes, int], None] | None = None,
    ):
        self.settings = settings
        self._node = node
        self._on_sample = on_sample
        self._on_message = on_message
        self._after = after
        self._on_bytes = on_bytes
        self._received: dict[str, float] = {}
        self.checks = InputChecks(node, settings.joint_states.topic if settings.joint_states else None, settings.names)
        self._bad: dict[str, int] = {}
        self._bad_since = -math.inf
        self._reason = ''
        self._limits: dict[str, float] = {}
        # Quantity -> joints that a second encoder gives; None until it has given some.
        self._second: dict[str, set[str] | None] = {
            quantity: None
            for adapter in settings.inputs(node.robot.joint_names)
            if adapter.replaces
            for quantity in adapter.quantities
        }
        known = {row.name for row in node.topic_rows()}
        joint_names = node.robot.joint_names
        theirs = {ours: name for name, ours in settings.names.items()}
        quality = RELIABLE_SENSOR if node.parameters['reliable_inputs'] else SENSOR
        # All classes first: nothing is subscribed when one is missing.
        wanted = [
            (adapter, pattern, message_class(kind, pattern), kind)
            for adapter in settings.inputs(joint_names)
            for pattern, kind in adapter.topics.items()
        ]
        for adapter, pattern, kind, name in wanted:
            for joint in joint_names if '{joint}' in pattern else ('',):
                topic = pattern.replace('{joint}', theirs.get(joint, joint))
                self._limits[topic] = node.parameters['temperature_timeout' if name == TEMPERATURE else 'input_timeout']
                row = None if topic in known else '<temperature_topics>' if name == TEMPERATURE else '<arrays>'
                if name == KEYS:
                    self._limits[topic] = math.inf
                read = self._reader(adapter, topic)
                if on_bytes is not None:
                    read = self._bytes_reader(read, node.resolve_topic_name(topic), topic, kind, name)
                node.subscribe(
                    kind,
                    topic,
                    read,
                    LATCHED if name == KEYS else quality,
                    row=row,
                    raw=on_bytes is not None,
                    stream=True,
                )
        node.every(0.1, self.report, steady=True)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics subscribed, as given (before remapping)."""
        return tuple(self._limits)

    def silent(self) -> dict[str, float]:
        """Return the topics that are stale, with the seconds since their last message (inf: none yet)."""
        now = time.monotonic()
        ages = {topic: now - self._received.get(topic, -math.inf) for topic in self._limits}
        return {topic: age for topic, age in ages.items() if age > self._limits[topic]}

    def report(self) -> None:
        """Put the state of the inputs into the diagnostics, under `inputs`."""
        silent = self.silent()
        self.checks.report()
        if time.monotonic() - self._bad_since > RECENT_TIME:
            self._node.diagnostics.clear('input messages')
        else:
            topics = ', '.join(f'{topic} ({count})' for topic, count in self._bad.items())
            self._node.diagnostics.set('input messages', ERROR, f'unreadable messages: {self._reason}', topics=topics)
        if silent:
            never = [topic for topic, age in silent.items() if math.isinf(age)]
            stale = [topic for topic, age in silent.items() if not math.isinf(age)]
            reasons = [f'no message yet on {", ".join(never)}'] * bool(never) + [f'silent: {", ".join(stale)}'] * bool(
                stale
            )
            self._node.diagnostics.set(
                'inputs', STALE, '; '.join(reasons), **{topic: f'{age:.1f} s' for topic, age in silent.items()}
            )
        else:
            self._node.diagnostics.set('inputs', OK, f'{len(self._limits)} topics arrive')

    def _reader(self, adapter: Input, topic: str) -> Callable[[Any], None]:
        clock = self._node.get_clock()
        received, on_sample, on_message, read, monotonic = (
            self._received,
            self._on_sample,
            self._on_message,
            adapter.read,
            time.monotonic,
        )
        ours, after, second, check = self.settings.names, self._after, self._second, self.checks.check

        def take(message: Any) -> None:
            received[topic] = monotonic()
            now = clock.now().nanoseconds
            check(topic, message, now)
            try:
                if on_message is not None:
                    on_message(topic, message, now)
                if on_sample is not None:
                    for quantity, stamp, names, values in read(topic, message, now):
                        named = [ours.get(name, name) for name in names] if ours else names
                        if quantity in second:
                            named, values = self._sifted(adapter, quantity, named, values)
                        if len(named):
                            on_sample(quantity, stamp, named, values)
                if after is not None:
                    after(topic)
            except JointDynamicsError as error:
                self._note_bad(topic, error)

        return take

    def _bytes_reader(
        self, take: Callable[[Any], None], full_name: str, topic: str, kind: type, name: str
    ) -> Callable[[bytes], None]:
        """Return a callback for bytes.

        They are the ones that came: rclpy's own serialization appends some that other readers refuse.
        """
        clock, on_bytes = self._node.get_clock(), self._on_bytes
        assert on_bytes is not None

        def take_bytes(data: bytes) -> None:
            on_bytes(full_name, name, data, clock.now().nanoseconds)
            try:
                message = deserialize_message(data, kind)
            except RuntimeError as error:
                self._note_bad(topic, error)
            else:
                take(message)

        return take_bytes

    def _note_bad(self, topic: str, error: Exception) -> None:
        self._bad[topic] = self._bad.get(topic, 0) + 1
        self._bad_since = time.monotonic()
        self._reason = one_line(error)

    def _sifted(self, adapter: Input, quantity: str, names: Sequence[str], values: Any) -> tuple[Sequence[str], Any]:
        """Return the names and values that count of a sample of a quantity that a second encoder gives, too."""
        if adapter.replaces:
            # It may have positions only: speeds of the others count on.
            self._second.update({each: self._second[each] or set() for each in adapter.quantities})
            self._second[quantity] = (self._second[quantity] or set()).union(names)
            return names, values
        taken = self._second[quantity]
        kept = [] if taken is None else [k for k, name in enumerate(names) if name not in taken]
        return [names[k] for k in kept], [values[k] for k in kept]


SETTLED = 1.0  # s after the first message, by which every publisher has sent its joints


class InputChecks:
    """Checks each message and reports defects in the diagnostics (`joints`, `clock`), each once in the log.

    Parameters
    ----------
    node
        with the robot and the clock.
    joint_states
        the topic with the states of all joints; None without one.
    names
        name in the messages -> joint of the robot.
    """

    def __init__(self, node: DynamicsNode, joint_states: str | None, names: Mapping[str, str]):
        self._node, self._joint_states, self._names = node, joint_states, names
        self._unnamed = set(node.robot.joint_names) if joint_states else set()
        self._first = math.inf
        self._stamps: dict[str, tuple[int, int]] = {}
        self._said: set[str] = set()

    def check(self, topic: str, message: Any, now: int) -> None:
        """Take one message, received at `now` ns of the node's clock."""
        if self._unnamed and topic == self._joint_states:
            self._first = min(self._first, time.monotonic())
            self._unnamed -= {self._names.get(name, name) for name in message.name}
        header = getattr(message, 'header', None)
        if header is not None and (stamp := header.stamp.sec) and abs(stamp - now // 10**9) > OTHER_CLOCK:
            self._stamps[topic] = stamp, now // 10**9
        elif topic in self._stamps:
            del self._stamps[topic]

    def unnamed_joints(self) -> list[str]:
        """Return the robot's joints that joint_states has not named within a second of its first message."""
        if time.monotonic() - self._first < SETTLED:
            return []
        return [name for name in self._node.robot.joint_names if name in self._unnamed]

    def report(self) -> None:
        """Update the defects in the diagnostics."""
        unnamed = self.unnamed_joints()
        self._report(
            'joints',
            (
                f'{self._joint_states} never names {", ".join(unnamed)}: does its publisher know the whole robot, under'
                ' these names (parameter source_name)?'
                if unnamed
                else ''
            ),
        )
        line = ''
        for topic, (stamp, now) in self._stamps.items():
            missing = '' if now else ', because nothing publishes /clock'
            line = (
                f'{topic} is stamped {stamp} s, the clock of this node shows {now} s{missing}: set use_sim_time alike'
                ' for both'
            )
        self._report('clock', line)

    def _report(self, name: str, line: str) -> None:
        if not line:
            self._node.diagnostics.clear(name)
            return
        self._node.diagnostics.set(name, ERROR, line)
        if name not in self._said:
            self._said.add(name)
            self._node.get_logger().error(line)
