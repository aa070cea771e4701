"""What a trajectory controller tells of itself, where control_msgs is installed.

Where its reference is, that it runs, and that it has taken the motion it was sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces.inputs import message_class
from joint_dynamics.nodes.interfaces.messages import seconds
from joint_dynamics.nodes.interfaces.robot_states import Listening

if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode

DEACTIVATED = 'the controller tells nothing any more, while joint states come: it was deactivated, or unloaded'
NOT_TAKEN = (
    'the controller did not take the motion: a long trajectory is easily lost on a topic, which'
    ' joint_trajectory_controller listens to with best effort; set the output to action, or send fewer points'
)
MANAGER_GONE = 'neither joint states nor the controller tell anything any more: the controller manager is gone'


STANDING_DISTANCE = 2e-3
"""Way [rad] of a joint below which the robot stands where it stood."""

BEGUN_DISTANCE = 10 * STANDING_DISTANCE
"""Way [rad] of the motion within which the reference of a controller that plays it must have begun to move."""


class SentMotion:
    """A motion as it was sent.

    Parameters
    ----------
    position
        returns the positions (n,) [rad] at a time of the motion [s].
    duration
        s.
    began
        its beginning, s of the node's clock.
    before
        the controller's reference when it was sent (n,) [rad]; None where it was not known.
    late
        by how much the controller may begin later than that, s.

    Attributes
    ----------
    began, duration
        as given.
    """

    def __init__(
        self,
        position: Callable[[float], FloatArray],
        duration: float,
        began: float,
        before: FloatArray | None = None,
        late: float = 0.0,
    ):
        self.began, self.duration = began, duration
        self._position, self._before, self._late = position, before, late
        self._taken = False

    def not_taken(self, reference: tuple[float, FloatArray] | None) -> bool:
        """Whether the controller's reference has not left the place it had before, while the motion has gone on.

        Parameters
        ----------
        reference
            time [s] and positions (n,) [rad] of that reference, None where it is not known.
        """
        if reference is None or self._before is None or self._taken:
            return False
        # For good: a motion may come back to where it began, and a reference that is late is there while it is not.
        self._taken = bool(np.abs(reference[1] - self._before).max() > STANDING_DISTANCE)
        at = min(max(reference[0] - self.began - self._late, 0.0), self.duration)
        way = self._position(at) - self._position(0.0)
        return not self._taken and bool(np.abs(way).max() > BEGUN_DISTANCE)


class ControllerWatch:
    """The controller's reference from `controller_state`.

    Without control_msgs, or without a publisher, it knows nothing.

    A controller publishes its state from its update: one that is inactive, or whose manager is gone, is silent.

    Parameters
    ----------
    joint_names
        (n,) all of which the controller has to have.
    listening
        time for which the node could take messages.
    clock
        returns the node's time [s].
    """

    def __init__(
        self, node: DynamicsNode, joint_names: Sequence[str], listening: Listening, clock: Callable[[], float]
    ):
        self._joint_names, self._listening, self._clock = tuple(joint_names), listening, clock
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
            self._time = seconds(message.header.stamp) or self._clock()
            self._heard = self._listening.time

    @property
    def known(self) -> bool:
        """Whether the controller has ever published its state."""
        return self._q is not None

    def silent(self, timeout: float) -> bool:
        """Whether a controller that has published its state before has not done so for `timeout` s of listening."""
        return self.known and self._listening.time - self._heard > timeout

    def reference(self, timeout: float) -> tuple[float, FloatArray] | None:
        """Return the time [s] and positions (n,) [rad] of the controller's reference.

        None where it is unknown or old.
        """
        return None if self._q is None or self.silent(timeout) else (self._time, self._q)

    def complaint(self, sent: SentMotion, timeout: float, heard: float) -> str:
        """Return DEACTIVATED, MANAGER_GONE or NOT_TAKEN of a controller that was sent a motion; empty: none of them.

        Parameters
        ----------
        timeout
            silence that counts, s of listening.
        heard
            when the newest joint state came, s of listening: a controller that was deactivated leaves the broadcaster
            behind; with the manager both end at once.
        """
        if self.silent(timeout):
            if self._clock() - sent.began >= sent.duration:
                return ''
            return DEACTIVATED if heard - self._heard > 0.5 * timeout else MANAGER_GONE
        return NOT_TAKEN if sent.not_taken(self.reference(timeout)) else ''
