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

"""The command itself: what is refused in one line, whatever output it has."""

import os
import subprocess
import sys

import pytest

from joint_dynamics.cli.main import main
from joint_dynamics.python_process import environment, module_command


@pytest.mark.parametrize(
    'arguments',
    [
        ['watch', 'a b'],
        ['watch', '/a//b'],
        ['doctor', '--live', '--robot', 'x', '--namespace', 'x y'],
        ['validate', 'dynamics.yaml', 'x' * 5000],
        ['trend', 'x' * 5000, '--out', 'out'],
        ['doctor', 'run@0:1e400', '--robot', 'arm.yaml'],
        ['identify', '--robot', 'x', '--out', 'out', '--validate', 'run2', 'run1'],
    ],
    ids=lambda arguments: ' '.join(arguments)[:40],
)
def test_what_cannot_be_used_is_one_line(tmp_path, monkeypatch, capsys, arguments, ur_table):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'arm.yaml').write_text(str(ur_table).replace("'", ''))
    (tmp_path / 'run').mkdir()
    if arguments[0] in ('watch', 'doctor'):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert len(err) < 400


def run(tmp_path, **how):
    (tmp_path / 'none').mkdir(exist_ok=True)
    command = module_command('joint_dynamics.cli.main', ['doctor'])
    return subprocess.run(command, stderr=subprocess.PIPE, cwd=tmp_path, text=True, check=False, **how)


def test_a_terminal_of_ascii_is_written_to(tmp_path):
    done = run(tmp_path, stdout=subprocess.PIPE, env=environment({'PYTHONIOENCODING': 'ascii', 'LC_ALL': 'C'}))
    assert done.stdout.isascii()
    assert 'Traceback' not in done.stderr
    assert done.returncode in (0, 2)


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='no /dev/full')
def test_full_output_is_one_line(tmp_path):
    with open('/dev/full', 'w') as full:
        done = run(tmp_path, stdout=full, env=environment())
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_closed_output_is_no_traceback(tmp_path):
    command = module_command('joint_dynamics.cli.main', ['doctor'])
    shell = ['sh', '-c', '"$@" >&-', 'sh', *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, env=environment(), check=False)
    assert 'Traceback' not in done.stderr
    assert done.returncode in (0, 2)
    assert sys.stdout is not None
