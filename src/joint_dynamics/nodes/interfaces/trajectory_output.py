"""The ways a trajectory controller takes a trajectory: its topic, and its action where control_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from rclpy.action import ActionClient
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.parameters import ParameterRow
from joint_dynamics.nodes.framework.topics import TopicRow
from joint_dynamics.nodes.interfaces.messages import duration, seconds

Report = Callable[[str], None]
OUTPUT_ROW = ParameterRow(
    'output',
    'auto',
    'how the controller is told: its topic, its action (needs control_msgs), or the action where it is offered when'
    ' the motion starts',
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
