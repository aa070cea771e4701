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

"""Robots and a gradient check for the tests of excitation."""

import numpy as np
import pytest

from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

LIMIT = 'lower="-2.8" upper="2.8" velocity="3" effort="60"'


def planar_urdf(geometry=True, inertials=True, limit=LIMIT, mesh=None):
    """Three links of 0.4 m on a pedestal, the first joint upright.

    Spheres at the joints and the tip, so that distances are smooth.
    """

    def body(x):
        shape = f'<mesh filename="{mesh}"/>' if mesh else '<sphere radius="0.05"/>'
        return f'<collision><origin xyz="{x} 0 0"/><geometry>{shape}</geometry></collision>' if geometry else ''

    mass = (
        '<inertial><origin xyz="0.2 0.02 0.01"/><mass value="2"/><inertia ixx="0.01" iyy="0.04" izz="0.05" ixy="0.002"'
        ' ixz="0.001" iyz="-0.003"/></inertial>'
        if inertials
        else ''
    )
    links = (
        f'<link name="base">{body(-0.2)}</link>'
        + ''.join(f'<link name="l{k}">{mass}{body(0.4)}</link>' for k in (1, 2, 3))
        + '<link name="tip"/>'
    )
    joints = ''.join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="l{k}"/><origin xyz="{x} 0'
        f' {z}"/><axis xyz="{axis}"/><limit {limit}/></joint>'
        for k, (name, parent, x, z, axis) in enumerate(
            (('a', 'base', 0, 0.5, '0 0 1'), ('b', 'l1', 0.4, 0, '0 1 0'), ('c', 'l2', 0.4, 0, '0 1 0')), start=1
        )
    )
    flange = (
        '<joint name="flange" type="fixed"><parent link="l3"/><child link="tip"/><origin xyz="0.4 0 0.05"/></joint>'
    )
    return f'<robot name="planar">{links}{joints}{flange}</robot>'


@pytest.fixture(scope='session')
def make_urdf():
    return planar_urdf


@pytest.fixture(scope='session')
def arm():
    """Three revolute joints with inertials and spheres for collision geometry."""
    return RobotModel.from_urdf(planar_urdf())


@pytest.fixture(scope='session')
def ur5e():
    return RobotModel.load(ur5e_urdf())


@pytest.fixture(scope='session')
def coupled(ur_table):
    """A UR5e whose last two motors are coupled as those of a TX-40."""
    matrix = np.eye(6)
    matrix[5, 4] = 1.0
    return RobotModel.from_mdh(ur_table, coupling=matrix)


@pytest.fixture(scope='session')
def states():
    """Random q, dq, ddq of a model, (joints, samples) each."""

    def draw(model, samples, seed):
        return [np.ascontiguousarray(array.T) for array in model.random_states(samples, np.random.default_rng(seed))]

    return draw


@pytest.fixture(scope='session')
def check_slack_gradient(states):
    """Compare the gradient of a constraint's slack with central differences along random directions.

    Away from its corners.
    """

    def check(constraint, model, seed, tolerance=1e-5, samples=6, only_broken=False):
        rng = np.random.default_rng(seed)
        arrays = states(model, samples, seed)
        motion = RobotMotion(model, *arrays)
        slack = constraint.slack(motion)
        weight = rng.standard_normal(slack.shape) * (slack < 0 if only_broken else 1.0)
        assert weight.any()
        sensitivity = Sensitivity(motion)
        constraint.pull_back(motion, weight, sensitivity)
        gradient = sensitivity.collect()
        for k in range(3):
            direction = rng.standard_normal(arrays[k].shape)
            values = []
            for h in (1e-6, -1e-6):
                moved = [array + h * direction * (k == m) for m, array in enumerate(arrays)]
                values.append(constraint.slack(RobotMotion(model, *moved)))
            slope = (weight * (values[0] - values[1])).sum() / 2e-6
            assert (gradient[k] * direction).sum() == pytest.approx(slope, rel=tolerance, abs=tolerance)

    return check
