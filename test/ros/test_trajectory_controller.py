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

"""What excitation makes of a trajectory controller's own state, from a controller of the test's own over DDS."""

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)
control_msgs = pytest.importorskip('control_msgs.msg', reason='control_msgs comes with a ROS 2 installation only')

from builtin_interfaces.msg import Time  # noqa: E402

from joint_dynamics.nodes.excitation.node import ExcitationNode  # noqa: E402
from joint_dynamics.nodes.interfaces.trajectory_controller import NOT_TAKEN, SILENT  # noqa: E402


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


@pytest.fixture
def begin(ros, trajectory_controller, small_motion, tmp_path):
    """Start the node with a motion that takes long, beside a controller; return both once it is played."""
    joints, home = trajectory_controller.func.JOINTS, trajectory_controller.func.HOME
    path = tmp_path / 'summary.json'
    small_motion(path, joints, home)

    def start(repeats=20, first=6, **parts):
        controller = trajectory_controller('excitation', names=joints[:first], **parts)
        node = ros.node(
            ExcitationNode,
            trajectory_file=str(path),
            repeats=repeats,
            output='topic',
            state_timeout=2.0,
            tracking_error=3.0,
        )
        assert node.trigger_configure().name == 'SUCCESS'
        assert node.trigger_activate().name == 'SUCCESS'
        controller.until(
            lambda: controller.status == 'ready' and node.output.connected and not node.states.missing(), 'the node'
        )
        answer = ros.ask('excitation/start', controller.until)
        controller.until(answer.done, 'the answer to the start')
        assert answer.result().success, answer.result().message
        controller.until(lambda: controller.received and controller.status.startswith('playing'), 'the motion')
        return node, controller

    return start


def test_braking_begins_at_the_controllers_reference(begin):
    late, lag = 0.1, 0.3
    _, controller = begin(late=late, lag=lag)
    began = seconds(controller.received[0].header.stamp)
    times, q = controller.path(controller.received[0])
    speed = np.gradient(q, times, axis=0)

    def at_speed(ready, what):
        controller.until(lambda: ready() and fast(), what)

    def fast():
        # so that 0.3 s of the path are far more than the uncertainty of the delay
        now = controller.now() - began
        recent = (times > now - late - lag) & (times < now)
        return now > 2.5 and np.abs(speed[recent]).max(axis=1).min() > 0.1

    controller.ros.ask('excitation/stop', at_speed)
    controller.until(lambda: len(controller.received) == 2, 'the stop')
    stop = controller.received[1]
    first = controller.path(stop)[1][0]
    stopped = seconds(stop.header.stamp) - began
    at = stopped - late + seconds(stop.points[0].time_from_start)
    reference = np.array([np.interp(at, times, row) for row in q.T])
    # The delay search leaves 1 mrad open and 1.5 times its grid of 5 ms; the arm itself, 0.3 s behind, is 30 mrad off.
    np.testing.assert_allclose(first, reference, atol=1e-3 + 1.5 * 2.5e-3 * np.abs(speed).max() + 1e-3)


def test_silent_controller_stops_the_motion_and_is_named(begin):
    node, controller = begin()
    controller.until(lambda: node.controller.known, 'the state of the controller')
    controller.tells = False
    controller.until(lambda: controller.status.startswith('stopped'), 'the stop')
    assert controller.status == f'stopped: {SILENT}'
    assert len(controller.received) == 2


def test_lost_motion_is_named_early(begin):
    """joint_trajectory_controller subscribes with best effort: of 3000 points one in five trajectories was lost."""
    _, controller = begin(takes=False)
    controller.until(lambda: controller.status.startswith('stopped'), 'the stop')
    assert controller.status.startswith(f'stopped: {NOT_TAKEN}')
    np.testing.assert_allclose(controller.path(controller.received[1])[1][-1], controller.HOME, atol=1e-6)


def test_state_without_all_joints_counts_for_nothing(begin):
    node, controller = begin(first=5, repeats=1)
    controller.until(lambda: not controller.status.startswith(('playing', 'starting')), 'the end')
    assert controller.status == 'done'
    assert not node.controller.known


def test_a_state_without_stamp_is_of_the_moment_it_comes(begin):
    node, controller = begin()
    sent = controller.controller_state.publish

    def without_stamp(message):
        message.header.stamp = Time()
        sent(message)

    controller.controller_state.publish = without_stamp
    before = node.clock_time()
    controller.until(lambda: (node.controller.reference(2.0) or (0.0,))[0] > before, 'a state of now')
    assert node.controller.reference(2.0)[0] <= node.clock_time()
