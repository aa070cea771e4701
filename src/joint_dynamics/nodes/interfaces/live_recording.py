"""A few seconds of live topics as a Recording, for who only wants to look: no lifecycle, no parameters."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.interrupts import held_back
from joint_dynamics.nodes.framework.topics import LATCHED, RELIABLE_SENSOR, SENSOR
from joint_dynamics.nodes.framework.transport import leave_out_shared_memory
from joint_dynamics.nodes.interfaces.inputs import message_class
from joint_dynamics.nodes.interfaces.messages import seconds as seconds_of
from joint_dynamics.recording import Recording, RecordingBuilder
from joint_dynamics.recording.inputs import KEYS
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.robot import RobotModel

SLOWEST = 50.0
"""Times as long as asked for by this computer's clock, after which a simulation is waited for no more."""
_WAKE = 0.05


def listen(
    model: RobotModel,
    settings: RecordingSettings,
    seconds: float,
    namespace: str = '',
    say: Callable[[str], None] | None = None,
    *,
    patience: float = 5.0,
    simulated: bool = False,
) -> Recording:
    """Return the recording of a robot's live topics over `seconds`, read as those of a recorded file.

    Time counts from the first message of the last topic. It has a ROS context of its own, so that it can run beside
    nodes.

    Parameters
    ----------
    model
        the robot: its joints and their limits.
    settings
        which topic holds what; topics without a leading / stand in the namespace.
    seconds
        of this computer's clock, or of the robot's stamps where its time is `simulated`.
    namespace
        of the robot's topics.
    say
        called with a line of text as each step begins.
    patience
        s to wait for the first message of each topic; discovery takes one or two.
    simulated
        the robot's time is that of a simulation, which may run slower than this computer's clock.

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
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    executor, node = SingleThreadedExecutor(context=context), None
    try:
        node = rclpy.create_node('joint_dynamics_doctor', namespace=namespace or None, context=context)
        executor.add_node(node)
        say('looking for the topics')
        end = time.monotonic() + patience
        _until(executor, lambda: all(_publishers(node, topic) for topic in classes), end)
        heard: dict[str, int] = dict.fromkeys(classes, 0)
        stamps = [math.inf, -math.inf]

        def reader(topic: str) -> Callable[[object], None]:
            def take(message: object) -> None:
                heard[topic] += 1
                if (header := getattr(message, 'header', None)) is not None:
                    stamp = seconds_of(header.stamp)
                    stamps[:] = min(stamps[0], stamp), max(stamps[1], stamp)
                builder.add_message(topic, message, node.get_clock().now().nanoseconds)

            return take

        for topic, (kind, name) in classes.items():
            reliable = _publishers(node, topic) and all(
                one.qos_profile.reliability == ReliabilityPolicy.RELIABLE for one in _publishers(node, topic)
            )
            quality = LATCHED if name == KEYS else RELIABLE_SENSOR if reliable else SENSOR
            node.create_subscription(kind, topic, reader(topic), quality)
        _until(executor, lambda: all(heard.values()), end)
        silent = [topic for topic, count in heard.items() if not count]
        if silent:
            kinds = {topic: name for topic, (_, name) in classes.items()}
            raise JointDynamicsError(_silence(node, silent, kinds, patience))
        say(f'listening for {seconds:g} s')
        begin, stamps[0] = time.monotonic(), math.inf
        _until(
            executor,
            lambda: simulated and stamps[1] - stamps[0] >= seconds,
            begin + seconds * (SLOWEST if simulated else 1.0),
        )
        return builder.build('live')
    finally:
        executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown(context=context)


def _publishers(node: Node, topic: str) -> list[Any]:
    return node.get_publishers_info_by_topic(node.resolve_topic_name(topic))


def _until(executor: SingleThreadedExecutor, done: Callable[[], bool], end: float) -> None:
    while not done() and (left := end - time.monotonic()) > 0:
        with held_back():
            executor.spin_once(timeout_sec=min(left, _WAKE))


def _silence(node: Node, silent: list[str], kinds: dict[str, str], patience: float) -> str:
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
    return f'doctor --live: expected messages on {names} within {patience:g} s, found {meant}'
