"""Launch files run for real where ROS 2's launch is installed; elsewhere the test modules skip themselves."""
import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location('ros_conftest', Path(__file__).parents[1] / 'ros' / 'conftest.py')
_ros = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_ros)
ros = _ros.ros


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
    """Return codes of the processes of a launch by name, filled as they end."""
    return {}
