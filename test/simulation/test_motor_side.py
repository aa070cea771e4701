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

"""The motor side that is added to rigid links agrees with the plant's own drives where both hold."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, Sensors, ur5e_urdf
from joint_dynamics.simulation.motor_side import MotorSideModel


@pytest.fixture(scope='module')
def model():
    return RobotModel.load(ur5e_urdf())


@pytest.fixture
def motor_side(model):
    return MotorSideModel(model, seed=3)


def test_deformation_is_the_inverse_of_the_stiffness(motor_side):
    d = motor_side.drives
    phi = np.linspace(-1, 1, 41)[:, None] * 5e-3 * np.ones(6)
    torque = d.stiffness * phi + d.stiffness_cubic * phi**3
    np.testing.assert_allclose([motor_side.deformation(row) for row in torque], phi, rtol=1e-12, atol=1e-18)


def test_at_rest_the_motor_carries_gravity_through_the_spring(model, motor_side):
    q = np.array([0.1, -1.2, 1.4, -1.7, -1.5, 0.3])
    sample = motor_side.step(0.0, q, np.zeros(6))
    gravity = model.gravity(q[None])[0]
    np.testing.assert_allclose(sample.torque, gravity, atol=1e-9)
    np.testing.assert_allclose(sample.current * motor_side.drives.gain, gravity, atol=1e-9)
    phi = motor_side.deformation(gravity)
    np.testing.assert_allclose(sample.theta - q, phi, atol=1e-3)
    assert np.abs(sample.theta - q).max() > 1e-4


def test_the_torque_is_that_of_the_inertials(model, motor_side):
    rng = np.random.default_rng(1)
    q, dq = rng.uniform(-2, 2, (2, 6))
    motor_side.step(0.0, q, dq)
    # q̈ by the difference of its speeds, through the documented low-pass filter of first order
    dt = 0.002
    ddq = rng.uniform(-5, 5, 6) * dt / (dt + 1 / (2 * np.pi * 10.0))
    sample = motor_side.step(dt, q, dq + ddq * (dt + 1 / (2 * np.pi * 10.0)))
    np.testing.assert_allclose(sample.torque, model.inverse_dynamics(q, sample.dtheta, ddq), rtol=1e-10, atol=1e-10)


def test_a_stamp_that_comes_twice_loses_no_acceleration(model, motor_side):
    # A controller manager stamps with the clock it was last told, which may stand still between two of its samples.
    q, ddq = np.full(6, 0.3), np.linspace(-1.0, 1.5, 6)
    for k in range(500):
        sample = motor_side.step(0.004 * (k // 2), q, 0.002 * k * ddq)
    np.testing.assert_allclose(sample.torque, model.inverse_dynamics(q, sample.dtheta, ddq), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('direction', [1.0, -1.0])
def test_steady_friction_is_that_of_the_plant(model, motor_side, direction):
    plant = FlexibleJointRobot(model, seed=3, errors=ModelErrors.none(), sensors=Sensors.ideal())
    omega = direction * np.array([0.05, 0.2, 0.5, 0.8, 1.0, 1.5])
    torque = np.array([10.0, -40.0, 30.0, 5.0, -3.0, 1.0])
    q = np.zeros(6)
    for k in range(400):
        sample = motor_side.step(k * 0.002, q, omega, torque)
        q = q + omega * 0.002
    friction = sample.current * motor_side.drives.gain - torque
    np.testing.assert_allclose(friction, plant.truth.friction(omega, torque, motor_side.gear), rtol=1e-6)


def test_friction_does_not_jump_on_reversal(motor_side):
    torque, q, currents = np.zeros(6), np.zeros(6), []
    for k in range(2000):
        t = k * 0.001
        dq = np.full(6, 0.2 * np.cos(2 * np.pi * t))
        q = np.full(6, 0.2 / (2 * np.pi) * np.sin(2 * np.pi * t))
        currents.append(motor_side.step(t, q, dq, torque).current)
    steps = np.abs(np.diff(currents, axis=0)).max(axis=0)
    assert (steps < 0.2 * np.ptp(currents, axis=0)).all()


def test_a_gap_or_time_going_back_starts_the_differences_anew(motor_side):
    motor_side.step(10.0, np.zeros(6), np.zeros(6), np.zeros(6))
    for later in (20.0, 5.0):
        sample = motor_side.step(later, np.ones(6), np.ones(6), np.zeros(6))
        still = motor_side.step(later, np.ones(6), np.ones(6), np.zeros(6))
        np.testing.assert_array_equal(sample.current, still.current)
        assert np.abs(sample.current).max() < 20.0


def test_without_inertials_the_torque_must_be_measured():
    limit = '<limit lower="-1" upper="1" effort="10" velocity="1"/>'
    bare = RobotModel.from_urdf(
        f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>'
        f'<child link="b"/><axis xyz="0 0 1"/>{limit}</joint></robot>'
    )
    drive = MotorSideModel(bare)
    with pytest.raises(JointDynamicsError, match='inertials'):
        drive.step(0.0, [0.0], [0.0])
    assert np.isfinite(drive.step(0.0, [0.0], [0.0], [1.0]).current).all()
