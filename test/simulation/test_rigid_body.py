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

"""Link side of the plant against pinocchio, which computes it in another way."""

import numpy as np
import pinocchio

from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import Payload, ur5e_urdf
from joint_dynamics.simulation.rigid_body import (
    forward_dynamics,
    links_of,
    mass_and_bias,
    spread,
    standard_parameters,
    with_payload,
    workspace,
)


def states(n, count=20):
    return np.random.default_rng(5).normal(scale=2.0, size=(count, 3, n))


def test_forward_dynamics_is_pinocchios(model):
    links, work, data = links_of(model), workspace(model.n), model.pinocchio.createData()
    ddq = np.empty(model.n)
    for q, dq, tau in states(model.n):
        forward_dynamics(links, q, dq, 20 * tau, ddq, work)
        np.testing.assert_allclose(ddq, pinocchio.aba(model.pinocchio, data, q, dq, 20 * tau), rtol=1e-8, atol=1e-8)


def test_a_payload_adds_its_own_torque(model):
    links, work = links_of(model), workspace(model.n)
    payload = Payload(2.5, (0.02, -0.03, 0.1), np.diag([0.01, 0.02, 0.015]))
    only = links._replace(mass=0 * links.mass, inertia=0 * links.inertia)
    heavy, alone = with_payload(links, payload), with_payload(only, payload)
    for q, dq, _ in states(model.n, 5):
        biases = []
        for tree in (links, alone, heavy):
            mass_and_bias(tree, q, dq, work)
            biases.append(work.bias.copy())
        np.testing.assert_allclose(biases[2], biases[0] + biases[1], rtol=1e-9, atol=1e-9)


def test_standard_parameters_reproduce_the_torque(model):
    links = spread(links_of(model), 0.1, seed=3)
    work = workspace(model.n)
    zero = np.zeros(model.n)
    parameters = standard_parameters(links, zero, zero, zero)
    for q, dq, _ in states(model.n, 5):
        mass_and_bias(links, q, dq, work)
        np.testing.assert_allclose(model.inverse_dynamics(q, dq, zero, parameters), work.bias, rtol=1e-9, atol=1e-9)


def test_the_spread_stays_physical():
    links = spread(links_of(RobotModel.from_urdf(ur5e_urdf())), 0.2, seed=8)
    assert (links.mass > 0).all()
    for inertia in links.inertia:
        moments = np.linalg.eigvalsh(inertia)
        assert moments[0] > 0
        assert moments[0] + moments[1] > 0.95 * moments[2]
