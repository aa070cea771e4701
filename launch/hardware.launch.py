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

"""All nodes beside a robot's driver, which runs already. Nothing moves until it is asked to."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Return the nodes, with the parameters of a preset unless a file is given; other arguments: nodes.launch.py."""
    preset = PathJoinSubstitution(
        [FindPackageShare('joint_dynamics'), 'config', LaunchConfiguration('preset'), 'nodes.yaml']
    )
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'preset',
                default_value='ros2_control',
                choices=['ros2_control', 'ur_e_series', 'kinova_gen3'],
                description='which robot: its inputs and units, unless params_file is given',
            ),
            DeclareLaunchArgument(
                'params_file',
                default_value=preset,
                description='parameters of all nodes, YAML; $(var tf_prefix) in it is replaced',
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(Path(__file__).with_name('nodes.launch.py'))),
                # without a default there, launch asks for it here
                launch_arguments={'params_file': LaunchConfiguration('params_file')}.items(),
            ),
        ]
    )
