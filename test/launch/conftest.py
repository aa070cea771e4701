"""Launch files run for real where ROS 2's launch is installed; elsewhere the test modules skip themselves."""
import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location('ros_conftest', Path(__file__).parents[1] / 'ros' / 'conftest.py')
_ros = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_ros)


@pytest.fixture
def ros(ros_domain, exits):
    """See Ros; waiting ends when a process of the launch has ended."""
    ros = _ros.Ros()
    ros.watchers.append(lambda: f'ended already: {exits}' if exits else '')
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
def description_of(launch_file, installed, ros_domain, exits, tmp_path, monkeypatch):
    """A launch description for a test: one of our files with arguments, its processes' ends noted in `exits`."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'ros'))
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))

    def describe(name, **arguments):
        from launch import LaunchDescription
        from launch.actions import IncludeLaunchDescription, RegisterEventHandler, SetLaunchConfiguration
        from launch.event_handlers import OnProcessExit
        from launch.launch_description_sources import PythonLaunchDescriptionSource
        from launch_pytest.actions import ReadyToTest

        def note(event, context):
            exits[Path(event.cmd[0]).name] = event.returncode
        # Ready first: a launch file that raises must fail the test, not keep it waiting for ever.
        return LaunchDescription([
            ReadyToTest(), RegisterEventHandler(OnProcessExit(on_exit=note)),
            # A busy machine may take long; what counts is that SIGINT is enough.
            SetLaunchConfiguration('sigterm_timeout', '120'),
            IncludeLaunchDescription(PythonLaunchDescriptionSource(launch_file(name)), launch_arguments=arguments.items())])
    return describe


@pytest.fixture
def dynamics_file(tmp_path):
    """A dynamics description of the UR5e: its URDF's inertials, plausible friction and stiffness."""
    from joint_dynamics.description import DynamicsDescription
    from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel
    from joint_dynamics.simulation import ur5e_urdf
    robot = RobotModel.load(ur5e_urdf())
    standard = {name: {kind: float(robot.parameters[PER_JOINT * k + i]) for i, kind in enumerate(INERTIAL)}
                for k, name in enumerate(robot.joint_names)}
    joints = {name: {'drive_gain': {'value': 12.0}, 'rotor_inertia': {'value': 0.5}, 'damping': {'value': 6.0},
                     'friction': {'parameters': {'F_C0': 5.0, 'F_V1': 8.0}}, 'stiffness': {'coefficients': [15000.0, 5e6]}}
              for name in robot.joint_names}
    path = tmp_path / 'dynamics.yaml'
    DynamicsDescription({'robot': {'joint_names': list(robot.joint_names)}, 'inertial': {'standard': standard}, 'joints': joints}).save(path)
    return path
