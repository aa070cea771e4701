"""What feedforward's trajectory mode makes of a trajectory controller's own state, from one of the test's own."""

import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)
control_msgs = pytest.importorskip('control_msgs.msg', reason='control_msgs comes with a ROS 2 installation only')

from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from joint_dynamics.nodes.feedforward.node import FeedforwardNode  # noqa: E402
from joint_dynamics.nodes.framework.topics import LATCHED  # noqa: E402
from joint_dynamics.nodes.interfaces.controller_watch import DEACTIVATED, MANAGER_GONE, NOT_TAKEN  # noqa: E402
from joint_dynamics.nodes.interfaces.messages import duration  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402
from joint_dynamics.simulation import ur5e_description  # noqa: E402

JOINTS = RobotModel.from_urdf(ur5e_description()).joint_names
HOME = np.array([0.0, -np.pi / 2, 0.6, -np.pi / 2, 0.3, 0.0])
PERIOD = 0.01  # of joint states and controller state, s
THERE, LONG = HOME + 0.3, 8.0  # a motion that lasts, so that nothing depends on how fast the machine is


class Controller:
    """Robot and trajectory controller in one; `takes`: whether a trajectory reaches it."""

    def __init__(self, ros):
        self.ros, self.takes, self.tells, self.broadcasts, self.told = ros, True, True, True, 0.0
        self.received = ros.listen(JointTrajectory, 'feedforward/joint_trajectory', 10)
        self.states = ros.probe.create_publisher(JointState, 'joint_states', 10)
        self.own = ros.probe.create_publisher(control_msgs.JointTrajectoryControllerState, 'controller_state', 10)
        self.reference = ros.probe.create_publisher(JointTrajectory, 'feedforward/reference', 10)
        self.description = ros.probe.create_publisher(String, 'robot_description', LATCHED)
        self.description.publish(String(data=ur5e_description()))
        self.sent = []

    def place(self):
        if not self.received or not self.takes:
            return HOME
        message = self.received[-1]
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points]
        rows = np.array([p.positions for p in message.points])
        at = time.monotonic() - self.arrived
        return np.array([np.interp(at, times, row) for row in rows.T])

    def until(self, condition, what):
        """Tell the robot's and the controller's state while waiting."""

        def step():
            if len(self.received) != len(self.sent):
                self.sent, self.arrived = list(self.received), time.monotonic()
            if time.monotonic() - self.told > PERIOD:
                self.told = time.monotonic()
                now = self.ros.probe.get_clock().now().to_msg()
                if self.broadcasts:
                    states = JointState(name=list(JOINTS), position=self.place().tolist(), velocity=[0.0] * 6)
                    states.header.stamp = now
                    self.states.publish(states)
                if self.tells:
                    state = control_msgs.JointTrajectoryControllerState(joint_names=list(JOINTS)[::-1])
                    state.reference = JointTrajectoryPoint(positions=self.place()[::-1].tolist())
                    state.header.stamp = now
                    self.own.publish(state)
            return condition()

        return self.ros.until(step, what)

    def want(self, goal, seconds=LONG):
        message = JointTrajectory(joint_names=list(JOINTS))
        message.points = [JointTrajectoryPoint(positions=goal.tolist(), time_from_start=duration(seconds))]
        before = len(self.received)
        self.reference.publish(message)
        self.until(lambda: len(self.received) > before, 'the trajectory with its efforts')


@pytest.fixture
def begin(ros):
    """The node active beside a controller, the state of which it knows, and sent a motion."""

    def start(takes=True, **parameters):
        controller = Controller(ros)
        controller.takes = takes
        node = ros.node(FeedforwardNode, use_description=False, trajectory_output='topic', timeout=5.0, **parameters)
        assert ros.transition('/feedforward', 'configure'), node.diagnostics.message('state')
        assert ros.transition('/feedforward', 'activate'), node.diagnostics.message('state')
        controller.until(
            lambda: (
                controller.reference.get_subscription_count()
                and 'position' not in (node.loop.state.why_invalid(('position',), node.now(), 'position') or '')
                and node.sender.controller.known
            ),
            'the states of robot and controller',
        )
        controller.want(THERE)
        return node, controller

    return start


def reason(node):
    return node.diagnostics.message('reference')


def test_a_trajectory_that_was_lost_on_its_way_is_named_and_forgotten(begin):
    node, controller = begin(takes=False)
    controller.until(lambda: NOT_TAKEN in reason(node), 'the lost trajectory')
    assert node.follower.followed(node.now()) is None
    # The next one begins where the robot is, which has not moved.
    controller.takes = True
    controller.want(HOME - 0.3)
    first = controller.received[-1].points[0]
    np.testing.assert_allclose(first.positions, HOME, atol=1e-9)
    np.testing.assert_array_equal(first.velocities, np.zeros(6))
    controller.until(lambda: reason(node) == 'accepted', 'a good word')


def test_a_trajectory_that_is_played_is_not_complained_of(begin):
    node, controller = begin()
    controller.until(lambda: np.abs(controller.place() - HOME).max() > 0.1, 'a good part of the motion')
    assert reason(node) == 'accepted'
    assert node.follower.followed(node.now()) is not None


@pytest.mark.parametrize(('broadcasts', 'cause'), [(True, DEACTIVATED), (False, MANAGER_GONE)])
def test_a_controller_that_falls_silent_during_a_motion_is_named(begin, broadcasts, cause):
    node, controller = begin()
    controller.until(lambda: np.abs(controller.place() - HOME).max() > 0.05, 'motion')
    controller.tells, controller.broadcasts = False, broadcasts
    controller.until(lambda: cause in reason(node), 'the cause')
    assert node.follower.followed(node.now()) is None
