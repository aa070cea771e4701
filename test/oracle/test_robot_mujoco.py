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

"""Rigid bodies against MuJoCo.

MuJoCo reads the same URDF with a parser of its own and computes with other recursions than pinocchio.
"""

import numpy as np
import pytest

mujoco = pytest.importorskip('mujoco', reason='the extra `mujoco` is not installed')

from joint_dynamics.robot import RobotModel, gravity_in_base  # noqa: E402
from joint_dynamics.simulation.rigid_body import forward_dynamics, links_of, workspace  # noqa: E402

MOUNTINGS = [None, [0.4, -0.7, 0.2]]


class Pair:
    """The same robot twice; MuJoCo's joints by name, its contacts and limits switched off."""

    def __init__(self, text, mounting):
        self.ours = RobotModel.from_urdf(text, mounting=mounting)
        compiler = '<mujoco><compiler fusestatic="false" discardvisual="true" inertiafromgeom="false"/></mujoco>'
        self.model = mujoco.MjModel.from_xml_string(text.replace('</robot>', f'{compiler}</robot>'))
        self.model.opt.gravity[:] = gravity_in_base(mounting)
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.data = mujoco.MjData(self.model)
        self.place = [int(self.model.joint(name).qposadr[0]) for name in self.ours.joint_names]

    def inverse(self, q, dq, ddq):
        self.data.qpos[self.place], self.data.qvel[self.place], self.data.qacc[self.place] = q, dq, ddq
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse[self.place].copy()

    def mass_matrix(self, q):
        self.data.qpos[self.place] = q
        mujoco.mj_forward(self.model, self.data)
        full = np.empty((self.ours.n, self.ours.n))
        for k, unit in enumerate(np.eye(self.ours.n)):
            column = np.zeros((1, self.ours.n))
            spread = np.zeros((1, self.ours.n))
            spread[0, self.place] = unit
            mujoco.mj_mulM(self.model, self.data, column[0], spread[0])
            full[:, k] = column[0, self.place]
        return full


@pytest.fixture(params=range(6))
def pair(request, urdf_of):
    rng = np.random.default_rng(100 + request.param)
    return Pair(urdf_of(rng, joints=int(rng.integers(2, 8))), MOUNTINGS[request.param % 2])


def close(found, expected):
    """Within 1e-12 of the largest value.

    MuJoCo turns each inertia to its principal axes and back, a few roundings more than ours of 1e-16 each.
    """
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1.0))


def test_the_simulated_arm_accelerates_as_in_mujoco(pair):
    links, work, ddq = links_of(pair.ours), workspace(pair.ours.n), np.empty(pair.ours.n)
    rng = np.random.default_rng(3)
    for q, dq, _ in zip(*pair.ours.random_states(20, rng), strict=True):
        tau = rng.normal(scale=20.0, size=pair.ours.n)
        forward_dynamics(links, q, dq, tau, ddq, work)
        # MuJoCo's torque for that acceleration is the given one, up to rounding of the cancelling terms M q̈
        size = np.abs(pair.mass_matrix(q)) @ np.abs(ddq)
        np.testing.assert_allclose(
            pair.inverse(q, dq, ddq), tau, rtol=0, atol=1e-12 * max(size.max(), np.abs(tau).max())
        )


@pytest.mark.nightly
@pytest.mark.parametrize('seed', range(200))
def test_inverse_dynamics_of_many_robots(urdf_of, seed):
    rng = np.random.default_rng(1000 + seed)
    pair = Pair(urdf_of(rng, joints=int(rng.integers(1, 13))), rng.uniform(-3, 3, 3))
    for state in zip(*pair.ours.random_states(50, rng), strict=True):
        close(pair.ours.inverse_dynamics(*state), pair.inverse(*state))
