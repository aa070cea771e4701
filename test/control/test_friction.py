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

"""Friction along the desired motion: its formula, its bounds, and where it left the range it was checked in."""

import numpy as np
import pytest

from joint_dynamics.arm import Validity
from joint_dynamics.control.friction import DRIVEN, FrictionCompensation
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import MaxwellSlip


def take(compensation, scale=np.nan, excess=np.nan, temperature=np.nan):
    """Give the compensation temperatures and α."""
    compensation.take_temperature(np.broadcast_to(temperature, 6))
    compensation.take_scale(np.stack(np.broadcast_arrays(scale, excess, np.zeros(6))[:2], axis=1))


def torque_at(compensation, theta, omega, load):
    """Friction at a desired motion, its hysteresis advanced to θ."""
    theta, omega, load = (np.atleast_2d(values) for values in (theta, omega, load))
    return compensation.drive_torque(theta, theta, omega, np.zeros_like(theta), load)[0]


def written(arm, gain, H, omega, load, temperature):
    """gain · (α1 F(τ_J) H + α2 ω + F_v(ω, T)) for α = (1.3, 0.02)."""
    return gain * (
        1.3 * arm.friction.dry(H, omega, load) + 0.02 * omega + arm.friction.speed_part(H, omega, temperature)
    )


def test_friction_along_the_desired_motion_by_its_formula(make_arm):
    """H of the desired angle, less of it where the motion stands."""
    rng, arm = np.random.default_rng(4), make_arm(kinematic_error=None)
    gain = np.array([1.0, 0.9, 0.8, 1.1, 1.2, 0.5])
    given = FrictionCompensation(arm, 'hysteresis', gain=gain, rest_gain=0.25)
    take(given, scale=1.3, excess=0.02)
    take(given, temperature=[20.0, 31.0, np.nan, 25.0, 26.0, 400.0])
    parameters = arm.friction.parameters
    expected_T = np.array([20.0, 31.0, parameters['T_0'][2], 25.0, 26.0, parameters['T_max'][5]])
    np.testing.assert_array_equal(given.temperature, expected_T)
    slip, theta = MaxwellSlip(6, 5e-4), np.zeros(6)
    for _ in range(50):
        theta = theta + 1e-4 * rng.normal(size=6)
        omega, load = 0.05 * rng.normal(size=6), 30.0 * rng.normal(size=6)
        H = slip.step(theta) * (0.25 + 0.75 * np.minimum(np.abs(omega) / DRIVEN, 1.0))
        expected = written(arm, gain, H, omega, load, expected_T)
        np.testing.assert_allclose(torque_at(given, theta, omega, load), expected, rtol=1e-9, atol=1e-9)
        expected = written(arm, gain, np.sign(omega), omega, load, expected_T)
        np.testing.assert_allclose(given.in_slip(theta, omega, load), expected, rtol=1e-9, atol=1e-9)


def test_a_learnt_scale_is_taken_within_its_bounds(make_arm):
    given = FrictionCompensation(make_arm(kinematic_error=None), 'hysteresis')
    take(given, scale=1.3, excess=0.02)
    take(given, scale=[9.0, 0.1, np.nan, 1.0, 1.0, 1.0], excess=[0.0, 0.0, 0.03, -9.0, 9.0, np.nan])
    np.testing.assert_array_equal(given.alpha[:, 0], [2.5, 0.4, 1.3, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(given.alpha[:, 1], [0.0, 0.0, 0.03, -0.05, 0.05, 0.02])


def test_static_friction_is_smooth_and_none_is_zero(make_arm):
    arm = make_arm(kinematic_error=None)
    smooth = FrictionCompensation(arm, 'static', smoothing=0.1)
    theta, omega = np.linspace(-1.0, 1.0, 6), np.linspace(-0.3, 0.3, 6)
    H = np.tanh(omega / 0.1)
    expected = arm.friction.dry(H, omega, np.zeros(6)) + arm.friction.speed_part(H, omega, smooth.temperature)
    np.testing.assert_allclose(torque_at(smooth, theta, omega, np.zeros(6)), expected, rtol=1e-9)
    none = FrictionCompensation(arm, 'none')
    assert not torque_at(none, theta, omega, omega).any() and not none.in_slip(theta, omega, omega).any()


def test_a_remark_names_field_and_joint(make_arm):
    names = make_arm().joint_names

    def remarked(kind, arm, **more):
        return [remark.split(': ')[0] for remark in FrictionCompensation(arm, kind, **more).remarks]

    assert remarked('static', make_arm()) == ['joints.*.friction.maxwell_slip']
    assert remarked('hysteresis', make_arm()) == []
    assert remarked('none', make_arm()) == ['joints.*.friction, inertial.coupling']
    assert remarked('none', make_arm(friction=None)) == []
    scale = np.tile([1.0, 0.0], (6, 1))
    scale[1], scale[4] = (3.0, 0.01), (1.0, -0.2)
    beyond = [f'joints.{names[k]}.friction.scale' for k in (1, 4)]
    assert remarked('hysteresis', make_arm(friction_scale=scale)) == beyond
    assert remarked('hysteresis', make_arm(friction_scale=scale), viscous_share=0.5) == beyond[:1]
    for bounds in (([1.0], [2.0]), ([0.5, 0.1], [2.0, 0.0])):
        with pytest.raises(JointDynamicsError):
            FrictionCompensation(make_arm(), 'static', alpha_bounds=bounds)


@pytest.fixture
def checked(make_arm):
    """The arm with friction checked up to 1 rad/s and 50 N·m, between 10 and 40 °C."""
    return make_arm(validity=Validity(np.full(6, 1.0), np.full(6, 50.0), np.full(6, 10.0), np.full(6, 40.0)))


def moved(compensation, speed, load=0.0):
    zero = np.zeros(6)
    torque_at(compensation, zero, np.array([0.5, speed, 0.0, 0.0, 0.0, 0.0]), np.full(6, load))
    return compensation.watch.notes()


@pytest.mark.parametrize('kind', ['static', 'hysteresis'])
def test_joint_and_quantity_that_left_the_range_are_named(checked, kind):
    compensation = FrictionCompensation(checked, kind)
    name = checked.joint_names[1]
    assert moved(compensation, 1.0, 50.0) == []
    (note,) = moved(compensation, -1.2)
    assert note.startswith(f'joints.{name}.validity.speed: ')
    # it stays said, until the law begins anew
    assert len(moved(compensation, 0.0)) == 1
    assert len(moved(compensation, 0.0, -60.0)) == 7
    compensation.reset()
    assert moved(compensation, 0.5) == []
