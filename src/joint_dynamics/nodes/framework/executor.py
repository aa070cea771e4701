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

"""The executor for nodes that take thousands of messages a second.

rclpy's own builds a set of all subscriptions, services and timers for every message, waits, runs one callback as a
coroutine, and wakes itself to build the set again. That takes four times as long as taking the message.
`StreamExecutor` looks at **streams** every five milliseconds and takes all messages that have come. It looks at
everything else fifty times a second. A node without messages waits for everything at once, as rclpy does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.executors import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rosgraph_msgs.msg import Clock

STREAM_WAIT = 0.005  # s between two looks at the streams
LOOK_PERIOD = 0.02  # s between two looks at everything but streams, while streams flow
FLOWING_TIME = 0.1  # s after the last message for which streams count as flowing
MAX_IN_A_TURN = 64  # messages of one stream before the next one's turn, and callbacks of one look at everything else
QUICK_TIMER = 0.01  # s, period below which a timer wakes the executor while streams flow


def _never() -> bool:
    return False


class StreamExecutor(SingleThreadedExecutor):
    """See the module. A node names its streams: `streams`, a set of subscriptions.

    Everything runs in the thread that spins, one callback after the other.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._streams: list[Any] = []
        self._timers: list[Any] = []
        self._quick: list[Any] = []
        self._apart = False
        self._flowing_until = self._looks_at = 0.0

    def can_execute(self, entity: Any) -> bool:
        """Return whether rclpy's own wait set has to have it: not a stream, while streams are waited for apart."""
        return not (self._apart and entity in self._streams) and super().can_execute(entity)

    def _spin_once_impl(self, timeout_sec: Any = None, wait_condition: Callable[[], bool] = _never) -> None:
        now = time.monotonic()
        if now >= self._flowing_until:
            # rclpy's way: whatever comes first wakes it.
            self._apart = False
            entity = self._run_next(timeout_sec, wait_condition)
            self._collect()
            if entity in self._streams or entity in self._quick:
                self._flowing_until = time.monotonic() + FLOWING_TIME
            return
        if now >= self._looks_at:
            self._run_ready()
            self._collect()
            self._looks_at = time.monotonic() + LOOK_PERIOD
        else:
            self._pause(self._looks_at - now)
        self._drain()

    def _run_next(self, timeout: Any, condition: Callable[[], bool]) -> Any:
        """Run one callback of rclpy's wait set and return whose it was; None where there was none."""
        entity: Any
        try:
            handler, entity, _ = self.wait_for_ready_callbacks(timeout, None, condition)
        except ExternalShutdownException:
            raise
        except (ShutdownException, TimeoutException, ConditionReachedException):
            return None
        handler()
        if handler.exception() is not None:
            raise handler.exception()
        handler.result()
        return entity

    def _run_ready(self) -> None:
        """Run all that is ready except streams, without waiting."""
        self._apart = True
        for _ in range(MAX_IN_A_TURN):
            if self._run_next(0.0, _never) is None:
                break

    def _collect(self) -> None:
        """Note the streams and timers of all nodes, those of the clock first: what follows is of the time it says."""
        nodes = self.get_nodes()
        clocks = [each for node in nodes for each in node.subscriptions if each.msg_type is Clock]
        self._streams = clocks + [each for node in nodes for each in getattr(node, 'streams', ())]
        self._timers = [timer for node in nodes for timer in node.timers]
        self._quick = [timer for timer in self._timers if timer.timer_period_ns < QUICK_TIMER * 1e9]

    def _pause(self, seconds: float) -> None:
        """Wait until the next look at the streams or the next quick timer, at most so long."""
        try:
            left = [timer.time_until_next_call() for timer in self._quick]
        except InvalidHandle:
            self._looks_at = 0.0  # one has gone: look what there is
            return
        time.sleep(max(0.0, min([seconds, STREAM_WAIT, *(1e-9 * ns for ns in left if ns is not None)])))

    def _drain(self) -> None:
        """Take the messages of every stream, and call the timers that are due."""
        for stream in self._streams:
            taken = 0
            try:
                handle = stream.handle
                with handle:
                    while (
                        taken < MAX_IN_A_TURN
                        and (message := handle.take_message(stream.msg_type, stream.raw)) is not None
                    ):
                        taken += 1
                        stream.callback(message[0])
            except InvalidHandle:
                self._looks_at = 0.0
            if taken:
                self._flowing_until = time.monotonic() + FLOWING_TIME
        for timer in self._timers:
            try:
                handle = timer.handle
                with handle:
                    due = handle.is_timer_ready()
                    if due:
                        handle.call_timer()
            except InvalidHandle:
                continue
            if due:
                timer.callback()
                if timer in self._quick:
                    self._flowing_until = time.monotonic() + FLOWING_TIME
