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

"""What a node writes at the console: active, waiting for what, what next; and a clock that runs backwards is named."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock

from joint_dynamics.nodes.estimator.node import EstimatorNode
from joint_dynamics.nodes.framework import diagnostics
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, STALE, WARN, Diagnostics
from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.nodes.framework.tables import SENSOR
from joint_dynamics.nodes.gazebo_model.node import GazeboModelNode
from joint_dynamics.simulation import ur5e_urdf

NODES = node_classes()


@pytest.fixture
def lines(ros):
    """The texts of one node's log so far, by name of its logger."""
    # The log is latched: earlier lines come after the subscription.
    messages = ros.listen(Log, '/rosout', QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    return lambda logger: [message.msg for message in messages if message.name == logger]


@pytest.fixture
def now(monkeypatch):
    """The time of the diagnostics, as the only element of a list."""
    now = [0.0]
    monkeypatch.setattr(diagnostics, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture
def written(ros, monkeypatch):
    """Lines logged for information."""
    lines = []
    monkeypatch.setattr(type(ros.probe.get_logger()), 'info', lambda self, line, **options: lines.append(line))
    return lines


@pytest.mark.parametrize('name', NODES)
def test_every_node_says_what_comes_next(name):
    rows = {row.name for row in NODES[name].topic_rows()}
    names = [part.partition('}')[0] for part in diagnostics.NEXT_STEPS[name].split('{')[1:]]
    assert names
    assert set(names) <= rows


def test_a_node_that_is_started_by_hand(ros, lines):
    ros.node(GazeboModelNode, '/cell', robot_file=str(ur5e_urdf()))
    logger = 'cell.gazebo_model'
    assert ros.transition('/cell/gazebo_model', 'configure')
    ros.until(lambda: 'inactive; next: ros2 lifecycle set /cell/gazebo_model activate' in lines(logger))
    assert ros.transition('/cell/gazebo_model', 'activate')
    ros.until(lambda: 'active; publishes /cell/motor_states and temperatures' in lines(logger))
    assert ros.transition('/cell/gazebo_model', 'deactivate')
    assert ros.transition('/cell/gazebo_model', 'cleanup')
    ros.until(lambda: 'unconfigured; next: ros2 lifecycle set /cell/gazebo_model configure' in lines(logger))


def test_a_failed_transition_says_what_to_call_afterwards(ros, lines, tmp_path):
    ros.node(GazeboModelNode, robot_file=str(tmp_path / 'none.urdf'))
    assert not ros.transition('/gazebo_model', 'configure')
    ros.until(lambda: any(line.startswith('cannot configure: ') for line in lines('gazebo_model')))
    ros.until(lambda: 'next: remedy that, then ros2 lifecycle set /gazebo_model configure' in lines('gazebo_model'))


def test_waiting_is_said_once_with_the_source(ros, lines):
    remap = ['--ros-args', '-r', 'dynamics_description:=identifier/dynamics_description']
    node = ros.node(EstimatorNode, '/cell', remap, autostart=True, robot_file=str(ur5e_urdf()))
    ros.until(lambda: any(line.startswith('waiting for topic') for line in lines('cell.estimator')))
    state = 'waiting for topic /cell/identifier/dynamics_description'
    assert node.diagnostics.message('state') == state
    node.diagnostics.set('state', WARN, state)
    (line,) = (line for line in lines('cell.estimator') if 'waiting' in line)
    assert line.startswith(f'{state}; next: ') and 'description_file' in line


def test_inputs_that_do_not_come_are_named_once_after_a_while(ros, now, written):
    teller = diagnostics.Console(ros.probe)
    for now[0] in (0.0, 1.0, 2.5, 3.0):
        teller.inputs(STALE, 'no message yet on joint_states')
    assert written == ['waiting for inputs: no message yet on joint_states']
    teller.inputs(OK, '1 topics arrive')
    teller.inputs(OK, '1 topics arrive')
    assert written[1:] == ['inputs: 1 topics arrive']


def test_a_clock_that_runs_backwards_is_named_with_its_sources(ros):
    class Watch(GazeboModelNode):
        def on_time_jump(self, delta):
            jumps.append(delta)

    jumps = []
    node = ros.node(Watch, robot_file=str(ur5e_urdf()), autostart=True, use_sim_time=True)
    ros.until(lambda: node.is_active)

    first = ros.publisher(Clock, '/clock', SENSOR)

    def reached(seconds):
        message = Clock()
        message.clock.sec = seconds
        first.publish(message)
        return node.get_clock().now().nanoseconds == seconds * 10**9

    ros.until(lambda: reached(50))
    assert jumps == []
    ros.until(lambda: reached(20))
    assert node.diagnostics.level('clock') == WARN
    assert node.diagnostics.message('clock') == 'time went back by 30.000 s'
    assert jumps == pytest.approx([-30.0])
    ros.publisher(Clock, '/clock', SENSOR)
    ros.until(lambda: node.count_publishers('/clock') == 2)
    ros.until(lambda: reached(10))
    assert node.diagnostics.level('clock') == ERROR
    assert 'expected one publisher of /clock, found 2' in node.diagnostics.message('clock')


def test_what_happened_is_forgotten_after_its_time(ros, now):
    ros.probe.declare_parameter('autostart', False)
    conditions = Diagnostics(ros.probe)
    conditions.happened('clock', WARN, 'went back')
    now[0] = 9.0
    conditions.tick()
    assert conditions.level('clock') == WARN
    now[0] = 11.0
    conditions.tick()
    assert conditions.level('clock') is None
