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

"""The presets in config/ name nodes and parameters that exist, with values that these accept."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ModelErrors, plausible_drives, ur5e_urdf

CONFIG = Path(__file__).parents[1] / 'config'
PRESETS = sorted(CONFIG.glob('*/nodes.yaml'))
PREFIX = 'left_'
NODES = node_classes()


def sections(path):
    """Yield (node name, {parameter: value}) of a preset."""
    document = yaml.safe_load(path.read_text(encoding='utf-8').replace('$(var tf_prefix)', PREFIX))
    for key, section in document.items():
        assert key.startswith('/**/'), f'{key}: must hold in any namespace'
        assert set(section) == {'ros__parameters'}
        yield key.removeprefix('/**/'), section['ros__parameters']


@pytest.mark.parametrize('path', PRESETS, ids=lambda path: path.parent.name)
def test_a_preset_names_what_exists(path):
    for node, values in sections(path):
        rows = {row.name: row for row in NODES[node].parameter_rows()}
        for name, value in values.items():
            assert name in rows, f'{node} has no parameter {name}'
            for given in value.values() if rows[name].per_joint else (value,):
                rows[name].value(given)


@pytest.mark.parametrize('name', ['gazebo', 'simulation'])
def test_drive_gains_are_those_of_the_simulated_drives(name):
    robot = RobotModel.load(ur5e_urdf())
    nominal = plausible_drives(robot.limits.effort, 0, ModelErrors.none()).nominal_gain
    for node, values in sections(CONFIG / name / 'nodes.yaml'):
        if 'drive_gain' in values:
            assert values['drive_gain'] == {
                PREFIX + joint: pytest.approx(gain, abs=6e-4)
                for joint, gain in zip(robot.joint_names, nominal, strict=True)
            }, node


@pytest.mark.parametrize(('file', 'effort'), [('nodes', 'torque_without_gravity'), ('currents', 'current')])
def test_ur_presets_need_the_stock_driver_only(file, effort):
    nodes = dict(sections(CONFIG / 'ur_e_series' / f'{file}.yaml'))
    assert set(nodes) == {'identifier', 'estimator', 'feedforward'}
    for values in nodes.values():
        # Position, velocity, and effort of either kind is all that joint_states of that driver has.
        assert values['inputs'] == ['joint_states']
        assert values['joint_states_effort'] == effort
        assert 'arrays' not in values
    assert nodes['feedforward']['gravity'] is False


@pytest.mark.parametrize('path', sorted((CONFIG / 'feedforward').glob('*.yaml')), ids=lambda path: path.stem)
def test_a_wiring_names_what_exists(path):
    rows = {row.name: row for row in NODES['feedforward'].parameter_rows()}
    for node, values in sections(path):
        assert node == 'feedforward'
        assert set(values) <= set(rows) | {'use_sim_time'}


def test_only_the_ur_driver_adds_gravity_itself():
    given = {}
    for path in [*PRESETS, *sorted((CONFIG / 'feedforward').glob('*.yaml'))]:
        for node, values in sections(path):
            if node == 'feedforward':
                given[f'{path.parent.name}/{path.stem}'] = values.get('gravity', True)
    ours = {name for name, gravity in given.items() if not gravity}
    assert ours == {'ur_e_series/nodes'}
