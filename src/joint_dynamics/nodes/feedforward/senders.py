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

"""Output of the feedforward node: planned trajectories, and whether the controller executes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.arrays import IntArray
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.nodes.feedforward.planning import PlannedPath
from joint_dynamics.nodes.interfaces.robot_states import Listening
from joint_dynamics.nodes.interfaces.trajectory_controller import ControllerWatch, Report, SentMotion, TrajectoryOutput

if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode


CONTROLLER_TIMEOUT = 0.5
"""Silence of a controller that counts [s]: joint_trajectory_controller tells its state 50 times a second, unless set
otherwise, and a busy machine loses some."""

MAX_ARRIVAL_DELAY = 0.5
"""A trajectory without stamp begins when it arrives, which on a busy machine may be so much later [s]."""


class TrajectorySender:
    """Sends planned trajectories; `lost(reason)` is called once when the controller does not execute one.

    Parameters
    ----------
    output
        the parameter of that name.
    joint_names, order
        of the joints that are sent, and their places in the robot's order.

    Raises
    ------
    JointDynamicsError
        For `output` action without control_msgs.
    """

    def __init__(self, node: DynamicsNode, output: str, joint_names: Sequence[str], order: IntArray, lost: Report):
        self._clock = node.clock_time
        self._order, self._lost = order, lost
        self._output = TrajectoryOutput(
            output, node, node.advertise(JointTrajectory, '~/joint_trajectory'), self._refused
        )
        self._listening = Listening()
        self.controller = ControllerWatch(node, joint_names, self._listening, self._clock)
        self._sent: SentMotion | None = None

    def send(self, plan: PlannedPath, ahead: float) -> None:
        """Send a filled plan; it begins `ahead` s from now."""
        now = self._clock()
        if self._sent is None or now > self._sent.began + self._sent.duration:
            self._output.choose()
        reference = self.controller.reference(CONTROLLER_TIMEOUT)
        path, order = plan.path, self._order
        self._sent = SentMotion(
            lambda time: np.asarray(path.at(time)[0][order]),
            path.end,
            now + ahead,
            None if reference is None else reference[1],
            MAX_ARRIVAL_DELAY,
        )
        self._output.send(plan.message)

    def forget(self) -> None:
        """Stop watching the last trajectory."""
        self._sent = None

    def check_followed(self) -> None:
        """Check whether the controller executes the last trajectory; to be called every 20 ms of the wall."""
        self._listening.tick()
        if self._sent is None:
            return
        complaint = self.controller.complaint(self._sent, CONTROLLER_TIMEOUT)
        if complaint:
            self._refused(complaint)

    def _refused(self, reason: str) -> None:
        self._sent = None
        self._lost(reason)


class Refusals(dict[str, str]):
    """Reasons by the name of what takes the messages; a good message takes the reason of the one before away."""

    def __init__(self, node: DynamicsNode):
        super().__init__()
        self._node = node

    def guarded(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback for messages: `take`s them while the node is active, and notes refusals."""

        def guarded(message: Any) -> None:
            if not self._node.is_active:
                return
            try:
                take(message)
                self.pop(take.__name__, None)
            except JointDynamicsError as error:
                self.note(take.__name__, error)

        return guarded

    def note(self, what: str, error: JointDynamicsError) -> None:
        """Note and log why `what` was refused."""
        self[what] = one_line(error)
        self._node.get_logger().error(self[what])
