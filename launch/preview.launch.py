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
