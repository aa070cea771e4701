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

"""Client of the simulated robot of a demonstration: trajectories, simulated time, truth and recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.calibration.client import RosClient
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.nodes.framework.tables import RELIABLE_SENSOR
from joint_dynamics.nodes.interfaces.messages import joint_trajectory, seconds, stamp

EPOCH = 1.0  # s, stamp of simulated time 0 (see the simulator node)
TEN = QoSProfile(depth=10)


class DemoRobot:
    """Client of the simulated robot.

    `truth`: the last document of the simulator's `~/truth`, at most one simulated second old; `data_sheet`: that of the
    maker.

    Raises
    ------
    JointDynamicsError
        When the simulator does not answer within two minutes (the first one of an installation compiles the plant).
    """

    def __init__(self, client: RosClient, name: str = '/simulator'):
        self._client, self.name = client, name
        self.truth: dict[str, Any] = {}
        self.data_sheet: dict[str, Any] = {}
        self._publisher = client.node.create_publisher(JointTrajectory, f'{name}/joint_trajectory', TEN)
        client.listen(String, f'{name}/truth', lambda message: self._take('truth', message))
        client.listen(String, f'{name}/data_sheet', lambda message: self._take('data_sheet', message))
        client.until(lambda: self.truth and self.data_sheet, 'the simulated robot', 120.0)
        client.until_active(name)

    def _take(self, name: str, message: String) -> None:
        setattr(self, name, json.loads(message.data))

    @property
    def time(self) -> float:
        """Simulated time, s, about one second old at most."""
        return float(self.truth['time'])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the robot's order."""
        return tuple(self.truth['joint_names'])

    def play(self, motion: MotionSamples) -> float:
        """Send a motion, to begin now.

        Return the simulated time [s] of its end and recording: a second later, as `max_lead` lets recorders lag by half
        a second. The robot reports the time, since a busy machine delivers late.
        """
        self._client.until(self._publisher.get_subscription_count, 'somebody to take trajectories')
        before = self.truth['motion_end']
        self._publisher.publish(joint_trajectory(self.joint_names, motion.time, motion.q, motion.dq, motion.ddq))
        self._client.until(lambda: self.truth['motion_end'] != before, 'the robot to take a motion')
        return float(self.truth['motion_end']) + 1.0

    def refer(self, topic: str, start: float, motion: MotionSamples) -> JointTrajectory:
        """Send a motion to the feedforward's reference, to begin at simulated time `start` [s].

        Return the trajectory for the robot.
        """
        node, answers = self._client.node, list[JointTrajectory]()
        publisher = node.create_publisher(JointTrajectory, topic, TEN)
        listener = self._client.listen(JointTrajectory, f'{self.name}/joint_trajectory', answers.append, TEN)
        try:
            self._client.until(
                lambda: publisher.get_subscription_count() and listener.get_publisher_count(),
                f'somebody to take {topic}',
            )
            message = joint_trajectory(self.joint_names, motion.time, motion.q, motion.dq, motion.ddq)
            message.header.stamp = stamp(round((start + EPOCH) * 1e9))
            publisher.publish(message)
            self._client.until(
                lambda: answers, f'a trajectory in answer to {topic} (the log of the feedforward has the reason)'
            )
            return answers[0]
        finally:
            node.destroy_publisher(publisher)
            self._client.silence(listener)

    def wait(self, until: float, show: Callable[[str], None] = lambda words: None) -> None:
        """Wait until simulated time `until` [s]; `show` gets the remaining time."""

        def reached() -> bool:
            show(f'{max(until - self.time, 0.0):.0f} s of simulated time left')
            return self.time >= until

        self._client.until(reached, f'simulated time {until:.1f} s', 300.0)

    def record(self, until: float, show: Callable[[str], None]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Record all joint states until simulated time `until` [s].

        Return simulated time (N,) s, position (N, n) rad and effort (N, n).
        """
        states: list[JointState] = []
        listener = self._client.listen(JointState, '/joint_states', states.append, RELIABLE_SENSOR)
        self.wait(until, show)
        self._client.silence(listener)
        time = np.array([seconds(state.header.stamp) for state in states]) - EPOCH
        return time, np.array([state.position for state in states]), np.array([state.effort for state in states])

    def command(self, **parameters: Any) -> None:
        """Set parameters of the plant (`wear`, `heating.<joint>` as heating__joint, …)."""
        self._client.set_parameters(self.name, **parameters)


class LatestArray:
    """Last message of a node's `Float64MultiArray`: `last` (n, columns), one row per joint, empty without any."""

    def __init__(self, client: RosClient, robot: DemoRobot, topic: str):
        self.last: FloatArray = np.zeros((len(robot.joint_names), 0))
        client.listen(Float64MultiArray, topic, self._take, TEN)

    def _take(self, message: Float64MultiArray) -> None:
        self.last = np.array(message.data).reshape(len(self.last), -1)
