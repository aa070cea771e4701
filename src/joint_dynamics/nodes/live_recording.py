"""A few seconds of live topics as a Recording, for who only wants to look: no lifecycle, no parameters."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.inputs import message_class
from joint_dynamics.nodes.topics import LATCHED, RELIABLE_SENSOR, SENSOR
from joint_dynamics.nodes.transport import leave_out_shared_memory
from joint_dynamics.recording import Recording, RecordingBuilder
from joint_dynamics.recording.inputs import KEYS
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.robot import RobotModel

PATIENCE = 5.0
"""s to wait for the first message of each topic: discovery takes one or two."""
_WAKE = 0.05


def listen(
    model: RobotModel,
    settings: RecordingSettings,
    seconds: float,
    namespace: str = '',
    say: Callable[[str], None] | None = None,
) -> Recording:
    """Return what the robot's topics tell within so many seconds, read as the same topics of a recording are.

    Counted from when all of them have spoken. It has a ROS context of its own, so that it may run beside nodes.

    Parameters
    ----------
    model
        the robot: its joints and their limits.
    settings
        which topic holds what; topics without a leading / stand in the namespace.
    seconds
        of this computer's clock.
    namespace
        of the robot's topics.
    say
        called with a line of text as each step begins.

    Raises
    ------
    JointDynamicsError
        Where a topic stays silent, naming those of the same type that are there, and for what a recording of these
        messages would be refused for.
    """
    say = say or (lambda line: None)
    builder = RecordingBuilder(model.joint_names, settings, model.limits)
    classes = {topic: (message_class(kind, topic), kind) for topic, kind in builder.topics().items()}
    leave_out_shared_memory()
    context = Context()
    rclpy.init(context=context)
    executor, node = SingleThreadedExecutor(context=context), None
    try:
        node = rclpy.create_node('joint_dynamics_doctor', namespace=namespace or None, context=context)
        executor.add_node(node)
        say('looking for the topics')
        _until(executor, lambda: all(_publishers(node, topic) for topic in classes), PATIENCE)
        heard: dict[str, int] = dict.fromkeys(classes, 0)

        def reader(topic: str) -> Callable[[object], None]:
            def take(message: object) -> None:
                heard[topic] += 1
                builder.add_message(topic, message, node.get_clock().now().nanoseconds)

            return take

        for topic, (kind, name) in classes.items():
            reliable = _publishers(node, topic) and all(
                one.qos_profile.reliability == ReliabilityPolicy.RELIABLE for one in _publishers(node, topic)
            )
            quality = LATCHED if name == KEYS else RELIABLE_SENSOR if reliable else SENSOR
            node.create_subscription(kind, topic, reader(topic), quality)
        _until(executor, lambda: all(heard.values()), PATIENCE)
        silent = [topic for topic, count in heard.items() if not count]
        if silent:
            raise JointDynamicsError(_silence(node, silent, {topic: name for topic, (_, name) in classes.items()}))
        say(f'listening for {seconds:g} s')
        _until(executor, lambda: False, seconds)
        return builder.build('live')
    finally:
        executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown(context=context)


def _publishers(node: Node, topic: str) -> list[Any]:
    return node.get_publishers_info_by_topic(node.resolve_topic_name(topic))


def _until(executor: SingleThreadedExecutor, done: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not done() and (left := end - time.monotonic()) > 0:
        executor.spin_once(timeout_sec=min(left, _WAKE))


def _silence(node: Node, silent: list[str], kinds: dict[str, str]) -> str:
    """Return what to say of topics that nobody publishes, with those that might be meant."""
    first = silent[0]
    wanted = node.resolve_topic_name(first)
    alike = [name for name, types in node.get_topic_names_and_types() if kinds[first] in types and name != wanted]
    there = [name for name in alike if node.get_publishers_info_by_topic(name)]
    meant = (
        f'{", ".join(there[:5])} (--namespace, or `recording` in --config)'
        if there
        else f'no publisher of {kinds[first]} at all (ROS_DOMAIN_ID, or is the driver started?)'
    )
    names = ', '.join(node.resolve_topic_name(topic) for topic in silent)
    return f'doctor --live: expected messages on {names} within {PATIENCE:g} s, found {meant}'
