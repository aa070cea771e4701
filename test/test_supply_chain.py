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

"""Dependencies are bounded and pinned; no command asks the network for anything."""

import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import INERTIAL

ROOT = Path(__file__).parents[1]
PYTHONS = ('3.10', '3.11', '3.12', '3.13')
CONSTRAINTS = (ROOT / 'constraints.txt').read_text(encoding='utf-8')
REQUIREMENTS = [Requirement(line) for line in requires('joint_dynamics')]


def canonical(name):
    return re.sub(r'[-_.]+', '-', name).lower()


@pytest.mark.parametrize('requirement', REQUIREMENTS, ids=str)
def test_every_dependency_has_a_lower_and_an_upper_bound(requirement):
    operators = {specifier.operator for specifier in requirement.specifier}
    assert '==' in operators or ({'>=', '<'} <= operators)


def pinned(python):
    """Version by name for one Python."""
    found = {}
    for line in CONSTRAINTS.splitlines():
        if line.startswith('#'):
            continue
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == '=='
        assert requirement.url is None
        environment = {'python_version': python, 'python_full_version': f'{python}.7'}
        if requirement.marker is None or requirement.marker.evaluate(environment):
            assert requirement.name not in found, requirement.name
            found[requirement.name] = specifier.version
    return found


@pytest.mark.parametrize('python', PYTHONS)
def test_every_dependency_is_pinned_within_its_bounds(python):
    versions = pinned(python)
    for requirement in REQUIREMENTS:
        name = canonical(requirement.name)
        assert name in versions, f'make lock: {name} is not in constraints.txt'
        assert requirement.specifier.contains(versions[name], prereleases=True), f'make lock: {name} {versions[name]}'


# Read by every Python that is started with its folder on PYTHONPATH, workers included.
WATCH = """
import os, socket, sys

def watch(event, arguments):
    if event == 'socket.getaddrinfo':
        host = arguments[0]
    elif event in ('socket.connect', 'socket.sendto'):
        kind, address = arguments[0].family, arguments[1]
        if kind not in (socket.AF_INET, socket.AF_INET6):
            return
        host = address[0]
    else:
        return
    if host not in (None, '', b'', 'localhost', '127.0.0.1', '::1', '0.0.0.0', '::'):
        with open(os.environ['OUTSIDE'], 'a') as file:
            file.write(f'{event} {host} by {sys.argv}\\n')
        raise PermissionError(f'the network is not to be asked: {event} {host}')

sys.addaudithook(watch)
"""
URDF = """<robot name="one"><link name="base"/>
<link name="l1"><inertial><origin xyz="0.1 0 0.1"/><mass value="4"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="3" effort="40"/></joint></robot>"""


@pytest.fixture
def alone(tmp_path, ur_table, true_arm_csv):
    """A function that runs Python with what asks the outside watched; returns status, output and who asked."""
    (tmp_path / 'watch').mkdir()
    (tmp_path / 'watch' / 'sitecustomize.py').write_text(WATCH)
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(ur_table))
    (tmp_path / 'run.csv').write_text(true_arm_csv)
    (tmp_path / 'one.urdf').write_text(URDF)
    link = {**dict.fromkeys(INERTIAL, 0.0), 'XX': 1.5, 'YY': 1.5, 'ZZ': 1.5, 'MX': 0.4, 'M': 4.0}
    document = {
        'robot': {'joint_names': ['j1'], 'urdf': URDF},
        'joints': {'j1': {}},
        'inertial': {'standard': {'j1': link}},
    }
    DynamicsDescription(document).save(tmp_path / 'one.yaml')
    path = os.pathsep.join([str(tmp_path / 'watch'), *filter(None, [os.environ.get('PYTHONPATH')])])
    environment = {**os.environ, 'PYTHONPATH': path, 'OUTSIDE': str(tmp_path / 'outside'), 'OPENBLAS_NUM_THREADS': '1'}

    def run(*arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        asked = tmp_path / 'outside'
        return done.returncode, done.stdout + done.stderr, asked.read_text() if asked.exists() else ''

    return run


def test_the_watch_sees_who_asks_the_network(alone):
    """An address for documentation (RFC 5737), without an answer; also in a process of a process."""
    code = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"
    status, output, asked = alone('-c', code)
    assert status == 1
    assert 'the network is not to be asked' in output
    assert '192.0.2.1' in asked
    nested = f'import subprocess, sys; subprocess.run([sys.executable, "-c", {code!r}])'
    assert alone('-c', nested)[2].count('192.0.2.1') > asked.count('192.0.2.1')


@pytest.mark.parametrize(
    'commands',
    [
        [
            ['identify', 'run.csv', '--robot', 'arm.yaml', '--out', 'out'],
            ['validate', 'out/dynamics.yaml', 'run.csv', '--out', 'validated'],
        ],
        [
            ['demo', '--help'],
            ['doctor'],
            ['gains', '--robot', 'one.urdf'],
            ['export', 'one.yaml', '--into', 'one.urdf', '--out', 'new.urdf'],
        ],
    ],
    ids=lambda commands: commands[0][0],
)
def test_nothing_is_asked_of_the_network(alone, commands, tmp_path):
    for arguments in commands:
        status, output, asked = alone('-m', 'joint_dynamics', *arguments)
        assert asked == ''
        assert status == 0, output
    for page in tmp_path.glob('*/report.html'):
        assert not re.search(r'(?:src|href)="(?!#|data:)', page.read_text(encoding='utf-8'))
