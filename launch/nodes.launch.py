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

"""The nodes of joint_dynamics beside a robot, real or simulated: excitation, identifier, estimator, feedforward."""

import re

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.substitutions import EqualsSubstitution, IfElseSubstitution, LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes import WIRING

ARGUMENTS = {
    'namespace': ('', 'namespace of all nodes; that of the robot'),
    'tf_prefix': ('', 'prefix of the joint names in the parameter file'),
    'use_sim_time': ('false', 'take the time from /clock'),
    'params_file': (None, 'parameters of all nodes, YAML; $(var tf_prefix) in it is replaced'),
    'excitation_defaults': (
        LaunchConfiguration('params_file'),
        'file with parameters of excitation that those of params_file replace',
    ),
    'description_file': ('', 'dynamics description to start from; empty: the one the identifier publishes'),
    'autostart': (
        'true',
        'configure and activate each node as soon as the documents it needs are there; nothing moves until asked',
    ),
    'initial_joint_controller': ('joint_trajectory_controller', 'the controller that takes trajectories'),
    'effort_trajectory_controller': (
        LaunchConfiguration('initial_joint_controller'),
        'the controller that takes trajectories with effort from feedforward',
    ),
    'feedforward_file': (
        LaunchConfiguration('params_file'),
        'parameters of feedforward that replace those of params_file, e.g. one of config/feedforward',
    ),
    'end_together': ('false', 'end everything of this launch when one process of it has ended'),
}
CHOICES = {name: ['true', 'false'] for name in ('use_sim_time', 'autostart', 'end_together')}
# On Ctrl-C a node ends in good order, commands included; a busy machine needs more than the 5 s of launch for that.
PATIENCE = LaunchConfiguration('sigterm_timeout', default='20')
# Their work is done when they end with 0.
SHORT_LIVED = {'create', 'spawner', 'calibrate'}


def end_all(event, context):
    """End the launch after a process that ended without being asked to: orphans only confuse the next launch."""
    name = event.process_name.rpartition('-')[0] or event.process_name
    if context.is_shutdown or 'ends' in context.get_locals_as_dict() or (event.returncode == 0 and name in SHORT_LIVED):
        return None
    # Others may end before launch has taken the event, and a second one makes launch_ros raise.
    context.extend_globals({'ends': name})
    return Shutdown(reason=f'{name} ended with {event.returncode}')


def substituted(name):
    """Return a name of the wiring with the launch arguments it has in braces."""
    parts = re.split(r'\{(\w+)\}', name)
    return [LaunchConfiguration(part) if k % 2 else part for k, part in enumerate(parts)]


def enclave(node, namespace):
    """Return the path of a node's SROS2 enclave: its name in its namespace, from the root."""
    return '/' + '/'.join(part for part in (*namespace.split('/'), node) if part)


def robot_nodes(context):
    """Return the nodes; an argument that is empty was not given, and changes nothing in the files."""
    shared = {
        name: ParameterValue(LaunchConfiguration(name), value_type=bool) for name in ('use_sim_time', 'autostart')
    }
    if LaunchConfiguration('security', default='').perform(context):
        raise JointDynamicsError(
            'security: expected no such launch argument since 0.3.0, found one: export ROS_SECURITY_ENABLE=true, '
            'ROS_SECURITY_STRATEGY=Enforce and ROS_SECURITY_KEYSTORE (docs/how-to/security.md)'
        )
    given = LaunchConfiguration('description_file', default='').perform(context)
    namespace = LaunchConfiguration('namespace').perform(context)
    description = [{'description_file': ParameterValue(given, value_type=str)}] if given else []
    before = {'excitation': [ParameterFile(LaunchConfiguration('excitation_defaults'), allow_substs=True)]}
    more = {
        'estimator': description,
        'feedforward': [ParameterFile(LaunchConfiguration('feedforward_file'), allow_substs=True), *description],
    }
    return [
        LifecycleNode(
            package='joint_dynamics',
            executable=name,
            name=name,
            namespace=namespace,
            output='both',
            parameters=[
                *before.get(name, []),
                ParameterFile(LaunchConfiguration('params_file'), allow_substs=True),
                *more.get(name, []),
                shared,
            ],
            remappings=[(ours, substituted(theirs)) for ours, theirs in rules.items()],
            sigterm_timeout=PATIENCE,
            ros_arguments=['--enclave', enclave(name, namespace)],
        )
        for name, rules in WIRING.items()
    ]


def generate_launch_description():
    """Return the arguments and the nodes."""
    arguments = [
        DeclareLaunchArgument(
            name, description=text, choices=CHOICES.get(name), **({} if default is None else {'default_value': default})
        )
        for name, (default, text) in ARGUMENTS.items()
    ]
    together = RegisterEventHandler(
        OnProcessExit(on_exit=end_all), condition=IfCondition(LaunchConfiguration('end_together'))
    )
    # Each tells more once it runs; its imports take a busy machine half a minute.
    loading = LogInfo(
        msg=[
            f'loading {", ".join(WIRING)}, which need the topics robot_description and joint_states; estimator and'
            ' feedforward also a dynamics description: ',
            IfElseSubstitution(
                EqualsSubstitution(LaunchConfiguration('description_file'), ''),
                'that of the parameters, or what identifier publishes',
                LaunchConfiguration('description_file'),
            ),
        ]
    )
    return LaunchDescription([*arguments, together, loading, OpaqueFunction(function=robot_nodes)])
