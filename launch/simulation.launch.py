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

"""A simulated flexible-joint robot on real topics, and all nodes beside it."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import EqualsSubstitution, IfElseSubstitution, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Return the simulator and the nodes; arguments that are not declared here: nodes.launch.py."""
    preset = PathJoinSubstitution([FindPackageShare('joint_dynamics'), 'config', 'simulation', 'nodes.yaml'])
    # Two publishers of /clock set everybody's time back with every message.
    without_namespace = IfElseSubstitution(
        EqualsSubstitution(LaunchConfiguration('namespace', default=''), ''), 'true', 'false'
    )
    switches = {
        name: ParameterValue(LaunchConfiguration(name), value_type=bool) for name in ('autostart', 'publish_clock')
    }
    texts = {
        parameter: ParameterValue(LaunchConfiguration(argument), value_type=str)
        for parameter, argument in (
            ('robot_file', 'robot_file'),
            ('tf_prefix', 'tf_prefix'),
            ('trajectory_controller', 'initial_joint_controller'),
            ('effort_controller', 'effort_controller'),
        )
    }
    simulator = LifecycleNode(
        package='joint_dynamics',
        executable='simulator',
        name='simulator',
        namespace=LaunchConfiguration('namespace'),
        output='both',
        sigterm_timeout=LaunchConfiguration('sigterm_timeout', default='20'),
        parameters=[ParameterFile(LaunchConfiguration('params_file'), allow_substs=True), {**switches, **texts}],
    )
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'robot_file', default_value='', description='URDF with inertials and torque limits; empty: a UR5e'
            ),
            DeclareLaunchArgument(
                'params_file',
                default_value=preset,
                description='parameters of all nodes, YAML; $(var tf_prefix) in it is replaced',
            ),
            DeclareLaunchArgument(
                'publish_clock',
                default_value=without_namespace,
                choices=['true', 'false'],
                description=(
                    'whether the simulator publishes /clock, else it stamps with the time of the '
                    'wall; one of a graph at most may: false by default when a namespace is given'
                ),
            ),
            DeclareLaunchArgument(
                'use_sim_time',
                default_value=LaunchConfiguration('publish_clock'),
                choices=['true', 'false'],
                description='take the time from /clock; as publish_clock unless given',
            ),
            DeclareLaunchArgument(
                'end_together',
                default_value='true',
                choices=['true', 'false'],
                description='end everything of this launch when one process of it has ended',
            ),
            DeclareLaunchArgument(
                'effort_controller',
                default_value='forward_effort_controller',
                description='name under which the simulated robot takes torques',
            ),
            # before the simulator, which takes arguments that it declares
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(Path(__file__).with_name('nodes.launch.py'))),
                # without a default there, launch asks for it here
                launch_arguments={'params_file': LaunchConfiguration('params_file')}.items(),
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(Path(__file__).with_name('calibrate.launch.py')))
            ),
            simulator,
        ]
    )
