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

"""What a node is made of while it is configured: subscriptions, publishers, services and timers, destroyed together.

The documents that it starts from (`LatchedText`) are heard before, too.
Parameters and topics that every node has, or every node that needs the robot or the dynamics description, stand here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.lifecycle import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from joint_dynamics.documents import read_text
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.nodes.framework.diagnostics import WARN, Diagnostics
from joint_dynamics.nodes.framework.executor import LOOK_PERIOD
from joint_dynamics.nodes.framework.tables import (
    LATCHED,
    SENSOR,
    STATE,
    NodeParameters,
    ParameterRow,
    TopicRow,
    publishes,
    row_of,
    subscribes,
)
from joint_dynamics.robot.model import JOINTS, MOUNTING

COMMON_PARAMETERS = (
    ParameterRow('autostart', False, 'configure and activate as soon as the documents are available', applies='start'),
)


def service_parameters(topics: Iterable[TopicRow]) -> tuple[ParameterRow, ...]:
    """Return the parameter by which a launch withholds services of `topics`; nothing where there are none."""
    names = [row.name.removeprefix('~/') for row in topics if row.direction == 'service' and not row.ends]
    if not names:
        return ()
    return (
        ParameterRow(
            'services',
            names,
            "services offered, beside those that only end something; `['']`: none",
            choices=tuple(names),
            applies='start',
        ),
    )


COMMON_TOPICS = (
    publishes(
        '/diagnostics',
        'diagnostic_msgs/DiagnosticArray',
        'state and faults of the node, with reasons; every second and on change',
    ),
)
SOURCE_PARAMETERS = (
    ParameterRow('description_timeout', 5.0, 'longest wait for a latched document when configuring', 's', 0, 60),
)
ROBOT_PARAMETERS = (
    ParameterRow('robot_file', '', 'URDF or MDH table; empty: the topic `robot_description`'),
    row_of(JOINTS),
    row_of(MOUNTING),
    ParameterRow(
        'world_frame',
        '',
        'tf frame with z up: gives the mounting, where that is empty, by the static transforms between this and the '
        'base (needs tf2_msgs and tf_transformations)',
    ),
    ParameterRow('base_frame', '', 'tf frame of the base; empty: the first link of the URDF'),
)
ROBOT_TOPICS = (
    subscribes('robot_description', 'std_msgs/String', 'the URDF, latched; read when the node is configured'),
    subscribes(
        '/tf_static',
        'tf2_msgs/TFMessage',
        'with `world_frame`: how the base stands; heard by a node `<name>_tf` while the node is configured',
    ),
)
DESCRIPTION_PARAMETERS = (
    ParameterRow('description_file', '', 'dynamics description (YAML); empty: the topic `dynamics_description`'),
)
DESCRIPTION_TOPICS = (
    subscribes(
        'dynamics_description',
        'std_msgs/String',
        'the dynamics description (YAML), latched; read when the node is configured',
    ),
)


class LatchedText:
    """The text of a document: from the file that `path()` names, else the last on a latched `std_msgs/String` topic.

    `on_change` is called when another text comes over the topic than the one before (not for the first).
    """

    def __init__(self, node: Node, topic: str, path: Callable[[], str], on_change: Callable[[], None] | None = None):
        self._node = node
        self._topic = topic
        self._path = path
        self.on_change = on_change
        self._last: str | None = None
        self._subscription = node.create_subscription(String, topic, self._receive, LATCHED)

    @property
    def available(self) -> bool:
        """Whether `text` would return (or fail) at once."""
        return bool(self._path()) or self._last is not None

    @property
    def origin(self) -> str:
        """Where the text comes from, for messages: the file or the topic."""
        return self._path() or f'topic {self._subscription.topic_name}'

    def text(self, timeout: float = 0.0) -> str:
        """Return the document, waiting up to `timeout` s for a topic that has not delivered yet.

        Raises
        ------
        JointDynamicsError
            When the file cannot be read, or nothing was published.
        """
        path = self._path()
        if path:
            return read_text(path, f'{self._topic}: {path}')
        # Called from inside a callback, where the node's own executor cannot deliver.
        end = time.monotonic() + timeout
        while self._last is None and time.monotonic() < end:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(String, False)
            if taken is None:
                time.sleep(LOOK_PERIOD)
            else:
                self._last = taken[0].data
        if self._last is None:
            raise JointDynamicsError(
                f'{self._topic}: expected a document on {self._subscription.topic_name} or a file, found neither yet'
            )
        return self._last

    def _receive(self, message: String) -> None:
        before, self._last = self._last, message.data
        if before is not None and before != message.data and self.on_change is not None:
            self.on_change()


class EntityNode(Node):
    """A lifecycle node that creates only what stands in its table of topics, and knows what to destroy on cleanup.

    Attributes
    ----------
    TOPICS
        of the node, beside the rows of every node.
    ROBOT, DESCRIPTION
        whether it needs the robot, and the dynamics description; each has a topic of its own.
    parameters : NodeParameters
        present values by name.
    streams
        subscriptions whose messages come by the hundred a second (`StreamExecutor`).
    """

    TOPICS: ClassVar[tuple[TopicRow, ...]] = ()
    ROBOT: ClassVar[bool] = True
    DESCRIPTION: ClassVar[Literal['none', 'optional', 'required']] = 'none'

    parameters: NodeParameters
    diagnostics: Diagnostics

    def __init__(self, node_name: str, **options: Any):
        super().__init__(node_name, **options)
        self._owned: list[tuple[Callable, Any]] = []
        self.streams: set[Any] = set()
        self._topic_names = {row.name for row in self.topic_rows()}

    @classmethod
    def topic_rows(cls) -> tuple[TopicRow, ...]:
        """Return all topics and services of the node."""
        return (
            *(ROBOT_TOPICS if cls.ROBOT else ()),
            *(DESCRIPTION_TOPICS if cls.DESCRIPTION != 'none' else ()),
            *cls.TOPICS,
            *COMMON_TOPICS,
        )

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable,
        qos: QoSProfile = SENSOR,
        *,
        row: str | None = None,
        raw: bool = False,
        events: SubscriptionEventCallbacks | None = None,
        stream: bool = False,
    ) -> Any:
        """Create a subscription that lives until cleanup; `row`: the name in TOPICS, where a parameter gives the topic.

        Parameters
        ----------
        raw
            to the bytes.
        events
            of its quality of service.
        stream
            whether messages come by the hundred a second, and are looked at every few milliseconds.
        """
        subscription = self._own(
            self.destroy_subscription,
            topic if row is None else row,
            self.create_subscription,
            kind,
            topic,
            callback,
            qos,
            raw=raw,
            event_callbacks=events,
        )
        if stream:
            self.streams.add(subscription)
        return subscription

    def advertise(
        self, kind: type, topic: str, qos: QoSProfile = STATE, *, when_inactive: bool = False, row: str | None = None
    ) -> Any:
        """Create a publisher that lives until cleanup; it is silent while the node is not active.

        Parameters
        ----------
        when_inactive
            True: it speaks then too.
        row
            name of its row in the table of topics, where that is another than `topic`.
        """
        row = topic if row is None else row
        if when_inactive:
            return self._own(self.destroy_publisher, row, self.create_publisher, kind, topic, qos)
        return self._own(self.destroy_lifecycle_publisher, row, self.create_lifecycle_publisher, kind, topic, qos)

    def serve(self, name: str, action: Callable[[], str | Future]) -> Any:
        """Offer a `std_srvs/Trigger` that lives until cleanup.

        Parameters
        ----------
        action
            returns the message of the answer, or, where that takes time, a Future of the Trigger.Response; the executor
            goes on meanwhile. A JointDynamicsError of it refuses, with its line.

        Returns
        -------
        The service; None where the launch withholds it.
        """

        def respond(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response | Future:
            try:
                answer = action()
                if isinstance(answer, Future):
                    return answer
                response.message, response.success = answer or 'done', True
            except JointDynamicsError as error:
                response.message, response.success = one_line(error), False
                self.get_logger().error(f'{name}: {response.message}')
            return response

        if name in self.withheld:
            return None
        service = self._own(self.destroy_service, name, self.create_service, Trigger, name, respond)
        send = service.send_response

        # A coroutine would do in the SingleThreadedExecutor; the EventsExecutor of Jazzy sends whatever the callback
        # returns.
        def send_response(response: Trigger.Response | Future, header: Any) -> None:
            if isinstance(response, Future):
                response.add_done_callback(lambda future: send(future.result(), header))
            else:
                send(response, header)

        service.send_response = send_response
        return service

    @property
    def withheld(self) -> tuple[str, ...]:
        """Services of the table that the launch does not let this node offer (parameter `services`), as `~/name`."""
        rows = [row for row in self.topic_rows() if row.direction == 'service' and not row.ends]
        return tuple(row.name for row in rows if row.name.removeprefix('~/') not in self.parameters['services'])

    def every(self, period: float, callback: Callable, *, steady: bool = False) -> Any:
        """Call back every `period` s of the node's clock.

        Parameters
        ----------
        steady
            of the wall, also while simulated time stands still.
        """
        clock = Clock(clock_type=ClockType.STEADY_TIME) if steady else self.get_clock()
        return self._own(self.destroy_timer, None, self.create_timer, period, callback, clock=clock)

    @property
    def entities(self) -> list[Any]:
        """What `subscribe`, `advertise`, `serve` and `every` have made and `destroy_entities` destroys."""
        return [entity for _, entity in self._owned]

    def destroy_entities(self) -> None:
        """Destroy what `subscribe`, `advertise`, `serve` and `every` have made, the last first."""
        self.streams.clear()
        while self._owned:
            destroy, entity = self._owned.pop()
            destroy(entity)

    def _own(self, destroy: Callable, documented: str | None, create: Callable, *arguments: Any, **options: Any) -> Any:
        if documented is not None and documented not in self._topic_names:
            raise ValueError(f'{documented} is not in the table of topics of {type(self).__name__}')
        entity = create(*arguments, **options)
        self._owned.append((destroy, entity))
        return entity


def create_sources(node: EntityNode) -> dict[str, LatchedText]:
    """Return the documents that a node takes: `robot`, `description`, where ROBOT and DESCRIPTION say so."""

    def source(name: str, topic: str) -> LatchedText:
        def changed() -> None:
            node.diagnostics.set(
                topic, WARN, 'changed since the node was configured: clean up and configure again to use it'
            )

        return LatchedText(node, topic, lambda: node.parameters[f'{name}_file'], changed)

    sources = {}
    if node.ROBOT:
        sources['robot'] = source('robot', 'robot_description')
    if node.DESCRIPTION != 'none':
        sources['description'] = source('description', 'dynamics_description')
    return sources
