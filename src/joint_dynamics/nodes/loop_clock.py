"""The time of a control loop: of a clock that does not jump, or of the simulation."""

from __future__ import annotations

import math
import time

from joint_dynamics.nodes.lifecycle import DynamicsNode


class LoopClock:
    """Time of the loop [s] of one node, from its configuration on.

    Attributes
    ----------
    simulated
        whether the node lives in simulated time.
    """

    def __init__(self, node: DynamicsNode):
        self._node = node
        self.simulated = bool(node.get_parameter('use_sim_time').value)
        self._newest = -math.inf

    def forget(self) -> None:
        """Forget the newest stamp: time began anew."""
        self._newest = -math.inf

    def now(self) -> float:
        """Return the present time [s]."""
        if not self.simulated:
            return time.monotonic()
        # Joint states may be ahead of the /clock message of the same instant.
        return max(self._node.get_clock().now().nanoseconds * 1e-9, self._newest)

    def time_of(self, stamp: int) -> float:
        """Return the time of the loop [s] that a stamp [ns] of the node's clock means."""
        clock = self._node.get_clock().now().nanoseconds
        if self.simulated:
            # A stamp far in the future is a defect that must not make everything else look old; the loop refuses it.
            instant = stamp * 1e-9
            if instant <= clock * 1e-9 + self._node.parameters['timeout']:
                self._newest = max(self._newest, instant)
            return instant
        return time.monotonic() - (clock - stamp) * 1e-9
