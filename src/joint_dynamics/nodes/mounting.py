"""How the base stands against gravity, from tf.

Static transforms between the robot's base and a frame whose z axis is up.
"""

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
    found = (0.0, 0.0, 0.0, 1.0)
    for turn in chain:
        found = quaternion_multiply(turn, found)
    return [float(value) for value in found]


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
