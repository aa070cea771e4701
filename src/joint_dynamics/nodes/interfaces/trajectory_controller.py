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

"""A trajectory controller: trajectories to its topic or its action, and its reference where control_msgs is installed.

The reference shows that the controller runs, and that it has taken a motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.action import ActionClient
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.tables import ParameterRow, TopicRow
from joint_dynamics.nodes.interfaces.messages import duration, message_class, seconds
from joint_dynamics.nodes.interfaces.robot_states import Listening

Report = Callable[[str], None]
OUTPUT_ROW = ParameterRow(
    'output',
    'auto',
    'path to the controller: topic, action (needs control_msgs), or auto: the action if it is offered',
    choices=('auto', 'topic', 'action'),
)
ACTION_ROW = TopicRow(
    '~/follow_joint_trajectory',
    'control_msgs/FollowJointTrajectory',
    'action client',
    'the same as a goal; remap it likewise',
)

STAY = 2.0
"""How long a trajectory that ends a motion stays at rest [s]."""
BRAKE_LEAD = 0.1
"""A braking goes on with the motion for so long after it was planned [s]: a controller that gets it by then does not
jump."""


def staying(message: JointTrajectory) -> JointTrajectory:
    """Return the message with its last point once more, STAY s later.

    A braking is short, and joint_trajectory_controller refuses a trajectory whose end is past when it arrives: on a
    busy machine it would go on with the motion that is to be stopped.
    """
    last = message.points[-1]
    later = copy(last)
    later.time_from_start = duration(seconds(last.time_from_start) + STAY)
    message.points.append(later)
    return message


class TrajectoryOutput:
    """Sends trajectories to a controller; a later one takes the place of the one before.

    A motion is stopped over the same interface as it was started.

    Parameters
    ----------
    kind
        The parameter `output`: topic, action, or auto, the action where its server is there when a motion starts.
    node, publisher
        Of the trajectories.
    refused
        Is called with the reason when a goal is not followed; a topic has no answer.

    Raises
    ------
    JointDynamicsError
        For action where control_msgs is not installed.
    """

    def __init__(self, kind: str, node: Node, publisher: Any, refused: Report):
        self._kind, self._publisher, self._refused = kind, publisher, refused
        self._action: ActionClient | None = None
        self._goals = node.resolve_service_name('~/follow_joint_trajectory')  # rcl itself does not remap actions
        self._sent = 0
        if kind != 'topic':
            try:
                from control_msgs.action import FollowJointTrajectory

                self._action = ActionClient(node, FollowJointTrajectory, self._goals)
                self._goal, self._success = FollowJointTrajectory.Goal, FollowJointTrajectory.Result.SUCCESSFUL
            except ImportError:
                if kind == 'action':
                    raise JointDynamicsError(
                        'output: expected control_msgs for the action, found it not installed (it comes with ROS 2 '
                        'itself)'
                    ) from None
        self._chosen = self._action if kind == 'action' else None

    @property
    def name(self) -> str:
        """The topic, after remapping, or the action in use."""
        return self._publisher.topic_name if self._chosen is None else self._goals

    @property
    def connected(self) -> bool:
        """Whether anybody listens to the topic, or the controller offers the action."""
        if self._chosen is None:
            return self._publisher.get_subscription_count() > 0
        return self._chosen.server_is_ready()

    def choose(self) -> None:
        """Choose the interface that the controller has now; before a motion starts."""
        if self._kind == 'auto':
            self._chosen = self._action if self._action is not None and self._action.server_is_ready() else None

    def send(self, message: JointTrajectory, accepted: Callable[[], None] | None = None) -> None:
        """Send one trajectory; `accepted` is called when the controller has taken it, of a topic when it has gone."""
        if self._chosen is None:
            self._publisher.publish(message)
            if accepted is not None:
                accepted()
            return
        self._sent += 1
        number = self._sent
        self._chosen.send_goal_async(self._goal(trajectory=message)).add_done_callback(
            lambda future: self._answered(number, future.result(), accepted)
        )

    def _answered(self, number: int, handle: Any, accepted: Callable[[], None] | None) -> None:
        if number != self._sent:
            return
        if not handle.accepted:
            self._refused('the controller refused the trajectory')
            return
        if accepted is not None:
            accepted()
        handle.get_result_async().add_done_callback(lambda future: self._ended(number, future.result().result))

    def _ended(self, number: int, result: Any) -> None:
        if number == self._sent and result.error_code != self._success:
            self._refused(f'the controller ended with {result.error_code}: {result.error_string}')


if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode

SILENT = (
    'the controller is silent: it was deactivated or unloaded, or its manager is gone (ros2 control list_controllers)'
)
NOT_TAKEN = (
    'the controller did not take the motion: its topic is best effort and may lose long trajectories; set the '
    'output to action, or send fewer points'
)
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

    def complaint(self, sent: SentMotion, timeout: float) -> str:
        """Return SILENT or NOT_TAKEN of a controller that was sent a motion; empty: no complaint.

        timeout: silence that counts, s of listening.
        """
        if self.silent(timeout):
            return SILENT if self._clock() - sent.began < sent.duration else ''
        return NOT_TAKEN if sent.not_taken(self.reference(timeout)) else ''
