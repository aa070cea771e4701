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

"""What feedforward makes of a trajectory controller's own state, from one of the test's own."""

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)
control_msgs = pytest.importorskip('control_msgs.msg', reason='control_msgs comes with a ROS 2 installation only')

from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from joint_dynamics.nodes.feedforward.node import FeedforwardNode  # noqa: E402
from joint_dynamics.nodes.interfaces.messages import duration  # noqa: E402
from joint_dynamics.nodes.interfaces.trajectory_controller import NOT_TAKEN, SILENT  # noqa: E402

LONG = 8.0  # a motion that lasts, so that nothing depends on how fast the machine is, s


def want(controller, goal, seconds=LONG):
    """Ask feedforward for a motion, and wait for what it makes of it."""
    message = JointTrajectory(joint_names=list(controller.JOINTS))
    message.points = [JointTrajectoryPoint(positions=goal.tolist(), time_from_start=duration(seconds))]
    before = len(controller.received)
    controller.reference.publish(message)
    controller.until(lambda: len(controller.received) > before, 'the trajectory with its efforts')


@pytest.fixture
def begin(ros, trajectory_controller):
    """The node active beside a controller, the state of which it knows, and sent a motion."""

    def start(takes=True, **parameters):
        controller = trajectory_controller('feedforward', takes=takes, velocity=[0.0] * 6)
        controller.reference = ros.probe.create_publisher(JointTrajectory, 'feedforward/reference', 10)
        node = ros.active(FeedforwardNode, use_description=False, trajectory_output='topic', timeout=5.0, **parameters)
        controller.until(
            lambda: (
                controller.reference.get_subscription_count()
                and not node.robot_state.fault('position', node.clock_time())
                and node.sender.controller.known
            ),
            'the states of robot and controller',
        )
        want(controller, controller.HOME + 0.3)
        return node, controller

    return start


def reason(node):
    return node.diagnostics.message('reference')


def test_a_trajectory_lost_on_its_way_is_named_and_forgotten(begin):
    node, controller = begin(takes=False)
    controller.until(lambda: NOT_TAKEN in reason(node), 'the lost trajectory')
    assert node.follower.followed(node.clock_time()) is None
    # The next one begins where the robot is, which has not moved.
    controller.takes = True
    want(controller, controller.HOME - 0.3)
    first = controller.received[-1].points[0]
    np.testing.assert_allclose(first.positions, controller.HOME, atol=1e-9)
    np.testing.assert_array_equal(first.velocities, np.zeros(6))
    controller.until(lambda: reason(node) == 'accepted', 'a good word')


def test_a_trajectory_that_is_played_is_not_complained_of(begin):
    node, controller = begin()
    controller.until(lambda: np.abs(controller.place() - controller.HOME).max() > 0.1, 'a good part of the motion')
    assert reason(node) == 'accepted'
    assert node.follower.followed(node.clock_time()) is not None


def test_controller_silent_during_a_motion_is_named(begin):
    node, controller = begin()
    controller.until(lambda: np.abs(controller.place() - controller.HOME).max() > 0.05, 'motion')
    controller.tells = False
    controller.until(lambda: SILENT in reason(node), 'the cause')
    assert node.follower.followed(node.clock_time()) is None
