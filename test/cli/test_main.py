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

"""The command itself: refusals in one line, output, help and completion."""

import json
import os
import subprocess
import sys

import pytest

from joint_dynamics.cli.main import COMMANDS, main
from joint_dynamics.python_process import environment, module_command


@pytest.mark.parametrize(
    'arguments',
    [
        ['watch', 'a b'],
        ['watch', '/a//b'],
        ['doctor', '--live', '--robot', 'x', '--namespace', 'x y'],
        ['doctor', '--live', '--robot', 'x', '--seconds', '0'],
        ['doctor', '--live', '--robot', 'x', '--wait', 'nan'],
        ['doctor', '--live', '--robot', 'x', 'run.csv'],
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


@pytest.mark.parametrize(
    ('words', 'meant'),
    [
        (['identfy', 'run'], 'identify'),
        (['identify', 'run', '--robot', 'x', '--out', 'x', '--vaildate', 'run2'], '--validate'),
        (['identify', 'run', '--robto', 'x', '--out', 'x'], '--robot'),
        (['trend', 'runs', '--otu=x'], '--out'),
    ],
)
def test_misspelt_word_suggests_the_right_one(run, words, meant):
    done = run(*words)
    assert done.status == 2
    assert f'did you mean {meant}?' in done.err


def test_unknown_word_suggests_nothing_far_off(run):
    assert 'did you mean' not in run('gains', '--colour', 'red').err
    assert 'did you mean' not in run('identify', '--rob', 'x').err, 'argparse completes it'


@pytest.mark.parametrize('name', COMMANDS)
def test_help_names_the_exit_statuses_and_output(run, name):
    done = run(name, '--help')
    words = ' '.join(done.out.split())
    assert done.status == 0
    assert 'Exit status: 0 done;' in words and '2 bad input or usage' in words
    assert COMMANDS[name].statuses in words
    assert ('--json FILE' in words and '--quiet' in words) or name == 'node'


@pytest.mark.parametrize(('name', 'status'), [('arm.urdf', 0), ('none.urdf', 2)])
def test_quiet_command_writes_its_json(run, arm_file, tmp_path, name, status):
    from joint_dynamics.simulation import ur5e_description

    (tmp_path / 'arm.urdf').write_text(ur5e_description())
    done = run('gains', '--robot', tmp_path / name, '--quiet', '--json', tmp_path / 'gains.json')
    shown = json.loads((tmp_path / 'gains.json').read_text())
    assert done.out == ''
    assert done.status == shown['status'] == status, done.err
    assert ('problems' in shown) == bool(status)
    assert [len(table['rows']) for table in shown['tables']] == ([] if status else [6])


def test_json_without_a_folder_ends_before_any_work(run, tmp_path):
    (tmp_path / 'file').write_text('')
    done = run('gains', '--robot', 'none.urdf', '--json', tmp_path / 'file' / 'gains.json')
    assert done.status == 2
    assert str(tmp_path / 'file') in done.err


@pytest.mark.parametrize(
    ('line', 'offered'),
    [
        ('joint-dynamics ident', {'identify', 'identify-joint'}),
        ('joint-dynamics identify --va', {'--validate'}),
        ('joint-dynamics identify --method i-', {'i-irls'}),
    ],
)
def test_shell_completes_commands_options_and_choices(tmp_path, line, offered):
    pytest.importorskip('argcomplete', reason='the extra completion is not installed')
    answer = tmp_path / 'answer'
    asked = {'_ARGCOMPLETE': '1', 'COMP_LINE': line, 'COMP_POINT': str(len(line)), '_ARGCOMPLETE_IFS': '\n'}
    asked['_ARGCOMPLETE_STDOUT_FILENAME'] = str(answer)
    command = module_command('joint_dynamics.cli.main')
    subprocess.run(command, env=environment(asked), capture_output=True, check=True)
    assert {word.strip() for word in answer.read_text().split('\n') if word} == offered


def of_installation(tmp_path, **how):
    (tmp_path / 'none').mkdir(exist_ok=True)
    command = module_command('joint_dynamics.cli.main', ['doctor'])
    return subprocess.run(command, stderr=subprocess.PIPE, cwd=tmp_path, text=True, check=False, **how)


def test_a_terminal_of_ascii_is_written_to(tmp_path):
    ascii_only = environment({'PYTHONIOENCODING': 'ascii', 'LC_ALL': 'C'})
    done = of_installation(tmp_path, stdout=subprocess.PIPE, env=ascii_only)
    assert done.stdout.isascii()
    assert 'Traceback' not in done.stderr
    assert done.returncode in (0, 2)


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='no /dev/full')
def test_full_output_is_one_line(tmp_path):
    with open('/dev/full', 'w') as full:
        done = of_installation(tmp_path, stdout=full, env=environment())
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_closed_output_is_no_traceback(tmp_path):
    command = module_command('joint_dynamics.cli.main', ['doctor'])
    shell = ['sh', '-c', '"$@" >&-', 'sh', *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, env=environment(), check=False)
    assert 'Traceback' not in done.stderr
    assert done.returncode in (0, 2)
    assert sys.stdout is not None
