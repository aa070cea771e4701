"""Imports point one way (docs/structure.md), and only nodes/ and demo/ know ROS."""
import ast
from pathlib import Path

import pytest

import joint_dynamics

ROOT = Path(joint_dynamics.__file__).parent
ALLOWED = {
    'robot': set(), 'joint': set(), 'signals': set(),
    'recording': {'robot', 'joint', 'signals'},
    'excitation': {'robot', 'joint', 'signals'},
    'description': {'robot', 'joint', 'signals'},
}
LOWER = set(ALLOWED)
# What a description means is decided in arm/ alone; the plant shares no physics with it.
ALLOWED['arm'] = {'robot', 'joint', 'description'}
USERS = LOWER | {'arm'}
ALLOWED.update({layer: set(USERS) for layer in ('identification', 'estimation', 'control')})
ALLOWED['simulation'] = LOWER - {'joint'}
ALLOWED['report'] = USERS | {'identification', 'estimation', 'control', 'simulation'}
ALLOWED['nodes'] = ALLOWED['report'] | {'report'}
ALLOWED['demo'] = ALLOWED['nodes'] | {'nodes'}
ALLOWED['cli'] = ALLOWED['demo'] | {'demo'}
ROS = {'rclpy', 'std_msgs', 'sensor_msgs', 'trajectory_msgs', 'diagnostic_msgs', 'geometry_msgs', 'std_srvs', 'rcl_interfaces',
       'lifecycle_msgs', 'control_msgs', 'builtin_interfaces', 'rosgraph_msgs', 'tf2_msgs', 'tf_transformations', 'ament_index_python'}
MODULES = sorted(ROOT.rglob('*.py'))


def imported(path):
    """Absolute dotted names a module imports, relative imports resolved."""
    package = ('joint_dynamics', *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = '.'.join(package[:len(package) - node.level + 1]) if node.level else ''
            name = '.'.join(part for part in (base, node.module or '') if part)
            yield name
            yield from (f'{name}.{alias.name}' for alias in node.names)


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    layer = path.relative_to(ROOT).parts[0]
    for name in imported(path):
        top = name.split('.')[0]
        if top in ROS:
            assert layer in ('nodes', 'demo'), f'{name}: only nodes/ and demo/ may import ROS'
        parts = name.split('.')
        if top == 'joint_dynamics' and len(parts) > 1 and layer in ALLOWED and parts[1] in ALLOWED and parts[1] != layer:
            assert parts[1] in ALLOWED[layer], f'{layer}/ may not import {parts[1]}/'


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_readable(path):
    assert len(path.read_text(encoding='utf-8').splitlines()) <= 300
