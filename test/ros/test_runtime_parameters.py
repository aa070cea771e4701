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

"""A value set on a configured node is applied or refused, parameter by parameter of every node's table."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from rclpy.parameter import Parameter

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.estimator.parameters import TUNED, settings_of
from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

NODES = node_classes()


@pytest.fixture
def configured(ros, ur5e_file, small_motion, tmp_path):
    """A function that returns a node of that name, configured and active."""
    (tmp_path / 'robot.urdf').write_text(ur5e_description())
    names = RobotModel.from_urdf(ur5e_description()).joint_names
    small_motion(tmp_path / 'summary.json', names, [0.0, -1.57, 0.6, -1.57, 0.3, 0.0], 0.02)
    given = {
        'estimator': {
            'description_file': str(ur5e_file),
            'output_folder': str(tmp_path / 'out'),
            'inputs': ['joint_states', 'motor_states', 'temperatures'],
            'joint_states_effort': 'none',
        },
        'excitation': {'trajectory_file': str(tmp_path / 'summary.json')},
        'feedforward': {'description_file': str(ur5e_file)},
        'gazebo_model': {},
        'identifier': {'output_folder': str(tmp_path / 'out')},
        'simulator': {'publish_clock': False},
    }
    assert set(given) == set(NODES)

    def begin(name):
        return ros.active(NODES[name], robot_file=str(tmp_path / 'robot.urdf'), **given[name])

    return begin


def others(row, before):
    """Values that the table allows and the parameter does not have."""
    if isinstance(row.default, bool):
        candidates = [not before]
    elif isinstance(row.default, list) and row.element is float:
        candidates = [[0.5 * v + 0.1 for v in before], [0.9 * v for v in before], [0.1] * 3, [0.1] * 6]
    elif isinstance(row.default, list):
        candidates = [[choice] for choice in row.choices] or [['x']]
    elif row.choices:
        candidates = list(row.choices)
    elif isinstance(row.default, str):
        candidates = ['/nowhere', 'nothing']
    else:
        low = next((bound for bound in (row.lower, row.above) if bound is not None), -1e3)
        high = next((bound for bound in (row.upper, row.below) if bound is not None), max(low, 0.0) + 10.0)
        kind = type(row.default)
        candidates = [kind(before * 1.25), kind(before * 0.8), kind(0.75 * low + 0.25 * high), kind(high)]
    found = []
    for candidate in candidates:
        try:
            if row.value(candidate) != before and not (isinstance(candidate, float) and math.isinf(candidate)):
                found.append(candidate)
        except JointDynamicsError:
            continue
    return found


def full(node, row):
    arm = node.robot if node.ROBOT else node.simulated
    return f'{row.name}.{arm.joint_names[1]}' if row.per_joint else row.name


def set_to(node, name, value):
    (result,) = node.set_parameters([Parameter(name, value=value)])
    return result


def in_use(node, name):
    """The value of a parameter in the working parts of the node; NotImplemented where it is read at each use."""
    if node.NAME == 'estimator' and name in TUNED:
        return getattr(node.session.settings, 'temperature' if name == 'default_temperature' else name)
    found = {
        ('estimator', 'learn'): lambda: node.session.learning,
        ('simulator', 'real_time_factor'): lambda: node.pace.factor,
        ('simulator', 'max_lead'): lambda: node.pace.max_lead,
        ('simulator', 'controller'): lambda: node.controllers.active,
        ('simulator', 'add_gravity'): lambda: node.controllers.add_gravity,
        ('simulator', 'payload_mass'): lambda: node.simulated.payload.mass,
        ('simulator', 'payload_com'): lambda: node.simulated.payload.com,
    }.get((node.NAME, name))
    return NotImplemented if found is None else found()


@pytest.mark.parametrize('name', sorted(NODES))
def test_parameters_that_answer_success_have_their_value(configured, name):
    node = configured(name)
    tried, seen = [], []
    for row in node.parameter_rows():
        parameter = full(node, row)
        if row.per_joint and not node.has_parameter(parameter):
            continue
        before = node.parameters[parameter]
        for value in others(row, before):
            result = set_to(node, parameter, value)
            tried.append(row.name)
            if row.applies != 'at once':
                assert not result.successful, parameter
                assert 'configure it' in result.reason if row.applies == 'configure' else 'read-only' in result.reason
            if not result.successful:
                assert result.reason
                assert node.parameters[parameter] == before
                continue
            assert node.parameters[parameter] == row.value(value)
            used = in_use(node, row.name)
            if used is not NotImplemented:
                seen.append(row.name)
                np.testing.assert_array_equal(used, row.value(value))
            break
    at_once = {row.name for row in node.parameter_rows() if row.applies == 'at once'}
    assert at_once <= set(tried), 'no other value was found'
    if name == 'estimator':
        assert TUNED & at_once | {'learn'} == set(seen)
        assert node.session.settings == settings_of(node.parameters) or node.session.remarks


@pytest.mark.parametrize(
    ('name', 'parameter', 'value', 'reason'),
    [
        ('estimator', 'friction_lower', [2.6, -0.05], 'friction_lower: expected numbers of at most friction_upper'),
        ('simulator', 'payload_inertia', [1.0, 1.0, -1.0, 0.0, 0.0, 0.0], 'payload: expected a symmetric inertia'),
    ],
)
def test_contradiction_is_refused_and_changes_nothing(ros, configured, name, parameter, value, reason):
    """Success was answered and the reason only logged, while the node went on with the old values."""
    node = configured(name)
    before = node.parameters[parameter]
    result = ros.set_parameter(f'/{name}', parameter, value)
    assert not result.successful
    assert reason in result.reason
    assert node.parameters[parameter] == before
    assert ros.set_parameter(f'/{name}', parameter, before).successful or before == []
