"""What a node tells at the console, at INFO, one line each.

What it has become, what it waits for, what to call next.
"""

from __future__ import annotations

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

FIRST_MESSAGE_TIMEOUT = 2.0
"""An input that has not spoken for so long after configuring is named, and what to do about a document that has not
come [s]: a node that has just started hears of topics that are there only after a while."""
TRIGGER = 'ros2 service call {} std_srvs/srv/Trigger'
# What each node does from now on, and what comes next; names in braces are resolved as the node's own.
NEXT_STEPS = {
    'excitation': (
        f'nothing moves yet; next: {TRIGGER.format("{~/start}")}, before it, without a trajectory_file, {{~/plan}}'
    ),
    'identifier': (
        f'hears the robot; next: {TRIGGER.format("{~/start_recording}")}, '
        'then {~/stop_recording}, then {~/identify}'
    ),
    'estimator': f'learns while the arm moves; next: {TRIGGER.format("{~/save}")} writes what it has learnt',
    'feedforward': 'next: a trajectory_msgs/msg/JointTrajectory on {~/reference}',
    'simulator': 'next: a trajectory_msgs/msg/JointTrajectory on {~/joint_trajectory}',
    'gazebo_model': 'publishes {motor_states} and temperatures',
}
SOURCES = {
    'robot_description': 'start the driver or robot_state_publisher, or set robot_file',
    'dynamics_description': "remap it to the identifier's ~/dynamics_description, or set description_file",
}


class Console:
    """Writes the changes of two conditions of a node's diagnostics, `state` and `inputs`, as lines of the log."""

    def __init__(self, node: Node):
        self._node = node
        self._state = ''
        self._silent_since: float | None = None
        self._named = False
        self._waits_since: float | None = None

    def state(self, level: bytes, message: str, *, autostart: bool) -> None:
        """Say once what the node has become: `message` is its state, what it waits for, or why a transition failed."""
        now = time.monotonic()
        if message == self._state:
            if self._waits_since is not None and now - self._waits_since > FIRST_MESSAGE_TIMEOUT:
                self._waits_since = None
                self._node.get_logger().info(f'still {message}{self._hint(message)}')
            return
        before, self._state = self._state, message
        self._waits_since = now if message.startswith('waiting for ') else None
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
            return message
        if message == 'active':
            works = NEXT_STEPS.get(getattr(self._node, 'NAME', ''))
            withheld = [name for name in getattr(self._node, 'withheld', ()) if works and f'{{{name}}}' in works]
            if withheld:
                names = ', '.join(self._node.resolve_service_name(name) for name in withheld)
                return f'active; the launch does not offer {names} (parameter services)'
            return f'active; {self._resolved(works)}' if works else 'active'
        if message == 'unconfigured':
            return '' if autostart and not before else f'unconfigured; next: ros2 lifecycle set {name} configure'
        if message == 'inactive':
            return '' if autostart and before != 'active' else f'inactive; next: ros2 lifecycle set {name} activate'
        return ''

    def _hint(self, message: str) -> str:
        hints = []
        for topic in (word.rstrip(',') for word in message.split() if '/' in word):
            owner, _, base = topic.rpartition('/')
            if self._node.count_publishers(topic):
                hints.append(f'{topic} is there, but is silent: let it be latched (transient local)')
            elif base == 'dynamics_description' and owner != self._node.get_namespace().rstrip('/'):
                # It is the private topic of an identifier; its service stands beside it.
                hints.append(f'{TRIGGER.format(f"{owner}/identify")} after a recording, or set description_file')
            elif base in SOURCES:
                hints.append(SOURCES[base])
        return f'; next: {"; ".join(hints)}' if hints else ''

    def _resolved(self, text: str) -> str:
        pieces = text.split('{')
        resolved = [pieces[0]]
        for piece in pieces[1:]:
            name, _, rest = piece.partition('}')
            resolved.append(self._node.resolve_topic_name(name) + rest)
        return ''.join(resolved)


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
