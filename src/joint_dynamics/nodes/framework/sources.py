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

"""The robot and the dynamics description that a node starts from, as its parameters and latched topics give them."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import String

from joint_dynamics.documents import read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.diagnostics import WARN
from joint_dynamics.nodes.framework.entities import EntityNode
from joint_dynamics.nodes.framework.executor import LOOK_PERIOD
from joint_dynamics.nodes.framework.tables import LATCHED


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
