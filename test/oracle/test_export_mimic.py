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

"""Exports of robots whose joints follow others, read back and computed by their readers."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.description.export_mjcf import export_mjcf
from joint_dynamics.description.identity import check_identity, identity_of
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel

PARALLELOGRAM = {'j4': {'j2': -1.0, 'j3': -0.5, 'offset': 0.2}}
PAYLOAD = {'mass': {'value': 2.0}, 'first_moments': [0.1, -0.2, 0.1]}
#: MuJoCo writes six significant digits; rotation, place and inertia of seven joints make a torque.
MJCF_DIGITS = 3 * 7 * 5e-6


@pytest.fixture(params=[0, 1, 2, 'several'])
def robot(request, urdf_of):
    if request.param == 'several':
        text = urdf_of(np.random.default_rng(9), joints=6, branches=False)
        return RobotModel.from_urdf(text, parallelograms=PARALLELOGRAM)
    rng = np.random.default_rng(500 + request.param)
    return RobotModel.from_urdf(urdf_of(rng, joints=7, mimics=3), mounting=[0.4, -0.7, 0.2])


@pytest.fixture
def description(robot):
    standard = robot.standard(robot.parameters)
    standard.links[:] *= np.linspace(0.7, 1.4, len(robot.link_names))[:, None]
    document = {
        'robot': {'joint_names': list(robot.joint_names), **robot.kinematics(), 'identity': identity_of(robot)},
        'joints': {name: {'rotor_inertia': {'value': 0.3}} for name in robot.joint_names},
        'inertial': {'standard': {name: standard.link_document(k) for k, name in enumerate(robot.link_names)}},
        'payload': PAYLOAD,
    }
    if robot.mounting is not None:
        document['mounting'] = robot.standing().mounting and pinocchio.rpy.rpyToMatrix(*robot.mounting).tolist()
    return DynamicsDescription(document)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * max(np.abs(expected).max(), 1.0))


def states(robot):
    return zip(*robot.random_states(15, np.random.default_rng(1)), strict=True)


def test_description_gives_the_same_robot_again(robot, description):
    back = DynamicsDescription.from_yaml(description.to_yaml()).robot_model()
    assert (back.joint_names, back.link_names) == (robot.joint_names, robot.link_names)
    ours, theirs = Arm.from_description(robot, description), Arm.from_description(None, description)
    for state in states(robot):
        close(theirs.link_torque(*state), ours.link_torque(*state))


def test_other_factors_make_another_robot(robot, description):
    name, follows = next(iter(robot.chain.tree.dependent.items()))
    other = {name: {key: 1.1 * ratio for key, ratio in follows.ratios.items()}}
    changed = RobotModel.from_urdf(robot.urdf, parallelograms={**robot.parallelograms, **other})
    with pytest.raises(JointDynamicsError, match=f'factors of the joints that it follows of {name}'):
        check_identity(identity_of(robot), changed)
    standing = RobotModel.from_urdf(robot.urdf, joints=robot.joint_names, locked={name: 0.0})
    with pytest.raises(JointDynamicsError, match='in the description only'):
        check_identity(identity_of(robot), standing)


def test_mjcf_has_links_and_equalities_of_mimics(robot, description, tmp_path):
    mujoco = pytest.importorskip('mujoco', reason='the extra `mujoco` is not installed')
    export_mjcf(description, robot, tmp_path / 'arm.xml')
    model = mujoco.MjModel.from_xml_path(str(tmp_path / 'arm.xml'))
    tree, arm = robot.chain.tree, Arm.from_description(robot, description)
    data = mujoco.MjData(model)
    place = [int(model.joint(name).qposadr[0]) for name in tree.names]
    for q, dq, ddq in states(robot):
        model.opt.disableflags = 0
        data.qpos[place] = tree.positions(q)
        mujoco.mj_forward(model, data)
        equal = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        assert equal.sum() == len(tree.dependent)
        # six digits of ratio, offset and range, at positions of some rad
        np.testing.assert_allclose(data.efc_pos[equal], 0.0, atol=10 * 5e-6)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data.qpos[place], data.qvel[place], data.qacc[place] = tree.positions(q), tree.rates(dq), tree.rates(ddq)
        mujoco.mj_inverse(model, data)
        wanted = arm.link_torque(q, dq, ddq) + 0.3 * ddq
        np.testing.assert_allclose(
            tree.torques(data.qfrc_inverse[place].copy()), wanted, rtol=0, atol=MJCF_DIGITS * np.abs(wanted).max()
        )
