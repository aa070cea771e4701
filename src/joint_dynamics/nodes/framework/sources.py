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

"""The robot and the dynamics description that a node starts from, as its parameters and latched topics give them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from joint_dynamics.documents import read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.diagnostics import WARN
from joint_dynamics.nodes.framework.entities import EntityNode
from joint_dynamics.nodes.framework.executor import LOOK_PERIOD
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.robot import RobotModel

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription


def create_sources(node: EntityNode) -> dict[str, LatchedText]:
    """Return the documents that a node takes: `robot`, `description`, where ROBOT and DESCRIPTION say so."""

    def source(name: str, topic: str) -> LatchedText:
        def changed() -> None:
            node.diagnostics.set(
                topic, WARN, 'changed since the node was configured: clean up and configure again to use it'
            )

        return LatchedText(node, topic, lambda: node.parameters[f'{name}_file'], changed)

    sources = {}
    if node.ROBOT:
        sources['robot'] = source('robot', 'robot_description')
    if node.DESCRIPTION != 'none':
        sources['description'] = source('description', 'dynamics_description')
    return sources


def load_robot(node: EntityNode, source: LatchedText, timeout: float) -> RobotModel:
    """Return the robot with the joints and the mounting that the parameters say, waiting up to `timeout` s.

    Raises
    ------
    JointDynamicsError
        Where there is no robot, it is none, or the mounting is not known in time.
    """
    text = node.parameters['robot_file'] or source.text(timeout)
    joints, mounting, world = (node.parameters[name] or None for name in ('joints', 'mounting', 'world_frame'))
    robot = RobotModel.load(text, joints=joints, mounting=mounting)
    if mounting is not None or world is None:
        return robot
    base = node.parameters['base_frame'] or robot.pinocchio.frames[1].name
    return RobotModel.load(text, joints=joints, mounting=mounting_from_tf(node, world, base, timeout))


def load_description(source: LatchedText, timeout: float) -> DynamicsDescription:
    """Return the dynamics description, waiting up to `timeout` s. Raises JointDynamicsError."""
    from joint_dynamics.description import DynamicsDescription

    return DynamicsDescription.from_yaml(source.text(timeout))


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
        # Called from inside a callback, where the node's own executor cannot deliver.
        end = time.monotonic() + timeout
        while self._last is None and time.monotonic() < end:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(String, False)
            if taken is None:
                time.sleep(LOOK_PERIOD)
            else:
                self._last = taken[0].data
        if self._last is None:
            raise JointDynamicsError(
                f'{self._topic}: expected a document on {self._subscription.topic_name} or a file, found neither yet'
            )
        return self._last

    def _receive(self, message: String) -> None:
        before, self._last = self._last, message.data
        if before is not None and before != message.data and self.on_change is not None:
            self.on_change()


TF_STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
Quaternion = tuple[float, float, float, float]


def mounting_from_tf(node: Node, world: str, base: str, timeout: float) -> list[float]:
    """Return the rotation from `base` to `world` as a quaternion x y z w, waiting up to `timeout` s for /tf_static.

    Callable from inside a callback of `node`: it listens by a node of its own. A base that moves has no mounting: /tf
    is not heard.

    Raises
    ------
    JointDynamicsError
        Where tf2_msgs or tf_transformations is not installed, or no chain of static transforms leads from `world` to
        `base` in time.
    """
    try:
        from tf2_msgs.msg import TFMessage
        from tf_transformations import quaternion_multiply
    except ImportError as error:
        raise JointDynamicsError(
            'world_frame: expected tf2_msgs and tf_transformations for the mounting from tf, found: '
            f'{error}; state `mounting` instead'
        ) from None
    parents: dict[str, tuple[str, Quaternion]] = {}

    def take(message: TFMessage) -> None:
        for transform in message.transforms:
            turn = transform.transform.rotation
            parents[transform.child_frame_id.lstrip('/')] = (
                transform.header.frame_id.lstrip('/'),
                (turn.x, turn.y, turn.z, turn.w),
            )

    # It offers nothing: its enclave is that of `node`, whose policy names what `node` offers.
    listener = rclpy.create_node(
        f'{node.get_name()}_tf',
        namespace=node.get_namespace(),
        context=node.context,
        start_parameter_services=False,
        parameter_overrides=[Parameter('start_type_description_service', value=False)],
    )
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(listener)
    listener.create_subscription(TFMessage, '/tf_static', take, TF_STATIC)
    end = time.monotonic() + timeout
    try:
        while (chain := chain_of(parents, world, base)) is None and time.monotonic() < end:
            executor.spin_once(timeout_sec=max(0.0, min(0.1, end - time.monotonic())))
    finally:
        executor.remove_node(listener)
        executor.shutdown()
        listener.destroy_node()
    if chain is None:
        known = ', '.join(sorted({*parents, *(parent for parent, _ in parents.values())})) or 'none'
        raise JointDynamicsError(
            f'world_frame: expected static transforms from {world} to {base} on /tf_static, found frames: {known}'
        )
    orientation = (0.0, 0.0, 0.0, 1.0)
    for turn in chain:
        orientation = quaternion_multiply(turn, orientation)
    return [float(value) for value in orientation]


def chain_of(parents: dict[str, tuple[str, Quaternion]], world: str, base: str) -> list[Quaternion] | None:
    """Rotations from `base` upwards to `world`, None where they do not lead there (yet)."""
    chain: list[Quaternion] = []
    frame = base
    while frame != world:
        if frame not in parents or len(chain) > len(parents):
            return None
        frame, turn = parents[frame]
        chain.append(turn)
    return chain
