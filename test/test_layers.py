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

"""Imports point one way and never in a circle (docs/structure.md), and only nodes/, calibration/ and demo/ know ROS."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import joint_dynamics

ROOT = Path(joint_dynamics.__file__).parent
ALLOWED = {
    'robot': set(),
    'joint': set(),
    'signals': set(),
    'recording': {'robot', 'joint', 'signals'},
    'excitation': {'robot', 'joint', 'signals'},
    'description': {'robot', 'joint', 'signals'},
}
LOWER = set(ALLOWED)
# arm/ alone interprets a description; the plant shares no physics with it.
ALLOWED['arm'] = {'robot', 'joint', 'description'}
USERS = LOWER | {'arm'}
ALLOWED.update({layer: set(USERS) for layer in ('identification', 'estimation', 'control')})
ALLOWED['simulation'] = LOWER - {'joint'}
ALLOWED['trend'] = USERS | {'identification'}
ALLOWED['report'] = USERS | {'identification', 'estimation', 'control', 'simulation', 'trend'}
ALLOWED['nodes'] = ALLOWED['report'] | {'report'}
ALLOWED['calibration'] = ALLOWED['nodes'] | {'nodes'}
ALLOWED['demo'] = ALLOWED['calibration'] | {'calibration'}
ALLOWED['cli'] = ALLOWED['demo'] | {'demo'}
ROS = {
    'rclpy', 'std_msgs', 'sensor_msgs', 'trajectory_msgs', 'diagnostic_msgs', 'geometry_msgs', 'std_srvs',
    'rcl_interfaces', 'lifecycle_msgs', 'control_msgs', 'builtin_interfaces', 'rosgraph_msgs', 'tf2_msgs',
    'tf_transformations', 'ament_index_python',
}  # fmt: skip
MODULES = sorted(ROOT.rglob('*.py'))
LICENCE = 13  # lines of the licence above every module


def statements(path):
    """Yield what a module imports: absolute dotted name, and the name taken from there (empty: itself)."""
    package = ('joint_dynamics', *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, '') for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = '.'.join(package[: len(package) - node.level + 1]) if node.level else ''
            name = '.'.join(part for part in (base, node.module or '') if part)
            yield from ((name, alias.name) for alias in node.names)


def imported(path):
    """Absolute dotted names a module imports, relative imports resolved."""
    for base, name in statements(path):
        yield base
        if name:
            yield f'{base}.{name}'


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    layer = path.relative_to(ROOT).parts[0]
    for name in imported(path):
        top = name.split('.')[0]
        if top in ROS:
            assert layer in ('nodes', 'calibration', 'demo'), f'{name}: only nodes/, calibration/, demo/ may import ROS'
        parts = name.split('.')
        if layer == 'settings' and top == 'joint_dynamics' and len(parts) > 1:
            assert parts[1] in ('settings', 'errors', 'arrays'), 'settings/ stands above all layers'
        if (
            top == 'joint_dynamics'
            and len(parts) > 1
            and layer in ALLOWED
            and parts[1] in ALLOWED
            and parts[1] != layer
        ):
            assert parts[1] in ALLOWED[layer], f'{layer}/ may not import {parts[1]}/'


@pytest.mark.parametrize('path', (ROOT / 'nodes').rglob('*.py'), ids=lambda path: str(path.relative_to(ROOT)))
def test_nodes_know_the_shared_folders_and_themselves(path):
    """A node's folder imports no other node's, shared folders import no node, and the framework no interfaces."""
    folder = path.relative_to(ROOT).parts[1]
    allowed = {'framework', 'interfaces', folder} if folder != 'framework' else {'framework'}
    for name in imported(path):
        parts = name.split('.')
        if parts[:2] == ['joint_dynamics', 'nodes'] and len(parts) > 2:
            assert parts[2] in allowed, f'{name}: expected from {", ".join(sorted(allowed))}'


def dotted(path):
    """Absolute dotted name of a module; of a folder's __init__ the folder's."""
    parts = ('joint_dynamics', *path.relative_to(ROOT).with_suffix('').parts)
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def test_no_modules_import_each_other():
    """Directly or by a detour, for types alone and inside functions included.

    A folder's __init__ counts if a name of its own is imported from it.
    """
    names = {dotted(path) for path in MODULES}
    imports = {
        dotted(path): {f'{base}.{name}' if f'{base}.{name}' in names else base for base, name in statements(path)}
        & names - {dotted(path)}
        for path in MODULES
    }
    assert sum(map(len, imports.values())) > 1000
    TopologicalSorter(imports).prepare()  # a CycleError names those of a circle


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_readable(path):
    """About 300 lines below the licence; 340, because the formatter splits long signatures."""
    lines = path.read_text(encoding='utf-8').splitlines()[LICENCE:]
    assert sum(bool(line.strip()) for line in lines) <= 340


#: Functions that turn a part of a description into physics.
READERS = {'from_dict', 'from_dicts', 'standard_parameters', 'payload_attached', 'kinematic_error', 'backlash', 'scale'}
OWNERS = {'FrictionModel', 'TorsionalStiffness', 'PeriodicMap', 'MaxwellSlip', 'description', 'known'}
#: The compensation of a foreign controller, stated in a file of its own, is no description.
OTHERS = {'control/applied.py'}


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_description_has_one_reader(path):
    """Only arm/ and the layers below it make friction or stiffness of a description."""
    place = str(path.relative_to(ROOT))
    if place.split('/')[0] in ('arm', 'joint', 'description') or place in OTHERS:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, 'id', '')
            assert name not in OWNERS, f'{place}:{node.lineno}: {name}.{node.func.attr} reads a description past arm/'
