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

"""Started Pythons ignore the working folder; signals interrupt only interruptible code."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import joint_dynamics
from joint_dynamics.python_process import (
    Stop,
    environment,
    held_back,
    interruptible,
    module_command,
    terminated_like_interrupted,
)

SHADOWED = (
    'argparse', 'importlib', 'json', 'matplotlib', 'numba', 'numpy', 'pickle', 'pinocchio', 'rclpy', 'rich', 'runpy',
    'scipy', 'yaml',
)  # fmt: skip
TRAP = (
    "import pathlib\npathlib.Path({path!r}).write_text(__name__)\nraise SystemExit('code of the working folder was"
    " executed')\n"
)


@pytest.fixture
def trapped(tmp_path):
    """A working folder with modules that report their execution, and the file of the reports."""
    folder, told = tmp_path / 'work', tmp_path / 'executed'
    folder.mkdir()
    for name in SHADOWED:
        (folder / f'{name}.py').write_text(TRAP.format(path=str(told)))
    return folder, told


def run(command, folder, **changes):
    how = {'capture_output': True, 'text': True, 'check': False, 'stdin': subprocess.DEVNULL}
    return subprocess.run(command, cwd=folder, env=environment(changes), **how)


@pytest.mark.parametrize('path', ['', f'/nowhere{os.pathsep}'])
def test_started_module_ignores_the_working_folder(trapped, path):
    folder, told = trapped
    command = module_command('joint_dynamics.excitation.search:serve_search')
    done = run(command, folder, PYTHONPATH=path)
    assert not told.exists()
    assert (done.returncode, done.stderr) == (0, ''), 'it ran, and found nothing to do'


@pytest.mark.parametrize('module', ['', '.cli.main', '.nodes.estimator'])
def test_a_module_of_the_package_ignores_the_working_folder(trapped, module):
    """Except for the imports of `python -m` itself, before the package runs."""
    folder, told = trapped
    for name in ('importlib', 'runpy'):
        (folder / f'{name}.py').unlink()
    for name in ('struct', 'typing', 'pathlib', 'sensor_msgs', 'rosbags'):
        (folder / f'{name}.py').write_text(TRAP.format(path=str(told)))
    done = run(
        [sys.executable, '-m', f'joint_dynamics{module}', 'validate', 'none.yaml', '--ros-args', '-r', 'wrong'], folder
    )
    assert not told.exists(), told.read_text()
    assert done.returncode != 0
    assert 'working folder was executed' not in done.stderr


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_a_node_that_is_being_loaded(tmp_path, number):
    code = (
        'import sys; from joint_dynamics.cli import node\n'
        f'import importlib, signal; importlib.import_module = lambda name: signal.raise_signal({int(number)})\n'
        "sys.argv = ['x', 'estimator']; node.start(); print('went on')"
    )
    done = run([sys.executable, '-c', code], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


def test_who_runs_a_module_of_his_own_keeps_his_folder(tmp_path):
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / '__init__.py').write_text('import joint_dynamics')
    (tmp_path / 'mine' / 'program.py').write_text('import beside')
    (tmp_path / 'beside.py').write_text('print("mine")')
    assert run([sys.executable, '-m', 'mine.program', 'joint_dynamics'], tmp_path).stdout == 'mine\n'


def test_a_worker_runs_the_package_its_parent_runs(tmp_path):
    """From a source folder on the parent's path only."""
    source = tmp_path / 'src' / 'joint_dynamics'
    shutil.copytree(Path(joint_dynamics.__file__).parent, source, ignore=shutil.ignore_patterns('__pycache__'))
    (source / 'tell.py').write_text('import joint_dynamics, sys\nprint(joint_dynamics.__file__, *sys.argv[1:])\n')
    parent = (
        'import subprocess; from joint_dynamics.python_process import environment,'
        ' module_command\nprint(subprocess.run(module_command("joint_dynamics.tell", ["a", "b c"]), env=environment(),'
        ' cwd="/", capture_output=True, text=True).stdout)'
    )
    expected = f'{source}/__init__.py a b c'
    for changes, folder in (({}, tmp_path / 'src'), ({'PYTHONPATH': str(tmp_path / 'src')}, tmp_path)):
        done = run([sys.executable, '-c', parent], folder, **changes)
        assert done.stdout.strip() == expected, done.stderr


def test_sigterm_reaches_finally():
    reached = []

    def wait():
        with terminated_like_interrupted():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(600)
            finally:
                reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        wait()
    assert reached
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_is_handed_on_after_the_block(number):
    done = []

    def work():
        with terminated_like_interrupted(), held_back():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append(True)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(number) is before


@pytest.fixture
def stop():
    numbers = signal.SIGINT, signal.SIGTERM
    before = {number: signal.getsignal(number) for number in numbers}
    yield Stop()
    Stop.current = None
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_signal_breaks_off_only_interruptible_code(stop, number):
    with interruptible():
        pass
    os.kill(os.getpid(), number)
    assert stop.requested
    entered = []
    with pytest.raises(KeyboardInterrupt), interruptible():  # it came just before
        entered.append(True)
    assert not entered


HANGS = """
import time
from joint_dynamics import python_process
python_process.LONGEST_END = 0.2
python_process.Stop()
print('ready', flush=True)
while True:
    time.sleep(60.0)
"""


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_waits_for_good_ends_after_a_signal(number):
    process = subprocess.Popen([sys.executable, '-c', HANGS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == 'ready\n'
        process.send_signal(number)
        _, stacks = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    assert 'line 8' in stacks
