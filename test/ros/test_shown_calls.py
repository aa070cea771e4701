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

import contextlib
import fcntl
import importlib
import importlib.util
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from std_msgs.msg import String

from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

_spec = importlib.util.spec_from_file_location('shown', Path(__file__).parents[1] / 'shown.py')
_shown = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shown)
ROOT = _shown.ROOT
SHOWN = _shown.SHOWN
JOINTS = RobotModel.load(ur5e_urdf()).joint_names
HOME = np.array([0.0, -1.57, 0.6, -1.57, 0.3, 0.0])
#: Pages with the whole work at a robot, from the plan to the verdict.
WORK = 'docs/reference/nodes/identifier.md'


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


class Terminal:
    """A command in a terminal of its own, 200 columns wide; a live table is drawn in none but that."""

    def __init__(self, command):
        self._here, there = os.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack('4H', 60, 200, 0, 0))
        self._said = b''
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'joint_dynamics', *shlex.split(command)[1:]],
            stdout=there,
            stderr=there,
            env={**os.environ, 'TERM': 'xterm'},
        )
        os.close(there)
        os.set_blocking(self._here, False)

    @property
    def said(self):
        """All it has drawn so far."""
        # Nothing yet, or the other end is closed.
        with contextlib.suppress(BlockingIOError, OSError):
            while part := os.read(self._here, 1 << 16):
                self._said += part
        return self._said.decode(errors='replace')

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._here)


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
def test_an_estimator_is_saved_heard_and_watched(ros, simulator, folder):
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
    for command in shown('joint-dynamics', 'watch'):
        terminal = Terminal(command)
        try:
            ros.until(lambda terminal=terminal: JOINTS[-1] in terminal.said, what=f'the table of {command}')
            if '--once' not in command:
                terminal.process.send_signal(signal.SIGINT)
            assert terminal.process.wait(ros.PATIENCE) == 0, terminal.said
        finally:
            terminal.close()
    ((name, kind),) = services('docs/how-to/watch-wear.md')
    answer = ros.call(interface(kind), name)
    assert answer.success, answer.message
    assert (folder / 'estimated' / 'dynamics.yaml').is_file()


@pytest.mark.slow
def test_the_work_from_the_plan_to_the_verdict(ros, tmp_path):
    """All calls of the page in its order; between them the motion that they ask for."""
    steps = services(WORK)
    config = tmp_path / 'config.yaml'
    config.write_text(
        f'excitation: {{posture: {HOME.tolist()}, limits: {{clearance: null}}, '
        'fourier: {period: 8, harmonics: 4, starts: 1, candidates: 2}}'
    )
    presets = tmp_path / 'nodes.yaml'
    text = (ROOT / 'config' / 'simulation' / 'nodes.yaml').read_text()
    presets.write_text(text.replace('$(var tf_prefix)', ''))
    given = {'autostart': True, 'use_sim_time': True}
    ros.process(
        'joint_dynamics.nodes.simulator.node', parameters={'autostart': True, 'publish_clock': True}, files=[presets]
    )
    ros.process(
        'joint_dynamics.nodes.excitation.node',
        parameters={**given, 'config_file': config, 'repeats': 2, 'state_timeout': 5.0},
        remap={'~/joint_trajectory': '/joint_trajectory_controller/joint_trajectory'},
    )
    ros.process(
        'joint_dynamics.nodes.identifier.node', parameters={**given, 'output_folder': tmp_path / 'out'}, files=[presets]
    )
    statuses = ros.listen(String, '/excitation/status', LATCHED)
    for node in ('excitation', 'identifier'):
        ros.until_state(f'/{node}', 'active')

    def said(*words):
        return statuses and statuses[-1].data.partition(',')[0] in words

    for name, kind in steps:
        answer = ros.call(interface(kind), name)
        assert answer.success, f'{name}: {answer.message}'
        if name == '/excitation/plan':
            ros.until(lambda: said('ready'), what='a plan')
        if name == '/excitation/start':
            ros.until(lambda: said('playing'), what='the motion')
            ros.until(lambda: not said('starting', 'playing'), what='the end of the motion')
            assert said('done'), statuses[-1].data
    assert 'reliable' in answer.message and 'not reliable' not in answer.message
    assert (tmp_path / 'out' / 'dynamics.yaml').is_file()
    # What ends a motion, where none is under way, is answered too.
    others = {(c.split()[3], c.split()[4]) for c in shown('ros2', 'service', 'call')} - set(steps)
    assert {name for name, _ in others} == {'/excitation/stop', '/estimator/save'}
    ros.call(interface('std_srvs/srv/Trigger'), '/excitation/stop')


def test_live_doctor_runs_beside_the_simulated_robot():
    """Its options are those that test_listening.py gives."""
    text = Path(__file__).with_name('test_listening.py').read_text()
    (form,) = (command for command in shown('joint-dynamics', 'doctor') if '--live' in command)
    assert [option for option in re.findall(r'--[\w-]+', form) if f"'{option}'" not in text] == []
