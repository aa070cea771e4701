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

"""Gazebo itself is not needed.

The launch file runs for real among stand-ins for Gazebo's and ros2_control's packages.
"""

import shutil
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

# Not `launch`: a folder of that name beside this test would pass for it.
pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")
pytest.importorskip('launch_pytest', reason="ROS 2's launch_pytest is not installed")

import launch_pytest
from rcl_interfaces.srv import GetParameters
from std_msgs.msg import String

from joint_dynamics.arm import Arm
from joint_dynamics.control.effort_gains import controller_parameters, effort_gains
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import initial_posture, ur5e_description

# A mark, not a skip of the module: with launch_pytest's collector that one takes the tests of the whole folder along.
pytestmark = pytest.mark.skipif(shutil.which('xacro') is None, reason='xacro is not installed')

ONES_THAT_STAY = (
    'server',
    'parameter_bridge',
    'robot_state_publisher',
    'gazebo_model',
    'excitation',
    'identifier',
    'estimator',
    'feedforward',
)


@launch_pytest.fixture
def gazebo(description_of, gazebo_stand_ins):
    """A UR5e with a prefix, in a namespace, and nothing else said."""
    return description_of('gazebo', namespace='cell', tf_prefix='left_', gazebo_gui='false')


@launch_pytest.fixture
def gazebo_of_another_robot(description_of, gazebo_stand_ins, two_joints):
    """A robot of one's own."""
    return description_of(
        'gazebo',
        robot_file=str(two_joints),
        initial_positions='0.5 -0.25',
        update_rate='1000',
        publish_clock='false',
        initial_joint_controller='effort_trajectory_controller',
        world_file='',
        y='-1.5',
    )


@launch_pytest.fixture
def gazebo_with_the_plugin(description_of, gazebo_stand_ins):
    """The controller plugin under its trajectory controller, active at first."""
    return description_of(
        'gazebo', gazebo_gui='false', plugin='true', initial_joint_controller='feedforward_trajectory_controller'
    )


@launch_pytest.fixture
def gazebo_that_fails(description_of, gazebo_stand_ins, monkeypatch):
    """The robot cannot be put into the world."""
    monkeypatch.setenv('STAND_IN_FAILS', 'create')
    return description_of('gazebo', gazebo_gui='false')


@pytest.fixture
def two_joints(tmp_path):
    link = (
        '<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = (
        '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>'
        '<limit lower="-3" upper="3" effort="50" velocity="2"/></joint>'
    )
    path = tmp_path / 'two.urdf'
    path.write_text(
        '<robot name="two">'
        + ''.join(link.format(name) for name in ('base', 'upper', 'fore'))
        + joint.format('shoulder', 'base', 'upper')
        + joint.format('elbow', 'upper', 'fore')
        + '</robot>'
    )
    return path


def spawned(runs):
    """{first controller: its command line} of the spawners that ran."""
    return {run[1]: run[1:] for run in runs if run[0] == 'spawner'}


def described(urdf):
    """(joints with interfaces, their initial positions, the plugin) of the description that Gazebo gets."""
    tree = ElementTree.fromstring(urdf)
    links = {link.get('name') for link in tree.findall('link')}
    # Gazebo fixes what hangs on a link of this name; any other arm falls with its base.
    assert links - {child.get('link') for child in tree.findall('joint/child')} == {'world'}
    fixed = [joint.get('type') for joint in tree.findall('joint') if joint.find('parent').get('link') == 'world']
    assert fixed == ['fixed']
    joints = tree.findall('ros2_control/joint')
    for joint in joints:
        assert {item.get('name') for item in joint.findall('command_interface')} == {'position', 'effort'}
        assert {item.get('name') for item in joint.findall('state_interface')} == {'position', 'velocity', 'effort'}
    assert tree.find('ros2_control/hardware/plugin').text == 'gz_ros2_control/GazeboSimSystem'
    plugin = tree.find('gazebo/plugin')
    assert plugin.get('name') == 'gz_ros2_control::GazeboSimROS2ControlPlugin'
    positions = [float(joint.find('state_interface/param').text) for joint in joints]
    return [joint.get('name') for joint in joints], positions, plugin


@pytest.mark.launch(fixture=gazebo)
def test_everything_comes_up_with_the_prefix(ros, exits, gazebo_stand_ins):
    descriptions = ros.listen(String, '/cell/robot_description', LATCHED)
    for node in ('gazebo_model', 'excitation', 'identifier'):
        ros.until_state(f'/cell/{node}', 'active')
    robot = RobotModel.from_urdf(ur5e_description('left_'))
    ros.until(
        lambda: descriptions and len(spawned(gazebo_stand_ins())) == 2 and {'create', 'spawner'} <= set(exits),
        what='spawners',
    )
    joints, positions, plugin = described(descriptions[0].data)
    assert tuple(joints) == RobotModel.from_urdf(descriptions[0].data).joint_names == robot.joint_names
    assert positions == initial_posture(robot).tolist()
    assert plugin.find('ros/namespace').text == '/cell'
    controllers = Path(plugin.find('parameters').text)
    assert yaml.safe_load(controllers.read_text()) == controller_parameters(effort_gains(Arm(robot), 0.002))
    # Gazebo's world has a floor, and the excitation keeps the arm above it.
    request = GetParameters.Request(names=['config_file'])
    (config,) = ros.call(GetParameters, '/cell/excitation/get_parameters', request).values
    assert yaml.safe_load(Path(config.string_value).read_text()) == {'excitation': {'limits': {'floor': 0.0}}}
    runs = spawned(gazebo_stand_ins())
    file = ['--param-file', str(controllers)]
    # Positions, as an effort PID alone is far off an exciting motion.
    assert runs['joint_state_broadcaster'][:4] == ['joint_state_broadcaster', 'joint_trajectory_controller', *file]
    waiting = ['effort_trajectory_controller', '--inactive', *file]
    assert runs['effort_trajectory_controller'][:4] == waiting
    for node, controller in (('excitation', 'joint_trajectory'), ('feedforward', 'effort_trajectory')):
        topic = f'/cell/{controller}_controller/joint_trajectory'
        ros.until(lambda topic=topic: ros.probe.count_publishers(topic), what=topic)
        assert [info.node_name for info in ros.probe.get_publishers_info_by_topic(topic)] == [node]
    yield
    # That of the shell, which launch signals too.
    assert exits.pop('server') in (0, -signal.SIGINT)
    assert exits == {'create': 0, 'spawner': 0, **dict.fromkeys(ONES_THAT_STAY[1:], 0)}


@pytest.mark.launch(fixture=gazebo_of_another_robot)
def test_a_robot_of_ones_own(ros, exits, gazebo_stand_ins):
    descriptions = ros.listen(String, '/robot_description', LATCHED)
    ros.until_state('/identifier', 'active')
    ros.until(lambda: descriptions and len(spawned(gazebo_stand_ins())) == 2, what='spawners')
    joints, positions, plugin = described(descriptions[0].data)
    assert joints == ['shoulder', 'elbow']
    assert positions == [0.5, -0.25]
    document = yaml.safe_load(Path(plugin.find('parameters').text).read_text())['/**']
    assert document['controller_manager']['ros__parameters']['update_rate'] == 1000
    assert document['effort_trajectory_controller']['ros__parameters']['joints'] == joints
    runs = spawned(gazebo_stand_ins())
    assert runs['joint_state_broadcaster'][1] == 'effort_trajectory_controller'
    assert runs['joint_trajectory_controller'][1] == '--inactive'
    # Without collision geometry it touches nothing, and no floor can be kept from.
    request = GetParameters.Request(names=['config_file'])
    assert ros.call(GetParameters, '/excitation/get_parameters', request).values[0].string_value == ''
    (created,) = (run for run in gazebo_stand_ins() if run[0] == 'create')
    assert created[created.index('-y') + 1] == '-1.5'
    yield
    # The world is there already, and its clock.
    assert not {'parameter_bridge', 'server'} & set(exits)


@pytest.mark.launch(fixture=gazebo_with_the_plugin)
def test_plugin_comes_up_before_its_trajectory_controller(ros, exits, gazebo_stand_ins):
    ros.until(lambda: len(spawned(gazebo_stand_ins())) == 2, what='spawners')
    runs = spawned(gazebo_stand_ins())
    active = runs['joint_state_broadcaster']
    assert active[:3] == ['joint_state_broadcaster', 'feedforward_controller', 'feedforward_trajectory_controller']
    document = yaml.safe_load(Path(active[active.index('--param-file') + 1]).read_text())['/**']
    law = document['feedforward_controller']['ros__parameters']
    shipped = yaml.safe_load((Path(__file__).parents[2] / 'ros2_control' / 'config' / 'gazebo.yaml').read_text())
    expected = {**shipped['/**']['feedforward_controller']['ros__parameters'], 'ki': law['ki']}
    assert {**law, 'type': expected['type'], 'use_sim_time': True} == expected
    assert law['use_description'] is False
    waiting = runs['effort_trajectory_controller']
    assert '--inactive' in waiting
    assert 'plain_trajectory_controller' in waiting
    yield


@pytest.mark.launch(fixture=gazebo_that_fails)
def test_when_one_part_fails_all_ends(ros, exits, tmp_path):
    ros.watchers.clear()
    ros.until(lambda: {'create', *ONES_THAT_STAY} <= set(exits), what='the end of everything')
    assert exits['create'] == 1
    # Whatever status an import leaves that SIGINT breaks off: none had to be ended by force.
    assert not {exits[name] for name in ONES_THAT_STAY} & {-signal.SIGTERM, -signal.SIGKILL}
    # Neither did the child of a shell stay behind it.
    server = tmp_path / 'server.pid'
    assert not server.exists() or not Path(f'/proc/{server.read_text()}').exists()
