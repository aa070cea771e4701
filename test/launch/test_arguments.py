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

"""Every argument of every launch file is described, stands in docs/reference/launch.md, and arrives."""

from pathlib import Path

import pytest

pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")

from ament_index_python.packages import get_package_prefix
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
)
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.ros_adapters import get_ros_adapter

from joint_dynamics.cli.main import build_parser

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob('launch/*.launch.py'))


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_arguments_are_documented(path, monkeypatch):
    # Included files of other packages have arguments of their own.
    monkeypatch.setenv('AMENT_PREFIX_PATH', get_package_prefix('joint_dynamics'))
    page = (ROOT / 'docs' / 'reference' / 'launch.md').read_text(encoding='utf-8')
    assert f'`{path.name}`' in page
    description = PythonLaunchDescriptionSource(str(path)).get_launch_description(LaunchContext())
    arguments = description.get_launch_arguments()
    assert arguments
    for argument in arguments:
        assert argument.description != 'no description given'
        assert f'| `{argument.name}` |' in page


DRIVERS = {'use_sim_time', 'params_file', 'namespace', 'tf_prefix', 'initial_joint_controller'}
SWITCHES = {'use_sim_time', 'autostart', 'gazebo_gui', 'publish_clock', 'end_together'}


BESIDE = {'excitation', 'identifier', 'estimator', 'feedforward'}
ALONGSIDE = {'preview.launch.py', 'calibrate.launch.py'}
"""Beside a robot that another launch file starts."""


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_arguments_are_named_as_drivers_name_them(path):
    description = PythonLaunchDescriptionSource(str(path)).get_launch_description(LaunchContext())
    arguments: dict[str, DeclareLaunchArgument] = {}
    for entity in description.get_launch_arguments():
        arguments.setdefault(entity.name, entity)
    assert path.name in ALONGSIDE or set(arguments) >= DRIVERS
    for name in SWITCHES & set(arguments):
        assert arguments[name].choices == ['true', 'false']


@pytest.fixture
def started(launched, gazebo_stand_ins):
    """A function (name of a launch file, arguments) that returns the processes it would start, by executable."""

    def start(name, **arguments):
        given = ' '.join(f'{key}:={value}' for key, value in arguments.items())
        processes, _ = launched(f'ros2 launch joint_dynamics {name}.launch.py {given}')
        return {process.executable: process for process in processes}

    return start


def test_simulated_robot_has_the_launchs_controllers(started):
    processes = started(
        'simulation', tf_prefix='left_', initial_joint_controller='arm_controller', effort_controller='torques'
    )
    assert set(processes) == {'simulator', *BESIDE}
    names = {'tf_prefix': 'left_', 'trajectory_controller': 'arm_controller', 'effort_controller': 'torques'}
    assert processes['simulator'].parameters.items() >= names.items()
    assert processes['identifier'].rule('motion_status') == 'excitation/status'
    for node in ('excitation', 'feedforward'):
        for topic in ('~/joint_trajectory', '~/follow_joint_trajectory', 'controller_state'):
            assert processes[node].rule(topic) == f'arm_controller/{topic.removeprefix("~/")}'
    assert processes['feedforward'].rule('friction_parameters') == 'estimator/friction_parameters'


@pytest.mark.parametrize(
    ('arguments', 'clock', 'sim_time'),
    [
        ({}, True, True),
        ({'namespace': 'left'}, False, False),
        ({'namespace': 'left', 'publish_clock': 'true'}, True, True),
        ({'publish_clock': 'false'}, False, False),
        ({'namespace': 'right', 'use_sim_time': 'true'}, False, True),
    ],
)
def test_one_simulation_sets_the_clock_of_a_graph(started, arguments, clock, sim_time):
    processes = started('simulation', **arguments)
    assert processes['simulator'].parameters['publish_clock'] is clock
    assert {processes[name].parameters['use_sim_time'] for name in BESIDE} == {sim_time}


def test_feedforward_may_have_a_controller_of_its_own(started):
    processes = started('hardware', initial_joint_controller='arm', effort_trajectory_controller='torques')
    assert processes['excitation'].rule('controller_state') == 'arm/controller_state'
    assert processes['feedforward'].rule('controller_state') == 'torques/controller_state'


@pytest.mark.parametrize(('name', 'offered'), [('simulation', True), ('gazebo', True), ('hardware', False)])
def test_only_simulated_robots_calibrate_unasked(name, offered, launch_file):
    source = PythonLaunchDescriptionSource(launch_file(name))
    arguments = {each.name for each in source.get_launch_description(LaunchContext()).get_launch_arguments()}
    assert ('calibrate_into' in arguments) is offered


@pytest.mark.parametrize('sim_time', ['true', 'false'])
def test_calibration_of_a_launch_is_parsed_as_meant(started, sim_time):
    processes = started('simulation', calibrate_into='out', use_sim_time=sim_time, namespace='cell')
    (process,) = (each for name, each in processes.items() if name.startswith('python'))
    words = process.command[process.command.index('calibrate') :]
    given = build_parser('calibrate').parse_args(words)
    assert (given.out, given.namespace, given.config, given.yes) == ('out', 'cell', '', True)
    assert given.sim_time is (sim_time == 'true')


@pytest.mark.parametrize(('namespace', 'prefix'), [('', '/'), ('left', '/left/'), ('/left/arm', '/left/arm/')])
def test_each_node_runs_in_its_own_enclave(namespace, prefix, started):
    processes = started('hardware', namespace=namespace)
    for node in BESIDE:
        command = processes[node].command
        assert command[command.index('--enclave') + 1] == f'{prefix}{node}'


@pytest.mark.parametrize('given', ['', '/given/dynamics.yaml'])
def test_a_description_in_feedforward_file_counts_unless_given(given, started, tmp_path):
    file = tmp_path / 'feedforward.yaml'
    file.write_text('/**/feedforward: {ros__parameters: {description_file: /own/dynamics.yaml}}\n', encoding='utf-8')
    processes = started('hardware', feedforward_file=file, description_file=given)
    assert processes['feedforward'].parameters['description_file'] == (given or '/own/dynamics.yaml')
    assert processes['estimator'].parameters.get('description_file', '') == given


def test_two_processes_that_end_at_once_end_the_launch_once(launch_file, installed):
    """launch takes the event of the first end after the second process has ended."""
    source = PythonLaunchDescriptionSource(launch_file('nodes'))
    (handler,) = (
        entity
        for entity in source.get_launch_description(LaunchContext()).entities
        if isinstance(entity, RegisterEventHandler)
    )
    ends = [
        EmitEvent(event=ProcessExited(action=None, name=name, cmd=[name], cwd=None, env=None, pid=number, returncode=0))
        for number, name in enumerate(('estimator', 'feedforward'), 1)
    ]
    service = LaunchService(noninteractive=True)
    adapter = OpaqueFunction(function=lambda context: get_ros_adapter(context) and None)
    service.include_launch_description(
        LaunchDescription([SetLaunchConfiguration('end_together', 'true'), adapter, handler, *ends])
    )
    assert service.run() == 0
