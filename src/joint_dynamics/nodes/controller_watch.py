"""What a trajectory controller tells of itself, where control_msgs is installed.

Where its reference is, and that it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.inputs import message_class
from joint_dynamics.nodes.robot_states import RobotStates

if TYPE_CHECKING:
    from joint_dynamics.nodes.lifecycle import DynamicsNode

DEACTIVATED = 'the controller tells nothing any more, while joint states come: it was deactivated, or unloaded'
NOT_TAKEN = (
    'the controller did not take the motion: a long trajectory is easily lost on a topic, which'
    ' joint_trajectory_controller listens to with best effort; set output to action, or a lower rate'
)
MANAGER_GONE = 'neither joint states nor the controller tell anything any more: the controller manager is gone'


class ControllerWatch:
    """The controller's reference from `controller_state`.

    Without control_msgs, or without a publisher, it knows nothing.

    A controller publishes its state from its update: one that is inactive, or whose manager is gone, is silent.
    """

    def __init__(self, node: DynamicsNode, joint_names: Sequence[str], states: RobotStates, clock: Callable[[], float]):
        self._joint_names, self._states, self._clock = tuple(joint_names), states, clock
        self._heard, self._time = -math.inf, -math.inf
        self._q: FloatArray | None = None
        try:
            kind = message_class('control_msgs/msg/JointTrajectoryControllerState', 'controller_state')
        except JointDynamicsError:
            return
        node.subscribe(kind, 'controller_state', self._take)

    def _take(self, message: Any) -> None:
        given = dict(zip(message.joint_names, message.reference.positions, strict=False))
        if all(math.isfinite(given.get(name, math.nan)) for name in self._joint_names):
            self._q = np.array([given[name] for name in self._joint_names])
            self._time = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec or self._clock()
            self._heard = self._states.listened

    @property
    def known(self) -> bool:
        """Whether the controller has ever told its state."""
        return self._q is not None

    def silent(self, timeout: float) -> bool:
        """Whether a controller that has told its state before has not for `timeout` s of listening."""
        return self.known and self._states.listened - self._heard > timeout

    def outlived(self, timeout: float) -> bool:
        """Whether joint states have come for more than `timeout` s of listening after its last word.

        A controller that was deactivated leaves the broadcaster behind; with the manager both end at once.
        """
        return self.known and self._states.heard - self._heard > timeout

    def reference(self, timeout: float) -> tuple[float, FloatArray] | None:
        """Return the time [s] and positions (n,) [rad] of the controller's reference.

        None where it is not known or old.
        """
        return None if self._q is None or self.silent(timeout) else (self._time, self._q)
