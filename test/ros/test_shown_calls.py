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

"""What README and docs/ show for a robot that runs, done beside the simulated one: nodes, services, parameters, topics.

`ros2` itself is not needed. A node is started by the module of its executable, with the arguments of the page. rclpy
uses services, parameters and topics under the names and types of the page.
"""

import importlib
import importlib.util
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

_spec = importlib.util.spec_from_file_location('shown', Path(__file__).parents[1] / 'shown.py')
_shown = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shown)
ROOT = _shown.ROOT
SHOWN = _shown.SHOWN
JOINTS = RobotModel.load(ur5e_urdf()).joint_names
HOME = np.array([0.0, -1.57, 0.6, -1.57, 0.3, 0.0])


def interface(kind):
    """The class of a message or service by its full name."""
    package, part, name = kind.split('/')
    return getattr(importlib.import_module(f'{package}.{part}'), name)


def shown(*words):
    """The different commands that begin so."""
    return sorted({' '.join(command.split()) for _, command in SHOWN if _shown.starts(command, words)})


def services(page):
    """(name, type) of the services a page calls of our nodes, in its order."""
    return [
        tuple(command.split()[3:5])
        for where, command in SHOWN
        if where == page and _shown.starts(command, ('ros2', 'service', 'call'))
    ]


@pytest.fixture
def simulator(ros):
    """The simulated robot as the page starts it; its joint states so far."""
    (command,) = shown('ros2', 'run', 'joint_dynamics', 'simulator')
    start(ros, command)
    states = ros.listen(interface('sensor_msgs/msg/JointState'), '/joint_states', 1000)
    ros.until(lambda: states, what='joint states of the simulated robot')
    return states


def test_a_node_without_ros2_run(ros):
    (command,) = shown('joint-dynamics', 'node', 'simulator')
    ros.start([sys.executable, '-m', 'joint_dynamics', *shlex.split(command)[1:]], 'simulator')
    states = ros.listen(interface('sensor_msgs/msg/JointState'), '/joint_states', 1000)
    ros.until(lambda: states, what='joint states of the simulated robot')


def start(ros, command, folder=ROOT, namespace=''):
    """Start a node by the command of a page; return its process."""
    command = command.replace('$PWD', str(folder)).replace('$HOME', str(folder))
    # The drive gains that the page leaves out.
    rest = ' '.join(f'-p drive_gain.{joint}:=10.0' for joint in JOINTS[1:])
    words = shlex.split(command.replace('…', rest))
    module = f'joint_dynamics.nodes.{words[3]}.node'
    more = ['-r', f'__ns:={namespace}'] if namespace else []
    return ros.start([sys.executable, '-m', module, *words[4:], *more], words[3], cwd=folder)


@pytest.fixture
def folder(tmp_path, dynamics_file, small_motion):
    """A folder with the files that the commands name."""
    (tmp_path / 'config').symlink_to(ROOT / 'config')
    for name in ('result', 'identified'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'dynamics.yaml').write_bytes(dynamics_file.read_bytes())
    (tmp_path / 'plan').mkdir()
    small_motion(tmp_path / 'plan' / 'summary.json', JOINTS, HOME)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    'command', [c for c in shown('ros2', 'run', 'joint_dynamics') if ' simulator ' not in c], ids=lambda c: c[:50]
)
def test_a_node_comes_up_by_the_command_of_the_page(ros, simulator, folder, command):
    process = start(ros, command, folder)
    name = command.split()[3]
    # Without a description feedforward waits for one, and says so.
    ros.until(lambda: re.search(r'\bactive; |waiting for topic', process.output), what=f'{name} to come up')
    status, output = ros.stop(process)
    assert status == 0, output


def test_parameters_are_set_and_topics_are_heard(ros, simulator):
    for command in shown('ros2', 'param', 'set'):
        _, _, _, node, name, value = command.split()
        result = ros.set_parameter(node, name, float(value))
        assert result.successful, (command, result.reason)
    assert 'ros2 topic echo --once /joint_states' in shown('ros2', 'topic', 'echo')
    assert set(simulator[-1].name) == set(JOINTS)


@pytest.mark.slow
def test_an_estimator_is_saved_and_heard(ros, simulator, folder):
    (command,) = (c for c in shown('ros2', 'run', 'joint_dynamics', 'estimator') if 'output_folder' in c)
    for namespace in ('', '/left'):
        # The robot of the other namespace is the same one.
        more = ' -r /left/joint_states:=/joint_states -r /left/robot_description:=/robot_description'
        start(ros, command + (more if namespace else ''), folder, namespace)
        ros.until_state(f'{namespace}/estimator', 'active')
    heard = {}
    for echo in shown('ros2', 'topic', 'echo'):
        topic = next(word for word in echo.split()[3:] if word.startswith('/'))
        ros.until(lambda topic=topic: ros.probe.get_publishers_info_by_topic(topic), what=topic)
        (kind,) = {info.topic_type for info in ros.probe.get_publishers_info_by_topic(topic)}
        heard[topic] = ros.listen(interface(kind), topic)
    for topic, messages in heard.items():
        ros.until(lambda messages=messages: messages, what=topic)
    ((name, kind),) = services('docs/how-to/watch-wear.md')
    answer = ros.call(interface(kind), name)
    assert answer.success, answer.message
    assert (folder / 'estimated' / 'dynamics.yaml').is_file()
