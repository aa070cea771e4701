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

"""The commands on the pages for beginners are run in their order, with the stated results."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location('shown', Path(__file__).with_name('shown.py'))
_shown = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shown)
ROOT = _shown.ROOT
SHOWN = _shown.SHOWN

START = 'docs/start.md'


def plain(command):
    return ' '.join(command.split())


def of_pages(*pages):
    """Commands of pages that are run in their order by a test of their own."""
    return [plain(command) for page, command in SHOWN if page in pages and not command.endswith('…')]


def echoed(page, folder):
    """Write the files that a page writes by `echo`; return their names."""
    text = (ROOT / page).read_text(encoding='utf-8')
    found = dict(re.findall(r"^echo ('.*') > (\S+)$", text, re.MULTILINE))
    for content, name in found.items():
        (folder / name).write_text(shlex.split(content)[0] + '\n', encoding='utf-8')
    return set(found.values())


def run(command, folder):
    """Run a command of a page in a folder; return its output."""
    words = shlex.split(command)
    if words[0] == 'python':
        # From two folders down, as the page has it.
        start, rest = [sys.executable, str(ROOT / words[1].removeprefix('../../'))], words[2:]
    else:
        start, rest = [sys.executable, '-m', 'joint_dynamics'], words[1:]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([*start, *rest], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{command}\n{done.stdout}\n{done.stderr}'
    return done.stdout


@pytest.fixture(scope='module')
def started(tmp_path_factory):
    """The folder in which the commands of the first page were run, and what each said."""
    pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
    folder = tmp_path_factory.mktemp('start')
    assert echoed(START, folder) == {'physical.yaml'}
    return folder, {command: run(command, folder) for command in of_pages(START) if not command.startswith('make')}


@pytest.mark.slow
def test_the_first_page_does_what_it_says(started):
    folder, said = started
    assert [command.split()[1] for command in said] == [
        '../../examples/record_bags.py', 'doctor', 'identify', 'validate', 'identify', 'export',
    ]  # fmt: skip
    doctor, identify, validate = list(said.values())[1:4]
    assert doctor.rstrip().endswith('nothing wrong found')
    page = (ROOT / START).read_text(encoding='utf-8')
    percent = float(
        re.match(
            r'verdict: reliable within ([\d.]+) % of the torque of moving joints .*, validated on run2\n', identify
        ).group(1)
    )
    assert percent < float(re.search(r'less than ([\d.]+) %', page).group(1))
    assert validate.startswith('verdict: reliable')
    assert (folder / 'identified.urdf').is_file()
    for name in re.findall(r'^\| `([\w.]+)` \|', page, re.MULTILINE):
        assert (folder / 'result' / name).is_file()


@pytest.mark.slow
def test_the_readmes_recipe(started, tmp_path):
    """On the recordings of the first page; `run3` and `run4` are its two once more."""
    folder = shutil.copytree(started[0], tmp_path / 'recipe')
    shutil.rmtree(folder / 'result')
    (folder / 'physical.yaml').unlink()
    assert echoed('README.md', folder) == {'physical.yaml'}
    for name, of in (('run3', 'run2'), ('run4', 'run1')):
        shutil.copytree(folder / of, folder / name)
    # calibrate and doctor need a robot
    offline = ('identify', 'validate', 'export')
    commands = [command for command in of_pages('README.md') if command.startswith('joint-dynamics')]
    commands = [command for command in commands if command.split()[1] in offline]
    assert [command.split()[1] for command in commands] == list(offline)
    said = [run(command, folder) for command in commands]
    assert said[0].startswith('verdict: reliable')
    assert (folder / 'identified.urdf').is_file()
