"""The simulated robot of a demonstration as seen from its client: moved by trajectories, waited for in its own time, asked for the truth."""
from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.demo_conductor import Conductor


class DemoRobot:
    """See the module. `truth`: the last document of the simulator's `~/truth`, about one simulated second old at most.

    Raises JointDynamicsError when the simulator does not speak within a minute (the first one of an installation compiles the plant).
    """

    def __init__(self, conductor: Conductor, name: str = '/simulator'):
        self._conductor, self.name = conductor, name
        self.truth: dict[str, Any] = {}
        self._publisher = conductor.node.create_publisher(JointTrajectory, f'{name}/joint_trajectory', QoSProfile(depth=10))
        conductor.listen(String, f'{name}/truth', self._take_truth)
        conductor.until(lambda: self.truth, 'the simulated robot', 120.0)
        conductor.until_active(name)

    def _take_truth(self, message: String) -> None:
        self.truth = json.loads(message.data)

    @property
    def time(self) -> float:
        """Simulated time, s, about one second old at most."""
        return float(self.truth['time'])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the robot's order."""
        return tuple(self.truth['joint_names'])

    def play(self, times: NDArray, q: NDArray, dq: NDArray | None = None, ddq: NDArray | None = None, effort: NDArray | None = None) -> float:
        """Send a motion, arrays (points, n), times s from now, and return the simulated time [s] after which it is over.

        That is counted from the present truth on, with a second for what the truth may be late.
        """
        self._conductor.until(self._publisher.get_subscription_count, 'somebody to take trajectories')
        self._publisher.publish(trajectory_message(self.joint_names, times, q, dq, ddq, effort))
        return self.time + 1.0 + float(times[-1])

    def wait(self, until: float, progress: Callable[[float], None] = lambda share: None, timeout: float = 300.0) -> None:
        """Wait until simulated time `until` [s]; `progress` is called with the share that has gone by. timeout: s of the wall."""
        start = self.time

        def reached() -> bool:
            progress(min(1.0, (self.time - start) / max(until - start, 1e-9)))
            return self.time >= until
        self._conductor.until(reached, f'simulated time {until:.1f} s', timeout)

    def command(self, **parameters: Any) -> None:
        """Set parameters of the plant (`wear`, `heating.<joint>` as heating__joint, …)."""
        self._conductor.set_parameters(self.name, **parameters)


class StatusOf:
    """The latched `~/status` of a node, waited for."""

    def __init__(self, conductor: Conductor, node_name: str):
        self._conductor, self._name, self.text = conductor, node_name, ''
        conductor.listen(String, f'{node_name}/status', self._take)

    def _take(self, message: String) -> None:
        self.text = message.data

    def wait(self, word: str, progress: Callable[[float, str], None], timeout: float) -> None:
        """Wait until the status is `word`; `progress` is called with the seconds gone by and the present status.

        Raises JointDynamicsError with the status when the node has failed or stopped, and after `timeout` s.
        """
        began = time.monotonic()

        def reached() -> bool:
            if self.text.startswith(('failed', 'stopped')):
                raise JointDynamicsError(f'{self._name}: {self.text}')
            progress(time.monotonic() - began, self.text)
            return self.text == word
        self._conductor.until(reached, f'{self._name} to be {word}', timeout)


def trajectory_message(joint_names: Sequence[str], times: NDArray, q: NDArray, dq: NDArray | None = None, ddq: NDArray | None = None,
                       effort: NDArray | None = None) -> JointTrajectory:
    """Return the message of a motion (points, n); raise JointDynamicsError where an array does not have one row per point."""
    message = JointTrajectory(joint_names=list(joint_names))
    fields = {'positions': q, 'velocities': dq, 'accelerations': ddq, 'effort': effort}
    for name, array in fields.items():
        if array is not None and np.shape(array) != (len(times), len(joint_names)):
            raise JointDynamicsError(f'trajectory: expected {name} of shape ({len(times)}, {len(joint_names)}), found {np.shape(array)}')
    for k, moment in enumerate(times):
        point = JointTrajectoryPoint(**{name: array[k].tolist() for name, array in fields.items() if array is not None})
        seconds, rest = divmod(round(float(moment) * 1e9), 10**9)
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(rest)
        message.points.append(point)
    return message
