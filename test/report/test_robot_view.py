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

"""The robot in a page stands where pinocchio puts it."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.report.robot_shapes import capsules, hull, robot_shapes
from joint_dynamics.report.robot_view import RobotView
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture(scope='module')
def model():
    return RobotModel.load(ur5e_urdf())


@pytest.fixture(scope='module')
def view(model):
    time = np.linspace(1.0, 3.0, 200)
    q = np.sin(time[:, None] * np.arange(1, 7)) * 0.8
    shapes, _ = robot_shapes(model)
    return RobotView.of(model, time, q, shapes, (model.limits.lower, model.limits.upper))


def test_poses_are_those_of_the_links(model, view):
    data = model.pinocchio.createData()
    for k in (0, 17, len(view.q) - 1):
        pinocchio.forwardKinematics(model.pinocchio, data, view.q[k])
        pinocchio.updateFramePlacements(model.pinocchio, data)
        for j, pose in enumerate(view.poses):
            assert np.allclose(pose[k, :9].reshape(3, 3), data.oMi[j + 1].rotation, atol=1e-12)
            assert np.allclose(pose[k, 9:], data.oMi[j + 1].translation, atol=1e-12)
        assert np.allclose(view.path[k], data.oMf[-1].translation, atol=1e-12)


def test_the_page_holds_them_to_less_than_a_millimetre(model, view, held, unpack):
    specification, text = held(view.to_html(''))
    for pose, entries in zip(view.poses, specification['poses'], strict=True):
        found = np.column_stack([unpack(entry, text) for entry in entries])
        assert np.abs(found - pose).max() < 1e-3
    assert specification['start'] == 1.0
    assert specification['step'] * (specification['frames'] - 1) == pytest.approx(2.0)
    assert specification['units'] == ['rad'] * model.n
    assert np.allclose(specification['limits'], np.column_stack([model.limits.lower, model.limits.upper]))


def test_capsules_reach_from_joint_to_joint(ur):
    """A robot without geometry: a capsule of link 1 ends where joint 2 is."""
    shapes, remark = robot_shapes(ur)
    assert 'no collision geometry' in remark
    assert len(shapes) == len(capsules(ur))
    upper_arm = next(shape for shape in shapes if shape.link == 1)
    # Half the thickness of the capsule, across its length.
    radius = upper_arm.corners[:, 0].max()
    for end in (np.zeros(3), ur.chain.translation[2]):
        local = upper_arm.rotation.T @ (end - upper_arm.translation)
        beyond = np.abs(upper_arm.corners[:, 2]).max() - abs(local[2])
        assert beyond == pytest.approx(radius, rel=0.02)
        assert np.abs(local[:2]).max() < 1e-12


def test_convex_hulls_face_outwards():
    """Seen from outside corners run anticlockwise, or a page would draw the inside."""
    points = np.random.default_rng(0).normal((5.0, 0.0, 0.0), size=(400, 3))
    corners, faces = hull(points)
    centre = corners.mean(axis=0)
    for a, b, c in corners[faces]:
        assert np.cross(b - a, c - a) @ (a - centre) > 0
