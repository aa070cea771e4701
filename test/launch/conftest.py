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

"""Launch files run for real where ROS 2's launch is installed; elsewhere the test modules skip themselves."""

import ast
import importlib.util
import os
import shlex
import sys
from pathlib import Path

import pytest
import yaml

_spec = importlib.util.spec_from_file_location('ros_conftest', Path(__file__).parents[1] / 'ros' / 'conftest.py')
_ros = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_ros)


# These do their work and end.
RUN_ONCE = {'create', 'spawner'}


@pytest.fixture
def ros(ros_domain, exits, launch_ended):
    """See Ros; waiting ends when a process of the launch has ended, or the launch itself, as after an exception."""
    ros = _ros.Ros()
    ros.watchers.append(lambda: f'ended already: {exits}' if set(exits) - RUN_ONCE or any(exits.values()) else '')
    ros.watchers.append(lambda: f'the launch has ended: {launch_ended}' if launch_ended else '')
    try:
        yield ros
    finally:
        ros.close()


@pytest.fixture
def launch_file():
    """The path of a launch file by its name."""
    return lambda name: str(Path(__file__).parents[2] / 'launch' / f'{name}.launch.py')


@pytest.fixture
def installed():
    """Skip where the package is not registered with its launch files and executables."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        prefix = Path(get_package_prefix('joint_dynamics'))
    except PackageNotFoundError as error:
        pytest.skip(f'the package is not installed in an ament prefix: {error}')
    if not (prefix / 'lib' / 'joint_dynamics' / 'identifier').exists():
        pytest.skip(f'no executables in {prefix}/lib/joint_dynamics')


@pytest.fixture
def exits():
    """Return codes of the processes of a launch by executable, filled as they end."""
    return {}


@pytest.fixture
def launch_ended():
    """Reasons why the launch shuts down, filled as it does."""
    return []


@pytest.fixture
def description_of(launch_file, installed, ros_domain, exits, launch_ended, tmp_path, monkeypatch):
    """A launch description for a test: one of our files with arguments, its processes' ends noted in `exits`."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'ros'))
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))

    def describe(name, **arguments):
        from launch import LaunchDescription
        from launch.actions import IncludeLaunchDescription, RegisterEventHandler, SetLaunchConfiguration
        from launch.event_handlers import OnProcessExit, OnShutdown
        from launch.launch_description_sources import PythonLaunchDescriptionSource
        from launch_pytest.actions import ReadyToTest

        def note(event, context):
            exits[Path(event.cmd[0]).name] = event.returncode

        # Ready first: a launch file that raises must fail the test, not keep it waiting for ever.
        return LaunchDescription(
            [
                ReadyToTest(),
                RegisterEventHandler(OnProcessExit(on_exit=note)),
                RegisterEventHandler(OnShutdown(on_shutdown=lambda event, context: launch_ended.append(event.reason))),
                # A busy machine may take long; what counts is that SIGINT is enough.
                SetLaunchConfiguration('sigterm_timeout', '120'),
                IncludeLaunchDescription(
                    PythonLaunchDescriptionSource(launch_file(name)), launch_arguments=arguments.items()
                ),
            ]
        )

    return describe


class Started:
    """A process that launch would have started: executable, command, environment, ROS parameters."""

    def __init__(self, process):
        # As the command line of a process has them, `ros2` arguments and all.
        self.command, self.environment = process.final_cmd, process.final_env
        self.executable = Path(self.command[0]).name
        self.parameters = {}
        for option, value in zip(self.command, self.command[1:], strict=False):
            if option == '--params-file':
                # Launch removes it in the end.
                for section in yaml.safe_load(Path(value).read_text(encoding='utf-8')).items():
                    self._take(*section)

    def _take(self, name, section):
        if name == '/**' or name.rpartition('/')[2] == self.executable:
            self.parameters |= section['ros__parameters']

    def rule(self, of):
        """What a name is replaced by: of the node, its namespace, or a topic."""
        return next((word.split(':=')[1] for word in self.command if word.startswith(f'{of}:=')), '')


@pytest.fixture
def launched(launch_file, installed, ros_domain, tmp_path, monkeypatch):
    """A function that does what a line says; returns the processes it would have started, and its arguments."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'ros'))
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
    started = []

    def note(action, context):
        action.prepare(context)
        started.append(Started(action.process_description))

    from ament_index_python.packages import get_package_share_directory
    from launch import LaunchDescription, LaunchService
    from launch.actions import IncludeLaunchDescription
    from launch.actions.execute_local import ExecuteLocal
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    monkeypatch.setattr(ExecuteLocal, 'execute', note)

    def launch(line):
        share = get_package_share_directory('joint_dynamics')
        line = line.replace('$(ros2 pkg prefix --share joint_dynamics)', share).replace('$PWD', str(tmp_path))
        line = line.replace('=DIR/', f'={tmp_path}/')
        package, file, *arguments = shlex.split(line)[2:]
        assert package == 'joint_dynamics'
        given = dict(argument.split(':=') for argument in arguments)
        source = PythonLaunchDescriptionSource(launch_file(file.removesuffix('.launch.py')))
        service = LaunchService(noninteractive=True)
        # Launch takes undeclared arguments, too, and nobody reads them.
        declared = source.get_launch_description(service.context).get_launch_arguments()
        assert set(given) <= {argument.name for argument in declared}
        service.include_launch_description(
            LaunchDescription([IncludeLaunchDescription(source, launch_arguments=given.items())])
        )
        assert service.run() == 0
        return started, given

    return launch


SERVER = """import os, signal, sys
if 'STAND_IN_PID' in os.environ:
    with open(os.environ['STAND_IN_PID'], 'w') as file:
        file.write(str(os.getpid()))
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    signal.pause()
"""
ONCE = """import os, sys
with open(os.environ['STAND_INS'], 'a') as file:
    file.write(repr([os.path.basename(__file__), *sys.argv[1:]]) + chr(10))
sys.exit(os.path.basename(__file__) == os.environ.get('STAND_IN_FAILS'))
"""
PUBLISHER = """import rclpy, signal, sys
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from joint_dynamics.nodes.framework.tables import LATCHED
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: sys.exit(0))
rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = rclpy.create_node('robot_state_publisher')
publisher = node.create_publisher(String, 'robot_description', LATCHED)
publisher.publish(String(data=node.declare_parameter('robot_description', '').value))
while True:
    rclpy.spin_once(node, timeout_sec=0.1)
"""
# In a shell, as ros_gz_sim starts it: a signal to the shell does not reach what runs in it.
GAZEBO = """from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess

def generate_launch_description():
    server = ExecuteProcess(cmd=['{server}', '$(echo -r)', '--force-version 8'], shell=True, output='both')
    return LaunchDescription([DeclareLaunchArgument('gz_args'), server])
"""


@pytest.fixture
def gazebo_stand_ins(tmp_path, monkeypatch):
    """Stand-ins for Gazebo's and ros2_control's packages; returns the commands that ran once, as a function."""
    programs = {
        'ros_gz_sim': {'server': SERVER, 'create': ONCE},
        'ros_gz_bridge': {'parameter_bridge': SERVER.replace('STAND_IN_PID', 'UNSET')},
        'controller_manager': {'spawner': ONCE},
        'robot_state_publisher': {'robot_state_publisher': PUBLISHER},
    }
    prefix = tmp_path / 'stand_ins'
    for package, executables in programs.items():
        marker = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / package
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        for name, text in executables.items():
            path = prefix / 'lib' / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'#!{sys.executable}\n{text}', encoding='utf-8')
            path.chmod(0o755)
    launch = prefix / 'share' / 'ros_gz_sim' / 'launch' / 'gz_sim.launch.py'
    launch.parent.mkdir(parents=True)
    server = prefix / 'lib' / 'ros_gz_sim' / 'server'
    launch.write_text(GAZEBO.replace('{server}', str(server)), encoding='utf-8')
    monkeypatch.setenv('STAND_IN_PID', str(tmp_path / 'server.pid'))
    log = tmp_path / 'stand_ins.log'
    monkeypatch.setenv('STAND_INS', str(log))
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{prefix}:{os.environ["AMENT_PREFIX_PATH"]}')
    return lambda: [ast.literal_eval(line) for line in log.read_text().splitlines()] if log.exists() else []
