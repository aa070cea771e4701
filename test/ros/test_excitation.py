"""The excitation node over DDS, with the simulated robot in another process, and with one that says what the test wants."""
import json
import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from joint_dynamics.excitation import FourierBasis, FourierTrajectory, to_joint_trajectory  # noqa: E402
from joint_dynamics.excitation.files import coefficients  # noqa: E402
from joint_dynamics.nodes.excitation import ExcitationNode  # noqa: E402
from joint_dynamics.nodes.topics import LATCHED  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402
from joint_dynamics.simulation import ur5e_description  # noqa: E402

JOINTS = RobotModel.from_urdf(ur5e_description()).joint_names
HOME = np.array([0.0, -np.pi / 2, 0.6, -np.pi / 2, 0.3, 0.0])
CONTROLLER = 'excitation/joint_trajectory'


@pytest.fixture
def series():
    """Small: one period of 3 s."""
    waves = 0.05 * np.random.default_rng(0).standard_normal((6, 4))
    return FourierTrajectory(JOINTS, FourierBasis(3.0, 2, 1, 0.8, True), np.column_stack([HOME, waves]))


@pytest.fixture
def summary(series, tmp_path):
    path = tmp_path / 'summary.json'
    path.write_text(json.dumps({'trajectory': coefficients(series)}))
    return path


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

    def tell(self):
        """Publish one state; it follows the last trajectory at once."""
        if not self.silent:
            order = range(len(self.names) - 1, -1, -1)
            self.states.publish(JointState(name=[self.names[k] for k in order], position=[float(self.q[k]) for k in order],
                                           velocity=[float(self.dq[k]) for k in order]))

    def until(self, condition, what, timeout=60.0):
        """Tell the state while waiting."""
        def step():
            self.tell()
            return condition()
        return self.ros.until(step, timeout, what)


@pytest.fixture
def robot(ros):
    return Robot(ros)


def begin(ros, **parameters):
    """An active node in this process, and what it says."""
    statuses = ros.listen(String, 'excitation/status', LATCHED)
    parameters.setdefault('state_timeout', 2.0)
    node = ros.node(ExcitationNode, **parameters)
    assert node.trigger_configure().name == 'SUCCESS'
    assert node.trigger_activate().name == 'SUCCESS'
    return node, statuses


def last(statuses):
    return statuses[-1].data if statuses else ''


def points(message):
    """Times, positions and speeds of a trajectory, joints in the order of JOINTS."""
    order = [list(message.joint_names).index(name) for name in JOINTS]
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in message.points]
    return (np.array(times), np.array([point.positions for point in message.points])[:, order],
            np.array([point.velocities for point in message.points])[:, order])


def test_the_simulated_robot_plays_it(ros, series, summary, assert_documented):
    start = [0.1, -1.5, 0.6, -1.5, 0.2, 0.1]
    process = ros.process('joint_dynamics.nodes.simulator', parameters={
        'autostart': True, 'publish_clock': False, 'trajectory_controller': 'excitation', 'position': start, 'model_errors': 0.0})
    states = ros.listen(JointState, 'joint_states', 1000)
    # on a busy machine the process takes longer to come up than the node waits for its robot_description
    ros.until(lambda: states, 120.0, 'the simulated robot')
    node, statuses = begin(ros, trajectory_file=str(summary), repeats=2, approach_speed=0.5)
    assert_documented(node)
    ros.until(lambda: states and node._output.connected, what='the simulated robot')
    before = len(states)
    answer = ros.trigger('excitation/start')
    assert answer.success, answer.message
    ros.until(lambda: last(statuses) != 'playing', what='the end')
    assert last(statuses) == 'done'
    order = [list(states[0].name).index(name) for name in JOINTS]
    q = np.array([message.position for message in states[before:]])[:, order]
    stamps = np.array([message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in states[before:]])
    np.testing.assert_allclose(q[0], start, atol=0.01)
    np.testing.assert_allclose(q[-1], HOME, atol=0.01)
    # the extremes of the series are reached, and both periods are there: the path repeats after 3 s
    period = series.position(np.linspace(0.8, 3.8, 300))
    np.testing.assert_allclose(q[:, 0].max(), max(period[:, 0].max(), start[0]), atol=0.01)
    np.testing.assert_allclose(q[:, 2].min(), min(period[:, 2].min(), start[2]), atol=0.01)
    grid = np.linspace(0.8 + 3.0, 0.8 + 6.0, 100)
    begin_at = min(np.arange(stamps[0], stamps[-1] - 7.0, 0.005), key=lambda at: np.abs(
        np.interp(at + grid, stamps, q[:, 0]) - series.position(grid - 3.0)[:, 0]).max())
    for shift in (0.0, 3.0):
        period = np.array([np.interp(begin_at + grid - shift, stamps, q[:, j]) for j in range(6)]).T
        np.testing.assert_allclose(period, series.position(grid - 3.0), atol=0.01)
    ros.stop(process)


def test_what_is_sent_begins_where_the_robot_stands_and_is_slow_at_first(ros, robot, series, summary):
    robot.q = HOME + 0.2
    _, statuses = begin(ros, trajectory_file=str(summary), rate=50.0, approach_speed=0.1)
    robot.until(lambda: last(statuses) == 'ready' and robot.states.get_subscription_count(), 'the node')
    for _ in range(20):
        robot.tell()
        ros.executor.spin_once(timeout_sec=0.01)
    assert ros.trigger('excitation/start').success
    robot.until(lambda: robot.received, 'the trajectory')
    t, q, dq = points(robot.received[0])
    assert robot.received[0].header.stamp.sec == 0
    np.testing.assert_allclose(q[0], robot.q, atol=1e-9)
    np.testing.assert_allclose(q[-1], HOME, atol=1e-9)
    np.testing.assert_allclose(dq[[0, -1]], 0, atol=1e-9)
    approach = t[-1] - series.duration
    assert approach > 1.0
    assert np.abs(dq[t < approach]).max() <= 0.1 * 0.9 * np.pi * 1.001
    later = t >= approach
    np.testing.assert_allclose(q[later], series.position(t[later] - approach), atol=1e-6)


def played_until(ros, robot, statuses, instant):
    """Start, follow what is sent perfectly until `instant` s; return when it began, and the trajectory."""
    robot.until(lambda: last(statuses) == 'ready' and robot.states.get_subscription_count(), 'the node')
    robot.until(lambda: ros.trigger('excitation/start').success, 'a start')
    robot.until(lambda: robot.received, 'the trajectory')
    began = time.monotonic()
    t, q, dq = points(robot.received[0])

    def follow():
        now = time.monotonic() - began
        robot.q = np.array([np.interp(now, t, q[:, j]) for j in range(6)])
        robot.dq = np.array([np.interp(now, t, dq[:, j]) for j in range(6)])
        return now > instant
    robot.until(follow, 'the instant')
    return began, (t, q, dq)


def check_braking(message, sent, at):
    """A stop goes on from where the motion was, stays on its path and comes to rest soon."""
    t, q, _ = sent
    stop_t, stop_q, stop_dq = points(message)
    assert stop_t[0] > 0
    assert stop_t[-1] < 1.5
    np.testing.assert_allclose(stop_dq[-1], 0, atol=1e-6)
    fine = np.linspace(at - 1.5, at + 2.5, 8001)
    path = np.array([np.interp(fine, t, q[:, j]) for j in range(6)]).T
    assert max(np.abs(path - point).max(axis=1).min() for point in stop_q) < 2e-3


def test_stop_brings_it_to_rest_on_its_path(ros, robot, summary):
    _, statuses = begin(ros, trajectory_file=str(summary), repeats=20)
    began, sent = played_until(ros, robot, statuses, 1.5)
    at = time.monotonic() - began
    answer = ros.trigger('excitation/stop')
    assert answer.success, answer.message
    assert 'at rest in' in answer.message
    robot.until(lambda: len(robot.received) == 2, 'the stop')
    check_braking(robot.received[1], sent, at)
    robot.until(lambda: last(statuses) == 'stopped: ~/stop was called', 'the status')
    assert not ros.trigger('excitation/stop').success


def test_lost_joint_states_bring_it_to_rest(ros, robot, summary):
    _, statuses = begin(ros, trajectory_file=str(summary), repeats=20, state_timeout=0.5)
    began, sent = played_until(ros, robot, statuses, 1.0)
    robot.silent = True
    robot.until(lambda: len(robot.received) == 2, 'the stop')
    check_braking(robot.received[1], sent, time.monotonic() - began)
    robot.until(lambda: last(statuses).startswith('stopped: joint states of'), 'the status')


def test_deactivating_brings_it_to_rest(ros, robot, summary):
    node, statuses = begin(ros, trajectory_file=str(summary), repeats=20)
    began, sent = played_until(ros, robot, statuses, 1.0)
    assert node.trigger_deactivate().name == 'SUCCESS'
    robot.until(lambda: len(robot.received) == 2, 'the stop')
    check_braking(robot.received[1], sent, time.monotonic() - began)


def test_a_robot_that_does_not_follow_is_held_where_it_stands(ros, robot, summary):
    _, statuses = begin(ros, trajectory_file=str(summary), repeats=20, tracking_error=0.02)
    robot.until(lambda: last(statuses) == 'ready' and robot.states.get_subscription_count(), 'the node')
    robot.until(lambda: ros.trigger('excitation/start').success, 'a start')
    robot.until(lambda: len(robot.received) == 2, 'the hold')
    assert len(robot.received[1].points) == 1
    np.testing.assert_allclose(points(robot.received[1])[1][0], robot.q)
    robot.until(lambda: 'from where it should be' in last(statuses), 'the status')


def test_a_start_is_refused_with_the_reason(ros, robot, summary):
    node, _ = begin(ros, trajectory_file=str(summary), state_timeout=0.5)
    ros.until(lambda: node._output.connected, what='the controller')

    def refused(part):
        answer = ros.trigger('excitation/start')
        assert not answer.success
        assert part in answer.message, answer.message
        assert robot.received == []

    refused('start: expected fresh joint states, found shoulder_pan_joint')
    robot.names = list(JOINTS[:5])
    robot.until(lambda: len(node._states) == 5, 'five joints')
    refused('wrist_3_joint missing')
    robot.names = list(JOINTS)
    robot.q[1] = 6.2
    robot.until(lambda: node._states.get(JOINTS[1], (0,))[0] == 6.2 and len(node._states) == 6, 'a state outside')
    refused('start: expected shoulder_lift_joint within')
    robot.q, robot.dq[3] = HOME.copy(), 0.3
    robot.until(lambda: node._states[JOINTS[3]][1] == 0.3, 'a moving robot')
    refused('expected the robot at rest, found it moving at 0.3 rad/s')
    robot.dq[3] = 0.0
    robot.until(lambda: node._states[JOINTS[3]][1] == 0.0, 'a robot at rest')
    ros.until(lambda: node._stale(), what='states grow old')
    refused('start: expected joint states younger than 0.5 s')
    node.trigger_deactivate()
    refused('start: expected the node to be active')


def test_nothing_is_started_without_a_controller(ros, summary):
    robot = Robot(ros, controller=False)
    node, _ = begin(ros, trajectory_file=str(summary))
    robot.until(lambda: len(node._states) == 6, 'states')
    answer = ros.trigger('excitation/start')
    assert not answer.success
    assert 'expected a trajectory controller on /excitation/joint_trajectory, found none' in answer.message


def test_it_plans_by_itself_and_says_how_far_it_is(ros, robot, tmp_path):
    config = tmp_path / 'config.yaml'
    config.write_text('excitation: {posture: [0, -1.57, 0.6, -1.57, 0.3, 0], limits: {clearance: null}, '
                      'fourier: {period: 4, harmonics: 2, starts: 1, candidates: 1, time_budget: 30}}')
    _, statuses = begin(ros, config_file=str(config))
    answer = ros.trigger('excitation/start')
    assert not answer.success
    assert 'expected a motion, found none: planning' in answer.message
    robot.until(lambda: last(statuses) == 'ready', 'a plan')
    assert any('best' in status.data or status.data.startswith('planning') for status in statuses)
    robot.until(lambda: ros.trigger('excitation/start').success, 'a start')
    robot.until(lambda: robot.received, 'the trajectory')
    assert len(robot.received[0].points) > 400


def test_a_plan_in_the_making_ends_with_the_node(ros, robot):
    node, _ = begin(ros)
    planning = node._planning
    node.trigger_deactivate()
    assert node.trigger_cleanup().name == 'SUCCESS'
    assert planning.outcome is not None


def test_a_plan_that_fails_is_said(ros, robot):
    _, statuses = begin(ros, profile='trapezoids')
    robot.until(lambda: last(statuses).startswith('failed'), 'the failure')
    assert 'trapezoids.joint: expected one of' in last(statuses)
    assert 'trapezoids.joint' in ros.trigger('excitation/start').message


@pytest.mark.parametrize(('content', 'reason'), [
    (None, 'expected a readable file'), ('{}', 'expected summary.json'), ('fast', 'acceleration exceeded'), ('others', 'expected the joints'),
])
def test_a_trajectory_it_may_not_play_is_refused_when_configured(ros, robot, series, tmp_path, content, reason):
    path = tmp_path / 'trajectory.yaml'
    if content == 'fast':
        samples = series.sample(100.0)
        text = to_joint_trajectory(series, type(samples)(samples.time / 9, samples.q, samples.dq * 9, samples.ddq * 81))
    elif content == 'others':
        text = to_joint_trajectory(series, series.sample(50.0)).replace('elbow_joint', 'knee_joint')
    else:
        text = content
    if text is not None:
        path.write_text(text)
    node = ros.node(ExcitationNode, trajectory_file=str(path))
    assert node.trigger_configure().name == 'FAILURE'
    assert reason in node.diagnostics.message('state')


def test_an_unknown_robot_is_refused_when_configured(ros, summary):
    node = ros.node(ExcitationNode, trajectory_file=str(summary), description_timeout=0.2)
    assert node.trigger_configure().name == 'FAILURE'
    assert 'robot_description' in node.diagnostics.message('state')


def test_the_action_is_refused_where_control_msgs_is_not_installed(ros, robot, summary):
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
    """A trajectory controller with the action only: the robot of the test is where the last goal says; `answer`: accept, refuse, or fail."""

    def __init__(self, robot, answer):
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionServer, CancelResponse, GoalResponse
        self.robot, self.goals, self.kind = robot, [], FollowJointTrajectory
        self.server = ActionServer(
            robot.ros.probe, FollowJointTrajectory, 'excitation/follow_joint_trajectory', self.execute,
            goal_callback=lambda goal: GoalResponse.REJECT if answer == 'refuse' else GoalResponse.ACCEPT,
            cancel_callback=lambda handle: CancelResponse.ACCEPT)
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


@pytest.mark.parametrize(('answer', 'status'), [('accept', 'done'), ('refuse', 'the controller refused the trajectory'), ('fail', 'off the path')])
def test_a_controller_with_the_action_is_told_by_it(ros, series, summary, answer, status):
    pytest.importorskip('control_msgs.action', reason='control_msgs comes with a ROS 2 installation only')
    robot = Robot(ros, controller=False)
    controller = ActionController(robot, answer)
    node, statuses = begin(ros, trajectory_file=str(summary), output='action', tracking_error=3.0)
    robot.until(lambda: node._output.connected and not node._stale(), 'the action')
    reply = ros.trigger('excitation/start')
    assert reply.success, reply.message
    robot.until(lambda: last(statuses) != 'playing', 'the end')
    assert status in last(statuses)
    if answer == 'accept':
        _, q, _ = points(controller.goals[0])
        assert q[0] == pytest.approx(HOME, abs=0.01)
        assert q[-1] == pytest.approx(HOME, abs=0.1)
    controller.server.destroy()
