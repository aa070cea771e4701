"""`joint-dynamics doctor`: what is installed, what is missing, what works, in a table and by exit status."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from typing import Any

# Module, distribution, what for, whether the package works without it.
MODULES = (
    ('numpy', 'numpy', 'arrays', True),
    ('scipy', 'scipy', 'filters, solvers', True),
    ('pinocchio', 'pin', 'rigid-body dynamics', True),
    ('rosbags', 'rosbags', 'rosbag2 without ROS', True),
    ('mcap', 'mcap', 'recordings that are written', True),
    ('yaml', 'PyYAML', 'configuration, descriptions', True),
    ('matplotlib', 'matplotlib', 'figures', True),
    ('rich', 'rich', 'tables, progress', True),
    ('cvxpy', 'cvxpy', 'physically consistent parameters (extra sdp)', False),
    ('clarabel', 'clarabel', 'its solver', False),
    ('rclpy', 'rclpy', 'the nodes', False),
    ('sensor_msgs', 'sensor_msgs', 'the nodes', False),
    ('trajectory_msgs', 'trajectory_msgs', 'the nodes', False),
    ('diagnostic_msgs', 'diagnostic_msgs', 'the nodes', False),
    ('control_msgs', 'control_msgs', 'broadcaster topics, action of the trajectory controller', False),
    ('tf2_msgs', 'tf2_msgs', 'mounting from tf', False),
    ('tf_transformations', 'tf_transformations', 'mounting from tf', False),
    ('launch', 'launch', 'launch files', False),
    ('launch_ros', 'launch_ros', 'launch files', False),
    ('launch_pytest', 'launch_pytest', 'launch tests', False),
)
NODE_CHECK = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import rclpy
rclpy.init()
node = rclpy.create_node('joint_dynamics_doctor')
node.destroy_node()
rclpy.try_shutdown()
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    subparsers.add_parser(
        'doctor',
        help='tell what is installed, what is missing, and what works',
        description=(
            'Lists every dependency with its version and tries what the package needs; '
            'exit status 2 when something needed is missing.'
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Print the table; return 0, or 2 where something needed is missing or does not work."""
    from joint_dynamics.cli.common import show_table

    rows, missing = [], []
    for module, distribution, purpose, needed in MODULES:
        state = _version(module, distribution)
        rows.append([module, state or 'missing', 'needed' if needed else 'optional', purpose])
        if state is None and needed:
            missing.append(module)
    show_table(
        f'joint_dynamics on Python {platform.python_version()}, {platform.machine()},'
        f' ROS_DISTRO={os.environ.get("ROS_DISTRO", "not set")}',
        ['module', 'version', 'is', 'for'],
        rows,
    )
    checks = [('regressor of a robot', _check_regressor), ('ament index knows joint_dynamics', _check_index)]
    if any(row[0] == 'rclpy' and row[1] != 'missing' for row in rows):
        checks.append(('a ROS 2 node starts', _check_node))
    results = [[name, *_outcome(check)] for name, check in checks]
    show_table('What works', ['check', 'result', ''], results)
    if missing:
        print(f'joint-dynamics doctor: missing: {", ".join(missing)}', file=sys.stderr)
    return 2 if missing or results[0][1] == 'failed' else 0


def _version(module: str, distribution: str) -> str | None:
    try:
        importlib.import_module(module)
    except ImportError:
        return None
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return 'there'


def _outcome(check: Callable[[], str]) -> tuple[str, str]:
    try:
        return 'works', check()
    except Exception as error:  # a doctor reports whatever is wrong, it does not fall ill of it
        return 'failed', f'{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ""}'


def _check_regressor() -> str:
    import numpy as np

    from joint_dynamics.robot import RobotModel

    rows = [{'alpha': alpha, 'a': 0.3, 'd': 0.1, 'theta': 0.0} for alpha in (0.0, -np.pi / 2, 0.0)]
    model = RobotModel.from_mdh({'joints': rows})
    parameters = np.arange(1.0, len(model.parameter_names) + 1)
    states = model.random_states(3, np.random.default_rng(0))
    error = np.abs(model.regressor(*states) @ parameters - model.inverse_dynamics(*states, parameters)).max()
    return f'regressor · parameters = inverse dynamics to {error:.1e} N·m'


def _check_index() -> str:
    prefixes = [prefix for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if prefix]
    if not prefixes:
        raise LookupError(
            f'AMENT_PREFIX_PATH is not set; in a virtual environment: export AMENT_PREFIX_PATH={sys.prefix}'
        )
    for prefix in prefixes:
        if os.path.exists(os.path.join(prefix, 'share/ament_index/resource_index/packages/joint_dynamics')):
            return prefix
    raise LookupError(f'not in {", ".join(prefixes)}')


def _check_node() -> str:
    from joint_dynamics.python_process import environment

    done = subprocess.run(
        [sys.executable, '-c', NODE_CHECK], env=environment(), capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ['no message'])[-1])
    return 'rclpy over DDS'
