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

"""τ̇_J and τ̈_J against derivatives that were computed in other ways."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import torque_derivatives


@pytest.fixture
def arm(robot):
    return Arm(robot)


def exact_rate(model, q, dq, ddq, dddq):
    """τ̇ = ∂τ/∂q q̇ + ∂τ/∂q̇ q̈ + M q⃛, symbolic in pinocchio."""
    data = model.createData()
    pinocchio.computeRNEADerivatives(model, data, q, dq, ddq)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    return data.dtau_dq @ dq + data.dtau_dv @ ddq + M @ dddq


@pytest.mark.parametrize('seed', range(5))
def test_derivatives_of_the_torque_are_exact(arm, seed):
    rng = np.random.default_rng(seed)
    motion = rng.normal(size=(5, arm.n)) * np.array([1.0, 2.0, 4.0, 20.0, 100.0])[:, None]
    tau, rate, curvature = torque_derivatives(arm, motion[None])[0]
    np.testing.assert_allclose(tau, arm.link_torque(*motion[:3]), atol=1e-12)
    np.testing.assert_allclose(rate, exact_rate(arm.robot.pinocchio, *motion[:4]), rtol=1e-8, atol=1e-8)

    def rate_at(s):
        q, v, a, j, d = motion
        return exact_rate(
            arm.robot.pinocchio,
            q + v * s + a * s**2 / 2 + j * s**3 / 6 + d * s**4 / 24,
            v + a * s + j * s**2 / 2 + d * s**3 / 6,
            a + j * s + d * s**2 / 2,
            j + d * s,
        )

    h = 1e-4
    expected = (8 * (rate_at(h) - rate_at(-h)) - (rate_at(2 * h) - rate_at(-2 * h))) / (12 * h)
    np.testing.assert_allclose(curvature, expected, rtol=1e-6, atol=1e-5)
