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

"""The names of `from joint_dynamics import …`: lazy, documented, and seen by type checkers."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import joint_dynamics

ROOT = Path(__file__).parents[1]
HEAVY = ('numpy', 'scipy', 'pinocchio', 'matplotlib', 'yaml', 'numba', 'rosbags', 'rich')
#: Shared design, "Python, stable and documented".
STABLE = {
    'RobotModel', 'MaxwellSlip', 'Recording', 'identify', 'StiffnessEstimator', 'FrictionEstimator', 'optimise',
    'DynamicsDescription',
}  # fmt: skip


def loaded_after(code):
    """Names of the modules that are loaded once `code` has run in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, '-c', f'{code}\nimport sys\nprint(*sys.modules)'], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    'code',
    [
        'import joint_dynamics',
        'import joint_dynamics; dir(joint_dynamics)',
        'from joint_dynamics.cli.main import build_parser; build_parser()',
    ],
)
def test_heavy_imports_wait_for_their_first_use(code):
    assert sorted(loaded_after(code).intersection(HEAVY)) == []


def test_a_name_brings_its_own_folder_only():
    loaded = loaded_after('from joint_dynamics import JointDynamicsError')
    assert 'joint_dynamics.errors' in loaded
    assert 'joint_dynamics.identification' not in loaded


def homes():
    """Name -> folder, of the imports under TYPE_CHECKING, which type checkers see."""
    tree = ast.parse(Path(joint_dynamics.__file__).read_text(encoding='utf-8'))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING']
    return {alias.name: node.module for node in block.body for alias in node.names}


@pytest.mark.parametrize('name', joint_dynamics.__all__)
def test_every_name_is_there_and_explained(name):
    value = getattr(joint_dynamics, name)
    if name != '__version__':
        assert inspect.getdoc(value)
        assert getattr(importlib.import_module(homes()[name]), name) is value
        assert vars(joint_dynamics)[name] is value  # asked for once, then found at once


def test_the_list_is_whole():
    assert set(joint_dynamics.__all__) >= STABLE
    assert len(set(joint_dynamics.__all__)) == len(joint_dynamics.__all__)
    assert set(joint_dynamics.__all__) <= set(dir(joint_dynamics))
    assert not hasattr(joint_dynamics, 'identfy')


def test_type_checkers_see_the_same_names():
    """The imports under TYPE_CHECKING are those that happen at run time."""
    assert set(homes()) == set(joint_dynamics.__all__) - {'__version__'}


@pytest.mark.slow
def test_type_checker_accepts_pages_and_examples(tmp_path):
    """The Python of README.md and docs/reference/python.md, and the examples, for a user of the typed package."""
    pytest.importorskip('mypy', reason='mypy is not installed')
    files = [tmp_path / path.name for path in sorted((ROOT / 'examples').glob('*.py'))]
    for file in files:
        file.write_text((ROOT / 'examples' / file.name).read_text(encoding='utf-8'), encoding='utf-8')
    for page in ('README.md', 'docs/reference/python.md'):
        blocks = re.findall(r'```python\n(.*?)```', (ROOT / page).read_text(encoding='utf-8'), flags=re.DOTALL)
        assert blocks
        files.append(tmp_path / f'{Path(page).stem.lower()}_page.py')
        files[-1].write_text('\n'.join(blocks), encoding='utf-8')
    options = ['--config-file=', '--cache-dir', tmp_path / 'cache', '--ignore-missing-imports', '--check-untyped-defs']
    command = [sys.executable, '-m', 'mypy', *options, *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
