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

"""The mounting of the base from tf: the static transforms between a frame whose z axis is up and the base."""

from __future__ import annotations

import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile

from joint_dynamics.errors import JointDynamicsError

TF_STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
Quaternion = tuple[float, float, float, float]


def mounting_from_tf(node: Node, world: str, base: str, timeout: float) -> list[float]:
    """Return the rotation from `base` to `world` as a quaternion x y z w, waiting up to `timeout` s for /tf_static.

    Callable from inside a callback of `node`: it listens by a node of its own. /tf is ignored:
    a base that moves has no mounting.

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
    """Return the rotations from `base` upwards to `world`; None where they do not lead there (yet)."""
    chain: list[Quaternion] = []
    frame = base
    while frame != world:
        if frame not in parents or len(chain) > len(parents):
            return None
        frame, turn = parents[frame]
        chain.append(turn)
    return chain
