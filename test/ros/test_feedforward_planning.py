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

"""While the feedforward node plans, it answers requests."""

import itertools
import threading

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.control import follower, trajectory
from joint_dynamics.nodes.feedforward.planning import MAX_WAITING

NODE = '/feedforward'


def trajectory_of(*goals, seconds=1.0, count=0):
    """Through the goals, `seconds` apart; count: of points in between, at rest where it stands."""
    message = JointTrajectory(joint_names=['hinge'])
    times = [*np.linspace(0.01, 1.0, count), *(1.0 + seconds * np.arange(1, len(goals) + 1))]
    for t, q in zip(times, [0.0] * count + list(goals), strict=True):
        duration = Duration(sec=int(t), nanosec=int(t % 1 * 1e9))
        message.points.append(JointTrajectoryPoint(positions=[q], time_from_start=duration))
    return message


class Gate:
    """Holds up every call of a function until it is opened, and refuses to hold up the executor."""

    def __init__(self, monkeypatch, module, name):
        self._function = getattr(module, name)
        self.entered, self.opened, self.calls = threading.Event(), threading.Event(), 0
        monkeypatch.setattr(module, name, self)

    def __call__(self, *arguments, **options):
        assert threading.current_thread() is not threading.main_thread(), 'planned by the executor'
        self.calls += 1
        self.entered.set()
        assert self.opened.wait(180.0)
        return self._function(*arguments, **options)


def test_requests_are_answered_while_the_effort_is_filled_in(monkeypatch, feedforward, standing, ros):
    node, arm = feedforward(), standing
    for _ in range(30):
        arm.say()
        ros.executor.spin_once(timeout_sec=0.01)
    gate = Gate(monkeypatch, trajectory, 'instants')
    arm.want(trajectory_of(0.1, seconds=300))
    arm.talk(gate.entered.is_set)
    assert ros.state(NODE) == 'active'
    arm.talk(lambda: 'planning' in node.diagnostics.message('reference'))
    # Called off as soon as it goes on.
    threading.Timer(0.2, gate.opened.set).start()
    assert ros.transition(NODE, 'deactivate')
    ros.until(lambda: node.planning.idle)
    assert ros.transition(NODE, 'activate')
    arm.talk(lambda: arm.known(node))
    arm.want(trajectory_of(0.1))
    arm.talk(lambda: arm.trajectories)
    assert len(arm.trajectories) == 1
    assert arm.trajectories[0].points[-1].time_from_start.sec == 2


def test_trajectories_are_planned_in_order_and_too_many_refused(monkeypatch, feedforward, standing, ros):
    node, arm = feedforward(), standing
    gate = Gate(monkeypatch, follower, 'Path')
    number = itertools.count()

    def another():
        arm.want(trajectory_of(0.1 + 1e-4 * next(number)))

    # One after the other: of many at once the queue of the topic may lose some.
    arm.talk(lambda: another() or gate.entered.is_set())
    arm.talk(lambda: another() or f'expected at most {MAX_WAITING} waiting' in node.diagnostics.message('reference'))
    gate.opened.set()
    arm.talk(lambda: len(arm.trajectories) > MAX_WAITING)
    goals = [message.points[-1].positions[0] for message in arm.trajectories]
    assert goals == sorted(goals)


def test_a_plan_that_comes_too_late_for_its_stamp_is_refused(monkeypatch, feedforward, standing, ros):
    node, arm = feedforward(start_tolerance=0.05), standing
    arm.talk(lambda: arm.known(node))
    gate = Gate(monkeypatch, follower, 'Path')
    message = trajectory_of(1.0, seconds=0.5)
    message.header.stamp = ros.probe.get_clock().now().to_msg()
    arm.want(message)
    arm.talk(gate.entered.is_set)
    late = message.header.stamp.sec + 2
    arm.talk(lambda: ros.probe.get_clock().now().to_msg().sec > late)
    gate.opened.set()
    arm.talk(lambda: 'jump by' in node.diagnostics.message('reference'))
    assert 'stamp it further ahead' in node.diagnostics.message('reference')
    assert node.follower.path is None
    # One that says no time begins when it is planned.
    arm.want(trajectory_of(0.02))
    arm.talk(lambda: node.follower.path is not None)
    arm.talk(lambda: node.diagnostics.level('reference') == DiagnosticStatus.OK)


def test_no_trajectory_ends_the_node(feedforward, standing):
    node, arm = feedforward(), standing
    arm.talk(lambda: arm.known(node))
    for times in ((1e-9, 2e-9, 3e-9, 2.0), (1.0, 1.0 + 1e-9, 2e9), (2e9, 2.1e9)):
        for size in (0.1, 1e30, 1e308):
            message = JointTrajectory(joint_names=['hinge'])
            for k, t in enumerate(times):
                duration = Duration(sec=int(t), nanosec=round((t - int(t)) * 1e9))
                message.points.append(JointTrajectoryPoint(positions=[size * (-1) ** k], time_from_start=duration))
            node.follower.clear()
            node.refusals.clear()
            arm.want(message)
            arm.talk(lambda: node.follower.path is not None or node.refusals)
    efforts = [list(point.effort) for message in arm.trajectories for point in message.points]
    assert np.isfinite(efforts).all()
