"""Commands of the feedforward node in streaming mode: numbers for a controller, with joint names for who looks on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.nodes.interfaces.message_bytes import array_message
from joint_dynamics.nodes.interfaces.messages import joint_state

if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode

LAST_WORD = Duration(seconds=0.2)
"""Longest wait for the last command to arrive."""


class CommandSender:
    """Sends the commands of a loop.

    Parameters
    ----------
    joint_names, order
        of the joints that are sent, and their places in the robot's order.
    """

    def __init__(self, node: DynamicsNode, joint_names: Sequence[str], order: IntArray):
        self._node, self._joint_names, self._order = node, joint_names, order
        self._commands = node.advertise(Float64MultiArray, '~/commands')
        self._named = node.advertise(JointState, '~/joint_commands')

    def send(self, command: FloatArray) -> None:
        """Send a command (n,) [N·m, A] in the robot's order."""
        ordered = command[self._order]
        self._commands.publish(array_message(ordered))
        if self._named.get_subscription_count():
            stamp = self._node.get_clock().now().to_msg()
            self._named.publish(joint_state(stamp, self._joint_names, ordered))

    def finish(self) -> None:
        """Wait until the last command has arrived."""
        self._commands.wait_for_all_acked(LAST_WORD)
