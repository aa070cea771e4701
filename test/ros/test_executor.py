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

"""Streams are taken in order and in full; everything else gets its turn, however many messages wait."""

import itertools
import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.qos import QoSProfile
from std_msgs.msg import Int64
from std_srvs.srv import Trigger

from joint_dynamics.nodes.framework.executor import MAX_IN_A_TURN, StreamExecutor
from joint_dynamics.nodes.framework.tables import RELIABLE_SENSOR

PATIENCE = 30.0
DEEP = QoSProfile(depth=1000)


@pytest.fixture
def numbers(ros):
    """Publishes numbers, the next ones each time, to who listens."""
    publisher = ros.probe.create_publisher(Int64, 'numbers', DEEP)
    count = itertools.count()

    def publish(how_many, listeners=1):
        ros.until(lambda: publisher.get_subscription_count() == listeners)
        for k in itertools.islice(count, how_many):
            publisher.publish(Int64(data=k))
        assert publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=PATIENCE))

    return publish


class Listener:
    """A node with a stream of numbers and its executor."""

    def __init__(self, work=0.0):
        self.node = rclpy.create_node('listener')
        self.executor = StreamExecutor()
        self.heard, self.work = [], work
        subscription = self.node.create_subscription(Int64, 'numbers', self.take, RELIABLE_SENSOR)
        self.node.streams = {subscription}
        self.executor.add_node(self.node)

    def take(self, message):
        end = time.perf_counter() + self.work
        while time.perf_counter() < end:
            pass
        self.heard.append(message.data)

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            self.executor.spin_once(timeout_sec=0.1)

    def close(self):
        self.executor.remove_node(self.node)
        self.node.destroy_node()
        self.executor.shutdown()


@pytest.fixture
def listener(request, ros):
    made = []

    def make(*arguments, **options):
        made.append(Listener(*arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_all_messages_come_in_order_beside_services_and_timers(listener, numbers):
    one = listener()
    ticks, calls = [], []
    one.node.create_timer(0.001, lambda: ticks.append(len(one.heard)), clock=Clock(clock_type=ClockType.STEADY_TIME))
    one.node.create_service(Trigger, 'ask', lambda _, answer: calls.append(len(one.heard)) or answer)
    client = one.node.create_client(Trigger, 'ask')
    for burst in range(5):
        client.call_async(Trigger.Request())
        numbers(100)
        one.until(lambda burst=burst: len(one.heard) >= 100 * (burst + 1) and len(calls) > burst)
    assert one.heard == list(range(500))
    assert ticks


def test_a_timer_does_not_wait_behind_messages(listener, numbers):
    one = listener(work=0.001)
    numbers(1)
    one.until(lambda: one.heard)
    numbers(900)
    ticks = []
    one.node.create_timer(0.01, lambda: ticks.append(len(one.heard)), clock=Clock(clock_type=ClockType.STEADY_TIME))
    one.until(lambda: len(one.heard) == 901)
    assert one.heard == list(range(901))
    # Each gap between two ticks is a turn of the messages, not all of them.
    assert len([tick for tick in ticks if tick < 901]) >= 5
    assert max(b - a for a, b in itertools.pairwise([1, *ticks])) <= 4 * MAX_IN_A_TURN


def test_a_stream_that_goes_is_forgotten_and_another_is_found(listener, numbers):
    one = listener()
    numbers(10)
    one.until(lambda: len(one.heard) == 10)
    (subscription,) = one.node.streams
    one.node.streams.clear()
    one.node.destroy_subscription(subscription)
    again = []
    other = one.node.create_subscription(Int64, 'numbers', lambda message: again.append(message.data), RELIABLE_SENSOR)
    one.node.streams.add(other)
    one.executor.spin_once(timeout_sec=0.0)
    numbers(10)
    one.until(lambda: len(again) == 10)
    assert again == list(range(10, 20)) and len(one.heard) == 10


def test_an_error_of_a_callback_comes_out(listener, numbers):
    one = listener()

    def fail(_):
        raise RuntimeError('on purpose')

    (subscription,) = one.node.streams
    numbers(1)
    one.until(lambda: one.heard)
    subscription.callback = fail
    numbers(1)
    with pytest.raises(RuntimeError, match='on purpose'):
        one.until(lambda: False)
