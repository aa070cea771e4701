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

"""The base of every node: parameters, lifecycle, diagnostics, documents, a clean end."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState
from rclpy.duration import Duration as RosDuration
from rclpy.parameter import Parameter
from std_msgs.msg import Float64, String

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.tables import LATCHED, ParameterRow, TopicRow

LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 {3}"/>'
    '<limit lower="-3" upper="3" effort="50" velocity="2"/></joint>'
)
ARM = (
    '<robot name="arm">'
    + ''.join(LINK.format(n) for n in ('base', 'upper', 'fore'))
    + JOINT.format('shoulder', 'base', 'upper', '0 1')
    + JOINT.format('elbow', 'upper', 'fore', '1 0')
    + '</robot>'
)


class Example(DynamicsNode):
    NAME = 'example'
    PARAMETERS = (
        ParameterRow('rate', 100.0, 'how often', 'Hz', 1, 1000),
        ParameterRow('scale', 1.0, 'factor on what comes in', lower=0, applies='at once'),
        ParameterRow('unit', 'torque', 'what effort is', choices=('torque', 'current')),
        ParameterRow(
            'weights', [], 'weights', element=float, check=lambda v: None if len(v) != 1 else 'two or more numbers'
        ),
        ParameterRow('count', 3, 'how many', lower=0),
        ParameterRow('drive_gain', 1.0, 'gain', 'N·m/A', lower=0.0, per_joint=True),
    )
    TOPICS = (
        TopicRow('in', 'std_msgs/Float64', 'subscribes', 'a number'),
        TopicRow('~/out', 'std_msgs/Float64', 'publishes', 'scaled'),
        TopicRow('~/check', 'std_srvs/Trigger', 'service', 'refuses unless active'),
    )

    def configure(self):
        if self.parameters['count'] == 13:
            raise JointDynamicsError('count: expected luck,\n found 13')
        if self.parameters['count'] == 14:
            raise RuntimeError('a defect')
        self.publisher = self.advertise(Float64, '~/out')
        self.subscribe(Float64, 'in', lambda m: self.publisher.publish(Float64(data=m.data * self.parameters['scale'])))
        self.serve('~/check', self.check)
        self.changed = {}

    def check(self):
        if not self.is_active:
            raise JointDynamicsError('expected the node to be active')
        return ','.join(f'{gain:g}' for gain in self.parameters.per_joint('drive_gain'))

    def parameters_changed(self, changed):
        self.changed.update(changed)

    def deactivate(self):
        # Publishers still work here: the last command of a controller depends on it.
        self.publisher.publish(Float64(data=-1.0))
        # A process that ends takes with it what a lost packet would have repeated.
        self.publisher.wait_for_all_acked(RosDuration(seconds=0.2))


@pytest.fixture
def configured(ros, robot_file):
    node = ros.node(Example, robot_file=robot_file)
    assert ros.transition('/example', 'configure')
    return node


@pytest.fixture
def arm(ros):
    ros.probe.create_publisher(String, '/left/robot_description', LATCHED).publish(String(data=ARM))


@pytest.fixture
def robot_file(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(ARM)
    return str(path)


def test_life_of_a_node_in_a_namespace(ros, arm):
    node = ros.node(Example, '/left', drive_gain__elbow=2.5)
    out = ros.listen(Float64, '/left/example/out')
    assert ros.state('/left/example') == 'unconfigured'
    assert ros.transition('/left/example', 'configure')
    assert node.robot.joint_names == ('shoulder', 'elbow')
    refused = ros.trigger('/left/example/check')
    assert not refused.success
    assert refused.message == 'expected the node to be active'
    assert ros.transition('/left/example', 'activate')
    assert ros.trigger('/left/example/check').message == '1,2.5'
    source = ros.probe.create_publisher(Float64, '/left/in', 10)

    def arrived():
        source.publish(Float64(data=3.0))
        return out

    ros.until(arrived)
    assert out[0].data == 3.0
    assert ros.transition('/left/example', 'deactivate')
    ros.until(lambda: out[-1].data == -1.0)
    assert ros.transition('/left/example', 'cleanup')
    assert not any(s.topic_name == '/left/in' for s in node.subscriptions)
    assert ros.transition('/left/example', 'configure')


def test_configuring_fails_with_one_line_and_can_be_tried_again(ros, arm):
    node = ros.node(Example, '/left', count=13)
    diagnostics = ros.listen(DiagnosticArray, '/diagnostics')
    assert not ros.transition('/left/example', 'configure')
    assert ros.state('/left/example') == 'unconfigured'
    wanted = 'cannot configure: count: expected luck, found 13'
    ros.until(
        lambda: any(
            s.message == wanted and s.level == DiagnosticStatus.ERROR and s.name == '/left/example: state'
            for array in diagnostics
            for s in array.status
        )
    )
    node.set_parameters([Parameter('count', value=14)])
    assert not ros.transition('/left/example', 'configure')
    assert node.diagnostics.message('state').startswith('defect')
    assert ros.set_parameter('/left/example', 'count', 5).successful
    assert ros.transition('/left/example', 'configure')


def test_without_a_robot_description_configuring_says_so(ros):
    node = ros.node(Example, '/right', description_timeout=0.05)
    assert not ros.transition('/right/example', 'configure')
    assert 'expected a document on /right/robot_description or a file' in node.diagnostics.message('state')


def test_bad_values_are_refused_and_change_nothing(ros, configured):
    for name, value in (
        ('rate', 0.0),
        ('scale', -1.0),
        ('scale', float('nan')),
        ('scale', 'x'),
        ('unit', 'volt'),
        ('weights', [1.0]),
        ('weights', ['a']),
        ('drive_gain.elbow', -1.0),
        ('autostart', True),
        ('count', -1),
    ):
        before = configured.parameters[name]
        result = ros.set_parameter('/example', name, value)
        assert not result.successful
        assert name in result.reason
        assert configured.parameters[name] == before
    assert not configured.changed


def test_a_good_value_is_applied_after_the_change(ros, robot_file):
    node = ros.node(Example, robot_file=robot_file)
    assert ros.set_parameter('/example', 'weights', [1, 2]).successful
    assert ros.transition('/example', 'configure')
    assert ros.set_parameter('/example', 'scale', 2).successful
    assert node.changed == {'scale': 2.0}
    assert isinstance(node.parameters['scale'], float)
    assert node.parameters['weights'] == [1.0, 2.0]


@pytest.mark.parametrize('state', ['inactive', 'active'])
def test_what_takes_effect_on_configuring_is_refused_afterwards(ros, configured, state):
    node = configured
    if state == 'active':
        assert ros.transition('/example', 'activate')
    for name, other in (('count', 7), ('unit', 'current'), ('weights', [1.0, 2.0, 3.0]), ('drive_gain.elbow', 2.5)):
        before = node.get_parameter(name).value
        result = ros.set_parameter('/example', name, other)
        assert not result.successful and 'clean it up, set the parameter, configure it' in result.reason
        assert node.get_parameter(name).value == before
        assert ros.set_parameter('/example', name, before).successful or before in ([], ())
    assert ros.state('/example') == state
    if state == 'active':
        assert ros.transition('/example', 'deactivate')
    assert ros.transition('/example', 'cleanup')
    assert ros.set_parameter('/example', 'drive_gain.elbow', 7.0).successful
    assert ros.transition('/example', 'configure')
    assert node.parameters.per_joint('drive_gain', ['elbow', 'shoulder']) == [7.0, 1.0]


def test_a_wrong_value_at_the_start_is_refused(ros):
    with pytest.raises(rclpy.exceptions.ParameterException, match='unit: expected one of torque, current'):
        Example(parameter_overrides=[Parameter('unit', value='volt')])


def test_a_gone_parameter_is_named_with_its_remedy(ros, robot_file):
    class Renewed(Example):
        GONE: ClassVar = {'volume': 'state `mass`'}

    node = ros.node(Renewed, robot_file=robot_file, volume=3.0)
    assert not ros.transition('/example', 'configure')
    state = node.diagnostics.message('state')
    assert 'volume' in state and 'mass' in state


def test_descriptors_carry_unit_and_range(ros):
    node = ros.node(Example)
    descriptor = node.describe_parameter('rate')
    assert descriptor.description == 'how often [Hz]'
    assert (descriptor.floating_point_range[0].from_value, descriptor.floating_point_range[0].to_value) == (1.0, 1000.0)
    assert node.describe_parameter('autostart').read_only


def test_misspelt_names_are_found(ros, robot_file):
    node = ros.node(Example, robot_file=robot_file, rte=5.0, drive_gain__elbo=1.0, drive_gain__elbow=2.0)
    assert ros.transition('/example', 'configure')
    assert node.parameters.unknown() == ['drive_gain.elbo', 'rte']


def test_autostart_waits_for_the_robot(ros):
    node = ros.node(Example, '/left', autostart=True)
    ros.until(lambda: node.diagnostics.message('state') == 'waiting for topic /left/robot_description')
    ros.probe.create_publisher(String, '/left/robot_description', LATCHED).publish(String(data=ARM))
    ros.until(lambda: node.is_active)
    assert ros.state('/left/example') == 'active'


def test_a_topic_that_is_not_in_the_table_is_a_defect(ros):
    node = ros.node(Example)
    with pytest.raises(ValueError, match='not in the table'):
        node.advertise(Float64, '~/secret')


RUN = """
import sys
sys.path.insert(0, {folder!r})
from example_node import Example
from joint_dynamics.nodes.framework import executor, run

class Said(executor.StreamExecutor):
    def shutdown(self, *timeout):
        print('executor shut down')
        return super().shutdown(*timeout)

run.StreamExecutor = Said
sys.exit(run.run(Example))
"""


@pytest.fixture
def example_process(ros, monkeypatch, tmp_path):
    (tmp_path / 'example_node.py').write_text(Path(__file__).read_text())
    (tmp_path / 'example_main.py').write_text(RUN.format(folder=str(tmp_path)))
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=os.pathsep)
    return partial(ros.process, 'example_main')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_process_in_good_order(ros, example_process, robot_file, number):
    process = example_process(namespace='/p', parameters={'autostart': 'true', 'robot_file': robot_file})
    out = ros.listen(Float64, '/p/example/out')
    ros.until_state('/p/example', 'active')
    # Its last message reaches only subscribers it has found; a message heard shows that.
    numbers = ros.probe.create_publisher(Float64, '/p/in', 1)
    ros.until(lambda: numbers.publish(Float64(data=2.0)) or out, what='an answer')
    status, output = ros.stop(process, number)
    assert status == 0, output
    assert 'Traceback' not in output
    # one that outlives the context may meet its guard conditions already destroyed
    assert 'executor shut down' in output
    ros.until(lambda: out[-1].data == -1.0, what='the last word')


def test_a_signal_breaks_off_the_wait_for_a_document(ros, example_process):
    process = example_process(namespace='/p', parameters={'description_timeout': 60.0})
    events = ros.listen(TransitionEvent, '/p/example/transition_event')
    configure = ros.probe.create_client(ChangeState, '/p/example/change_state')
    ros.until(lambda: configure.service_is_ready() and ros.probe.count_publishers('/p/example/transition_event'))
    configure.call_async(ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE)))
    ros.until(lambda: any(event.goal_state.label == 'configuring' for event in events), what='that it configures')
    status, output = ros.stop(process)
    assert status == 0, output
    assert 'expected a document' not in output  # as it says when the time is over
    assert 'Traceback' not in output


def test_signals_that_go_on_coming_do_not_end_what_is_ending(ros, example_process, robot_file):
    """A terminal sends one to the whole group, launch another: none may come between the last word and the end."""
    process = example_process(namespace='/p', parameters={'autostart': 'true', 'robot_file': robot_file})
    ros.until_state('/p/example', 'active')
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
    assert ros.stop(process)[0] == 0, process.output


def test_a_signal_breaks_off_the_compilation(tmp_path, ros_domain):
    command = [sys.executable, '-u', '-m', 'joint_dynamics.nodes.simulator.node', '--ros-args', '-p', 'autostart:=true']
    environment = {**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        lines = [next(line for line in process.stdout if 'the first start on a machine compiles' in line)]
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, [*lines, rest]
    assert 'Traceback' not in rest
    # Had it gone on to the end, every kernel would be there.
    assert not list(tmp_path.rglob('engine.run-*.nbc'))


def test_a_wrong_parameter_ends_a_process_with_one_line(ros, example_process):
    process = example_process(parameters={'unit': 'volt'})
    status, output = process.ended()
    ros.processes.remove(process)
    assert status == 2
    assert 'unit: expected one of torque, current' in output
    assert 'Traceback' not in output
