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

"""Points of the links and the regressor along a motion, with the gradients they hand back."""

import numpy as np
import pytest

from joint_dynamics.excitation.motion import RegressorGradient
from joint_dynamics.robot import RobotModel

ROBOTS = ('ur_table', 'pa10_table', 'scara_table')


@pytest.fixture(params=[*ROBOTS, 'coupled', 'arm'])
def robot(request):
    found = request.getfixturevalue(request.param)
    return found if isinstance(found, RobotModel) else RobotModel.from_mdh(found, mounting=[0.3, -0.2, 0.0])


def test_rows_are_those_of_the_model(robot, states):
    q, dq, ddq = states(robot, 9, 1)
    expected = robot.regressor(q.T, dq.T, ddq.T).transpose(1, 2, 0)
    np.testing.assert_allclose(RegressorGradient(robot, q, dq, ddq).rows, expected, atol=1e-11)


@pytest.mark.parametrize('seed', range(3))
def test_the_reverse_pass_is_the_derivative(robot, states, seed):
    rng = np.random.default_rng(seed)
    arrays = states(robot, 5, seed)
    regressor = RegressorGradient(robot, *arrays, sign_speed=0.5)
    weight = rng.standard_normal(regressor.rows.shape)
    gradient = regressor.pull_back(weight)
    for k in range(3):
        direction = rng.standard_normal(arrays[k].shape)
        moved = ([array + h * direction * (k == m) for m, array in enumerate(arrays)] for h in (1e-5, -1e-5))
        after, before = (RegressorGradient(robot, *motion, sign_speed=0.5).rows for motion in moved)
        slope = (weight * (after - before)).sum(axis=(0, 1)) / 2e-5
        np.testing.assert_allclose(
            (gradient[k] * direction).sum(axis=0), slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max()
        )


def test_the_slope_of_the_sign_itself_is_zero(arm, states):
    arrays = states(arm, 4, 0)
    regressor = RegressorGradient(arm, *arrays)
    weight = np.zeros_like(regressor.rows)
    weight[:, 12::14] = 1.0
    assert not any(part.any() for part in regressor.pull_back(weight))
