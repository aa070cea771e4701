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
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import FloatArray
from joint_dynamics.calibration.client import RosClient
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.tables import RELIABLE_SENSOR
from joint_dynamics.nodes.interfaces.messages import joint_trajectory, seconds, stamp

#: Simulated time 0 has this stamp, s (see the simulator node).
EPOCH = 1.0


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
        self._publisher = client.node.create_publisher(
            JointTrajectory, f'{name}/joint_trajectory', QoSProfile(depth=10)
        )
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

    def play(
        self,
        times: FloatArray,
        q: FloatArray,
        dq: FloatArray | None = None,
        ddq: FloatArray | None = None,
        effort: FloatArray | None = None,
    ) -> float:
        """Send a motion, arrays (points, n), times s from now.

        Return the simulated time [s] of its end and recording: a second later, as `max_lead` lets recorders lag by half
        a second. The robot reports the time, since a busy machine delivers late.
        """
        self._client.until(self._publisher.get_subscription_count, 'somebody to take trajectories')
        before = self.truth['motion_end']
        self._publisher.publish(joint_trajectory(self.joint_names, times, q, dq, ddq, effort))
        self._client.until(lambda: self.truth['motion_end'] != before, 'the robot to take a motion')
        return float(self.truth['motion_end']) + 1.0

    def refer(
        self, topic: str, start: float, times: FloatArray, q: FloatArray, dq: FloatArray, ddq: FloatArray
    ) -> JointTrajectory:
        """Send a motion to the feedforward's reference, to begin at simulated time `start` [s].

        Return the trajectory for the robot.
        """
        node = self._client.node
        answers: list[JointTrajectory] = []
        publisher = node.create_publisher(JointTrajectory, topic, QoSProfile(depth=10))
        listener = self._client.listen(
            JointTrajectory, f'{self.name}/joint_trajectory', answers.append, QoSProfile(depth=10)
        )
        try:
            self._client.until(
                lambda: publisher.get_subscription_count() and listener.get_publisher_count(),
                f'somebody to take {topic}',
            )
            message = joint_trajectory(self.joint_names, times, q, dq, ddq)
            message.header.stamp = stamp(round((start + EPOCH) * 1e9))
            publisher.publish(message)
            self._client.until(
                lambda: answers, f'a trajectory in answer to {topic} (the log of the feedforward has the reason)'
            )
            return answers[0]
        finally:
            node.destroy_publisher(publisher)
            self._client.silence(listener)

    def wait(self, until: float, show: Callable[[str], None] = lambda words: None, timeout: float = 300.0) -> None:
        """Wait until simulated time `until` [s]; `show` gets the remaining time. timeout: s of the wall."""

        def reached() -> bool:
            show(f'{max(until - self.time, 0.0):.0f} s of simulated time left')
            return self.time >= until

        self._client.until(reached, f'simulated time {until:.1f} s', timeout)

    def command(self, **parameters: Any) -> None:
        """Set parameters of the plant (`wear`, `heating.<joint>` as heating__joint, …)."""
        self._client.set_parameters(self.name, **parameters)


class LatestArray:
    """Last message of a node's `Float64MultiArray`, one row per joint."""

    def __init__(self, client: RosClient, robot: DemoRobot, topic: str):
        self._robot, self._values = robot, np.zeros((0, 0))
        client.listen(Float64MultiArray, topic, self._take, QoSProfile(depth=10))

    def _take(self, message: Float64MultiArray) -> None:
        self._values = np.array(message.data).reshape(len(self._robot.joint_names), -1)

    @property
    def last(self) -> FloatArray:
        """The last values (n, columns). Raises JointDynamicsError without any."""
        if not self._values.size:
            raise JointDynamicsError('expected the parameters of the estimator, found none published')
        return self._values


class StateRecorder:
    """Records joint_states as they come, every sample; `stop` gives arrays.

    Bytes are kept, reading them waits until the end.
    """

    def __init__(self, client: RosClient):
        self._client = client
        self._bytes: list[bytes] = []
        self._subscription = client.listen(JointState, '/joint_states', self._bytes.append, RELIABLE_SENSOR, raw=True)

    def stop(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return simulated time (N,) s, position (N, n) rad and effort (N, n)."""
        self._client.silence(self._subscription)
        messages = [deserialize_message(data, JointState) for data in self._bytes]
        stamps = np.array([seconds(message.header.stamp) for message in messages])
        return (
            stamps - EPOCH,
            np.array([message.position for message in messages]),
            np.array([message.effort for message in messages]),
        )


def efforts_of(message: JointTrajectory) -> tuple[FloatArray, FloatArray]:
    """Return times (P,) s from its start and efforts (P, n) N·m of a trajectory."""
    times = np.array([seconds(point.time_from_start) for point in message.points])
    return times, np.array([point.effort for point in message.points])
