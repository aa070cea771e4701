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

from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
)
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node
from launch_ros.ros_adapters import get_ros_adapter
from launch_ros.utilities import evaluate_parameters

from joint_dynamics.cli.parser import build_parser
from joint_dynamics.nodes.framework.wiring import enclave

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob('launch/*.launch.py'))


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_arguments_are_documented(path):
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


def entities(path, context):
    """Entities of a launch file; what nodes.launch.py makes of its arguments once all of them are declared, too."""
    for entity in PythonLaunchDescriptionSource(path).get_launch_description(context).entities:
        yield entity
        if isinstance(entity, OpaqueFunction) and Path(path).name == 'nodes.launch.py':
            yield from entity.execute(context)


def resolved(name, launch_file, **arguments):
    """All nodes of a launch file with its includes: {executable: (parameters, remappings)} after every substitution."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    found = {}

    def visit(path):
        for entity in entities(path, context):
            if isinstance(entity, DeclareLaunchArgument):
                entity.execute(context)
            elif isinstance(entity, IncludeLaunchDescription):
                context.launch_configurations.update(
                    {key: text(context, value) for key, value in entity.launch_arguments}
                )
                visit(text(context, entity.launch_description_source._LaunchDescriptionSource__location))
            elif isinstance(entity, Node):
                parameters = {}
                for part in evaluate_parameters(context, entity._Node__parameters):
                    if isinstance(part, dict):
                        parameters.update(part)
                    else:
                        # Temporary, with every substitution done.
                        parameters.setdefault('files', []).append(part.read_text(encoding='utf-8'))
                rules = {text(context, source): text(context, target) for source, target in entity._Node__remappings}
                found[text(context, entity.node_executable)] = parameters, rules

    visit(launch_file(name))
    return found


def text(context, value):
    return perform_substitutions(context, normalize_to_list_of_substitutions(value))


@pytest.mark.parametrize(('name', 'offered'), [('simulation', True), ('gazebo', True), ('hardware', False)])
def test_only_simulated_robots_calibrate_unasked(name, offered, launch_file, installed, gazebo_stand_ins):
    source = PythonLaunchDescriptionSource(launch_file(name))
    arguments = {each.name for each in source.get_launch_description(LaunchContext()).get_launch_arguments()}
    assert ('calibrate_into' in arguments) is offered


@pytest.mark.parametrize(('sim_time', 'folder'), [('true', 'out'), ('false', 'out'), ('true', '')])
def test_calibration_of_a_launch_is_parsed_as_meant(launch_file, sim_time, folder):
    context = LaunchContext()
    context.launch_configurations.update({'calibrate_into': folder, 'use_sim_time': sim_time, 'namespace': 'cell'})
    source = PythonLaunchDescriptionSource(launch_file('calibrate'))
    *arguments, process = source.get_launch_description(context).entities
    for argument in arguments:
        argument.execute(context)
    assert process.condition.evaluate(context) is bool(folder)
    words = [text(context, word) for word in process.cmd]
    given = build_parser('calibrate').parse_args(words[words.index('calibrate') :])
    assert (given.out, given.namespace, given.config, given.yes) == (folder, 'cell', '', True)
    assert given.sim_time is (sim_time == 'true')


def test_simulated_robot_has_the_launchs_controllers(launch_file, installed):
    nodes = resolved(
        'simulation',
        launch_file,
        tf_prefix='left_',
        initial_joint_controller='arm_controller',
        effort_controller='torques',
    )
    assert set(nodes) == {'simulator', 'excitation', 'identifier', 'estimator', 'feedforward'}
    parameters, _ = nodes['simulator']
    assert parameters['tf_prefix'] == 'left_'
    assert parameters['trajectory_controller'] == 'arm_controller'
    assert parameters['effort_controller'] == 'torques'
    assert nodes['identifier'][1] == {'motion_status': 'excitation/status'}
    assert nodes['excitation'][1] == {
        'controller_state': 'arm_controller/controller_state',
        '~/joint_trajectory': 'arm_controller/joint_trajectory',
        '~/follow_joint_trajectory': 'arm_controller/follow_joint_trajectory',
    }
    rules = nodes['feedforward'][1]
    assert rules['~/joint_trajectory'] == 'arm_controller/joint_trajectory'
    assert rules['controller_state'] == 'arm_controller/controller_state'
    assert rules['friction_parameters'] == 'estimator/friction_parameters'


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
def test_one_simulation_sets_the_clock_of_a_graph(launch_file, installed, arguments, clock, sim_time):
    nodes = resolved('simulation', launch_file, **arguments)
    assert nodes['simulator'][0]['publish_clock'] is clock
    others = set(nodes) - {'simulator'}
    assert {name: nodes[name][0]['use_sim_time'] for name in others} == dict.fromkeys(others, sim_time)


@pytest.mark.parametrize('name', ['hardware', 'simulation', 'gazebo'])
def test_a_node_has_time_to_end_in_good_order(name, launch_file, installed, gazebo_stand_ins):
    """Of launch's own 5 s nothing is left on a busy machine; SIGTERM then leaves a status of -15."""
    context = LaunchContext()
    nodes = [
        entity
        for path in {name, 'nodes'}
        for entity in entities(launch_file(path), context)
        if isinstance(entity, Node) and text(context, entity.node_package) == 'joint_dynamics'
    ]
    assert len(nodes) >= 4
    for node in nodes:
        assert float(text(context, node._ExecuteLocal__sigterm_timeout)) >= 15.0


@pytest.mark.parametrize('name', ['hardware', 'simulation', 'gazebo', 'nodes'])
@pytest.mark.parametrize('namespace', ['', 'left', '/left/arm'])
@pytest.mark.parametrize('keystore', ['', '/keys'])
def test_each_node_runs_in_its_own_enclave(
    name, namespace, keystore, launch_file, installed, gazebo_stand_ins, monkeypatch
):
    for variable in ('ENABLE', 'STRATEGY', 'KEYSTORE'):
        monkeypatch.delenv(f'ROS_SECURITY_{variable}', raising=False)
    context = LaunchContext()
    context.launch_configurations.update({'namespace': namespace, 'security': keystore})
    nodes = [
        entity
        for path in {name, 'nodes'}
        for entity in entities(launch_file(path), context)
        if isinstance(entity, Node) and text(context, entity.node_package) == 'joint_dynamics'
    ]
    assert len(nodes) >= 4
    expected = ('true', 'Enforce', '/keys') if keystore else ('false', 'Permissive', '')
    for node in nodes:
        option, path = (text(context, word) for word in node._Node__ros_arguments)
        assert (option, path) == ('--enclave', enclave(text(context, node.node_executable), namespace))
        environment = {text(context, key): text(context, value) for key, value in node.additional_env}
        assert tuple(environment[f'ROS_SECURITY_{key}'] for key in ('ENABLE', 'STRATEGY', 'KEYSTORE')) == expected


@pytest.mark.parametrize('given', ['', '/given/dynamics.yaml'])
def test_a_description_in_feedforward_file_counts_unless_an_argument_is_given(given, launch_file, installed, tmp_path):
    file = tmp_path / 'feedforward.yaml'
    file.write_text('/**/feedforward: {ros__parameters: {description_file: /own/dynamics.yaml}}\n', encoding='utf-8')
    nodes = resolved('hardware', launch_file, feedforward_file=str(file), description_file=given)
    for node in ('feedforward', 'estimator'):
        # What stands after the files replaces what is in them.
        assert nodes[node][0].get('description_file') == (given or None)
    assert '/own/dynamics.yaml' in nodes['feedforward'][0]['files'][1]


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
