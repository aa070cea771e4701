"""All nodes beside a robot's driver, which runs already. Nothing moves until it is asked to."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Return the arguments and the nodes, with the parameters of a preset unless a file is given."""
    preset = PathJoinSubstitution(
        [FindPackageShare('joint_dynamics'), 'config', LaunchConfiguration('preset'), 'nodes.yaml']
    )
    names = (
        'namespace',
        'tf_prefix',
        'use_sim_time',
        'params_file',
        'description_file',
        'autostart',
        'initial_joint_controller',
        'effort_trajectory_controller',
        'feedforward_file',
        'end_together',
        'security',
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
            DeclareLaunchArgument('namespace', default_value='', description='namespace of the robot and of all nodes'),
            DeclareLaunchArgument(
                'tf_prefix', default_value='', description='prefix of the joint names, as given to the driver'
            ),
            DeclareLaunchArgument(
                'use_sim_time',
                default_value='false',
                choices=['true', 'false'],
                description='take the time from /clock',
            ),
            DeclareLaunchArgument(
                'description_file',
                default_value='',
                description='dynamics description to start from; empty: the one the identifier publishes',
            ),
            DeclareLaunchArgument(
                'autostart',
                default_value='true',
                choices=['true', 'false'],
                description='configure and activate each node as soon as the documents it needs are there',
            ),
            DeclareLaunchArgument(
                'initial_joint_controller',
                default_value='joint_trajectory_controller',
                description='the controller that takes trajectories (UR: scaled_joint_trajectory_controller)',
            ),
            DeclareLaunchArgument(
                'effort_trajectory_controller',
                default_value=LaunchConfiguration('initial_joint_controller'),
                description='the controller that takes trajectories with effort from feedforward',
            ),
            DeclareLaunchArgument(
                'feedforward_file',
                default_value=LaunchConfiguration('params_file'),
                description=(
                    'parameters of feedforward that replace those of params_file, e.g. one of config/feedforward'
                ),
            ),
            DeclareLaunchArgument(
                'end_together',
                default_value='false',
                choices=['true', 'false'],
                description='end all nodes of this launch when one of them has ended',
            ),
            DeclareLaunchArgument(
                'security',
                default_value='',
                description='SROS2 keystore with the enclaves of the nodes; empty: the environment decides',
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(
                    PathJoinSubstitution([FindPackageShare('joint_dynamics'), 'launch', 'nodes.launch.py'])
                ),
                launch_arguments={name: LaunchConfiguration(name) for name in names}.items(),
            ),
        ]
    )
