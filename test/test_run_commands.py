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

import numpy as np
import pytest
import yaml
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.recording import BagWriter, Recording
from joint_dynamics.simulation import FlexibleJointRobot, Payload, TrajectoryPoints, record, ur5e_description

_spec = importlib.util.spec_from_file_location('shown', Path(__file__).with_name('shown.py'))
_shown = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shown)
ROOT = _shown.ROOT
SHOWN = _shown.SHOWN
KIND = 'sensor_msgs/msg/JointState'

START = 'docs/start.md'
MINE = 'docs/how-to/identify-my-robot.md'


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


def page_config():
    """The configuration of the page for a robot of one's own."""
    (text,) = re.findall(r'```yaml\n(.*?)```', (ROOT / MINE).read_text(encoding='utf-8'), re.DOTALL)
    return yaml.safe_load(text)


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


def write_bag(folder, recording):
    """A bag of /joint_states with the current in `effort`, as the driver of a UR gives it."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = {name.rpartition('/')[2]: cls for name, cls in store.types.items()}
    folder.mkdir()
    writer = BagWriter(folder)
    dq = np.gradient(recording.q, recording.time, axis=0) if recording.dq is None else recording.dq
    for time, *row in zip(recording.time, recording.q, dq, recording.current, strict=True):
        stamp = round(1e9 * time) + 10**9
        message = types['JointState'](
            types['Header'](types['Time'](*divmod(stamp, 10**9)), ''), list(recording.joint_names), *row
        )
        writer.write('/joint_states', KIND, stamp, bytes(store.serialize_cdr(message, KIND)))
    writer.close()


def motion(seed, seconds=20.0):
    """A motion of all joints, at rest at both ends."""
    time = np.arange(0.0, seconds, 0.01)
    omega = 2 * np.pi / seconds * np.arange(1, 11)[:, None]
    a, b = np.random.default_rng(seed).normal(scale=0.4, size=(2, 10, 6))
    a[-1] -= a.sum(axis=0)
    b[-1] -= (b * omega).sum(axis=0) / omega[-1]
    sine, cosine = np.sin(omega * time).T, np.cos(omega * time).T
    q = sine @ (a / omega) - (cosine - 1) @ (b / omega)
    return TrajectoryPoints(time, q, cosine @ a + sine @ b, cosine @ (b * omega) - sine @ (a * omega))


@pytest.fixture(scope='module')
def currents(tmp_path_factory):
    """A folder with a robot, its joints named as on the page, and recordings of its currents."""
    pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
    folder, config, urdf = tmp_path_factory.mktemp('currents'), page_config(), ur5e_description()
    robot = FlexibleJointRobot(seed=1)
    names = tuple(config['identification']['drive_gains'])
    for old, new in zip(robot.joint_names, names, strict=True):
        urdf = urdf.replace(f'"{old}"', f'"{new}"')
    (folder / 'robot.urdf').write_text(urdf, encoding='utf-8')
    # of the data sheet; the true gains differ
    gains = robot.drives.nominal_gain.tolist()
    config['identification']['drive_gains'] = dict(zip(names, gains, strict=True))
    (folder / 'robot.yaml').write_text(yaml.safe_dump(config), encoding='utf-8')
    for name, seed, mass in (('run1', 1, 0.0), ('run2', 2, 0.0), ('loaded', 3, 4.59)):
        robot = FlexibleJointRobot(seed=1)
        if mass:
            robot.attach_payload(Payload(mass, (0.02, -0.03, 0.1)))
        seen = record(robot, motion(seed), every=5)
        write_bag(folder / name, Recording(names, seen.time, seen.q, dq=seen.dq, current=seen.current))
    return folder


@pytest.mark.slow
def test_the_commands_for_a_robot_of_ones_own(currents):
    """With the file of the page, its drive gains those of the data sheet of the simulated robot."""
    pytest.importorskip('mujoco', reason='the extra mujoco is not installed')
    commands = [command for command in of_pages(MINE) if not command.startswith('joint-dynamics excite')]
    assert [command.split()[1] for command in commands] == ['doctor', 'identify', 'validate', 'export', 'export']
    said = [run(command, currents) for command in commands]
    assert said[1].startswith('verdict: reliable')
    assert (currents / 'identified.xml').is_file()
