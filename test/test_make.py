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

"""The first minute of `make`: the interpreter it needs, its progress and its logs."""

import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / 'tools'

pytestmark = pytest.mark.skipif(not TOOLS.is_dir(), reason='tools/ is not beside the tests')


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


@pytest.fixture
def python(tmp_path):
    """A function that writes an interpreter of a version, with or without the module venv."""

    def write(version, venv):
        path = tmp_path / 'python3'
        old = 'exit 1' if version < (3, 10) else 'exit 0'
        path.write_text(
            '#!/bin/sh\ncase "$2" in\n'
            f'  *version_info\\ \\<*) {old} ;;\n'
            f'  *ensurepip*) exit {0 if venv else 1} ;;\n'
            f'  *version_info*) echo {version[0]}.{version[1]} ;;\nesac\n'
            f'[ "$1" = -V ] && echo Python {version[0]}.{version[1]}.1\nexit 0\n'
        )
        path.chmod(0o755)
        return path

    return write


@pytest.mark.parametrize(
    ('version', 'words'), [((3, 12), ('python3.12-venv',)), ((3, 8), ('3.10', '3.8.1')), (None, ('python3-venv',))]
)
def test_missing_python_parts_are_named_with_the_remedy(python, tmp_path, version, words):
    there = python(version, venv=version < (3, 10)) if version else tmp_path / 'no-python'
    done = run(TOOLS / 'require_python.sh', there)
    assert done.returncode == 2
    assert all(part in done.stderr for part in words)


def test_progress_keeps_the_output_in_a_log(tmp_path):
    log = tmp_path / 'log' / 'pip.log'
    done = run(TOOLS / 'with_progress.sh', 'Installing', log, 'sh', '-c', 'echo Collecting numpy; echo chatter >&2')
    assert done.returncode == 0
    assert done.stdout.startswith('Installing ...\n')
    assert 'done in' in done.stdout
    assert 'chatter' not in done.stdout + done.stderr
    assert log.read_text() == 'Collecting numpy\nchatter\n'


def test_failure_shows_status_and_end_of_log(tmp_path):
    log = tmp_path / 'pip.log'
    done = run(TOOLS / 'with_progress.sh', 'Installing', log, 'sh', '-c', 'echo no such package; exit 3')
    assert done.returncode == 3
    assert str(log) in done.stderr
    assert 'no such package' in done.stderr
