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

"""The conditions of a node on /diagnostics, every second and on change, and its state as lines of the log.

A line of the log says the node's new state, a missing input, or the next call.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from joint_dynamics.nodes.framework.tables import STATE

FIRST_MESSAGE_TIMEOUT = 2.0  # s after configuring; a missing input is reported then, as discovery takes time
TRIGGER = 'ros2 service call {} std_srvs/srv/Trigger'
# The work of each active node, and the next call; names in braces are resolved as the node's own.
NEXT_STEPS = {
    'excitation': (
        f'nothing moves yet; next: {TRIGGER.format("{~/start}")}, before it, without a trajectory_file, {{~/plan}}'
    ),
    'identifier': (
        f'receives the robot; next: {TRIGGER.format("{~/start_recording}")}, '
        'then {~/stop_recording}, then {~/identify}'
    ),
    'estimator': f'learns while the arm moves; next: {TRIGGER.format("{~/save}")} writes the estimates',
    'feedforward': 'next: a trajectory_msgs/msg/JointTrajectory on {~/reference}',
    'simulator': 'next: a trajectory_msgs/msg/JointTrajectory on {~/joint_trajectory}',
    'gazebo_model': 'publishes {motor_states} and temperatures',
}
SOURCES = {
    'robot_description': 'start the driver or robot_state_publisher (latched), or set robot_file',
    'dynamics_description': "identify, where this is the identifier's ~/dynamics_description, or set description_file",
}


class Console:
    """Writes the changes of two conditions of a node's diagnostics, `state` and `inputs`, as lines of the log."""

    def __init__(self, node: Node):
        self._node = node
        self._state = ''
        self._silent_since: float | None = None
        self._named = False

    def state(self, level: bytes, message: str, *, autostart: bool) -> None:
        """Log a new state once: `message` is the state, the missing document, or the reason of a failed transition."""
        if message == self._state:
            return
        before, self._state = self._state, message
        line = self._line(level, message, before, autostart)
        if line:
            self._node.get_logger().info(line)

    def inputs(self, level: bytes, message: str) -> None:
        """Say once that inputs have not come for a while (`message`: which), and once that they have come then."""
        if level == DiagnosticStatus.OK:
            if self._named:
                self._node.get_logger().info(f'inputs: {message}')
            self._silent_since, self._named = None, False
            return
        now = time.monotonic()
        self._silent_since = now if self._silent_since is None else self._silent_since
        if not self._named and now - self._silent_since > FIRST_MESSAGE_TIMEOUT:
            self._named = True
            self._node.get_logger().info(f'waiting for inputs: {message}')

    def _line(self, level: bytes, message: str, before: str, autostart: bool) -> str:
        name = self._node.get_fully_qualified_name()
        if level == DiagnosticStatus.ERROR:
            # The line that says why is logged as an error already.
            verb = next((verb for verb in ('configure', 'activate') if f' {verb}' in message.partition(':')[0]), None)
            return f'next: remedy that, then ros2 lifecycle set {name} {verb}' if verb else ''
        if message.startswith('waiting for '):
            topics = [word.rstrip(',').rpartition('/')[2] for word in message.split() if '/' in word]
            hints = '; '.join(SOURCES[name] for name in topics if name in SOURCES)
            return f'{message}; next: {hints}' if hints else message
        if message == 'active':
            works = NEXT_STEPS.get(getattr(self._node, 'NAME', ''))
            withheld = [name for name in getattr(self._node, 'withheld', ()) if works and f'{{{name}}}' in works]
            if withheld:
                names = ', '.join(self._node.resolve_service_name(name) for name in withheld)
                return f'active; the launch does not offer {names} (parameter services)'
            if not works:
                return 'active'
            return 'active; ' + re.sub(r'{(.+?)}', lambda name: self._node.resolve_topic_name(name[1]), works)
        if message == 'unconfigured':
            return '' if autostart and not before else f'unconfigured; next: ros2 lifecycle set {name} configure'
        if message == 'inactive':
            return '' if autostart and before != 'active' else f'inactive; next: ros2 lifecycle set {name} activate'
        return ''


def clock_jump(node: Any, seconds: float) -> None:
    """Report in log and diagnostics that a node's clock went back by `seconds` > 0.

    The report includes whether several simulations set it.
    """
    sources = node.count_publishers('/clock')
    line = f'time went back by {seconds:.3f} s'
    if sources > 1:
        line += f': expected one publisher of /clock, found {sources}; let one simulation publish it (publish_clock)'
    node.diagnostics.happened('clock', DiagnosticStatus.ERROR if sources > 1 else DiagnosticStatus.WARN, line)
    # Two simulations set it back with every message.
    node.get_logger().warning(line, throttle_duration_sec=10.0)


OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE
_TICK = 0.1  # s
_EVERY = 10  # ticks between two messages without a change
LASTING = 10.0  # s for which an event is shown


class Diagnostics:
    """A set of named conditions of one node. Not thread-safe: call it from the node's executor."""

    def __init__(self, node: Node):
        self._node = node
        self._console = Console(node)
        self._statuses: dict[str, DiagnosticStatus] = {}
        self._ends: dict[str, float] = {}
        self._changed = False
        self._said: set[str] = set()
        self._ticks = 0
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', STATE)
        # On the steady clock: a simulation that stands still must still be able to say why. The timer also wakes the
        # executor, so that a signal is noticed within a tick, and bounds how often a flickering condition is published.
        self._timer = node.create_timer(_TICK, self.tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def set(self, name: str, level: bytes, message: str, **values: Any) -> None:
        """Set one condition; `level` is OK, WARN, ERROR or STALE, `values` are shown beside the message."""
        self._ends.pop(name, None)
        if name == 'state':
            self._console.state(level, message, autostart=bool(self._node.get_parameter('autostart').value))
        elif name == 'inputs':
            self._console.inputs(level, message)
        pairs = [
            KeyValue(key=key, value=f'{value:.6g}' if isinstance(value, float) else str(value))
            for key, value in values.items()
        ]
        before = self._statuses.get(name)
        if before is None or before.level != level or before.message != message:
            self._changed = True
        self._statuses[name] = DiagnosticStatus(
            level=level, name=f'{self._node.get_fully_qualified_name()}: {name}', message=message, values=pairs
        )

    def happened(self, name: str, level: bytes, message: str) -> None:
        """Set the condition of an event, to be forgotten after LASTING s of the wall."""
        self.set(name, level, message)
        self._ends[name] = time.monotonic() + LASTING

    def report_validity(self, notes: Iterable[str]) -> None:
        """Set `validity` to the notes on quantities outside the range in which the friction was checked.

        Each note is logged when it is new.
        """
        self._warn('validity', notes, 'within the range in which the friction was checked')

    def report_doubtful(self, joints: Iterable[str]) -> None:
        """Set `description`: the joints that it calls weak or wrong, each logged once; nothing without any."""
        self.clear('description')
        if lines := list(joints):
            self._warn('description', lines, '')

    def _warn(self, name: str, notes: Iterable[str], otherwise: str) -> None:
        notes = list(notes)
        for note in notes:
            if note not in self._said:
                self._said.add(note)
                self._node.get_logger().warning(note)
        self.set(name, WARN if notes else OK, '; '.join(notes) or otherwise)

    def clear(self, name: str) -> None:
        """Forget one condition."""
        self._ends.pop(name, None)
        if self._statuses.pop(name, None) is not None:
            self._changed = True

    def level(self, name: str) -> bytes | None:
        """Return the level of one condition, None when it was never set."""
        status = self._statuses.get(name)
        return None if status is None else status.level

    def message(self, name: str) -> str:
        """Return the message of one condition, '' when it was never set."""
        status = self._statuses.get(name)
        return '' if status is None else status.message

    def publish(self) -> None:
        """Publish all conditions now."""
        self._changed, self._ticks = False, 0
        array = DiagnosticArray(status=list(self._statuses.values()))
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def tick(self) -> None:
        """Forget old events; publish all conditions after a change, and every second."""
        for name in [name for name, end in self._ends.items() if time.monotonic() > end]:
            self.clear(name)
        self._ticks += 1
        if self._changed or self._ticks >= _EVERY:
            self.publish()
