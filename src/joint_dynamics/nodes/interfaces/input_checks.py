"""What can be wrong with inputs that do arrive: a joint that nobody tells of, and stamps of another clock."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rclpy.qos import ReliabilityPolicy

from joint_dynamics.nodes.framework.diagnostics import ERROR

if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode

SETTLED = 1.0
"""Time [s] after the first message by which every publisher has told of its joints."""
OTHER_CLOCK = 86400
"""Stamps further from the node's clock than this [s] come from another kind of clock."""


class InputChecks:
    """Looks at each message as it comes.

    Says what is wrong in the diagnostics (`joints`, `clock`) and once in the log.

    Parameters
    ----------
    node: whose robot and clock count. joint_states: the topic that tells of all joints; None: none does. names: name in
    the messages -> joint of the robot.
    """

    def __init__(self, node: DynamicsNode, joint_states: str | None, names: Mapping[str, str]):
        self._node, self._joint_states, self._names = node, joint_states, names
        self._unnamed = set(node.robot.joint_names) if joint_states else set()
        self._first = math.inf
        self._stamps: dict[str, tuple[int, int]] = {}
        self._said: set[str] = set()
        self.subscriptions: dict[str, Any] = {}
        self._unfit: list[str] = []
        self._checked_at = -math.inf

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

    def unfit_publishers(self, topics: Iterable[str]) -> list[str]:
        """Return what publishers of silent topics do that keeps them from being heard; looked for once a second."""
        now = time.monotonic()
        if now - self._checked_at > SETTLED:
            self._checked_at = now
            self._unfit = [line for topic in topics for line in self._unfit_of(topic)]
        return self._unfit

    def _unfit_of(self, topic: str) -> list[str]:
        subscription = self.subscriptions[topic]
        package = subscription.msg_type.__module__.partition('.')[0]
        expected = f'{package}/msg/{subscription.msg_type.__name__}'
        lines = []
        for publisher in self._node.get_publishers_info_by_topic(subscription.topic_name):
            if publisher.topic_type != expected:
                lines.append(f'{topic}: expected {expected}, found {publisher.topic_type} of {publisher.node_name}')
            elif (
                subscription.qos_profile.reliability == ReliabilityPolicy.RELIABLE
                and publisher.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
            ):
                lines.append(
                    f'{topic}: expected a reliable publisher (reliable_inputs), found {publisher.node_name} to be best '
                    'effort'
                )
        return lines

    def report(self) -> None:
        """Put what is wrong into the diagnostics; what is not any more leaves them."""
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
            missing = '' if now else ', for nobody publishes /clock'
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
