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
            IncludeLaunchDescription(PythonLaunchDescriptionSource(str(Path(__file__).with_name('nodes.launch.py')))),
        ]
    )
