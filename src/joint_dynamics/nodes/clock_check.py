"""Whether a robot's states are stamped by the clock of the node that hears them, told in its diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joint_dynamics.nodes.diagnostics import ERROR, OK
from joint_dynamics.nodes.robot_states import RobotStates

if TYPE_CHECKING:
    from joint_dynamics.nodes.lifecycle import DynamicsNode

CERTAIN = 50
"""Looks, 20 ms apart, after which stamps of another clock are named: /clock may come later than the states."""


class ClockCheck:
    """Names another clock once, and takes it back when the stamps are the node's."""

    def __init__(self, node: DynamicsNode, states: RobotStates):
        self._node, self._states = node, states
        self._foreign = 0

    def look(self) -> None:
        """Look at the newest stamps; to be called every 20 ms."""
        line, named = self._states.other_clock, self._foreign >= CERTAIN
        self._foreign = self._foreign + 1 if line else 0
        if line and not named and self._foreign >= CERTAIN:
            line = f'expected joint states stamped by the clock of this node, found {line}'
            self._node.diagnostics.set('joint states', ERROR, line)
            self._node.get_logger().error(line)
        elif named and not line:
            self._node.diagnostics.set('joint states', OK, 'arrive')
