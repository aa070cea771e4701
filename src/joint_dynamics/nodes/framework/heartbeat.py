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

"""A heartbeat by which others notice that a node was killed or hangs: DDS liveliness, as the bonds of nav2 are used.

A node beats from its executor, every 0.1 s from configuring to cleanup, and says with each beat whether it is at work:
whether anybody depends on it now. Whoever listens has the middleware look after it (`liveliness` manual by topic with a
lease): after a second without a beat the heart counts as lost, whatever the reason; a node that ends in good order
says before that it is not at work any more, and its publisher goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rclpy.duration import Duration
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.qos import LivelinessPolicy, QoSProfile
from std_msgs.msg import Bool

from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, WARN
from joint_dynamics.nodes.framework.tables import TopicRow, publishes, subscribes

if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode

PERIOD = 0.1  # s of the wall between two beats; simulated time may stand still
LEASE = Duration(seconds=1.0)
HEARTBEAT = QoSProfile(depth=1, liveliness=LivelinessPolicy.MANUAL_BY_TOPIC, liveliness_lease_duration=LEASE)
"""Beats are assertions of a writer's liveliness; a listener may ask for this lease or a longer one."""
BEAT_ROW = publishes(
    '~/heartbeat',
    'std_msgs/Bool',
    'whether the node is at work; ten times per second, liveliness manual by topic, lease 1 s',
)


def listening_row(source: str, use: str) -> TopicRow:
    """Return the row of the topic by which a node listens to the heart of `source`; use: the reaction to it."""
    return subscribes(f'{source}/heartbeat', 'std_msgs/Bool', f'whether {source} is alive: {use}')


class Heartbeat:
    """The heart of a node. at_work: whether its loss would matter now."""

    def __init__(self, node: DynamicsNode, at_work: Callable[[], bool]):
        self._at_work = at_work
        self._publisher = node.advertise(Bool, '~/heartbeat', HEARTBEAT, when_inactive=True)
        node.every(PERIOD, self.beat, steady=True)

    def beat(self) -> None:
        """Beat now."""
        self._publisher.publish(Bool(data=self._at_work()))

    def rest(self) -> None:
        """Say that the node is not at work any more, before it does something that takes time."""
        self._publisher.publish(Bool(data=False))


class HeartbeatWatch:
    """Listens to the heart of `source`, and says in the diagnostics of a node under `<source> heartbeat` how it is.

    Parameters
    ----------
    on_lost
        called with the reason when a heart stops that was at work.
    """

    def __init__(self, node: DynamicsNode, source: str, on_lost: Callable[[str], None] | None = None):
        self._node, self._source, self._on_lost = node, source, on_lost
        self._condition = f'{source} heartbeat'
        self._worked = self.lost = False
        events = SubscriptionEventCallbacks(liveliness=self._changed)
        self._subscription = node.subscribe(Bool, f'{source}/heartbeat', self._take, HEARTBEAT, events=events)

    def _take(self, message: Bool) -> None:
        if not self._subscription.get_publisher_count():
            return  # it was on its way when its heart went
        self._worked = message.data
        if self.lost:
            self.lost = False
            self._node.get_logger().info(f'the heartbeat of {self._source} is back')
        self._node.diagnostics.set(self._condition, OK, 'at work' if message.data else 'beats')

    def _changed(self, event: QoSLivelinessChangedInfo) -> None:
        if event.not_alive_count_change <= 0:
            # It has come or gone in good order, or the middleware has forgotten a lost one.
            if not self.lost and event.alive_count == 0:
                self._node.diagnostics.clear(self._condition)
            return
        worked, self._worked, self.lost = self._worked, False, True
        nothing = f'nothing for {LEASE.nanoseconds * 1e-9:g} s'
        if worked:
            reason = (
                f'the heartbeat of {self._source} was lost: {nothing}, it was killed, hangs, or the network is gone'
            )
            self._node.get_logger().error(reason)
        else:
            reason = f'the heartbeat of {self._source} is late: {nothing}; it last said that it is not at work'
            self._node.get_logger().warning(reason)
        self._node.diagnostics.set(self._condition, ERROR if worked else WARN, reason)
        if worked and self._on_lost is not None:
            self._on_lost(reason)
