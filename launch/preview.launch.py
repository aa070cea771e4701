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

"""The motion that `joint-dynamics calibrate` asks about, as a second robot in RViz (RobotModel on `preview/…`)."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import Command, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Return the arguments and a robot_state_publisher whose frames are called `preview/…`."""
    description = ParameterValue(Command(['cat ', LaunchConfiguration('robot_file')]), value_type=str)
    return LaunchDescription(
        [
            DeclareLaunchArgument('robot_file', description='URDF; `robot.urdf` of the calibration'),
            DeclareLaunchArgument('namespace', default_value='', description='namespace of the robot'),
            Node(
                package='robot_state_publisher',
                executable='robot_state_publisher',
                namespace=[LaunchConfiguration('namespace'), '/preview'],
                parameters=[{'robot_description': description, 'frame_prefix': 'preview/'}],
            ),
        ]
    )
