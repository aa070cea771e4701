"""What an estimator says, as a live table in the terminal (`joint-dynamics watch`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from joint_dynamics.estimation import QUANTITIES
from joint_dynamics.interrupts import held_back, terminated_like_interrupted
from joint_dynamics.nodes.framework.topics import SENSOR, STATE
from joint_dynamics.nodes.framework.transport import leave_out_shared_memory
from joint_dynamics.report.live_table import Watched

TORQUES = ('joint', 'external')


class Listener:
    """Hears one estimator; `watched` holds what it said last. It publishes nothing, and changes nothing."""

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

        It has a publisher for what it estimates alone; health is its last one, known here when its message has come.
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


def watch(
    name: str,
    show: Callable[[Watched, float | None], None],
    *,
    every: float = 0.25,
    seconds: float | None = None,
    once: bool = False,
) -> bool:
    """Show what the estimator `name` says, `every` s; return whether it was ever heard.

    SIGINT and SIGTERM end it by KeyboardInterrupt, between two messages.

    Parameters
    ----------
    show
        called with what was heard, and how many seconds ago.
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
                if not once and time.monotonic() - shown >= every:
                    shown = time.monotonic()
                    show(listener.watched, listener.age)
        show(listener.watched, listener.age)
        return listener.age is not None
    finally:
        rclpy.try_shutdown()
