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

"""Rigid bodies against pinocchio, whose recursions share no code with ours."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.excitation.motion import RegressorGradient
from joint_dynamics.identification.physical.semidefinite import pseudo_inertias
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel

# pinocchio's order of the ten parameters of a link.
THEIRS = ('M', 'MX', 'MY', 'MZ', 'XX', 'XY', 'YY', 'XZ', 'YZ', 'ZZ')
ORDER = [THEIRS.index(name) for name in INERTIAL]
MOUNTINGS = [None, [0.4, -0.7, 0.2]]


@pytest.fixture(params=range(6))
def robot(request, urdf_of):
    rng = np.random.default_rng(request.param)
    return RobotModel.from_urdf(urdf_of(rng, joints=int(rng.integers(1, 8))), mounting=MOUNTINGS[request.param % 2])


def close(found, expected):
    """Within 1e-12 of the largest value: a torque sums a few hundred products, each rounded at 1e-16."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1.0))


def test_the_regressor_is_that_of_pinocchio(robot):
    data = robot.pinocchio.createData()
    for q, dq, ddq in zip(*robot.random_states(20, np.random.default_rng(1)), strict=True):
        theirs = pinocchio.computeJointTorqueRegressor(robot.pinocchio, data, q, dq, ddq)
        ours = robot.regressor(q, dq, ddq)
        for k in range(robot.n):
            close(ours[:, PER_JOINT * k : PER_JOINT * k + 10], theirs[:, 10 * k : 10 * k + 10][:, ORDER])


def test_the_gradient_of_the_torque_is_that_of_pinocchio(robot):
    """Weights e_j ⊗ parameters pull back to the rows of ∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ = M."""
    data = robot.pinocchio.createData()
    q, dq, ddq = (array.T for array in robot.random_states(10, np.random.default_rng(2)))
    gradient = RegressorGradient(robot, q, dq, ddq)
    for j in range(robot.n):
        weight = np.zeros_like(gradient.rows)
        weight[j] = robot.parameters[:, None]
        ours = gradient.pull_back(weight)
        for sample in range(q.shape[1]):
            theirs = pinocchio.computeRNEADerivatives(
                robot.pinocchio, data, q[:, sample].copy(), dq[:, sample].copy(), ddq[:, sample].copy()
            )
            for mine, other in zip(ours, theirs, strict=True):
                mass = np.triu(other) + np.triu(other, 1).T if other is theirs[2] else other
                close(mine[:, sample], mass[j])


def test_energy_and_gravity_are_those_of_pinocchio(robot):
    data = robot.pinocchio.createData()
    for q in robot.random_states(20, np.random.default_rng(3))[0]:
        close(robot.gravity(q), pinocchio.computeGeneralizedGravity(robot.pinocchio, data, q))
        upper = np.triu(pinocchio.crba(robot.pinocchio, data, q))
        close(robot.mass_matrix(q), upper + np.triu(upper, 1).T)


def test_pseudo_inertias_are_those_of_pinocchio(robot):
    if not hasattr(pinocchio, 'PseudoInertia'):
        pytest.skip('pinocchio has PseudoInertia from 3.2 on')
    ours = pseudo_inertias(robot.standard(robot.parameters).links)
    for k in range(robot.n):
        close(ours[k], pinocchio.PseudoInertia.FromInertia(robot.pinocchio.inertias[k + 1]).toMatrix())
        assert np.linalg.eigvalsh(ours[k])[0] > 0
