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

"""Friction as described: at its present scale, with hysteresis where it has none, in steady slip and how sure it is."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, SteadyFriction, apply_friction_scale, with_reversal
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.selection import WIDTHS
from joint_dynamics.joint import NO_PRESLIDING, REVERSAL, FrictionModel, MaxwellSlip
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

PLAIN = {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.2, 'F_V1': 3.0, 'offset': 0.3}
LOADED = {**PLAIN, 'F_Cl': 0.1, 'F_C1': 2e-3}
SPEED = np.linspace(0.05, 2.0, 20)
STRIBECK = np.exp(-SPEED / 0.2)


def steady(part, joint=0, before=None):
    """The friction of one of two joints."""
    names = ['other', 'j'] if joint else ['j', 'other']
    joints = {'j': part, 'other': before or {'friction': {'parameters': {'F_C0': 900.0}}}}
    arm = Arm.of_joints(DynamicsDescription({'robot': {'joint_names': names}, 'joints': joints}))
    return SteadyFriction(arm, joint)


@pytest.mark.parametrize('joint', [0, 1])
def test_the_torque_is_that_of_the_parameters(joint):
    friction = steady({'friction': {'parameters': PLAIN, 'scale': [1.2, 0.5]}}, joint)
    assert friction.name == 'j'
    assert (friction.loads, friction.most_load) == ((0.0,), 0.0)
    slip = 1.2 * 5.0 + 2.0 * STRIBECK + 3.5 * SPEED
    np.testing.assert_allclose(friction.torque(SPEED), slip + 0.3, rtol=1e-12)
    np.testing.assert_allclose(friction.torque(-SPEED), 0.3 - slip, rtol=1e-12)
    assert not friction.deviation(SPEED).any()


def test_directions_have_their_own_parameters():
    directions = {'positive': {'F_C': 5.5, 'F_S': 7.5, 'F_V1': 3.2}, 'negative': {'F_C': 4.5, 'F_V1': 2.8}}
    friction = steady({'friction': {'parameters': PLAIN, 'directions': directions}})
    # level and offset are in F_C; where no F_S of its own is known there is no Stribeck friction
    np.testing.assert_allclose(friction.torque(SPEED), 5.5 + 2.0 * STRIBECK + 3.2 * SPEED, rtol=1e-12)
    np.testing.assert_allclose(friction.torque(-SPEED), -4.5 - 2.8 * SPEED, rtol=1e-12)


def test_load_temperature_and_terms_are_included():
    terms = [
        {'document': {'friction': 'F_V2'}, 'values': [2.0]},
        {'document': {'fourier': [1]}, 'values': [50.0, 60.0]},
    ]
    friction = steady({'friction': {'parameters': {**LOADED, 'F_T1': 0.1, 'T_0': 25.0}}, 'terms': terms}, 1)
    base = 5.0 + 2.0 * STRIBECK + 3.0 * SPEED + 0.3
    # the spring is no friction
    further = 2.0 * SPEED**2
    np.testing.assert_allclose(friction.torque(SPEED), base + further, rtol=1e-12)
    loaded = base + 0.1 * 30.0 + 2e-3 * 900.0 + further
    np.testing.assert_allclose(friction.torque(SPEED, -30.0), loaded, rtol=1e-12)
    warm = friction.torque(SPEED, -30.0, np.array([99.0, 35.0]))
    np.testing.assert_allclose(warm, loaded + 1.0 * np.sqrt(SPEED), rtol=1e-12)


def test_the_deviation_is_by_the_derivative_of_every_parameter():
    deviations = {'F_C0': 0.2, 'F_V1': 0.1, 'F_S': 0.3, 'offset': 0.4}
    friction = steady({'friction': {'parameters': PLAIN, 'standard_deviations': deviations}}, 1)
    # F = F_C + (F_S − F_C) E + F_V ω + offset
    expected = np.sqrt((0.2 * (1 - STRIBECK)) ** 2 + (0.1 * SPEED) ** 2 + (0.3 * STRIBECK) ** 2 + np.full(20, 0.4**2))
    np.testing.assert_allclose(friction.deviation(SPEED), expected, rtol=1e-9)
    np.testing.assert_allclose(friction.deviation(-SPEED), expected, rtol=1e-9)
    # without Stribeck friction there is none with a higher level either
    level = steady({'friction': {'parameters': {'F_C0': 5.0}, 'standard_deviations': {'F_C0': 0.2}}})
    np.testing.assert_allclose(level.deviation(SPEED), 0.2, rtol=1e-9)
    loaded = steady({'friction': {'parameters': LOADED, 'standard_deviations': {'F_Cl': 0.01}}})
    np.testing.assert_allclose(loaded.deviation(SPEED, -30.0), 0.3, rtol=1e-9)


def test_the_deviation_of_quadrants_and_of_terms():
    quadrants = {'dq_s': 0.3, 'c_m': 4.0, 'a_m': 1.1, 'c_g': 3.0}
    further = [
        {'document': {'fourier': [1]}, 'values': [5.0, 6.0], 'std': [9.0, 9.0]},
        {'document': {'friction': 'F_V2'}, 'values': [0.3], 'std': [0.2]},
    ]
    dry = {'parameters': PLAIN, 'quadrants': quadrants, 'standard_deviations': {'c_m': 0.2, 'a_m': 0.01}}
    other = {'terms': [{'document': {'friction': 'F_V2'}, 'values': [0.3], 'std': [70.0]}]}
    friction = steady({'friction': dry, 'terms': further}, before=other)
    expected = np.sqrt(0.2**2 + (0.01 * 20.0) ** 2 + (0.2 * SPEED**2) ** 2)
    np.testing.assert_allclose(friction.deviation(SPEED, 20.0), expected, rtol=1e-9)


@pytest.fixture(scope='module')
def make_arm():
    robot = RobotModel.from_urdf(ur5e_urdf())
    return lambda friction: Arm(robot, friction=friction)


def test_friction_is_as_described_after_the_reversal(make_arm):
    parameters = {'F_C0': np.arange(1.0, 7.0), 'F_V1': np.full(6, 3.0)}
    arm = make_arm(FrictionModel(parameters))
    found, (remark,) = with_reversal(arm)
    assert '0.0001 rad' in remark
    slip = found.friction.maxwell_slip
    slip.reset()
    for angle, expected in ((0.0, 0.0), (0.5 * REVERSAL, 0.5), (REVERSAL, 1.0), (9 * REVERSAL, 1.0)):
        np.testing.assert_allclose(slip.step(np.full(6, angle)), expected, atol=1e-12)
    # From slip one way to slip the other way it takes twice the angle.
    np.testing.assert_allclose(slip.step(np.full(6, 8 * REVERSAL)), 0.0, atol=1e-12)
    np.testing.assert_allclose(slip.step(np.full(6, 7 * REVERSAL)), -1.0, atol=1e-12)
    speed, load = np.full(6, 0.7), np.zeros(6)
    np.testing.assert_allclose(
        found.friction_torque(np.ones(6), speed, load), arm.friction_torque(np.ones(6), speed, load), rtol=1e-12
    )


@pytest.mark.parametrize('share', [0.0, 0.2, 1.0])
@pytest.mark.parametrize('width', WIDTHS)
def test_share_of_immediate_slip_gets_a_reversal_width(make_arm, width, share):
    """A motor that should rest moves by microradians as loads change: no reason to throw its friction about."""
    first = NO_PRESLIDING / width
    slip = MaxwellSlip(6, width, limits=[first, 1.0], stiffness=[(1.0 - share) / first, share])
    found, remarks = with_reversal(make_arm(FrictionModel({'F_C0': np.ones(6)}, slip)))
    assert remarks == []
    assert with_reversal(found) == (found, [])
    slip = found.friction.maxwell_slip
    slip.reset(np.zeros(6), 1.0)
    for way in (0.0, 0.1, 0.5, 1.0, 2.0, 2.0 * width / REVERSAL):
        expected = 1.0 - (1.0 - share) * min(way, 2.0) - share * min(way * REVERSAL / width, 2.0)
        np.testing.assert_allclose(slip.step(np.full(6, -way * REVERSAL)), expected, atol=1e-12)


UNSCALED = {'F_C0': 5.0, 'F_Cl': 0.1, 'F_C1': 2e-3, 'F_S': 7.0, 'V_S': 0.2, 'F_V1': 3.0, 'F_V2': 0.4, 'offset': 0.3}
QUADRANTS = {
    'dq_s': 0.3, 'a_m': 1.2, 'b_m': 0.1, 'a_g': 0.8, 'b_g': 0.2, 'c_m': 4.0, 'd_m': 1.0, 'c_g': 3.0, 'F_V': 2.0,
}  # fmt: skip
DIRECTIONS = {'positive': {'F_C': 5.5, 'F_S': 7.5, 'F_V1': 3.2}, 'negative': {'F_C': 4.5, 'F_V1': 2.8}}


def friction_of(part):
    arm = Arm.of_joints(DynamicsDescription({'robot': {'joint_names': ['j']}, 'joints': {'j': part}}))
    return arm, SteadyFriction(arm, 0)


@pytest.mark.parametrize('scale', [[1.7, -0.6], [0.4, 2.0]])
@pytest.mark.parametrize('friction', [
    {'parameters': UNSCALED}, {'parameters': {'F_C0': 5.0}}, {'parameters': UNSCALED, 'quadrants': QUADRANTS},
    {'parameters': UNSCALED, 'quadrants': {'dq_s': 0.3, 'c_m': 4.0}},
    {'parameters': UNSCALED, 'directions': DIRECTIONS, 'standard_deviations': {'F_C0': 0.2, 'F_V1': 0.1}},
])  # fmt: skip
def test_applied_scale_keeps_the_torque(friction, scale):
    before = {'friction': {**friction, 'scale': scale}}
    after = apply_friction_scale(before)
    assert 'scale' not in after['friction']
    (old, steady), (new, again) = friction_of(before), friction_of(after)
    np.testing.assert_array_equal(new.friction_scale, [[1.0, 0.0]])
    H, speed, load = np.random.default_rng(3).uniform(-1, 1, (3, 400, 1)) * np.reshape([1, 2, 50], (3, 1, 1))
    # Some tens of operations on numbers below 1e2.
    found, expected = (arm.friction_torque(H, speed, load) for arm in (new, old))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    for sign in (1.0, -1.0):
        at = (sign * np.linspace(0.01, 2.0, 20), 30.0)
        np.testing.assert_allclose(again.torque(*at), steady.torque(*at), rtol=0, atol=1e-12)
