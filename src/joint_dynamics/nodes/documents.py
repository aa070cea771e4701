"""Documents a node starts from (the URDF, the dynamics description): a latched topic, or a file."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

from joint_dynamics.documents import read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.topics import LATCHED


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
        if self._last is None and timeout > 0:
            # Called from inside a callback, where the node's own executor cannot deliver: a subscription for the
            # moment.
            received, message = wait_for_message(
                String, self._node, self._topic, qos_profile=LATCHED, time_to_wait=timeout
            )
            if received:
                self._last = message.data
        if self._last is None:
            raise JointDynamicsError(
                f'{self._topic}: expected a document on {self._subscription.topic_name} or a file, found neither yet'
            )
        return self._last

    def _receive(self, message: String) -> None:
        before, self._last = self._last, message.data
        if before is not None and before != message.data and self.on_change is not None:
            self.on_change()
