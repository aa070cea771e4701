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

"""Joints that follow others against pinocchio: Gᵀ of the whole tree's, with G read off the URDF here, and its own
mimic joints."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.motion import LinkFrames, RegressorGradient
from joint_dynamics.robot import INERTIAL, RobotModel

SEEDS = range(8)


class WholeTree:
    """pinocchio's model of all joints of a URDF, and where they are: names, G (N, n), c (N,)."""

    def __init__(self, text):
        root = ET.fromstring(text)
        mimics = {joint.get('name'): joint.find('mimic') for joint in root.findall('joint')}
        for joint in root.findall('joint'):
            for mimic in joint.findall('mimic'):
                joint.remove(mimic)
        self.model = pinocchio.buildModelFromXML(ET.tostring(root, encoding='unicode'))
        self.data = self.model.createData()
        names = list(self.model.names)[1:]
        self.free = [name for name in names if mimics[name] is None]
        self.G, self.c = np.zeros((len(names), len(self.free))), np.zeros(len(names))
        for row, name in enumerate(names):
            ratio, offset = 1.0, 0.0
            while mimics[name] is not None:
                offset += ratio * float(mimics[name].get('offset'))
                ratio *= float(mimics[name].get('multiplier'))
                name = mimics[name].get('joint')
            self.G[row, self.free.index(name)], self.c[row] = ratio, offset

    def rnea(self, q, dq, ddq):
        return self.G.T @ pinocchio.rnea(self.model, self.data, self.G @ q + self.c, self.G @ dq, self.G @ ddq)


@pytest.fixture(params=SEEDS)
def text(request, urdf_of):
    rng = np.random.default_rng(100 + request.param)
    joints = int(rng.integers(3, 9))
    return urdf_of(rng, joints=joints, mimics=int(rng.integers(1, joints)))


@pytest.fixture
def robot(text):
    return RobotModel.from_urdf(text)


@pytest.fixture
def tree(text):
    return WholeTree(text)


@pytest.fixture
def states(robot):
    return list(zip(*robot.random_states(20, np.random.default_rng(1)), strict=True))


def close(found, expected):
    """Within 1e-11 of the largest value: some hundred products of rates that factors made up to ten times as large."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * max(np.abs(expected).max(), 1.0))


def test_torque_is_that_of_the_projected_tree(robot, tree, states):
    assert list(robot.joint_names) == tree.free
    arm, rigid = Arm(robot), robot.rigid_body()
    for q, dq, ddq in states:
        expected = tree.rnea(q, dq, ddq)
        close(robot.inverse_dynamics(q, dq, ddq), expected)
        close(arm.link_torque(q, dq, ddq), expected)
        close(rigid.inverse_dynamics(q, dq, ddq), expected)
        close(rigid.bias(q, dq), tree.rnea(q, dq, 0 * ddq))
        close(robot.gravity(q), tree.rnea(q, 0 * dq, 0 * ddq))
        columns = [tree.rnea(q, 0 * dq, unit) - tree.rnea(q, 0 * dq, 0 * dq) for unit in np.eye(robot.n)]
        close(robot.mass_matrix(q), np.array(columns).T)


def test_base_parameters_give_the_whole_torque(robot, states):
    base = robot.base_parameters(INERTIAL)
    regressor = robot.regressor(*map(np.array, zip(*states, strict=True)))
    inertial = robot.columns(INERTIAL)
    expected = regressor[:, :, inertial] @ robot.parameters[inertial]
    found = regressor[:, :, inertial[base.independent]] @ base.regroup(robot.parameters[inertial])
    # a part of a column below 1e-4 of it counts as none
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-4 * np.abs(expected).max())


def test_gradient_of_the_torque_is_its_difference_quotient(robot, tree):
    rng = np.random.default_rng(2)
    motion = [array.T for array in robot.random_states(6, rng)]
    gradient, weight = RegressorGradient(robot, *motion), rng.normal(size=(robot.n, 1, 6)) * robot.parameters[:, None]
    ours = gradient.pull_back(weight)
    share = weight[:, 0] / robot.parameters[0]
    step = 1e-6
    for k in range(3):
        for j in range(robot.n):
            ends = []
            for sign in (1, -1):
                moved = [array.copy() for array in motion]
                moved[k][j] += sign * step
                ends.append(np.array([share[:, s] @ tree.rnea(*(array[:, s] for array in moved)) for s in range(6)]))
            np.testing.assert_allclose(
                ours[k][j], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6 * np.abs(ours[k]).max()
            )


def test_links_are_where_pinocchio_has_them(robot, tree, states):
    for q, _, _ in states[:5]:
        frames = LinkFrames(robot.chain, q[:, None])
        pinocchio.forwardKinematics(tree.model, tree.data, tree.G @ q + tree.c)
        point = np.array([0.1, -0.2, 0.3])
        jacobians = pinocchio.computeJointJacobians(tree.model, tree.data, tree.G @ q + tree.c)
        assert jacobians.shape[0] == 6
        for row in range(len(robot.link_names)):
            place = tree.data.oMi[row + 1]
            close(frames.rotation[row][:, :, 0], place.rotation)
            close(frames.point(row, point)[:, 0], place.act(point))
            weight = np.array([[0.3], [-1.0], [0.7]])
            found = frames.pull_back(row, frames.point(row, point), weight)
            J = pinocchio.getJointJacobian(tree.model, tree.data, row + 1, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            lever = place.rotation @ point
            speed = J[:3] + np.cross(J[3:].T, lever).T
            expected = tree.G.T @ (speed.T @ weight[:, 0])
            close([found.get(j, np.zeros(1))[0] for j in range(robot.n)], expected)


def test_followers_of_a_locked_joint_stand(urdf_of):
    text = urdf_of(np.random.default_rng(5), joints=5, mimics=1)
    leader = ET.fromstring(text).find('.//mimic').get('joint')
    whole = RobotModel.from_urdf(text)
    kept = [name for name in whole.joint_names if name != leader]
    held = RobotModel.from_urdf(text, joints=kept, locked={leader: 0.4})
    assert set(held.held) == {leader, *set(whole.link_names) - set(whole.joint_names)}
    q = np.zeros(whole.n)
    q[whole.joint_names.index(leader)] = 0.4
    kept_rows = [whole.joint_names.index(name) for name in held.joint_names]
    close(held.gravity(np.zeros(held.n)), whole.gravity(q)[kept_rows])


def test_joint_that_follows_several_has_its_own_friction(urdf_of):
    text = urdf_of(np.random.default_rng(3), joints=5, branches=False)
    robot = RobotModel.from_urdf(text, parallelograms={'j4': {'j2': -1.0, 'j3': -1.0, 'offset': 0.2}})
    assert robot.joint_names == ('j1', 'j2', 'j3', 'j5') and robot.link_names[-1] == 'j4'
    assert robot.parameter_names[-3:] == ['Ia_m5', 'Fv_m5', 'Fs_m5']
    whole, row = RobotModel.from_urdf(text), [0, 1, 2, 4]
    G = np.zeros((5, 4))
    G[row, range(4)] = 1.0
    G[3, [1, 2]], c = -1.0, np.array([0, 0, 0, 0.2, 0])
    for q, dq, ddq in zip(*robot.random_states(10, np.random.default_rng(1)), strict=True):
        tau = G.T @ whole.inverse_dynamics(G @ q + c, G @ dq, G @ ddq)
        close(robot.inverse_dynamics(q, dq, ddq), tau)
        friction = robot.standard()
        friction.coupled[1:] = 2.0, 3.0
        passive = 2.0 * (G[3] @ dq) * G[3] - 2.0 * G[3] ** 2 * dq + 3.0 * np.sign(G[3] @ dq) * G[3]
        close(robot.inverse_dynamics(q, dq, ddq, friction.values), passive)


@pytest.mark.parametrize(('mimic', 'message'), [
    ('<mimic joint="j9"/>', 'expected a joint that it mimics'), ('<mimic joint="j2"/>', 'follows itself'),
    ('<mimic joint="j1" multiplier="0"/>', 'factors other than 0'),
    ('<mimic joint="j1" multiplier="nan"/>', 'expected a number for multiplier of <mimic>'),
])  # fmt: skip
def test_wrong_mimics_are_refused(urdf_of, mimic, message):
    text = urdf_of(np.random.default_rng(0), joints=3, branches=False)
    at = text.index('</joint>', text.index('name="j2"'))
    with pytest.raises(JointDynamicsError, match=message):
        RobotModel.from_urdf(text[:at] + mimic + text[at:])
