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

"""Limits: their values, their refusals, their slacks and gradients."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import LimitSettings, PayloadSettings
from joint_dynamics.excitation.constraint import make_constraints
from joint_dynamics.excitation.limits import MotionLimits, parameters_with_payload
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.robot import RobotModel


def by_kind(model, **settings):
    return {constraint.kind: constraint for constraint in make_constraints(model, LimitSettings(**settings))}


def still(model, q):
    q = np.array([q], dtype=float).T
    return RobotMotion(model, q, 0 * q, 0 * q)


def test_limits_are_those_of_the_urdf_times_the_safety_factor(arm):
    limits = MotionLimits.of(arm, LimitSettings(safety_factor=0.5))
    np.testing.assert_allclose(limits.upper, 1.4)
    np.testing.assert_allclose(limits.lower, -1.4)
    np.testing.assert_allclose(limits.velocity, 1.5)
    np.testing.assert_allclose(limits.acceleration, 3.0)
    np.testing.assert_allclose(limits.torque, 30.0)


def test_given_limits_replace_those_of_the_urdf(arm):
    speeds = {'a': 1, 'b': 2, 'c': 2.5}
    given = LimitSettings(velocity=speeds, acceleration=[4, 5, 6], torque=20, lower=-1, upper=[1, 2, 0.5])
    limits = MotionLimits.of(arm, given)
    np.testing.assert_allclose(limits.velocity, [1, 2, 2.5])
    np.testing.assert_allclose(limits.acceleration, [4, 5, 6])
    np.testing.assert_allclose(limits.torque, 20)
    np.testing.assert_allclose(limits.lower, -1)
    np.testing.assert_allclose(limits.upper, [1, 2, 0.5])


def test_continuous_joints_keep_to_the_continuous_range(make_urdf):
    model = RobotModel.from_urdf(make_urdf().replace('revolute', 'continuous'))
    np.testing.assert_allclose(MotionLimits.of(model, LimitSettings(continuous_range=2.0)).upper, 2.0)


@pytest.mark.parametrize(
    ('change', 'settings', 'place'),
    [
        ({'inertials': False}, {}, r'limits\.torque_limit'),
        ({'limit': 'lower="-1" upper="1" velocity="inf" effort="10"'}, {}, 'speed limit'),
        ({'limit': 'lower="-1" upper="1" velocity="2" effort="0"'}, {}, 'torque limit'),
        ({}, {'lower': 2.0, 'upper': 1.0}, 'limits: .* a'),
        ({}, {'velocity': {'a': 1}}, r'limits\.velocity'),
        ({}, {'acceleration': [1, 2]}, r'limits\.acceleration'),
        ({}, {'velocity': -1}, r'limits\.velocity: .*-1'),
        ({}, {'height': [0, 1], 'end_effector': 'hand'}, r"limits\.end_effector: .*'hand'"),
        ({}, {'height': [0, 1], 'end_effector': 'base'}, r'limits\.end_effector'),
        ({'geometry': False}, {'floor': 0.0}, r'limits\.floor'),
        ({}, {'height': [2, 1]}, r'limits\.height'),
        ({}, {'floor': 0.0, 'clearance': None}, r'limits\.floor'),
        ({}, {'ignored_pairs': ['ab']}, r'limits\.ignored_pairs'),
    ],
)
def test_unusable_limits_are_refused(make_urdf, change, settings, place):
    model = RobotModel.from_urdf(make_urdf(**change))
    with pytest.raises(JointDynamicsError, match=place):
        all_constraints(model, LimitSettings(**settings))


def test_slack_is_one_in_the_middle_and_zero_at_the_limit(arm):
    position = by_kind(arm)['position']
    assert position.slack(still(arm, [0, 0, 0])).min() == pytest.approx(1)
    assert position.slack(still(arm, [0, 2.52, 0])).min() == pytest.approx(0, abs=1e-12)
    assert position.slack(still(arm, [0, 0, -2.8])).min() < 0


def test_torque_is_that_of_the_robot_with_payload_and_friction(arm, states):
    payload = PayloadSettings(1.5, (0.02, -0.01, 0.07), (0.01, 0.001, 0.002, 0.02, -0.001, 0.03))
    settings = LimitSettings(payload=payload, viscous_friction=[1, 2, 3], coulomb_friction=0.5)
    model = arm.pinocchio.copy()
    frame = model.frames[model.getFrameId('tip')]
    xx, xy, xz, yy, yz, zz = payload.inertia
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    model.appendBodyToJoint(3, pinocchio.Inertia(1.5, np.array(payload.com), tensor), frame.placement)
    data = model.createData()
    q, dq, ddq = states(arm, 5, 0)
    expected = np.array(
        [pinocchio.rnea(model, data, *(array[:, k].copy() for array in (q, dq, ddq))) for k in range(5)]
    ).T
    expected += np.array([[1], [2], [3]]) * dq + 0.5 * np.sign(dq)
    np.testing.assert_allclose(
        arm.inverse_dynamics(q.T, dq.T, ddq.T, parameters_with_payload(arm, settings)).T, expected, atol=1e-10
    )
    torque = {constraint.kind: constraint for constraint in make_constraints(arm, settings)}['torque']
    np.testing.assert_allclose(torque.slack(RobotMotion(arm, q, dq, ddq)), 1 - np.abs(expected) / 54, atol=1e-12)


def test_end_effector_bounds_are_those_of_forward_kinematics(arm):
    found = by_kind(arm, height=[0.2, 1.0], radius=[None, 1.0])
    # stretched the tip is 1.2 m out and 0.05 m above the shoulder, which is 0.5 m up; the arm's reach is 0.5 + 0.4 +
    # 0.4 m
    stretched = still(arm, [1.0, 0, 0])
    assert found['height'].slack(stretched)[0, 0] == pytest.approx((0.55 - 0.2) / 0.4)
    assert found['radius'].slack(stretched)[0, 0] == pytest.approx((1.0 - 1.2) / 1.3)
    # raised by a right angle it stands 0.05 m before the first elbow, 0.8 m above it
    raised = still(arm, [1.0, -np.pi / 2, 0])
    assert found['height'].slack(raised)[0, 0] == pytest.approx((1.0 - 1.3) / 0.4)
    assert found['radius'].slack(raised)[0, 0] == pytest.approx((1.0 - 0.35) / 1.3)


@pytest.mark.parametrize('kind', ['position', 'velocity', 'acceleration', 'torque', 'radius', 'height'])
@pytest.mark.parametrize('seed', range(2))
def test_gradients_are_derivatives(ur5e, check_slack_gradient, kind, seed):
    payload = PayloadSettings(2.0, (0, 0, 0.1))
    constraints = by_kind(ur5e, radius=[0.1, 0.8], height=[None, 0.7], payload=payload, viscous_friction=3.0)
    check_slack_gradient(constraints[kind], ur5e, seed)
