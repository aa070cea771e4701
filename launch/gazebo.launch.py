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

"""A robot in Gazebo (gz sim with gz_ros2_control), its controllers, its missing motor side and temperatures.

All nodes.
"""

import os
import signal
from pathlib import Path

import yaml
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessStart, OnShutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.logging import launch_config
from launch.substitutions import (
    Command,
    FindExecutable,
    IfElseSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    PathJoinSubstitution,
)
from launch_ros.actions import LifecycleNode, Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import FindPackageShare

from joint_dynamics.arm import Arm
from joint_dynamics.control.effort_gains import controller_parameters, effort_gains
from joint_dynamics.description import prepare_folder, write_atomically
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.collision import has_geometry
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import initial_posture, ur5e_description

# The controllers of `joint-dynamics gains`; one is active at first, the others wait. Positions first: it
# follows without any feedforward, and Gazebo lets a switch to effort, but not one back from it.
CONTROLLERS = ('joint_trajectory_controller', 'effort_trajectory_controller')
# With `plugin`: the first has to be active before the second, which writes its references.
CHAINED = ('feedforward_controller', 'feedforward_trajectory_controller')
# The effort PID that takes the place of the latter where there is to be no feedforward.
THROUGH = 'plain_trajectory_controller'
LAW = {'law': 'computed_torque', 'use_description': False}


def share(*parts):
    """Return the path of a file of this package; after an include, `this folder` is another one (ros2/launch#618)."""
    return PathJoinSubstitution([FindPackageShare('joint_dynamics'), *parts])


ARGUMENTS = (
    ('robot_file', '', 'URDF with inertials and torque limits, joint names with tf_prefix; empty: a UR5e', None),
    (
        'description_package_file',
        share('config', 'gazebo', 'robot.urdf.xacro'),
        'xacro that adds ros2_control and the Gazebo plugin to robot_file',
        None,
    ),
    ('joints', '', 'the joints to move, separated by spaces, as in robot_file; empty: all movable ones', None),
    (
        'initial_positions',
        '',
        'their positions at first, rad, separated by spaces; empty: a UR at its home posture, others at 0',
        None,
    ),
    ('update_rate', '500', 'of the controller manager, Hz; the gains follow from it', None),
    (
        'controllers_file',
        '',
        (
            'parameters of the controller manager and its controllers; empty: those of `joint-dynamics gains` for'
            ' robot_file'
        ),
        None,
    ),
    ('initial_joint_controller', CONTROLLERS[0], 'the controller that is active at first and takes trajectories', None),
    (
        'plugin',
        'false',
        'also load feedforward_controller of joint_dynamics_controllers, from the URDF alone, and what may precede it:'
        ' feedforward_trajectory_controller, and plain_trajectory_controller, an effort PID',
        ['true', 'false'],
    ),
    (
        'effort_trajectory_controller',
        CONTROLLERS[1],
        'the controller that takes trajectories with effort from feedforward, once it is active',
        None,
    ),
    (
        'params_file',
        share('config', 'gazebo', 'nodes.yaml'),
        'parameters of all nodes, YAML; $(var tf_prefix) in it is replaced',
        None,
    ),
    (
        'feedforward_file',
        LaunchConfiguration('params_file'),
        'parameters of feedforward that replace those of params_file, e.g. one of config/feedforward',
        None,
    ),
    ('description_file', '', 'dynamics description to start from; empty: the one the identifier publishes', None),
    ('namespace', '', 'namespace of the robot and of all nodes', None),
    ('tf_prefix', '', 'prefix of the joint names in robot_file', None),
    (
        'publish_clock',
        'true',
        'whether /clock of Gazebo is brought to ROS; false where another launch does that already',
        ['true', 'false'],
    ),
    ('use_sim_time', 'true', 'take the time from /clock, which Gazebo publishes', ['true', 'false']),
    (
        'autostart',
        'true',
        'configure and activate each node as soon as the documents it needs are there',
        ['true', 'false'],
    ),
    ('end_together', 'true', 'end everything of this launch when one process of it has ended', ['true', 'false']),
    ('calibrate_into', '', 'new folder: the robot is calibrated into it at once, and moves; empty: it is not', None),
    ('calibrate_config', '', 'YAML with settings of that calibration', None),
    ('gazebo_gui', 'true', 'show the window of Gazebo', ['true', 'false']),
    ('world_file', 'empty.sdf', 'the world; empty: the robot goes into the one that runs already', None),
    ('x', '0', 'of the base in the world, m', None),
    ('y', '0', 'of the base in the world, m', None),
    ('z', '0', 'of the base in the world, m', None),
)
FORWARDED = (
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
)


def described(given):
    """Return the folder for the files of this launch, the path of the URDF, and the robot.

    The folder lies beside the log of the launch, and stays there to be read.
    """
    folder = prepare_folder(Path(launch_config.log_dir))
    source = given('robot_file')
    if not source:
        source = folder / 'robot.urdf'
        write_atomically(source, ur5e_description(given('tf_prefix')))
    return folder, source, RobotModel.from_urdf(source, joints=given('joints').split() or None)


def above_the_floor(context):
    """Tell excitation of the floor of the world, unless params_file gives a `config_file` of its own.

    A robot without collision geometry touches nothing in Gazebo.
    """

    def given(name):
        return LaunchConfiguration(name).perform(context)

    folder, _, robot = described(given)
    if not has_geometry(robot):
        return [SetLaunchConfiguration('excitation_defaults', given('params_file'))]
    limits, parameters = folder / 'excitation.yaml', folder / 'defaults.yaml'
    write_atomically(limits, yaml.safe_dump({'excitation': {'limits': {'floor': 0.0 - float(given('z'))}}}))
    write_atomically(parameters, yaml.safe_dump({'/**/excitation': {'ros__parameters': {'config_file': str(limits)}}}))
    return [SetLaunchConfiguration('excitation_defaults', str(parameters))]


def robot_parts(context):
    """Return what depends on the robot: its description for Gazebo, controllers with gains of its inertia, spawners."""

    def given(name):
        return LaunchConfiguration(name).perform(context)

    folder, source, robot = described(given)
    positions = [float(value) for value in given('initial_positions').split()] or initial_posture(robot).tolist()
    if len(positions) != robot.n:
        raise JointDynamicsError(
            f'initial_positions: expected {robot.n} numbers for {" ".join(robot.joint_names)}, found {len(positions)}'
        )
    controllers, plugin = given('controllers_file'), given('plugin') == 'true'
    if not controllers:
        controllers = folder / 'controllers.yaml'
        gains = effort_gains(Arm(robot), 1.0 / float(given('update_rate')))
        parameters = controller_parameters(gains, plugin=LAW if plugin else None)
        write_atomically(controllers, yaml.safe_dump(parameters, sort_keys=False))
    description = ParameterValue(
        Command(
            [
                FindExecutable(name='xacro'),
                ' ',
                given('description_package_file'),
                f' urdf:={source} root_link:={robot.pinocchio.frames[1].name}',
                f' "joints:={" ".join(robot.joint_names)}" "initial_positions:={" ".join(map(str, positions))}"',
                f' controllers_file:={controllers} namespace:={given("namespace")}',
            ]
        ),
        value_type=str,
    )
    sim_time = ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)
    publisher = Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        namespace=given('namespace'),
        output='both',
        parameters=[{'robot_description': description, 'use_sim_time': sim_time}],
    )
    first = given('initial_joint_controller')
    active = list(CHAINED) if plugin and first == CHAINED[1] else [first]
    waiting = {*CONTROLLERS, *((*CHAINED, THROUGH) if plugin else ()), given('effort_trajectory_controller')}
    spawners = [
        Node(
            package='controller_manager',
            executable='spawner',
            namespace=given('namespace'),
            output='both',
            arguments=[*names, '--param-file', str(controllers)],
        )
        for names in (['joint_state_broadcaster', *active], [*sorted(waiting - {*active}), '--inactive'])
    ]
    return [publisher, *spawners]


def no_orphans():
    """Return handlers that pass the end of the launch on to what runs in a shell, as ros_gz_sim starts Gazebo.

    Launch signals the shell alone, which waits for its child and is killed in the end: the server would run on.
    """
    shells = []

    def started(event, context):
        if event.action.shell:
            shells.append(event.pid)

    def ended(event, context):
        for pid in shells:
            children = Path(f'/proc/{pid}/task/{pid}/children')
            for child in children.read_text(encoding='utf-8').split() if children.exists() else ():
                os.kill(int(child), signal.SIGINT)

    return RegisterEventHandler(OnProcessStart(on_start=started)), RegisterEventHandler(OnShutdown(on_shutdown=ended))


def generate_launch_description():
    """Return the arguments, Gazebo with the robot and its controllers, and the nodes."""
    value = {name: LaunchConfiguration(name) for name, *_ in ARGUMENTS}
    gazebo = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py'])
        ),
        launch_arguments={
            'gz_args': [
                IfElseSubstitution(value['gazebo_gui'], '-r -v 3 ', '-s -r -v 3 --headless-rendering '),
                value['world_file'],
            ]
        }.items(),
        condition=IfCondition(NotEqualsSubstitution(value['world_file'], '')),
    )
    clock = Node(
        package='ros_gz_bridge',
        executable='parameter_bridge',
        output='both',
        condition=IfCondition(value['publish_clock']),
        arguments=['/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock'],
    )
    robot = Node(
        package='ros_gz_sim',
        executable='create',
        namespace=value['namespace'],
        output='both',
        arguments=[
            *('-topic', 'robot_description', '-name', 'robot', '-allow_renaming', 'true'),
            *(part for axis in 'xyz' for part in (f'-{axis}', value[axis])),
        ],
    )
    model = LifecycleNode(
        package='joint_dynamics',
        executable='gazebo_model',
        name='gazebo_model',
        namespace=value['namespace'],
        output='both',
        sigterm_timeout=LaunchConfiguration('sigterm_timeout', default='20'),
        parameters=[
            ParameterFile(value['params_file'], allow_substs=True),
            {name: ParameterValue(value[name], value_type=bool) for name in ('use_sim_time', 'autostart')},
        ],
    )
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'nodes.launch.py')),
        launch_arguments={
            **{name: value[name] for name in FORWARDED},
            'excitation_defaults': LaunchConfiguration('excitation_defaults'),
        }.items(),
    )
    calibrate = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'calibrate.launch.py')),
        launch_arguments={
            name: value[name] for name in ('calibrate_into', 'calibrate_config', 'namespace', 'use_sim_time')
        }.items(),
    )
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
                for name, default, text, choices in ARGUMENTS
            ),
            # First, so that whatever starts and ends early is noticed.
            *no_orphans(),
            OpaqueFunction(function=above_the_floor),
            nodes,
            OpaqueFunction(function=robot_parts),
            gazebo,
            clock,
            robot,
            model,
            calibrate,
        ]
    )
