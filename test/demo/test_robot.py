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

"""The client's view of the simulated robot, on messages that come late."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from joint_dynamics.demo.robot import DemoRobot
from joint_dynamics.excitation import MotionSamples


class LateClient:
    """A client whose robot takes a trajectory so many of its seconds after it was sent."""

    def __init__(self, delay):
        self.delay, self.time, self.end, self.sent, self.take = delay, 5.0, 0.0, None, {}
        publisher = SimpleNamespace(get_subscription_count=lambda: 1, publish=self.publish)
        self.node = SimpleNamespace(create_publisher=lambda *_: publisher)

    def publish(self, message):
        self.sent = self.time + self.delay, message.points[-1].time_from_start.sec

    def listen(self, kind, topic, callback):
        self.take[topic] = callback
        callback(SimpleNamespace(data='{"joint_names": ["a"], "time": 5.0, "motion_end": 0.0}'))

    def until_active(self, name):
        pass

    def until(self, condition, what, timeout=60.0):
        while not condition():
            self.time += 1.0
            if self.sent and self.time >= self.sent[0]:
                self.end = sum(self.sent)
            document = {'joint_names': ['a'], 'time': self.time, 'motion_end': self.end}
            self.take['/simulator/truth'](SimpleNamespace(data=json.dumps(document)))


@pytest.mark.parametrize('delay', [0.0, 3.0])
def test_a_motion_taken_late_ends_late(delay):
    client = LateClient(delay)
    robot = DemoRobot(client)
    robot.wait(robot.play(MotionSamples(np.array([0.0, 7.0]), *np.zeros((3, 2, 1)))))
    assert robot.time >= client.end == 5.0 + delay + 7.0
