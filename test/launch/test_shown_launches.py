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

"""Every `ros2 launch` line that README and docs/ show, loaded with exactly its arguments.

ROS 2's launch does all it does for the line, to the command of every process with its parameters; no process starts.
"""

import importlib.util
import shutil
from pathlib import Path

import pytest
import yaml

pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")

from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.simulation import ur5e_description

_spec = importlib.util.spec_from_file_location('shown', Path(__file__).parents[1] / 'shown.py')
_shown = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shown)
ROOT = _shown.ROOT
SHOWN = {' '.join(c.split()) for _, c in _shown.SHOWN if _shown.starts(c, ('ros2', 'launch'))}
LINES = sorted(SHOWN)
NODES = node_classes()
BESIDE = {'excitation', 'identifier', 'estimator', 'feedforward'}
STARTED = {
    'hardware': BESIDE,
    'simulation': BESIDE | {'simulator'},
    'preview': {'robot_state_publisher'},
    'gazebo': BESIDE | {'gazebo_model', 'robot_state_publisher', 'spawner', 'create'},
}


@pytest.fixture
def folder(tmp_path, dynamics_file):
    """The files that the lines name, in the working folder."""
    (tmp_path / 'result').mkdir()
    shutil.copy(dynamics_file, tmp_path / 'result')
    assert dynamics_file == tmp_path / 'dynamics.yaml'
    (tmp_path / 'robot.urdf').write_text(ur5e_description(), encoding='utf-8')
    return tmp_path


def preset(name, prefix):
    """Parameters of each node in a preset."""
    text = (ROOT / 'config' / name / 'nodes.yaml').read_text(encoding='utf-8').replace('$(var tf_prefix)', prefix)
    return {node.removeprefix('/**/'): part['ros__parameters'] for node, part in yaml.safe_load(text).items()}


@pytest.mark.parametrize('line', LINES, ids=lambda line: line.removeprefix('ros2 launch joint_dynamics ')[:90])
def test_a_shown_line_starts_its_nodes_with_its_arguments(line, launched, folder, request):
    name = line.split()[3].removesuffix('.launch.py')
    if name == 'gazebo' and shutil.which('xacro') is None:
        pytest.skip('xacro is not installed')
    if name in ('gazebo', 'preview'):
        request.getfixturevalue('gazebo_stand_ins')
    processes, given = launched(line)
    assert {process.executable for process in processes} >= STARTED[name]
    ours = {process.executable: process for process in processes if process.executable in NODES}
    for node, process in ours.items():
        assert Path(process.command[0]).is_file()
        rows = {row.name: row for row in NODES[node].parameter_rows()}
        for key, value in process.parameters.items():
            if key not in ('autostart', 'use_sim_time'):
                for one in value.values() if isinstance(value, dict) else (value,):
                    rows[key].value(one)
        assert process.rule('__ns').strip('/') == given.get('namespace', '')
        assert process.parameters['autostart'] is (given.get('autostart', 'true') == 'true')
    for node in {'estimator', 'feedforward'} & STARTED[name]:
        assert ours[node].parameters.get('description_file', '') == given.get('description_file', '')
    controller = given.get('initial_joint_controller')
    if controller is not None:
        assert ours['excitation'].rule('controller_state') == f'{controller}/controller_state'
    if name == 'hardware':
        expected = preset(given.get('preset', 'ros2_control'), given.get('tf_prefix', ''))
        if 'feedforward_file' in given:
            text = Path(given['feedforward_file']).read_text(encoding='utf-8').replace('$(var tf_prefix)', '')
            expected['feedforward'] |= yaml.safe_load(text)['/**/feedforward']['ros__parameters']
        for node, values in expected.items():
            assert ours[node].parameters.items() >= values.items(), node
    if name == 'gazebo':
        servers = [process for process in processes if 'ros_gz_sim/server' in process.command[0]]
        assert bool(servers) is (given.get('world_file') != '')
        spawned = [word for process in processes if process.executable == 'spawner' for word in process.command]
        assert (controller or 'effort_trajectory_controller') in spawned


def test_lines_are_found():
    assert {line.split()[3] for line in LINES} == {f'{name}.launch.py' for name in STARTED}
    assert len(LINES) >= 18
