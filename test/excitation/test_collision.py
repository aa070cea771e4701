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

"""Clearance between the robot's own bodies and from a floor."""

import struct

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import LimitSettings
from joint_dynamics.excitation.collision import UNIT, Clearance
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.robot import RobotModel

RADIUS = 0.05


def centres(q):
    """Centres of the spheres of the planar arm at q (3,): base, l1, l2, l3."""
    a, b, c = q
    out = np.array([np.cos(a), np.sin(a), 0])
    up = np.array([0, 0, 1.0])
    places = [np.array([-0.2, 0, 0]), 0.5 * up + 0.4 * out]
    for angle in (b, b + c):
        places.append(places[-1] + 0.4 * (np.cos(angle) * out - np.sin(angle) * up))
    return places


def motion_of(model, q):
    return RobotMotion(model, q, 0 * q, 0 * q)


def test_distances_are_those_of_the_spheres(arm, states):
    clearance = Clearance(arm, LimitSettings(clearance=0.03))
    assert clearance.pairs == [('base', 'l2'), ('base', 'l3'), ('l1', 'l3')]
    assert clearance.touching == []
    q = states(arm, 30, 0)[0]
    at = np.array([centres(posture) for posture in q.T])
    expected = np.linalg.norm(at[:, [0, 0, 1]] - at[:, [2, 3, 3]], axis=2).T - 2 * RADIUS
    slack = clearance.slack(motion_of(arm, q))
    np.testing.assert_allclose(slack, (expected - 0.03) / UNIT, atol=1e-4)
    assert clearance.smallest(motion_of(arm, q)) == pytest.approx(slack.min(), abs=1e-6)


def test_clearance_from_the_floor(arm, states):
    clearance = Clearance(arm, LimitSettings(clearance=0.02, floor=0.1))
    assert [pair for pair in clearance.pairs if 'floor' in pair] == [('l1', 'floor'), ('l2', 'floor'), ('l3', 'floor')]
    q = states(arm, 20, 3)[0]
    expected = min(min(centre[2] for centre in centres(posture)[1:]) - 0.1 - RADIUS for posture in q.T)
    floor_only = Clearance(
        arm, LimitSettings(clearance=0.02, floor=0.1, ignored_pairs=[('base', 'l2'), ('base', 'l3'), ('l1', 'l3')])
    )
    assert floor_only.smallest(motion_of(arm, q)) * UNIT + 0.02 == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize('seed', range(4))
def test_gradients_are_derivatives(arm, check_slack_gradient, seed):
    # where the clearance is kept by far, a bound stands for the distance, and no gradient is asked for
    clearance = Clearance(arm, LimitSettings(clearance=0.6, floor=-0.1))
    assert len(clearance.pairs) == 5
    check_slack_gradient(clearance, arm, seed, tolerance=1e-4, samples=30, only_broken=True)


def test_pairs_in_permanent_contact_are_ignored(make_urdf):
    # the elbow's neighbours are 0.8 m apart at most: with a clearance beyond that they always touch
    model = RobotModel.from_urdf(make_urdf())
    found = Clearance(model, LimitSettings(clearance=0.75, ignored_pairs=[('base', 'l2')]))
    assert found.touching == [('l1', 'l3')]
    assert found.pairs == [('base', 'l3')]


def test_locked_joints_keep_their_bodies(make_urdf, states):
    whole = RobotModel.from_urdf(make_urdf())
    model = RobotModel.from_urdf(make_urdf(), joints=['a', 'b'], locked={'c': 0.7})
    q = states(model, 10, 0)[0]
    full = np.vstack([q, np.full((1, 10), 0.7)])
    found = Clearance(model, LimitSettings())
    # l2 and l3 are one body now, neighbours of l1
    assert found.pairs == [('base', 'l2'), ('base', 'l3')]
    np.testing.assert_allclose(
        found.slack(motion_of(model, q)), Clearance(whole, LimitSettings()).slack(motion_of(whole, full))[:2], atol=1e-5
    )


def cube(path, half):
    """A binary STL of a cube."""
    corners = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-half, half)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    triangles = [corners[list(ids)] for a, b, c, d in quads for ids in ((a, b, c), (a, c, d))]
    path.write_bytes(
        bytes(80)
        + struct.pack('<I', len(triangles))
        + b''.join(struct.pack('<12fH', 0, 0, 0, *triangle.ravel(), 0) for triangle in triangles)
    )


def test_meshes_are_read_from_package_dirs(make_urdf, tmp_path):
    (tmp_path / 'some_arm').mkdir()
    cube(tmp_path / 'some_arm' / 'cube.stl', 0.05)
    model = RobotModel.from_urdf(make_urdf(mesh='package://some_arm/cube.stl'))
    settings = LimitSettings(package_dirs=[str(tmp_path)])
    # stretched: the cubes of l1 and l3 are 0.8 m apart, axes aligned
    rest = np.zeros((3, 1))
    clearance = Clearance(model, settings)
    found = dict(zip(clearance.pairs, clearance.distances(motion_of(model, rest))[:, 0], strict=True))
    assert found['l1', 'l3'] == pytest.approx(0.7, abs=1e-4)


def test_unreadable_geometry_is_refused(make_urdf):
    model = RobotModel.from_urdf(make_urdf(mesh='package://not_here/cube.stl'))
    with pytest.raises(JointDynamicsError, match='package_dirs'):
        Clearance(model, LimitSettings())


def test_unknown_ignored_links_are_refused(arm):
    with pytest.raises(JointDynamicsError, match=r'limits.ignored_pairs: .*hand'):
        Clearance(arm, LimitSettings(ignored_pairs=[('hand', 'l1')]))
