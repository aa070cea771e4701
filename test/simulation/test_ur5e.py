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

"""The UR5e that ships with the package."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ur5e_description, ur5e_urdf

HALF = np.pi / 2
#: Standard Denavit-Hartenberg table of the manufacturer: d, a, alpha.
DH = [
    (0.1625, 0.0, HALF),
    (0.0, -0.425, 0.0),
    (0.0, -0.3922, 0.0),
    (0.1333, 0.0, HALF),
    (0.0997, 0.0, -HALF),
    (0.0996, 0.0, 0.0),
]


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf(ur5e_urdf())


def test_kinematics_are_those_of_the_manufacturer(model):
    data, frame = model.pinocchio.createData(), model.pinocchio.getFrameId('tool0')
    for q in np.random.default_rng(1).uniform(-np.pi, np.pi, (20, 6)):
        # The manufacturer's base frame is turned by half a turn against base_link.
        pose = np.diag([-1.0, -1.0, 1.0, 1.0])
        for angle, (d, a, alpha) in zip(q, DH, strict=True):
            c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
            pose = pose @ np.array(
                [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
            )
        pinocchio.framesForwardKinematics(model.pinocchio, data, q)
        np.testing.assert_allclose(data.oMf[frame].homogeneous, pose, atol=1e-12)


def test_a_prefix_goes_before_every_name(model):
    prefixed = RobotModel.from_urdf(ur5e_description('left_'))
    assert prefixed.joint_names == tuple(f'left_{name}' for name in model.joint_names)
    np.testing.assert_array_equal(prefixed.parameters, model.parameters)
    assert 'link="base' not in ur5e_description('left_')
    np.testing.assert_array_equal(
        FlexibleJointRobot(ur5e_description('left_')).truth.position, FlexibleJointRobot().truth.position
    )
