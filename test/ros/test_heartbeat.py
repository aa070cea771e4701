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

"""Excitation and feedforward notice each other's end and tell whoever can be told."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.nodes.framework.heartbeat import HEARTBEAT
from joint_dynamics.nodes.interfaces.trajectory_controller import BRAKE_LEAD

LOST = DiagnosticStatus.ERROR


def motion(seconds, goal):
    points = [JointTrajectoryPoint(positions=[goal], time_from_start=Duration(sec=seconds))]
    return JointTrajectory(joint_names=['hinge'], points=points)


def beats(node, source='excitation'):
    return node.diagnostics.message(f'{source} heartbeat') == 'at work'


def lost(node, source='excitation'):
    message = node.diagnostics.message(f'{source} heartbeat')
    return node.diagnostics.level(f'{source} heartbeat') == LOST and 'was lost' in message


def test_the_controller_gets_a_braking(ros, feedforward, standing, heart):
    node, arm, other = feedforward(), standing, heart('excitation')
    sent = arm.trajectories
    arm.talk(lambda: beats(node) and node.count_subscribers('feedforward/joint_trajectory'))
    arm.want(motion(60, 1.0))
    arm.talk(lambda: sent)
    other.kill_it()
    arm.talk(lambda: len(sent) > 1)
    brake = sent[1]
    # It goes on where the motion was then, by its stamp, and ends at rest.
    assert brake.header.stamp.sec > 0
    assert brake.points[-1].time_from_start.sec < 10
    assert list(brake.points[-1].velocities) == [0.0]
    assert np.isfinite([point.effort[0] for point in brake.points]).all()
    arm.talk(lambda: node.follower.motion(node.clock_time()) is not None and node.follower.path.end < 10)
    assert brake.points[0].positions[0] == pytest.approx(node.follower.path.at(0.0)[0, 0], abs=1e-9)
    # A controller that has it within the lead is on the motion still, which speeds up for half a minute.
    early = [
        point.velocities[0]
        for point in brake.points
        if point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec < BRAKE_LEAD + 1e-6
    ]
    assert len(early) >= 5
    assert (np.diff(early) > 0).all()
    arm.talk(lambda: lost(node) and 'braked' in node.diagnostics.message('reference'))
    # Once it rests, another motion is followed, and the heart may come back.
    arm.talk(lambda: node.follower.motion(node.clock_time())[1, 0] == 0.0)
    arm.want(motion(60, 0.5))
    arm.talk(lambda: len(sent) > 2)
    publisher = ros.probe.create_publisher(Bool, 'excitation/heartbeat', HEARTBEAT)
    arm.talk(lambda: publisher.publish(Bool(data=True)) or beats(node))


def test_an_end_in_good_order_and_an_idle_loss_stop_nothing(ros, feedforward, standing, heart):
    node, arm = feedforward(), standing
    publisher = ros.probe.create_publisher(Bool, 'excitation/heartbeat', HEARTBEAT)
    arm.talk(lambda: publisher.publish(Bool(data=True)) or beats(node))
    arm.want(motion(60, 1.0))
    path = arm.talk(lambda: publisher.publish(Bool(data=True)) or node.follower.path)
    arm.talk(lambda: publisher.publish(Bool(data=False)) or node.diagnostics.message('excitation heartbeat') == 'beats')
    # Silent, but it has said that nothing depends on it.
    arm.talk(lambda: node.diagnostics.level('excitation heartbeat') == DiagnosticStatus.WARN)
    assert node.diagnostics.message('excitation heartbeat') == (
        'the heartbeat of excitation is late: nothing for 1 s; it last said that it is not at work'
    )
    assert node.follower.path is path
    arm.talk(lambda: publisher.publish(Bool(data=True)) or beats(node))
    ros.probe.destroy_publisher(publisher)
    arm.talk(lambda: node.diagnostics.level('excitation heartbeat') is None)
    assert node.follower.path is path


def test_a_node_that_is_not_at_work_any_more_says_so(ros, feedforward):
    said = ros.listen(Bool, 'feedforward/heartbeat', HEARTBEAT)
    node = feedforward()
    ros.until(lambda: said and said[-1].data)
    assert ros.transition('/feedforward', 'deactivate')
    ros.until(lambda: not said[-1].data)
    assert not node.is_active
