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


class TopicOutput:
    """Publishes trajectories; a later one takes the place of the one before."""

    def __init__(self, publisher: Any):
        self._publisher = publisher

    @property
    def name(self) -> str:
        """The topic, after remapping."""
        return self._publisher.topic_name

    @property
    def connected(self) -> bool:
        """Whether anybody listens."""
        return self._publisher.get_subscription_count() > 0

    def send(self, message: JointTrajectory, accepted: Callable[[], None] | None = None) -> None:
        """Publish one trajectory; a topic has no answer, so that it counts as accepted when it has gone."""
        self._publisher.publish(message)
        if accepted is not None:
            accepted()


class ActionOutput:
    """Sends trajectories as goals; a later goal takes the place of the one before.

    `refused(reason)` is called when one is not followed.

    Raises
    ------
    JointDynamicsError
        Where control_msgs is not installed.
    """

    def __init__(self, node: Node, name: str, refused: Report):
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError:
            raise JointDynamicsError(
                'output: expected control_msgs for the action, found it not installed (it comes with ROS 2 itself)'
            ) from None
        self._goal = FollowJointTrajectory.Goal
        self._failure = {FollowJointTrajectory.Result.SUCCESSFUL: None}
        self._client = ActionClient(
            node, FollowJointTrajectory, node.resolve_service_name(name)
        )  # rcl itself does not remap actions
        self._refused = refused
        self._sent = 0
        self.name = node.resolve_service_name(name)

    @property
    def connected(self) -> bool:
        """Whether the controller offers the action."""
        return self._client.server_is_ready()

    def send(self, message: JointTrajectory, accepted: Callable[[], None] | None = None) -> None:
        """Send one goal; `accepted` is called when the controller has taken it."""
        self._sent += 1
        number = self._sent
        self._client.send_goal_async(self._goal(trajectory=message)).add_done_callback(
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
        if number == self._sent and result.error_code not in self._failure:
            self._refused(f'the controller ended with {result.error_code}: {result.error_string}')


class EitherOutput:
    """The action where its server is available when a motion starts, otherwise the topic.

    A motion is stopped over the same interface as it was started.
    """

    def __init__(self, otherwise: TopicOutput | ActionOutput, action: ActionOutput | None):
        self._otherwise, self._action = otherwise, action
        self._chosen = otherwise

    @property
    def name(self) -> str:
        """The topic or action in use."""
        return self._chosen.name

    @property
    def connected(self) -> bool:
        """Whether a controller is there."""
        return self._chosen.connected

    def choose(self) -> None:
        """Look which way the controller takes now; before a motion starts."""
        self._chosen = self._action if self._action is not None and self._action.connected else self._otherwise

    def send(self, message: JointTrajectory, accepted: Callable[[], None] | None = None) -> None:
        """Send one trajectory."""
        self._chosen.send(message, accepted)


def make_output(kind: str, node: Node, publisher: Any, refused: Report) -> EitherOutput:
    """Return the output for `kind`, the parameter `output`: topic, action or auto.

    Raises JointDynamicsError for action without control_msgs.
    """
    topic = TopicOutput(publisher)
    if kind == 'topic':
        return EitherOutput(topic, None)
    try:
        action = ActionOutput(node, '~/follow_joint_trajectory', refused)
    except JointDynamicsError:
        if kind == 'action':
            raise
        return EitherOutput(topic, None)
    return EitherOutput(action if kind == 'action' else topic, action)
