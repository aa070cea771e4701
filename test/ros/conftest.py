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

"""Nodes in this process and in others, over DDS, in a domain of their own."""

import contextlib
import functools
import inspect
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

try:
    import rclpy
    from builtin_interfaces.msg import Time
    from diagnostic_msgs.msg import DiagnosticArray
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState
    from rcl_interfaces.srv import SetParameters
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.parameter import Parameter
    from rosgraph_msgs.msg import Clock
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from std_srvs.srv import Trigger
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    from joint_dynamics.calibration.client import RosClient
    from joint_dynamics.nodes.framework.tables import LATCHED
except ImportError:
    rclpy = None  # the tests skip themselves

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

# Only a test that fails waits so long.
PATIENCE = 180.0
# Stands for the process of another node: its heart beats and says that it is at work, until it is killed.
HEART = """
import sys, rclpy
from rclpy.executors import ExternalShutdownException
from std_msgs.msg import Bool
from joint_dynamics.nodes.framework.heartbeat import HEARTBEAT
rclpy.init()
node = rclpy.create_node('heart', namespace=sys.argv[1])
publisher = node.create_publisher(Bool, 'heartbeat', HEARTBEAT)
node.create_timer(0.1, lambda: publisher.publish(Bool(data=True)))
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
"""
# Of what a process said, so much is shown when something was waited for in vain.
LAST_LINES = 15


class Process(subprocess.Popen):
    """A process whose output, both streams, goes to a file.

    It never blocks on a full pipe, and can be looked at while it lasts.
    """

    def __init__(self, command, label, **options):
        self.label, self._log = label, tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        # Its output must be complete at any time.
        environment = {**os.environ, 'PYTHONUNBUFFERED': '1'}
        super().__init__(command, env=environment, stdout=self._log, stderr=subprocess.STDOUT, **options)

    @property
    def output(self):
        """All it has said so far."""
        return os.pread(self._log.fileno(), os.fstat(self._log.fileno()).st_size, 0).decode(errors='replace')

    @property
    def last_words(self):
        """Its state and the last lines it said, for a person."""
        state = 'runs' if self.poll() is None else f'ended with {self.returncode}'
        return '\n    '.join(
            [f'{self.label} {state}, and said last:', *(self.output.splitlines() or ['(nothing)'])[-LAST_LINES:]]
        )

    def ended(self):
        """Wait until it has ended by itself; return (status, output)."""
        try:
            self.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pytest.fail(f'waited {PATIENCE:g} s for the end of a process: {self.last_words}')
        return self.returncode, self.output


class Conditions:
    """What nodes say in /diagnostics from now on; `messages` so far."""

    def __init__(self, ros):
        self.messages = ros.listen(DiagnosticArray, '/diagnostics')

    def of(self, node, name):
        """The last (level, message) of one condition of a node; (None, '') before there is any."""
        for message in reversed(self.messages):
            for status in message.status:
                if status.name == f'/{node}: {name}':
                    return status.level, status.message
        return None, ''


def source_of(condition):
    """The line on which a condition stands, to name it by."""
    try:
        return inspect.getsource(condition).strip().splitlines()[0]
    except (OSError, TypeError):
        return repr(condition)


class Ros:
    """One rclpy context with an executor; `probe` is a plain node to publish, listen and call with.

    It waits and calls as the client of the demonstration does; a refusal is returned.
    """

    PATIENCE = PATIENCE

    def __init__(self):
        self.nodes = []
        self.processes = []
        self.watchers = []
        with contextlib.ExitStack() as opened:
            # Where it was initialised already, too: this test fails, and those after it do not.
            opened.callback(rclpy.try_shutdown)
            rclpy.init()
            self.executor = SingleThreadedExecutor()
            opened.callback(self.executor.shutdown)
            self.probe = rclpy.create_node('probe')
            opened.callback(self.probe.destroy_node)
            self.executor.add_node(self.probe)
            self._client = RosClient(self.probe, self.executor, self._watch)
            self._opened = opened.pop_all()

    def node(self, node_class, namespace='', arguments=None, **parameters):
        """Create one of our nodes in this process; its command line, parameters by name (`__` for a dot)."""
        overrides = [Parameter(name.replace('__', '.'), value=value) for name, value in parameters.items()]
        node = node_class(namespace=namespace, cli_args=arguments, parameter_overrides=overrides)
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def active(self, node_class, namespace='', **parameters):
        """Create one of our nodes in this process, configure and activate it."""
        node = self.node(node_class, namespace, **parameters)
        for verb in ('configure', 'activate'):
            assert self.transition(node.get_fully_qualified_name(), verb), node.diagnostics.message('state')
        return node

    def remove(self, node):
        """Close one of our nodes in this process before the test ends."""
        self.nodes.remove(node)
        self.executor.remove_node(node)
        node.close()

    def process(self, module, *arguments, namespace='', parameters=None, files=(), remap=None):
        """Start `python -m module` with ROS arguments in another process; it must end with status 0 on SIGINT."""
        command = [sys.executable, '-m', module, *arguments, '--ros-args']
        if namespace:
            command += ['-r', f'__ns:={namespace}']
        for name, value in (parameters or {}).items():
            command += ['-p', f'{name}:={value}']
        for path in files:
            command += ['--params-file', str(path)]
        for name, to in (remap or {}).items():
            command += ['-r', f'{name}:={to}']
        return self.start(command, module)

    def start(self, command, label, **options):
        """Start a process that is watched while waiting; `options` of subprocess.Popen."""
        process = Process(command, label, **options)
        self.processes.append(process)
        return process

    def stop(self, process, number=signal.SIGINT):
        """End a process with a signal; return (status, output)."""
        if process.poll() is None:
            process.send_signal(number)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            pytest.fail(f'signal {number} did not end a process within {PATIENCE:g} s: {process.last_words}')
        if process in self.processes:
            self.processes.remove(process)
        return process.returncode, process.output

    def _watch(self):
        """Fail when a process has died, or a watcher says why."""
        for process in self.processes:
            if process.poll() not in (None, 0):
                pytest.fail(f'while waiting for {self._awaited}: {process.last_words}')
        for watcher in self.watchers:
            if reason := watcher():
                pytest.fail(f'while waiting for {self._awaited}: {reason}')

    @contextlib.contextmanager
    def _waiting(self, what):
        self._awaited = what
        try:
            yield
        except JointDynamicsError as error:
            self.give_up(str(error))

    def until(self, condition, what='', timeout=PATIENCE):
        """Spin until `condition()` is true; return its value.

        Fails after `timeout` s, when a process has died, or a watcher says why; `what` it waited for is said then.
        """
        what = what or source_of(condition)
        with self._waiting(what):
            return self._client.until(condition, what, timeout)

    def give_up(self, reason):
        """Fail with a reason, the state of every node in this process, and what every other process said last."""
        own = [
            f'{node.get_name()}: {node.diagnostics.message("state")}'
            for node in self.nodes
            if hasattr(node, 'diagnostics')
        ]
        pytest.fail('\n'.join([reason, *own, *(process.last_words for process in self.processes)]))

    def listen(self, kind, topic, qos=100):
        """Subscribe; return the list that fills with messages while spinning."""
        messages = []
        self.probe.create_subscription(kind, topic, messages.append, qos)
        return messages

    def publisher(self, kind, topic, qos=10):
        """Return a publisher once somebody listens to it."""
        publisher = self.probe.create_publisher(kind, topic, qos)
        self.until(publisher.get_subscription_count, what=f'who listens to {topic}')
        return publisher

    def call(self, kind, name, request=None):
        """Call a service and return its response."""
        with self._waiting(name):
            return self._client.call(kind, name, request or kind.Request(), PATIENCE)

    def trigger(self, name):
        """Call a std_srvs/Trigger."""
        return self.call(Trigger, name)

    def ask(self, name, until=None):
        """Call a std_srvs/Trigger; return the future of its answer. `until` waits, if not this object's own."""
        client = self.probe.create_client(Trigger, name)
        (until or self.until)(client.service_is_ready, f'the service {name}')
        return client.call_async(Trigger.Request())

    def transition(self, node_name, verb):
        """Ask a lifecycle node for `configure`, `activate`, …; return whether it did."""
        request = ChangeState.Request(transition=Transition(id=getattr(Transition, f'TRANSITION_{verb.upper()}')))
        return self.call(ChangeState, f'{node_name}/change_state', request).success

    def state(self, node_name):
        """Return the label of a node's lifecycle state."""
        with self._waiting(f'the state of {node_name}'):
            return self._client.state(node_name, PATIENCE)

    def until_state(self, node_name, label):
        """Wait until a node has reached a state."""
        self.until(lambda: self.state(node_name) == label, what=f'{node_name} {label}')

    def set_parameter(self, node_name, name, value):
        """Set one parameter over its service; return SetParametersResult."""
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return self.call(SetParameters, f'{node_name}/set_parameters', request).results[0]

    def close(self):
        """End the processes, close the nodes and rclpy: all of them, whatever of it fails."""
        with self._opened as opened:
            for node in list(self.nodes):
                opened.callback(self.remove, node)
            for process in list(self.processes):
                opened.callback(self._end, process)

    def _end(self, process):
        status, _ = self.stop(process)
        assert status == 0, process.last_words


@pytest.fixture
def ros(ros_domain):
    """See Ros."""
    ros = Ros()
    try:
        yield ros
    finally:
        ros.close()


@pytest.fixture
def conditions(ros):
    """See Conditions."""
    return Conditions(ros)


@pytest.fixture
def heart(ros):
    """Start a heart that beats under a node's name; its `kill_it` ends it without a word."""

    def start(of):
        process = ros.start([sys.executable, '-c', HEART, f'/{of}'], f'heart of {of}')
        process.kill_it = lambda: ros.stop(process, signal.SIGKILL)
        return process

    return start


@pytest.fixture
def hinge(tmp_path):
    """The file of a robot with one joint."""
    path = tmp_path / 'arm.urdf'
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="2"/><origin xyz="0.2 0 0"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge"'
        ' type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/><limit lower="-3" upper="3"'
        ' effort="80" velocity="3"/></joint></robot>'
    )
    return str(path)


@pytest.fixture
def feedforward(ros, hinge):
    """A function that returns the feedforward node of that robot, active."""
    from joint_dynamics.nodes.feedforward.node import FeedforwardNode

    # However late joint states are on a busy machine, a trajectory is taken.
    return functools.partial(ros.active, FeedforwardNode, robot_file=hinge, use_description=False, timeout=5.0)


class Hinge:
    """That robot, which tells of its joint, and what the feedforward node sends it; `said`: states so far.

    It stands where it is, swings slowly, or is where `follow` says; stamps are those of the clock, or 4 ms apart
    (`regular`, and where it has the simulated `clock` itself, from that time on in ns).
    """

    PERIOD = 4_000_000
    GRAVITY = 2.0 * 0.2 * 9.81

    def __init__(self, ros, moves=False, regular=False, clock=None):
        self.ros, self.follow, self.moves, self.regular, self.said = ros, None, moves, regular or clock is not None, 0
        self.states = ros.probe.create_publisher(JointState, 'joint_states', 1000)
        self.reference = ros.probe.create_publisher(JointTrajectory, 'feedforward/reference', 100)
        self.trajectories = ros.listen(JointTrajectory, 'feedforward/joint_trajectory')
        self.clock = None if clock is None else ros.probe.create_publisher(Clock, '/clock', 100)
        self.now = ros.probe.get_clock().now().nanoseconds if clock is None else clock

    def say(self):
        self.now = self.now + self.PERIOD if self.regular else self.ros.probe.get_clock().now().nanoseconds
        rate = 2 * np.pi / 20
        phase = self.now % (20 * 10**9) * 1e-9 * rate
        q, dq = (0.3 * np.sin(phase), 0.3 * rate * np.cos(phase)) if self.moves else (0.0, 0.0)
        if self.follow is not None:
            q, dq = self.follow()
        effort = -self.GRAVITY * np.cos(q) + 3.0 * np.sign(dq) + 2.0 * dq
        message = JointState(name=['hinge'], position=[float(q)], velocity=[float(dq)], effort=[float(effort)])
        message.header.stamp = Time(sec=self.now // 10**9, nanosec=self.now % 10**9)
        if self.clock:
            self.clock.publish(Clock(clock=message.header.stamp))
        self.states.publish(message)
        self.said += 1

    def talk(self, condition, what='a condition'):
        """Publish its state about 100 times a second until a condition is met; return the condition's value."""
        # An executor begins anew with its first node when the timeout changes: always the same here.
        end = time.monotonic() + self.ros.PATIENCE
        while not (value := condition()):
            if time.monotonic() > end:
                self.ros.give_up(f'talked in vain for {what}')
            self.say()
            for _ in range(16):
                self.ros.executor.spin_once(timeout_sec=0.0005)
        return value

    def known(self, node):
        """Whether the feedforward node knows where it is."""
        return not node.robot_state.fault('position', node.clock_time())

    def want(self, message):
        """Ask the feedforward node for a motion."""
        self.ros.until(self.reference.get_subscription_count)
        self.reference.publish(message)


@pytest.fixture
def make_hinge(ros):
    """See Hinge."""
    return functools.partial(Hinge, ros)


@pytest.fixture
def standing(make_hinge):
    """That robot, which stands."""
    return make_hinge()


class TrajectoryController:
    """A UR5e and its trajectory controller in one, on the probe node, for the node of that name.

    It plays the last trajectory that it `takes`, `late` s behind with its reference and `lag` s more with the arm; it
    `tells` its own state, of the joints `names`, and `broadcasts` joint states.
    """

    HOME = np.array([0.0, -np.pi / 2, 0.6, -np.pi / 2, 0.3, 0.0])
    JOINTS = RobotModel.from_urdf(ur5e_description()).joint_names
    PERIOD = 0.01  # of joint states and controller state, s

    def __init__(self, ros, node, late=0.0, lag=0.0, takes=True, names=JOINTS, velocity=()):
        from control_msgs.msg import JointTrajectoryControllerState

        self.ros, self.late, self.lag, self.names, self.velocity = ros, late, lag, list(names), velocity
        self.takes, self.tells, self.broadcasts, self.told = takes, True, True, 0.0
        self.state, self.seen, self.played, self.began = JointTrajectoryControllerState, 0, None, 0.0
        self.received = ros.listen(JointTrajectory, f'{node}/joint_trajectory', 10)
        self.statuses = ros.listen(String, f'{node}/status', LATCHED)
        self.states = ros.probe.create_publisher(JointState, 'joint_states', 10)
        self.controller_state = ros.probe.create_publisher(self.state, 'controller_state', 10)
        self.description = ros.probe.create_publisher(String, 'robot_description', LATCHED)
        self.description.publish(String(data=ur5e_description()))

    @property
    def status(self):
        return self.statuses[-1].data if self.statuses else ''

    def now(self):
        return self.ros.probe.get_clock().now().nanoseconds * 1e-9

    def path(self, message):
        """Times and positions of a trajectory, joints in the order of JOINTS."""
        order = [list(message.joint_names).index(name) for name in self.JOINTS]
        times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in message.points]
        return np.array(times), np.array([point.positions for point in message.points])[:, order]

    def place(self, delay=0.0):
        """Its place on the trajectory it plays, `delay` s late."""
        if self.played is None:
            return self.HOME
        times, q = self.played
        return np.array([np.interp(self.now() - self.began - delay, times, row) for row in q.T])

    def tell(self):
        """Publish where the arm is, and the controller's state."""
        if len(self.received) > self.seen:
            self.seen, message = len(self.received), self.received[-1]
            if self.takes:
                stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
                self.played, self.began = self.path(message), stamp or self.now()
        stamp = self.ros.probe.get_clock().now().to_msg()
        if self.broadcasts:
            place = self.place(self.late + self.lag).tolist()
            states = JointState(name=list(self.JOINTS), position=place, velocity=self.velocity)
            states.header.stamp = stamp
            self.states.publish(states)
        if self.tells:
            reference = dict(zip(self.JOINTS, self.place(self.late).tolist(), strict=True))
            # A controller has an order of its own.
            state = self.state(joint_names=self.names[::-1])
            state.reference = JointTrajectoryPoint(positions=[reference[name] for name in self.names[::-1]])
            state.header.stamp = stamp
            self.controller_state.publish(state)

    def until(self, condition, what):
        """Tell the robot's and the controller's state while waiting."""

        def step():
            # More often, and the queues would only grow.
            if time.monotonic() - self.told > self.PERIOD:
                self.told = time.monotonic()
                self.tell()
            return condition()

        return self.ros.until(step, what)


@pytest.fixture
def trajectory_controller(ros):
    """A function that makes a TrajectoryController."""
    return functools.partial(TrajectoryController, ros)
