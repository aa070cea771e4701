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

"""The robot's signals in every form, over DDS, as samples by joint name."""

import importlib.util

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, Temperature
from std_msgs.msg import Float64MultiArray

from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, STALE
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.interfaces.input_parameters import INPUT_PARAMETERS, INPUT_TOPICS, recording_settings
from joint_dynamics.nodes.interfaces.inputs import InputSet

LIMIT = '<limit lower="-3" upper="3" effort="9" velocity="2"/>'
ROBOT = f"""<robot name="r"><link name="l0"/><link name="l1"/><link name="l2"/>
<joint name="a" type="revolute"><parent link="l0"/><child link="l1"/><axis xyz="0 0 1"/>{LIMIT}</joint>
<joint name="b" type="revolute"><parent link="l1"/><child link="l2"/><axis xyz="0 1 0"/>{LIMIT}</joint>
</robot>"""


class Listener(DynamicsNode):
    NAME = 'listener'
    PARAMETERS = INPUT_PARAMETERS
    TOPICS = INPUT_TOPICS

    def configure(self):
        self.samples = []
        self.inputs = InputSet(self, recording_settings(self.parameters, self.robot.joint_names), self.take)

    def take(self, quantity, stamp, names, values):
        self.samples.append((quantity, stamp, list(names), list(values)))


@pytest.fixture
def robot_file(tmp_path):
    path = tmp_path / 'r.urdf'
    path.write_text(ROBOT)
    return str(path)


@pytest.fixture
def listener(ros, robot_file):
    def start(**parameters):
        node = ros.node(Listener, '/x', robot_file=robot_file, **parameters)
        assert ros.transition('/x/listener', 'configure'), node.diagnostics.message('state')
        return node

    return start


def deliver(ros, node, *pairs):
    """Publish (topic, message) until each topic has arrived; return the samples by quantity (the last of each)."""
    publishers = [(ros.probe.create_publisher(type(message), topic, 10), message) for topic, message in pairs]
    ros.until(lambda: all(p.get_subscription_count() for p, _ in publishers), what='subscriptions')
    for publisher, message in publishers:
        publisher.publish(message)
    ros.until(lambda: not node.inputs.silent(), what='input')
    return {quantity: (stamp, dict(zip(names, values, strict=True))) for quantity, stamp, names, values in node.samples}


def joint_state(stamp=(0, 0), **arrays):
    message = JointState(**arrays)
    message.header.stamp.sec, message.header.stamp.nanosec = stamp
    return message


def test_link_and_motor_side_current_and_temperature(ros, listener):
    node = listener(
        inputs=['joint_states', 'motor_states', 'temperatures'],
        joint_states_effort='none',
        gear_ratio__a=100.0,
        gear_ratio__b=-50,
        temperature_topics=['{joint}/temperature'],
    )
    warm = [Temperature(temperature=t) for t in (30.0, 31.5)]
    link = joint_state((5, 7), name=['b', 'a'], position=[2.0, 1.0], velocity=[0.2, 0.1], effort=[9.0, 9.0])
    samples = deliver(
        ros,
        node,
        ('/x/joint_states', link),
        ('/x/motor_states', joint_state((5, 8), name=['a', 'b'], position=[100.0, -100.0], effort=[1.5, 2.5])),
        ('/x/a/temperature', warm[0]),
        ('/x/b/temperature', warm[1]),
    )
    assert samples['q'] == (5_000_000_007, {'b': 2.0, 'a': 1.0})
    assert samples['dq'][1] == {'b': 0.2, 'a': 0.1}
    assert 'tau' not in samples
    assert samples['motor_position'] == (5_000_000_008, {'a': 100.0, 'b': -100.0})
    assert samples['current'][1] == {'a': 1.5, 'b': 2.5}
    temperatures = {
        name: value
        for quantity, _, names, values in node.samples
        if quantity == 'temperature'
        for name, value in zip(names, values, strict=True)
    }
    assert temperatures == {'a': 30.0, 'b': 31.5}
    theta = node.inputs.settings.motor_side.position(np.array([[100.0, -100.0]]), ('a', 'b'))
    assert theta.tolist() == [[1.0, 2.0]]
    node.inputs.report()
    assert node.diagnostics.level('inputs') == OK


def test_arrays_arrive_from_a_best_effort_publisher(ros, listener):
    node = listener(
        inputs=['arrays'], arrays=['current rtde/actual_current', 'q  rtde/actual_q'], array_joints=['b', 'a']
    )
    quality = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
    publishers = [
        ros.probe.create_publisher(Float64MultiArray, f'/x/rtde/{name}', quality)
        for name in ('actual_current', 'actual_q')
    ]
    before = node.get_clock().now().nanoseconds

    def arrived():
        for publisher in publishers:
            publisher.publish(Float64MultiArray(data=[1.0, 2.0]))
        return not node.inputs.silent()

    ros.until(arrived)
    quantity, stamp, names, values = node.samples[0]
    assert quantity in ('current', 'q')
    assert (names, values) == (['b', 'a'], [1.0, 2.0])
    assert before < stamp <= node.get_clock().now().nanoseconds


def test_names_of_the_driver_are_mapped(ros, listener):
    node = listener(source_name__a='left_a')
    samples = deliver(ros, node, ('/x/joint_states', joint_state((1, 0), name=['left_a', 'b'], position=[1.0, 2.0])))
    assert samples['q'][1] == {'a': 1.0, 'b': 2.0}


def test_second_encoders_count_instead_of_the_first(ros, listener):
    """Joint a has one: its position of joint_states is passed over, also before the first of link_states.

    Speeds and joint b are not.
    """
    node = listener(inputs=['joint_states', 'link_states'])
    first, second = (
        ros.probe.create_publisher(JointState, f'/x/{name}', 10) for name in ('joint_states', 'link_states')
    )
    ros.until(lambda: first.get_subscription_count() and second.get_subscription_count(), what='subscriptions')
    link = joint_state((1, 0), name=['a', 'b'], position=[1.0, 2.0], velocity=[0.1, 0.2])
    first.publish(link)
    ros.until(lambda: 'joint_states' not in node.inputs.silent(), what='joint_states')
    assert node.samples == []
    second.publish(joint_state((1, 0), name=['a'], position=[1.5]))
    ros.until(lambda: not node.inputs.silent(), what='link_states')
    first.publish(link)
    ros.until(lambda: len(node.samples) == 3, what='samples')
    assert [(quantity, names, values) for quantity, _, names, values in node.samples] == [
        ('q', ['a'], [1.5]),
        ('q', ['b'], [2.0]),
        ('dq', ['a', 'b'], [0.1, 0.2]),
    ]


def test_unreadable_message_is_reported_and_dropped(ros, listener):
    node = listener()
    deliver(ros, node, ('/x/joint_states', joint_state((1, 0), name=['a', 'b'], position=[1.0])))
    ros.until(lambda: node.diagnostics.level('input messages') == ERROR)
    assert 'found 2 names and 1 values' in node.diagnostics.message('input messages')
    assert not node.samples


def test_silence_is_reported(ros, listener):
    node = listener(input_timeout=0.05)
    ros.until(lambda: node.diagnostics.message('inputs') == 'no message yet on joint_states')
    deliver(ros, node, ('/x/joint_states', joint_state((1, 0), name=['a', 'b'], position=[1.0, 2.0])))
    ros.until(lambda: node.diagnostics.message('inputs') == 'silent: joint_states')
    assert node.diagnostics.level('inputs') == STALE


def test_a_joint_that_nobody_tells_of_is_named(ros, listener):
    node = listener()
    deliver(ros, node, ('/x/joint_states', joint_state((1, 0), name=['a'], position=[0.1])))
    ros.until(lambda: node.diagnostics.level('joints') == ERROR, what='the diagnostics')
    assert 'joint_states never names b: ' in node.diagnostics.message('joints')
    deliver(ros, node, ('/x/joint_states', joint_state((2, 0), name=['b'], position=[0.1])))
    ros.until(lambda: node.diagnostics.level('joints') is None, what='the diagnostics')


def test_stamps_of_another_clock_are_named(ros, listener):
    node = listener()
    deliver(ros, node, ('/x/joint_states', joint_state((17, 0), name=['a', 'b'], position=[0.1, 0.2])))
    ros.until(lambda: node.diagnostics.level('clock') == ERROR, what='the diagnostics')
    assert 'joint_states is stamped 17 s' in node.diagnostics.message('clock')
    assert 'set use_sim_time alike' in node.diagnostics.message('clock')
    now = node.get_clock().now().seconds_nanoseconds()
    deliver(ros, node, ('/x/joint_states', joint_state(now, name=['a', 'b'], position=[0.1, 0.2])))
    ros.until(lambda: node.diagnostics.level('clock') is None, what='the diagnostics')


@pytest.mark.parametrize('simulated', [0, 17])
def test_wall_clock_is_named_in_simulated_time(ros, listener, simulated):
    node = listener(use_sim_time=True)
    if simulated:
        clock = ros.probe.create_publisher(Clock, '/clock', 10)
        message = Clock()
        message.clock.sec = simulated
        ros.until(lambda: clock.publish(message) or node.get_clock().now().nanoseconds, what='simulated time')
    wall = ros.probe.get_clock().now().seconds_nanoseconds()
    deliver(ros, node, ('/x/joint_states', joint_state(wall, name=['a', 'b'], position=[0.1, 0.2])))
    ros.until(lambda: node.diagnostics.level('clock') == ERROR, what='the diagnostics')
    shown = f'the clock of this node shows {simulated} s'
    assert shown + (
        '' if simulated else ', because nothing publishes /clock'
    ) + ': set use_sim_time alike for both' in (node.diagnostics.message('clock'))


@pytest.mark.parametrize(
    ('parameters', 'reason'),
    [
        ({'inputs': ['']}, 'inputs: expected at least one of'),
        ({'gear_ratio__a': 0.0}, 'gear_ratio.a: expected a ratio other than 0'),
    ],
)
def test_settings_that_make_no_sense_are_refused(ros, robot_file, parameters, reason):
    node = ros.node(Listener, '/x', robot_file=robot_file, **parameters)
    assert not ros.transition('/x/listener', 'configure')
    assert reason in node.diagnostics.message('state')


@pytest.mark.skipif(importlib.util.find_spec('control_msgs') is not None, reason='control_msgs is installed')
@pytest.mark.parametrize('form', ['dynamic_joint_states', 'state_interfaces'])
def test_without_control_msgs_its_forms_are_refused(ros, robot_file, form):
    node = ros.node(Listener, '/x', robot_file=robot_file, inputs=['joint_states', form])
    assert not ros.transition('/x/listener', 'configure')
    assert 'found control_msgs not installed' in node.diagnostics.message('state')
    assert ros.state('/x/listener') == 'unconfigured'


def test_state_interfaces_of_ros2_control(ros, listener):
    control_msgs = pytest.importorskip('control_msgs.msg', reason='control_msgs is not installed')
    if not hasattr(control_msgs, 'Float64Values'):
        pytest.skip('this control_msgs has no Float64Values yet')
    node = listener(inputs=['state_interfaces'], interfaces_effort='current', input_timeout=5.0)
    names = control_msgs.Keys(keys=['b/position', 'a/position', 'a/effort', 'a/temperature'])
    from joint_dynamics.nodes.framework.tables import LATCHED

    ros.probe.create_publisher(control_msgs.Keys, '/x/state_interfaces_broadcaster/names', LATCHED).publish(names)
    samples = deliver(
        ros, node, ('/x/state_interfaces_broadcaster/values', control_msgs.Float64Values(values=[2.0, 1.0, 3.0, 40.0]))
    )
    ros.until(lambda: node.samples)
    samples = {quantity: dict(zip(n, v, strict=True)) for quantity, _, n, v in node.samples}
    assert samples == {'q': {'b': 2.0, 'a': 1.0}, 'current': {'a': 3.0}, 'temperature': {'a': 40.0}}


def test_dynamic_joint_states(ros, listener):
    control_msgs = pytest.importorskip('control_msgs.msg', reason='control_msgs is not installed')
    node = listener(inputs=['dynamic_joint_states'], input_timeout=5.0)
    message = control_msgs.DynamicJointState(
        joint_names=['b', 'a'],
        interface_values=[
            control_msgs.InterfaceValue(interface_names=['effort', 'position'], values=[5.0, 2.0]),
            control_msgs.InterfaceValue(interface_names=['position'], values=[1.0]),
        ],
    )
    samples = deliver(ros, node, ('/x/dynamic_joint_states', message))
    assert samples['q'][1] == {'b': 2.0, 'a': 1.0}
    assert samples['tau'][1] == {'b': 5.0}
