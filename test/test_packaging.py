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

"""A plain `pip install .` puts everything where ROS looks for it."""

import ast
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = 'src', 'launch', 'config', 'resource', 'docs'
FILES = 'setup.py', 'setup.cfg', 'pyproject.toml', 'package.xml', 'README.md', 'LICENSE'


def dependencies(*kinds):
    """The packages that package.xml asks for."""
    return {element.text for element in ET.parse(ROOT / 'package.xml').getroot() if element.tag in kinds}


def files_below(folder, pattern='*'):
    """Paths in a folder, relative to it, of all files but those that Python makes."""
    files = (path for path in folder.rglob(pattern) if path.is_file() and '__pycache__' not in path.parts)
    return {path.relative_to(folder) for path in files}


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """A copy of the sources."""
    folder = tmp_path_factory.mktemp('source')
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns('__pycache__', '*.egg-info'))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope='module')
def prefix(source, tmp_path_factory):
    """The package installed by pip, without its dependencies."""
    prefix = tmp_path_factory.mktemp('prefix')
    install = ['install', '--quiet', '--no-deps', '--no-build-isolation', '--no-index', '--ignore-installed']
    command = [sys.executable, '-m', 'pip', *install, '--prefix', prefix, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return prefix


def test_colcon_makes_the_command_known_to_ros2_run(source, tmp_path):
    options = ['--single-version-externally-managed', '--record', 'files']
    command = [sys.executable, '-W', 'ignore', 'setup.py', '-q', 'install', '--prefix', tmp_path, *options]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert os.access(tmp_path / 'lib/joint_dynamics/joint-dynamics', os.X_OK)


def test_the_ament_index_finds_the_package(prefix, monkeypatch):
    assert (prefix / 'share/ament_index/resource_index/packages/joint_dynamics').is_file()
    assert (prefix / 'share/joint_dynamics/package.xml').is_file()
    index = pytest.importorskip('ament_index_python', reason='ROS 2 is not installed')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    assert index.get_package_prefix('joint_dynamics') == str(prefix)


def test_launch_and_config_files_are_shared(prefix):
    for folder in ('launch', 'config'):
        assert files_below(prefix / 'share/joint_dynamics' / folder) == files_below(ROOT / folder)


def test_every_page_that_a_text_names_is_shared(prefix):
    cited = set()
    for path in (ROOT / 'src').rglob('*.py'):
        cited.update(re.findall(r'docs/[\w/-]+\.md', path.read_text()))
    assert cited
    shared = files_below(prefix / 'share/joint_dynamics')
    assert {Path(page) for page in cited} <= shared
    assert Path('LICENSE') in shared


EXECUTABLES = sorted(path.name for path in (ROOT / 'resource' / 'executables').iterdir())


def test_every_node_has_an_executable():
    assert set(EXECUTABLES) == {path.parent.name for path in (ROOT / 'src/joint_dynamics/nodes').glob('*/node.py')}


def test_executables_are_in_the_library_folder(prefix):
    for name in EXECUTABLES:
        assert os.access(prefix / 'lib/joint_dynamics' / name, os.X_OK)
        assert not (prefix / 'bin' / name).exists(), 'no command of so general a name on the path'


def test_executables_ignore_the_working_folder(prefix, tmp_path):
    path = prefix / 'lib/joint_dynamics' / EXECUTABLES[0]
    told = tmp_path / 'executed'
    for module in ('importlib', 'contextlib', 'joint_dynamics', 'argparse', 'rclpy', 'os', 're'):
        (tmp_path / f'{module}.py').write_text(f'open({str(told)!r}, "w").write(__name__)')
    site = next(prefix.glob('lib/python*/site-packages'))
    environment = {**os.environ, 'PYTHONPATH': str(site), 'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}'}
    command = [path, '--ros-args', '-p', 'autostart:=wrong']
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert not told.exists(), told.read_text()
    assert done.returncode == 2, done.stderr


def test_data_of_the_package_is_shipped(prefix):
    site = next(prefix.glob('lib/python*/site-packages/joint_dynamics'))
    for pattern in ('*.urdf', '*.yaml', '*.css', '*.js', '*.LICENSE', 'py.typed'):
        assert files_below(site, pattern) == files_below(ROOT / 'src/joint_dynamics', pattern)


def test_versions_agree():
    import joint_dynamics

    version = ET.parse(ROOT / 'package.xml').findtext('version')
    assert version == joint_dynamics.__version__
    assert f"version='{version}'" in (ROOT / 'setup.py').read_text()


def imported_below(folder):
    """Yield file and top-level name of every import below a folder, those that pytest looks for first included."""
    for path in (ROOT / folder).rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or '']
            elif isinstance(node, ast.Call) and getattr(node.func, 'attr', '') == 'importorskip':
                names = [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
            yield from ((path, name.split('.')[0]) for name in names)


# keys of rosdep by module
KEYS = {
    'numpy': 'python3-numpy',
    'scipy': 'python3-scipy',
    'yaml': 'python3-yaml',
    'jsonschema': 'python3-jsonschema',
    'rich': 'python3-rich',
    'numba': 'python3-numba',
    'rosbags': 'python3-rosbags-pip',
    **dict.fromkeys(('mcap', 'lz4', 'zstandard'), 'mcap-ros2-support'),
    'hypothesis': 'python3-hypothesis',
    'packaging': 'python3-packaging',
    'pytest': 'python3-pytest',
    '_pytest': 'python3-pytest',
    'setuptools': 'python3-setuptools',
}
# from the Python package index (README): rosdep has no key for them, or numba and pinocchio bring them
NO_KEY = {'argcomplete', 'cvxpy', 'clarabel', 'coal', 'distributed', 'hppfcl', 'llvmlite', 'mujoco'}


def test_every_import_is_a_dependency():
    """What src/ and test/ import stands in package.xml, so that a ROS installation brings it."""
    keys = dependencies('depend', 'exec_depend')
    for_tests = dependencies('test_depend')
    # mypy and PyKDL: skipped where they are not
    ours = {'joint_dynamics', '', 'mypy', 'PyKDL', *(path.stem for path in (ROOT / 'bench').glob('*.py'))}
    ours |= {path.stem for path in (ROOT / 'test').rglob('*.py')} | {
        path.stem for path in (ROOT / 'tools').glob('*.py')
    }
    for folder, there in (('src', keys), ('test', keys | for_tests)):
        for path, top in imported_below(folder):
            if top not in sys.stdlib_module_names and top not in ours | NO_KEY:
                assert KEYS.get(top, top) in there, f'{path}: {top}'
