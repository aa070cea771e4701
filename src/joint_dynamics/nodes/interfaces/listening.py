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

"""Live topics for commands, without lifecycle and parameters.

`listen` makes a Recording of some seconds (`doctor --live`), `watch` shows an estimator's messages as a table.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import QUANTITIES
from joint_dynamics.nodes.framework.run import leave_out_shared_memory
from joint_dynamics.nodes.framework.tables import LATCHED, RELIABLE_SENSOR, SENSOR, STATE
from joint_dynamics.nodes.interfaces.messages import message_class
from joint_dynamics.nodes.interfaces.messages import seconds as seconds_of
from joint_dynamics.python_process import held_back, terminated_like_interrupted
from joint_dynamics.recording import Recording, RecordingBuilder
from joint_dynamics.recording.inputs import KEYS
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.report.live_table import Watched
from joint_dynamics.robot import RobotModel

SLOWEST = 50.0  # times the requested duration by this computer's clock, after which a simulation counts as standing
_WAKE = 0.05  # s


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
    """Return the message on topics without a publisher, with topics of the same type."""
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


TORQUES = ('joint', 'external')


class Listener:
    """Listens to one estimator; `watched` holds its last messages."""

    def __init__(self, node: Node, name: str):
        name = f'/{name.strip("/")}'
        self._node, self.watched = node, Watched(name)
        self._heard: float | None = None
        for quantity in QUANTITIES:
            node.create_subscription(
                JointState, f'{name}/estimates/{quantity}', partial(self._take_estimate, quantity), STATE
            )
        for kind in TORQUES:
            node.create_subscription(JointState, f'{name}/{kind}_torques', partial(self._take_torque, kind), SENSOR)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, STATE)

    @property
    def age(self) -> float | None:
        """Seconds since it was last heard, None: never."""
        return None if self._heard is None else time.monotonic() - self._heard

    @property
    def whole(self) -> bool:
        """Whether all estimates, and the diagnostics, were heard once.

        An estimator has publishers of its own estimates only; health is the last of them.
        """
        topics = {quantity: f'{self.watched.node}/estimates/{quantity}' for quantity in QUANTITIES}
        wanted = {quantity for quantity, topic in topics.items() if self._node.count_publishers(topic)}
        heard = self.watched.values.keys()
        return 'health' in heard and wanted <= heard and bool(self.watched.statuses)

    def _take_estimate(self, quantity: str, message: JointState) -> None:
        self._heard = time.monotonic()
        self.watched.take(quantity, message.name, message.position, message.effort)

    def _take_torque(self, kind: str, message: JointState) -> None:
        self._heard = time.monotonic()
        self.watched.take_torque(kind, message.name, message.effort)

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
            self.watched.take_status(status.name, level, status.message)
            if status.name.startswith(f'{self.watched.node}: '):
                self._heard = time.monotonic()


EVERY = 0.25  # s between two tables


def watch(
    name: str, show: Callable[[Watched, float | None], None], *, seconds: float | None = None, once: bool = False
) -> bool:
    """Show the last messages of the estimator `name`, every `EVERY` s; return whether any came.

    SIGINT and SIGTERM end it by KeyboardInterrupt, between two messages.

    Parameters
    ----------
    show
        called with the messages and their age [s].
    seconds
        how long, None: until interrupted.
    once
        end as soon as all estimates and the diagnostics were heard, and show that.
    """
    leave_out_shared_memory()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node('joint_dynamics_watch')
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        listener = Listener(node, name)
        begun = shown = time.monotonic()
        with terminated_like_interrupted():
            while seconds is None or time.monotonic() - begun < seconds:
                with held_back():
                    executor.spin_once(timeout_sec=0.05)
                if once and listener.whole:
                    break
                if not once and time.monotonic() - shown >= EVERY:
                    shown = time.monotonic()
                    show(listener.watched, listener.age)
        show(listener.watched, listener.age)
        return listener.age is not None
    finally:
        rclpy.try_shutdown()
