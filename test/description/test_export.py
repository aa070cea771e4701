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

"""Exports as other tools read them: the chain of inverse_dynamics_solver has our torques; an MDH robot as URDF text."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription, export_urdf
from joint_dynamics.description.export import urdf_text
from joint_dynamics.robot import RobotModel, StandardParameters, gravity_in_base
from joint_dynamics.simulation import ur5e_urdf

MOUNTING = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]


@pytest.fixture
def document():
    """A UR5e on a wall, its links 7 % heavier than the URDF's, with something in its hand."""
    robot = RobotModel.from_urdf(ur5e_urdf())
    standard = StandardParameters(1.07 * robot.parameters, robot.n)
    return {
        'robot': {'joint_names': list(robot.joint_names)},
        'joints': {name: {} for name in robot.joint_names},
        'mounting': MOUNTING,
        'inertial': {'standard': {name: standard.link_document(k) for k, name in enumerate(robot.joint_names)}},
    }


@pytest.mark.parametrize('payload', ['merged', 'apart'])
def test_the_urdf_has_the_torques_of_the_arm(document, tmp_path, payload):
    document['payload'] = {'mass': {'value': 2.0}, 'first_moments': [0.02, 0.0, 0.16], 'attached': True}
    description = DynamicsDescription(document)
    export_urdf(description, ur5e_urdf(), tmp_path / 'out.urdf', payload)
    model = pinocchio.buildModelFromUrdf(str(tmp_path / 'out.urdf'))
    model.gravity.linear = gravity_in_base(MOUNTING)
    arm = Arm.from_description(RobotModel.from_urdf(ur5e_urdf()), description)
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, dq, ddq = rng.uniform(-1.5, 1.5, (3, 6))
        expected = arm.rigid.inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(pinocchio.rnea(model, model.createData(), q, dq, ddq), expected, atol=1e-7)


@pytest.mark.parametrize('table', ['ur_table', 'pa10_table', 'scara_table'])
def test_the_text_gives_the_same_torques(table, request):
    model = RobotModel.from_mdh(request.getfixturevalue(table))
    again = RobotModel.from_urdf(urdf_text(model))
    rng = np.random.default_rng(3)
    standard = rng.normal(size=len(model.parameter_names))
    states = model.random_states(5, rng)
    assert again.joint_names == model.joint_names
    np.testing.assert_allclose(
        again.inverse_dynamics(*states, standard), model.inverse_dynamics(*states, standard), atol=1e-9
    )


def test_limits_and_kinds_are_written(scara_table):
    model = RobotModel.from_mdh({**scara_table, 'velocity_limit_rad_s': [1.0, 2.0, 3.0, 4.0]})
    model.limits.lower[:], model.limits.upper[:] = [-1.0, -np.inf, 0.0, -2.0], [1.0, 3.0, 0.5, np.inf]
    text = urdf_text(model)
    again = RobotModel.from_urdf(text)
    kinds = [joint.get('type') for joint in ET.fromstring(text).findall('joint')]
    # half a bound is none: a revolute joint is then continuous
    assert kinds == ['revolute', 'continuous', 'prismatic', 'continuous']
    assert again.limits.lower.tolist() == [-1.0, -np.inf, 0.0, -np.inf]
    assert again.limits.upper.tolist() == [1.0, np.inf, 0.5, np.inf]
    assert again.limits.velocity.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert ET.fromstring(text).get('name') == 'mdh'
    model.pinocchio.name = ''
    assert ET.fromstring(urdf_text(model)).get('name') == 'robot'
