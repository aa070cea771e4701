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

"""The excitation node over DDS, with a robot of the test's own."""

import json
import os
import re
import signal
import time
from functools import partial

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from joint_dynamics.excitation import PlanSettings, to_joint_trajectory  # noqa: E402
from joint_dynamics.nodes.excitation.node import LEAD, ExcitationNode  # noqa: E402
from joint_dynamics.nodes.framework.heartbeat import HEARTBEAT  # noqa: E402
from joint_dynamics.nodes.framework.tables import LATCHED  # noqa: E402
from joint_dynamics.nodes.interfaces.trajectory_controller import BRAKE_LEAD, STAY  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402
from joint_dynamics.simulation import ur5e_description  # noqa: E402

JOINTS = RobotModel.from_urdf(ur5e_description()).joint_names
HOME = np.array([0.0, -np.pi / 2, 0.6, -np.pi / 2, 0.3, 0.0])
CONTROLLER = 'excitation/joint_trajectory'


@pytest.fixture(autouse=True)
def series(small_motion, summary):
    """Small: one period of 3 s."""
    return small_motion(summary, JOINTS, HOME)


@pytest.fixture
def summary(tmp_path):
    return tmp_path / 'summary.json'


class Robot:
    """A robot of the test's own, on the probe node: tells its state, keeps the trajectories it is sent."""

    def __init__(self, ros, names=JOINTS, controller=True):
        self.ros, self.names = ros, list(names)
        self.q, self.dq = HOME.copy(), np.zeros(6)
        self.states = ros.probe.create_publisher(JointState, 'joint_states', 10)
        self.description = ros.probe.create_publisher(String, 'robot_description', LATCHED)
        self.description.publish(String(data=ur5e_description()))
        self.received = ros.listen(JointTrajectory, CONTROLLER, 10) if controller else []
        self.silent = False
        # whether the states carry stamps, and by how much their clock is ahead of the node's, s
        self.stamped, self.ahead = True, 0.0
        self.speeds = True
        self.told, self.heard = 0, ros.listen(JointState, 'joint_states', 10)
        self.follow = None  # called with the time [s], it sets q and dq

    def now(self):
        return self.ros.probe.get_clock().now().nanoseconds * 1e-9

    def tell(self):
        """Publish one state."""
        if self.follow is not None:
            self.follow(self.now())
        if not self.silent:
            order = range(len(self.names) - 1, -1, -1)
            message = JointState(name=[self.names[k] for k in order], position=[float(self.q[k]) for k in order])
            if self.speeds:
                message.velocity = [float(self.dq[k]) for k in order]
            if self.stamped:
                message.header.stamp = (
                    self.ros.probe.get_clock().now() + rclpy.duration.Duration(seconds=self.ahead)
                ).to_msg()
            self.states.publish(message)
            self.told = time.monotonic()

    def until(self, condition, what, **options):
        """Tell the state while waiting.

        Anew once the last one was heard here, and so about now by the node: told faster than a busy machine hears them,
        states wait their turn and are old when it comes. A state not heard within half a second was lost.
        """

        def step():
            if self.silent or self.heard or time.monotonic() - self.told > 0.5:
                self.heard.clear()
                self.tell()
            return condition()

        return self.ros.until(step, what, **options)


@pytest.fixture
def robot(ros):
    return Robot(ros)


def begin(ros, **parameters):
    """An active node in this process, and its status messages."""
    statuses = ros.listen(String, 'excitation/status', LATCHED)
    parameters.setdefault('state_timeout', 2.0)
    node = ros.node(ExcitationNode, **parameters)
    assert node.trigger_configure().name == 'SUCCESS'
    assert node.trigger_activate().name == 'SUCCESS'
    return node, statuses


def started(ros, robot):
    """Ask for a start while the robot tells its state; return the answer."""
    future = ros.ask('excitation/start', robot.until)
    robot.until(future.done, 'the answer to the start')
    return future.result()


def refused(ros, robot, part, asking=None):
    """Ask for a start that is refused with this in its reason, and sends nothing."""
    answer = started(ros, robot) if asking is None else asking()
    assert not answer.success
    assert part in answer.message, answer.message
    assert robot.received == []


def interpolated(at, t, values):
    """Values (N, 6) of the times t (N,) at a time, or at times (6, …)."""
    return np.array([np.interp(at, t, values[:, j]) for j in range(6)])


def last(statuses):
    return statuses[-1].data if statuses else ''


def points(message):
    """Times, positions and speeds of a trajectory, joints in the order of JOINTS."""
    order = [list(message.joint_names).index(name) for name in JOINTS]
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in message.points]
    return (
        np.array(times),
        np.array([point.positions for point in message.points])[:, order],
        np.array([point.velocities for point in message.points])[:, order],
    )


def stamp_of(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_motion_begins_slowly_where_the_robot_stands(ros, robot, series, summary):
    robot.q = HOME + 0.2
    _, statuses = begin(ros, trajectory_file=str(summary), rate=50.0, approach_speed=0.1)
    robot.until(lambda: last(statuses) == 'ready', 'the motion')
    before = ros.probe.get_clock().now()
    t, q, dq = sent(ros, robot, statuses)
    stamp = rclpy.time.Time.from_msg(robot.received[0].header.stamp, clock_type=before.clock_type)
    # it begins when it has arrived, not before
    assert before + rclpy.duration.Duration(seconds=LEAD) < stamp
    assert stamp < ros.probe.get_clock().now() + rclpy.duration.Duration(seconds=LEAD)
    np.testing.assert_allclose(q[0], robot.q, atol=1e-9)
    np.testing.assert_allclose(q[-1], HOME, atol=1e-9)
    np.testing.assert_allclose(dq[[0, -1]], 0, atol=1e-9)
    approach = t[-1] - series.duration
    assert approach > 1.0
    assert np.abs(dq[t < approach]).max() <= 0.1 * 0.9 * np.pi * 1.001
    later = t >= approach
    np.testing.assert_allclose(q[later], series.position(t[later] - approach), atol=1e-6)


def sent(ros, robot, statuses):
    """Start the motion that is ready; return the trajectory."""
    robot.until(lambda: last(statuses) == 'ready' and robot.states.get_subscription_count(), 'the node')
    assert started(ros, robot).success
    robot.until(lambda: robot.received, 'the trajectory')
    return points(robot.received[0])


def played_until(ros, robot, statuses, instant):
    """Start, follow the trajectory perfectly until `instant` s; return it."""
    t, q, dq = sent(ros, robot, statuses)
    began = time.monotonic()

    def follow():
        now = time.monotonic() - began
        robot.q, robot.dq = interpolated(now, t, q), interpolated(now, t, dq)
        return now > instant

    robot.until(follow, 'the instant')
    return t, q, dq


def check_braking(message, motion):
    """A stop goes on from where the motion was, stays on its path and comes to rest soon."""
    t, q, _ = motion
    stop_t, stop_q, stop_dq = points(message)
    assert stop_t[0] == 0
    assert stop_t[-2] < 1.5
    np.testing.assert_allclose(stop_dq[-2:], 0, atol=1e-6)
    # A stop whose end is past when it arrives is refused by joint_trajectory_controller, which goes on with the motion.
    assert stop_t[-1] == pytest.approx(stop_t[-2] + STAY)
    np.testing.assert_array_equal(stop_q[-1], stop_q[-2])
    # anywhere on it: how far the motion has come meanwhile depends on the machine
    fine = np.arange(0.0, t[-1], 1e-3)
    path = interpolated(fine, t, q).T
    assert max(np.abs(path - point).max(axis=1).min() for point in stop_q) < 2e-3


@pytest.mark.parametrize(
    ('why', 'status'),
    [
        ('asked', 'stopped: ~/stop was called'),
        ('silent', 'stopped: joint states of'),
        ('deactivated', 'stopped: the node was deactivated'),
    ],
)
def test_what_stops_it_brings_it_to_rest_on_its_path(ros, robot, summary, why, status):
    timeout = 0.5 if why == 'silent' else 2.0
    node, statuses = begin(ros, trajectory_file=str(summary), repeats=20, state_timeout=timeout, tracking_error=3.0)
    motion = played_until(ros, robot, statuses, 1.0)
    assert motion[0][-1] >= 20 * 3.0, 'every repetition is sent'
    if why == 'asked':
        answer = ros.trigger('excitation/stop')
        assert answer.success, answer.message
        assert 'at rest in' in answer.message
    elif why == 'silent':
        robot.silent = True
    else:
        assert node.trigger_deactivate().name == 'SUCCESS'
    robot.until(lambda: len(robot.received) == 2, 'the stop')
    check_braking(robot.received[1], motion)
    robot.until(lambda: last(statuses).startswith(status), 'the status')
    assert not ros.trigger('excitation/stop').success


def test_the_loss_of_feedforward_brings_it_to_rest(ros, robot, summary, heart):
    node, statuses = begin(ros, trajectory_file=str(summary))
    other = heart('feedforward')
    robot.until(lambda: node.diagnostics.message('feedforward heartbeat') == 'at work', 'the heart')
    answer = started(ros, robot)
    assert answer.success, answer.message
    robot.until(lambda: len(robot.received) == 1, 'the motion')
    motion, told = node.playing.motion, node.playing.began
    robot.follow = lambda now: setattr(robot, 'q', motion.position(now - told)[0])
    other.kill_it()
    robot.until(lambda: last(statuses).startswith('stopped'), 'the stop')
    assert 'the heartbeat of feedforward was lost' in last(statuses)
    robot.until(lambda: len(robot.received) == 2, 'the braking')
    _, _, dq = points(robot.received[1])
    np.testing.assert_allclose(dq[-1], 0.0, atol=1e-9)


def test_a_robot_that_does_not_follow_is_held_where_it_stands(ros, robot, summary):
    _, statuses = begin(ros, trajectory_file=str(summary), repeats=20, tracking_error=0.02)
    sent(ros, robot, statuses)
    robot.until(lambda: len(robot.received) == 2, 'the hold')
    assert len(robot.received[1].points) == 2
    np.testing.assert_allclose(points(robot.received[1])[1][0], robot.q)
    robot.until(lambda: 'from where it should be and has not moved at all' in last(statuses), 'the status')


def test_a_start_is_refused_with_the_reason(ros, robot, summary):
    node, _ = begin(ros, trajectory_file=str(summary), state_timeout=0.5)
    ros.until(lambda: node.output.connected, what='the controller')
    at_once = partial(ros.trigger, 'excitation/start')
    refused(ros, robot, 'start: expected fresh joint states, found shoulder_pan_joint', at_once)
    robot.names = list(JOINTS[:5])
    robot.until(lambda: node.states.missing() == [JOINTS[5]], 'five joints')
    refused(ros, robot, 'wrist_3_joint missing')
    robot.names = list(JOINTS)
    robot.q[1] = 6.2
    robot.until(
        lambda: not node.states.missing() and node.states.resting(0.5, np.inf) is not None and node.states.q[1] == 6.2,
        'a state outside',
    )
    refused(ros, robot, 'start: expected shoulder_lift_joint within')
    robot.q = HOME.copy()
    robot.until(lambda: {state.q for state in node.states.recent[JOINTS[1]]} == {HOME[1]}, 'the posture before')
    robot.dq[3] = 0.3
    robot.until(lambda: node.states.dq[3] == 0.3, 'a moving robot')
    refused(ros, robot, 'expected the robot at rest for 0.2 s, found it moving at 0.3 rad/s (wrist_1_joint)')
    robot.dq[3] = np.inf
    robot.until(lambda: node.states.recent[JOINTS[3]][-1].dq == np.inf, 'a speed that is none')
    refused(ros, robot, 'found it moving at inf rad/s (wrist_1_joint)')
    robot.dq[3] = 0.0
    robot.until(lambda: node.states.dq[3] == 0.0, 'a robot at rest')
    ros.until(lambda: node.states.stale(0.5), what='states grow old')
    refused(ros, robot, 'start: expected joint states younger than 0.5 s', at_once)
    node.trigger_deactivate()
    refused(ros, robot, 'start: expected the node to be active')


def test_a_start_waits_for_a_robot_that_has_not_been_heard_yet(ros, robot, summary):
    """A node that has just come up: services answer before its robot's topics are found."""
    node, statuses = begin(ros, trajectory_file=str(summary), state_timeout=5.0)
    ros.until(lambda: node.output.connected, what='the controller')
    future = ros.ask('excitation/start')
    ros.until(lambda: last(statuses) == 'starting' or future.done(), what='the start')
    assert node.states.missing() == list(JOINTS)
    robot.until(future.done, 'the answer to the start')
    assert future.result().success, future.result().message


def test_states_of_another_time_start_nothing(ros, robot, summary):
    node, _ = begin(ros, trajectory_file=str(summary))
    for ahead, reason in (
        (-3600.0, 'shoulder_pan_joint stamped 3.6e+03 s ago'),
        (3600.0, 'shoulder_pan_joint stamped 3.6e+03 s ahead'),
        (-1e9, 'use_sim_time'),
        (1e8, 'use_sim_time'),
    ):
        robot.ahead = ahead
        robot.until(lambda ahead=ahead: abs(node.states.time - robot.now() - ahead) < 60.0, 'states of that time')
        node.states.forget()
        robot.until(lambda: node.output.connected and not node.states.missing(), 'states')
        refused(ros, robot, reason)


def test_moving_robot_without_speeds_is_not_started(ros, robot, summary):
    node, _ = begin(ros, trajectory_file=str(summary))
    robot.speeds = False
    began = time.monotonic()

    def drifting():
        robot.q[2] = HOME[2] + 0.1 * (time.monotonic() - began)
        return node.output.connected and not node.states.missing()

    robot.until(drifting, 'states')
    future = ros.ask('excitation/start', lambda ready, what: robot.until(lambda: drifting() and ready(), what))
    robot.until(lambda: drifting() and future.done(), 'the answer')
    assert 'expected the robot at rest' in future.result().message
    assert robot.received == []


def test_a_robot_without_stamps_starts_on_arrival(ros, robot, summary):
    node, _ = begin(ros, trajectory_file=str(summary))
    robot.stamped = False
    robot.until(lambda: node.output.connected and not node.states.missing(), 'states')
    assert started(ros, robot).success
    robot.until(lambda: robot.received, 'the trajectory')
    assert robot.received[0].header.stamp.sec == 0


def test_stop_brakes_where_a_late_controller_is(ros, robot, summary):
    _, statuses = begin(ros, trajectory_file=str(summary), repeats=20)
    late = 0.2
    t, q, dq = sent(ros, robot, statuses)
    began = stamp_of(robot.received[0])

    def follow(now):
        on_path = now - began - late
        robot.q, robot.dq = interpolated(on_path, t, q), interpolated(on_path, t, dq)

    robot.follow = follow

    def at_speed(ready, what):
        robot.until(lambda: ready() and robot.now() - began > 2.5 and np.abs(robot.dq).max() > 0.1, what)

    ros.ask('excitation/stop', at_speed)
    robot.until(lambda: len(robot.received) == 2, 'the stop')
    stop_t, stop_q, _ = points(robot.received[1])
    stopped = stamp_of(robot.received[1]) - began
    fine = np.linspace(stopped - 1.0, stopped + 1.0, 4001)  # within one period of the motion
    path = interpolated(fine, t, q).T
    begins = fine[np.abs(path - stop_q[0]).max(axis=1).argmin()] - stop_t[0]
    # 1 mrad and half as much again is left open by the search for the delay, at a speed that is half of 0.1 rad/s a
    # moment later at worst; points between which this test interpolates are 10 ms apart
    assert begins == pytest.approx(stopped - late, abs=1.5e-3 / 0.05 + 0.01)


def test_start_ends_where_time_goes_back(ros, robot, summary, monkeypatch):
    """The motion belongs to the old time: it is not sent again, and not played."""
    node, statuses = begin(ros, trajectory_file=str(summary))
    sent = []
    monkeypatch.setattr(node.output, 'send', lambda message, accepted=None: sent.append(accepted))
    future = ros.ask('excitation/start', robot.until)
    robot.until(lambda: sent, 'the motion on its way')
    node.on_time_jump(-30.0)
    robot.until(future.done, 'the answer to the start')
    assert not future.result().success
    assert future.result().message == 'stopped: time went back by 30.000 s'
    sent[0]()  # a controller that takes it after all
    heard = ros.listen(JointState, 'joint_states', 10)
    robot.until(lambda: len(heard) > 100, 'more states')
    assert len(sent) == 1
    assert 'time went back' in last(statuses)


def test_stop_is_stamped_with_the_planned_moment(ros, robot, summary, monkeypatch):
    """A controller goes on within it; stamped later, its reference would jump back by the time planning took."""
    node, statuses = begin(ros, trajectory_file=str(summary), repeats=20)
    t, q, dq = played_until(ros, robot, statuses, 2.5)
    braking, asked = node.playback.braking, []

    def slow(motion, at, lead):
        asked.append(at)
        time.sleep(0.3)  # a busy machine
        return braking(motion, at, lead)

    monkeypatch.setattr(node.playback, 'braking', slow)
    ros.trigger('excitation/stop')
    robot.until(lambda: len(robot.received) == 2, 'the stop')
    stop_t, stop_q, stop_dq = points(robot.received[1])
    delay = stamp_of(robot.received[1]) - stamp_of(robot.received[0]) - asked[0]
    # the delay that was found is one of 0 … 0.5 s in steps of 5 ms
    assert -1e-6 < delay < 0.5 + 1e-6
    assert delay == pytest.approx(round(delay / 0.005) * 0.005, abs=1e-6)
    assert stop_t[0] == 0
    at = interpolated(asked[0], t, q), interpolated(asked[0], t, dq)
    np.testing.assert_allclose([stop_q[0], stop_dq[0]], at, atol=1e-3)  # points are 10 ms apart
    # A controller that has it within the lead is on the motion still.
    early = stop_t <= BRAKE_LEAD
    assert early.sum() >= 3
    for instant, position in zip(stop_t[early], stop_q[early], strict=True):
        np.testing.assert_allclose(position, interpolated(asked[0] + instant, t, q), atol=1e-3)


def test_nothing_is_started_without_a_controller(ros, summary):
    robot = Robot(ros, controller=False)
    node, _ = begin(ros, trajectory_file=str(summary))
    robot.until(lambda: not node.states.missing(), 'states')
    reason = 'expected a trajectory controller on /excitation/joint_trajectory, found none'
    refused(ros, robot, reason, partial(ros.trigger, 'excitation/start'))


def quick_plan(folder):
    """A configuration whose plan is made at once."""
    (folder / 'config.yaml').write_text(
        'excitation: {posture: [0, -1.57, 0.6, -1.57, 0.3, 0], condition_limit: 1.0e+9, limits: {clearance: null}, '
        'fourier: {period: 4, harmonics: 2, ramp: 0.5, starts: 1, candidates: 1}}'
    )
    return folder / 'config.yaml'


def test_the_best_motion_so_far_is_played_and_ends_the_planning(ros, robot, tmp_path):
    """A search that would take hours has a motion that may be played at once, and better ones as they come."""
    config = tmp_path / 'config.yaml'
    config.write_text('excitation: {posture: [0, -1.57, 0.6, -1.57, 0.3, 0], fourier: {candidates: 1000}}')
    node, statuses = begin(ros, config_file=str(config))
    assert ros.trigger('excitation/plan').success
    beats = ros.listen(Bool, 'excitation/heartbeat', HEARTBEAT)
    figure = re.compile(r'(ready|planning), condition number (\d+\.\d\d), improving, .*')

    def found():
        matches = [figure.fullmatch(one.data) for one in statuses]
        return [(match[1], float(match[2])) for match in matches if match]

    robot.until(lambda: len({value for _, value in found()}) > 1 and found()[-1][0] == 'ready', 'a better one')
    assert [value for _, value in found()] == sorted((value for _, value in found()), reverse=True)
    assert all((state == 'ready') == (value <= PlanSettings('fourier').condition_limit) for state, value in found())
    assert beats
    planning = node.planning
    assert os.getpriority(os.PRIO_PROCESS, planning.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    assert started(ros, robot).success
    assert node.planning is None
    with pytest.raises(ProcessLookupError):
        os.kill(planning.pid, 0)
    robot.until(lambda: last(statuses).startswith('playing'), 'the motion')
    assert ros.trigger('excitation/stop').success


def test_it_plans_on_request_and_adds_to_played_motions(ros, robot, tmp_path):
    node, statuses = begin(ros, config_file=str(quick_plan(tmp_path)), tracking_error=3.0)
    assert 'found none: no motion yet (call ~/plan, or set trajectory_file)' in ros.trigger('excitation/start').message
    assert node.planning is None, 'nobody has asked for a plan'

    def planned():
        said = ros.trigger('excitation/plan')
        assert said.success
        assert 'plan: expected no search' in ros.trigger('excitation/plan').message
        refusal = ros.trigger('excitation/start')
        assert not refusal.success and 'found none: planning' in refusal.message
        robot.until(lambda: node.planning is None and last(statuses).startswith('ready, condition number'), 'a plan')
        return said.message, node.planned.position(np.linspace(0.0, node.planned.duration, 50))

    said, motion = planned()
    assert '(1)' not in said
    assert started(ros, robot).success
    playing = node.playing
    robot.follow = lambda now: setattr(robot, 'q', playing.motion.position(now - playing.began)[0])
    robot.until(lambda: last(statuses) == 'done', 'the end of the motion')
    said, other = planned()
    assert '(1)' in said
    assert np.abs(other - motion).max() > 0.1


def test_motion_is_done_no_earlier_than_its_end(ros, robot, summary):
    node, statuses = begin(ros, trajectory_file=str(summary))
    robot.ahead = 1.0
    assert started(ros, robot).success
    playing = node.playing
    robot.follow = lambda now: setattr(robot, 'q', playing.motion.position(now + robot.ahead - playing.began)[0])
    robot.until(lambda: last(statuses) == 'done', 'the end of the motion')
    assert node.clock_time() - playing.began > playing.motion.duration


def test_a_plan_without_a_torque_limit_is_taken_as_such(ros, robot, summary, monkeypatch):
    """The same motion needs 1 % of the torque that the robot file allows, or nothing is asked of it."""
    document = json.loads(summary.read_text())
    weak = re.sub(r'effort="[^"]*"', 'effort="1"', ur5e_description())
    robot.description.publish(String(data=weak))
    node = ros.node(ExcitationNode, trajectory_file=str(summary))
    assert node.trigger_configure().name == 'FAILURE'
    assert 'found torque exceeded' in node.diagnostics.message('state')
    summary.write_text(json.dumps(document | {'torque_limit': False}))
    assert node.trigger_configure().name == 'SUCCESS'


def test_a_plan_in_the_making_ends_with_the_node(ros, robot):
    node, _ = begin(ros)
    assert ros.trigger('excitation/plan').success
    pid = node.planning.pid
    node.trigger_deactivate()
    assert node.trigger_cleanup().name == 'SUCCESS'
    assert node.planning is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_defect_of_the_planning_is_said(ros, robot):
    node, statuses = begin(ros)
    assert ros.trigger('excitation/plan').success
    os.kill(node.planning.pid, signal.SIGKILL)
    robot.until(lambda: last(statuses).startswith('failed: a defect ended the planning (status -9)'), 'the failure')
    assert node.planning is None


def test_a_plan_that_fails_is_said(ros, robot):
    _, statuses = begin(ros, profile='trapezoids')
    assert ros.trigger('excitation/plan').success
    robot.until(lambda: last(statuses).startswith('failed'), 'the failure')
    assert 'trapezoids.joint: expected one of' in last(statuses)
    assert 'trapezoids.joint' in ros.trigger('excitation/start').message
    assert ros.trigger('excitation/plan').success, 'it may be tried again'


def test_a_motion_from_a_file_is_not_planned(ros, robot, summary):
    node, statuses = begin(ros, trajectory_file=str(summary))
    assert 'expected no trajectory_file' in ros.trigger('excitation/plan').message
    assert node.planning is None
    assert last(statuses) == 'ready'


@pytest.mark.parametrize(
    ('content', 'reason'),
    [(None, 'expected a readable file'), ('{}', 'expected summary.json'), ('fast', 'acceleration exceeded')],
)
def test_a_trajectory_it_may_not_play_is_refused_when_configured(ros, robot, series, tmp_path, content, reason):
    path = tmp_path / 'trajectory.yaml'
    if content == 'fast':
        samples = series.sample(100.0)
        text = to_joint_trajectory(series, type(samples)(samples.time / 9, samples.q, samples.dq * 9, samples.ddq * 81))
    else:
        text = content
    if text is not None:
        path.write_text(text)
    node = ros.node(ExcitationNode, trajectory_file=str(path))
    assert node.trigger_configure().name == 'FAILURE'
    assert reason in node.diagnostics.message('state')


def test_action_is_refused_without_control_msgs(ros, robot, summary):
    try:
        import control_msgs.action  # noqa: F401
    except ImportError:
        pass
    else:
        pytest.skip('control_msgs is installed')
    node = ros.node(ExcitationNode, trajectory_file=str(summary), output='action')
    assert node.trigger_configure().name == 'FAILURE'
    assert 'control_msgs' in node.diagnostics.message('state')


class ActionController:
    """A trajectory controller with the action only: the robot of the test is where the last goal says.

    `answer`: accept, refuse, or fail.
    """

    def __init__(self, robot, answer):
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionServer, CancelResponse, GoalResponse

        self.robot, self.goals, self.kind = robot, [], FollowJointTrajectory
        self.server = ActionServer(
            robot.ros.probe,
            FollowJointTrajectory,
            'excitation/follow_joint_trajectory',
            self.execute,
            goal_callback=lambda goal: GoalResponse.REJECT if answer == 'refuse' else GoalResponse.ACCEPT,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )
        self.answer = answer

    def execute(self, handle):
        self.goals.append(handle.request.trajectory)
        result = self.kind.Result()
        if self.answer == 'fail':
            result.error_code, result.error_string = self.kind.Result.PATH_TOLERANCE_VIOLATED, 'off the path'
            handle.abort()
        else:
            handle.succeed()
        return result


@pytest.mark.parametrize(
    ('answer', 'status'),
    [('accept', 'done'), ('refuse', 'the controller refused the trajectory'), ('fail', 'off the path')],
)
def test_a_controller_with_the_action_is_told_by_it(ros, series, summary, answer, status):
    pytest.importorskip('control_msgs.action', reason='control_msgs comes with a ROS 2 installation only')
    robot = Robot(ros, controller=False)
    controller = ActionController(robot, answer)
    node, statuses = begin(ros, trajectory_file=str(summary), output='action', tracking_error=3.0)
    robot.until(lambda: node.output.connected and not node.states.missing(), 'the action')
    reply = started(ros, robot)
    assert reply.success == (answer != 'refuse'), reply.message
    if answer == 'refuse':
        assert status in reply.message
        return
    robot.until(lambda: not last(statuses).startswith(('starting', 'playing')), 'the end')
    assert status in last(statuses)
    if answer == 'accept':
        _, q, _ = points(controller.goals[0])
        assert q[0] == pytest.approx(HOME, abs=0.01)
        assert q[-1] == pytest.approx(HOME, abs=0.1)
    controller.server.destroy()
