"""What a node has refused and nobody has mended since."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from joint_dynamics.errors import JointDynamicsError, one_line

if TYPE_CHECKING:
    from joint_dynamics.nodes.lifecycle import DynamicsNode


class Refusals(dict[str, str]):
    """Reasons by the name of what takes the messages; a good message takes the reason of the one before away."""

    def __init__(self, node: DynamicsNode):
        super().__init__()
        self._node = node

    def guarded(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback that gives messages to `take` while the node is active, and notes what it refuses."""

        def guarded(message: Any) -> None:
            if not self._node.is_active:
                return
            try:
                take(message)
                self.pop(take.__name__, None)
            except JointDynamicsError as error:
                self.note(take.__name__, error)

        return guarded

    def note(self, what: str, error: JointDynamicsError) -> None:
        """Note and log why `what` was refused."""
        self[what] = one_line(error)
        self._node.get_logger().error(self[what])
