"""What is wrong with a node, and why, on /diagnostics: every second, and at once when it changes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from joint_dynamics.nodes.framework.console import Console
from joint_dynamics.nodes.framework.topics import STATE

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE
_TICK, _EVERY = 0.1, 10
LASTING = 10.0
"""Time [s] for which what is over already is shown."""


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
        """Set a condition that is over already, to be forgotten after LASTING s of the wall."""
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
        """Forget what is over; publish what has changed, and all of it from time to time."""
        for name in [name for name, end in self._ends.items() if time.monotonic() > end]:
            self.clear(name)
        self._ticks += 1
        if self._changed or self._ticks >= _EVERY:
            self.publish()
