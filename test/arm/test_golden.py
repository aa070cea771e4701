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

"""Golden vectors equal the arm's own functions, and include the options of the controller."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.arm.golden import GoldenOptions, arm_of, golden_case
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError

EXACT = 1e-9  # N·m, as in test_contract


@pytest.fixture
def motion(tools, arm3):
    return np.ascontiguousarray(tools.motion_of(arm3)[0][:, :3].transpose(1, 0, 2))


@pytest.fixture
def arm(tools, arm3):
    return Arm.from_description(arm3, DynamicsDescription(tools.described(arm3)))


def torque(tools, arm3, motion, **options):
    return np.array(golden_case(None, tools.described(arm3), GoldenOptions(**options), motion)['torque'])


def test_hysteresis_is_that_of_the_motor_torque(tools, arm3, arm, motion):
    expected = with_reversal(arm)[0].motor_torque(*motion)
    np.testing.assert_allclose(torque(tools, arm3, motion), expected, rtol=0, atol=EXACT)


def test_static_friction_follows_the_sign_of_the_speed(tools, arm3, arm, motion):
    q, dq, ddq = motion
    load = arm.link_torque(q, dq, ddq)
    for smoothing, H in ((0.0, np.sign(dq)), (0.2, np.tanh(dq / 0.2))):
        expected = load + arm.drive_torque(H, q, dq, ddq, load)
        given = torque(tools, arm3, motion, friction='static', friction_smoothing=smoothing)
        np.testing.assert_allclose(given, expected, rtol=0, atol=EXACT)


def test_options_scale_friction_and_take_gravity_away(tools, arm3, arm, motion):
    q, dq, ddq = motion
    rigid = arm.link_torque(q, dq, ddq) + arm.rotor_torque(ddq)
    full = torque(tools, arm3, motion)
    np.testing.assert_allclose(torque(tools, arm3, motion, friction='none'), rigid, rtol=0, atol=EXACT)
    half = torque(tools, arm3, motion, friction_gain=0.5)
    np.testing.assert_allclose(half, 0.5 * (full + rigid), rtol=0, atol=EXACT)
    gravity = arm.link_torque(q, np.zeros_like(q), np.zeros_like(q))
    np.testing.assert_allclose(torque(tools, arm3, motion, gravity=False), full - gravity, rtol=0, atol=EXACT)


def test_rest_gain_counts_below_the_driven_speed(tools, arm3, motion):
    full, resting = torque(tools, arm3, motion), torque(tools, arm3, motion, rest_gain=0.0)
    driven = np.abs(motion[1]) >= 0.02
    np.testing.assert_array_equal(resting[driven], full[driven])
    assert (resting[~driven] != full[~driven]).any()


def test_an_arm_that_no_controller_can_use_is_refused(tools, arm3):
    document = tools.described(arm3)
    document['joints']['j1']['rotor_inertia']['value'] = -1.0
    with pytest.raises(JointDynamicsError, match='j1'):
        arm_of(None, document, GoldenOptions())
    for part in document['joints'].values():
        part['rotor_inertia']['value'] = 1.0
        del part['friction']
    with pytest.raises(JointDynamicsError, match='friction'):
        arm_of(None, document, GoldenOptions())
