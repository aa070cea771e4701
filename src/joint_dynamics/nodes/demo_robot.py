"""The simulated robot of a demonstration as seen from its client: moved by trajectories, waited for in its own time, asked for the truth."""
from __future__ import annotations

import json
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

    def play(self, time: NDArray, q: NDArray, dq: NDArray | None = None, ddq: NDArray | None = None, effort: NDArray | None = None) -> float:
        """Send a motion, arrays (points, n), time s from now, and return the simulated time [s] after which it is over.

        That is counted from the present truth on, with a second for what the truth may be late.
        """
        self._conductor.until(self._publisher.get_subscription_count, 'somebody to take trajectories')
        self._publisher.publish(trajectory_message(self.joint_names, time, q, dq, ddq, effort))
        return self.time + 1.0 + float(time[-1])

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


def trajectory_message(joint_names: Sequence[str], time: NDArray, q: NDArray, dq: NDArray | None = None, ddq: NDArray | None = None,
                       effort: NDArray | None = None) -> JointTrajectory:
    """Return the message of a motion (points, n); raise JointDynamicsError where an array does not have one row per point."""
    message = JointTrajectory(joint_names=list(joint_names))
    fields = {'positions': q, 'velocities': dq, 'accelerations': ddq, 'effort': effort}
    for name, array in fields.items():
        if array is not None and np.shape(array) != (len(time), len(joint_names)):
            raise JointDynamicsError(f'trajectory: expected {name} of shape ({len(time)}, {len(joint_names)}), found {np.shape(array)}')
    for k, moment in enumerate(time):
        point = JointTrajectoryPoint(**{name: array[k].tolist() for name, array in fields.items() if array is not None})
        seconds, rest = divmod(round(float(moment) * 1e9), 10**9)
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(rest)
        message.points.append(point)
    return message
