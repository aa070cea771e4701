"""A robot in Gazebo (gz sim with gz_ros2_control), its controllers, its missing motor side and temperatures, and all nodes."""
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, FindExecutable, IfElseSubstitution, LaunchConfiguration, PathJoinSubstitution, ThisLaunchFileDir
from launch_ros.actions import LifecycleNode, Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import FindPackageShare

import joint_dynamics

UR5E = str(Path(joint_dynamics.__file__).parent / 'simulation' / 'ur5e.urdf')


def configuration(name):
    """Return the path of a file of the preset for Gazebo."""
    return PathJoinSubstitution([FindPackageShare('joint_dynamics'), 'config', 'gazebo', name])


ARGUMENTS = (
    ('robot_file', UR5E, 'URDF with inertials and torque limits', None),
    ('description_package_file', configuration('robot.urdf.xacro'), 'xacro that adds ros2_control and the Gazebo plugin to robot_file', None),
    ('joints', 'shoulder_pan_joint shoulder_lift_joint elbow_joint wrist_1_joint wrist_2_joint wrist_3_joint',
     'the movable joints of robot_file, without prefix', None),
    ('controllers_file', configuration('controllers.yaml'), 'parameters of the controller manager and its controllers', None),
    ('initial_joint_controller', 'joint_trajectory_controller', 'the controller that is started and takes trajectories', None),
    ('effort_controller', 'forward_effort_controller', 'the controller that takes torques from feedforward in streaming mode', None),
    ('params_file', configuration('nodes.yaml'), 'parameters of all nodes, YAML; $(var tf_prefix) in it is replaced', None),
    ('feedforward_file', LaunchConfiguration('params_file'), 'parameters of feedforward that replace those of params_file, e.g. one of '
     'config/feedforward', None),
    ('description_file', '', 'dynamics description to start from; empty: the one the identifier publishes', None),
    ('namespace', '', 'namespace of the robot and of all nodes', None),
    ('tf_prefix', '', 'prefix of the joint names in robot_file', None),
    ('use_sim_time', 'true', 'take the time from /clock, which Gazebo publishes', ['true', 'false']),
    ('autostart', 'true', 'configure and activate each node as soon as the documents it needs are there', ['true', 'false']),
    ('gazebo_gui', 'true', 'show the window of Gazebo', ['true', 'false']),
    ('world_file', 'empty.sdf', 'the world', None),
)
FORWARDED = ('namespace', 'tf_prefix', 'use_sim_time', 'params_file', 'description_file', 'autostart', 'initial_joint_controller',
             'effort_controller', 'feedforward_file')


def generate_launch_description():
    """Return the arguments, Gazebo with the robot and its controllers, and the nodes."""
    value = {name: LaunchConfiguration(name) for name, *_ in ARGUMENTS}
    sim_time = {'use_sim_time': ParameterValue(value['use_sim_time'], value_type=bool)}
    robot_description = ParameterValue(Command([
        FindExecutable(name='xacro'), ' ', value['description_package_file'], ' urdf:=', value['robot_file'], ' "joints:=', value['joints'],
        '" tf_prefix:=', value['tf_prefix'], ' controllers_file:=', value['controllers_file'], ' namespace:=', value['namespace'],
    ]), value_type=str)
    robot_state_publisher = Node(package='robot_state_publisher', executable='robot_state_publisher', namespace=value['namespace'], output='both',
                                 parameters=[{'robot_description': robot_description}, sim_time])
    gazebo = IncludeLaunchDescription(
        PythonLaunchDescriptionSource([FindPackageShare('ros_gz_sim'), '/launch/gz_sim.launch.py']),
        launch_arguments={'gz_args': [IfElseSubstitution(value['gazebo_gui'], '-r -v 3 ', '-s -r -v 3 --headless-rendering '),
                                      value['world_file']]}.items())
    clock = Node(package='ros_gz_bridge', executable='parameter_bridge', output='both', arguments=['/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock'])
    robot = Node(package='ros_gz_sim', executable='create', namespace=value['namespace'], output='both',
                 arguments=['-topic', 'robot_description', '-name', 'robot', '-allow_renaming', 'true'])
    spawner = Node(package='controller_manager', executable='spawner', namespace=value['namespace'], output='both',
                   arguments=['joint_state_broadcaster', value['initial_joint_controller'], '--param-file', value['controllers_file']])
    model = LifecycleNode(
        package='joint_dynamics', executable='gazebo_model', name='gazebo_model', namespace=value['namespace'], output='both',
        parameters=[ParameterFile(value['params_file'], allow_substs=True), sim_time,
                    {'autostart': ParameterValue(value['autostart'], value_type=bool)}])
    nodes = IncludeLaunchDescription(PythonLaunchDescriptionSource([ThisLaunchFileDir(), '/nodes.launch.py']),
                                     launch_arguments={name: value[name] for name in FORWARDED}.items())
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=text, choices=choices) for name, default, text, choices in ARGUMENTS),
        robot_state_publisher, gazebo, clock, robot, spawner, model, nodes,
    ])
