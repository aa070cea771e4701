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
`StreamExecutor` takes the messages of **streams** directly, all that have come at each look, and looks at everything
else fifty times a second. A `prompt` stream wakes it; others are looked at every few milliseconds. A node without
messages waits for everything at once, as rclpy does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.executors import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.impl.implementation_singleton import rclpy_implementation
from rosgraph_msgs.msg import Clock

STREAM_WAIT = 0.005  # s, longest wait of a message on a stream that is not prompt
LOOK_PERIOD = 0.02  # s between two looks at everything but streams, while streams flow
FLOWING_TIME = 0.1  # s after the last message for which streams count as flowing
MAX_IN_A_TURN = 64  # messages of one stream before the next one's turn, and callbacks of one look at everything else
QUICK_TIMER = 0.01  # s, period below which a timer wakes the executor while streams flow


def _never() -> bool:
    return False


class StreamExecutor(SingleThreadedExecutor):
    """See the module. The node defines its streams: `streams`, subscription -> whether it is prompt.

    Everything runs in the thread that spins, one callback after the other.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._streams: dict[Any, bool] = {}
        self._timers: list[Any] = []
        self._prompt: list[Any] = []
        self._quick: list[Any] = []
        self._wait_set: Any = None
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
            self._wait(self._looks_at - now)
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
        clocks = {each: True for node in nodes for each in node.subscriptions if each.msg_type is Clock}
        streams = clocks | {each: prompt for node in nodes for each, prompt in getattr(node, 'streams', {}).items()}
        timers = [timer for node in nodes for timer in node.timers]
        prompt = [each for each, wakes in streams.items() if wakes]
        quick = [timer for timer in timers if timer.timer_period_ns < QUICK_TIMER * 1e9]
        if self._wait_set is None or (len(prompt), len(quick)) != (len(self._prompt), len(self._quick)):
            self._wait_set = rclpy_implementation.WaitSet(len(prompt), 0, len(quick), 0, 0, 0, self._context.handle)
        self._streams, self._timers, self._prompt, self._quick = streams, timers, prompt, quick

    def _wait(self, seconds: float) -> None:
        """Wait for a message of a prompt stream or a quick timer, at most so long, and not longer than STREAM_WAIT."""
        if len(self._prompt) < len(self._streams):
            seconds = min(seconds, STREAM_WAIT)
        waiting = self._wait_set
        try:
            if not self._prompt:
                # Nothing but time to wait for: that needs no wait set.
                left = [timer.time_until_next_call() for timer in self._quick]
                time.sleep(max(0.0, min([seconds, *(1e-9 * ns for ns in left if ns is not None)])))
                return
            waiting.clear_entities()
            for stream in self._prompt:
                waiting.add_subscription(stream.handle)
            for timer in self._quick:
                waiting.add_timer(timer.handle)
        except (InvalidHandle, RCLError):
            self._looks_at = 0.0  # one has gone: look what there is
            return
        waiting.wait(int(seconds * 1e9))

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
