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

"""No law of friction is chosen for a MuJoCo arm that has Coulomb and viscous friction alone."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

pytestmark = pytest.mark.oracle

RATE = 500.0
STEPS = 4  # of the physics per sample
SIZE = np.array([1.0, 1.0, 0.8, 0.5, 0.3, 0.25])  # of the joints, relative


@pytest.fixture(scope='module')
def model():
    return RobotModel.load(ur5e_urdf())


def arm_of(model, mujoco):
    """The same bodies in MuJoCo, with armature, damping and dry friction."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.compiler.balanceinertia = 1.0 / (RATE * STEPS), True
    rigid, parents = model.pinocchio, [spec.worldbody]
    for k in range(1, rigid.njoints):
        place, inertia = rigid.jointPlacements[k], rigid.inertias[k]
        turn = pinocchio.Quaternion(place.rotation)
        body = parents[rigid.parents[k]].add_body(pos=place.translation, quat=[turn.w, turn.x, turn.y, turn.z])
        tensor = inertia.inertia + 1e-5 * np.eye(3)
        body.explicitinertial, body.mass, body.ipos = True, inertia.mass, inertia.lever
        body.fullinertia = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        axis = np.eye(3)['XYZ'.index(rigid.joints[k].shortname()[-1])]
        size = SIZE[k - 1]
        body.add_joint(axis=axis, armature=0.6 * size, damping=6.0 * size, frictionloss=4.0 * size)
        parents.append(body)
    return spec.compile()


def record(model, mujoco, seed):
    """Play a random series under a PD controller with gravity compensation; positions and torques with noise."""
    rng, physics = np.random.default_rng(seed), arm_of(model, mujoco)
    t = np.arange(0, 12.0, 1 / RATE)
    k = 2 * np.pi * 0.11 * np.arange(1, 6)[:, None]
    a, b = 0.25 * rng.normal(size=(2, 5, model.n))
    phase = t[:, None] * k.T
    q = np.sin(phase) @ (a / k) - (np.cos(phase) - 1) @ (b / k) + [0.0, -1.2, 1.0, -1.0, 0.5, 0.0]
    dq = np.gradient(q, 1 / RATE, axis=0)
    state, still, workspace = mujoco.MjData(physics), np.zeros(model.n), model.pinocchio.createData()
    state.qpos[:] = q[0]
    position, torque = np.empty_like(q), np.empty_like(q)
    for step in range(len(t)):
        weight = pinocchio.rnea(model.pinocchio, workspace, state.qpos, still, still)
        tau = weight + 1500 * SIZE * (q[step] - state.qpos) + 80 * SIZE * (dq[step] - state.qvel)
        position[step], torque[step], state.qfrc_applied[:] = state.qpos, tau, tau
        for _ in range(STEPS):
            mujoco.mj_step(physics, state)
    position += 2e-5 * rng.normal(size=q.shape)
    torque += 0.2 * SIZE * rng.normal(size=q.shape)
    return Recording(model.joint_names, t, position, tau=torque, name=f'mujoco {seed}')


@pytest.mark.parametrize('seed', [0, 1])
def test_no_law_is_chosen_that_the_plant_has_not(model, seed):
    mujoco = pytest.importorskip('mujoco')
    recording = record(model, mujoco, seed)
    result = identify(model, [recording], settings=IdentificationSettings(drive_gain_deviation=None))
    assert result.details.selection['chosen'] == []
