"""Gazebo itself is not needed: the description is built, every argument resolves, and everything that is started is named rightly."""
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

# Not `launch`: a folder of that name beside this test would pass for it.
pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node
from launch_ros.utilities import evaluate_parameters

from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture
def built(launch_file, installed):
    """The description of gazebo.launch.py, and its context after all arguments are declared."""
    def build(**arguments):
        context = LaunchContext()
        context.launch_configurations.update(arguments)
        path = launch_file('gazebo')
        context.extend_locals({'current_launch_file_directory': str(Path(path).parent), 'current_launch_file_path': path})
        description = PythonLaunchDescriptionSource(path).get_launch_description(context)
        for entity in description.entities:
            if isinstance(entity, DeclareLaunchArgument):
                entity.execute(context)
        return description, context
    return build


def text(context, value):
    return perform_substitutions(context, normalize_to_list_of_substitutions(value))


def nodes_of(description, context):
    return {text(context, node.node_executable): node for node in description.entities if isinstance(node, Node)}


def arguments_of(node, context):
    """The command line of a node without its executable, as launch_ros makes it."""
    return [text(context, part) for part in node.cmd[1:]]


def test_every_argument_resolves_and_is_described(built):
    description, context = built()
    declared = [entity for entity in description.entities if isinstance(entity, DeclareLaunchArgument)]
    for argument in declared:
        assert argument.description != 'no description given'
        assert argument.name in context.launch_configurations
    for name in ('robot_file', 'controllers_file', 'params_file', 'description_package_file'):
        assert Path(context.launch_configurations[name]).is_file()
    assert context.launch_configurations['use_sim_time'] == 'true'


def test_what_is_started(built):
    description, context = built(namespace='cell', gazebo_gui='false')
    nodes = nodes_of(description, context)
    assert set(nodes) == {'robot_state_publisher', 'parameter_bridge', 'create', 'spawner', 'gazebo_model'}
    assert text(context, nodes['create'].node_package) == 'ros_gz_sim'
    spawner = arguments_of(nodes['spawner'], context)
    assert spawner[:4] == ['joint_state_broadcaster', 'joint_trajectory_controller', '--param-file', context.launch_configurations['controllers_file']]
    assert '/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock' in arguments_of(nodes['parameter_bridge'], context)
    included = [entity for entity in description.entities if isinstance(entity, IncludeLaunchDescription)]
    handed = {name if isinstance(name, str) else text(context, name): text(context, value)
              for include in included for name, value in include.launch_arguments}
    assert handed['gz_args'] == '-s -r -v 3 --headless-rendering empty.sdf'
    assert handed['namespace'] == 'cell'
    assert handed['use_sim_time'] == 'true'


def test_arguments_handed_on_are_declared_where_they_arrive(built, launch_file):
    description, context = built()
    nodes = PythonLaunchDescriptionSource(launch_file('nodes')).get_launch_description(context)
    declared = {entity.name for entity in nodes.entities if isinstance(entity, DeclareLaunchArgument)}
    handed = {name for include in description.entities if isinstance(include, IncludeLaunchDescription)
              for name, _ in include.launch_arguments} - {'gz_args'}
    assert handed == declared


@pytest.mark.skipif(shutil.which('xacro') is None, reason='xacro is not installed')
def test_the_robot_description_is_ready_for_gazebo(built):
    description, context = built(namespace='cell')
    publisher = nodes_of(description, context)['robot_state_publisher']
    parameters = {}
    for part in evaluate_parameters(context, publisher._Node__parameters):
        parameters.update(part)
    urdf = parameters['robot_description']
    robot = RobotModel.from_urdf(urdf)
    assert robot.joint_names == RobotModel.load(ur5e_urdf()).joint_names
    tree = ElementTree.fromstring(urdf)
    joints = tree.findall('ros2_control/joint')
    assert [joint.get('name') for joint in joints] == list(robot.joint_names)
    for joint in joints:
        assert {item.get('name') for item in joint.findall('command_interface')} == {'position', 'effort'}
        assert {item.get('name') for item in joint.findall('state_interface')} == {'position', 'velocity', 'effort'}
    assert tree.find('ros2_control/hardware/plugin').text == 'gz_ros2_control/GazeboSimSystem'
    plugin = tree.find('gazebo/plugin')
    assert plugin.get('name') == 'gz_ros2_control::GazeboSimROS2ControlPlugin'
    assert yaml.safe_load(Path(plugin.find('parameters').text).read_text())['/**']['controller_manager']
    assert plugin.find('ros/namespace').text == '/cell'
