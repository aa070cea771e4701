"""Coupled drives of an arm against the regressor of the robot layer."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm

MATRIX = [[1.0, 0.0, 0.0], [0.0, 1.0, -0.5], [0.1, 0.5, 1.0]]


@pytest.mark.parametrize('parameters', [[0.3, 5.0, 4.0, 0.2, 2.0, 1.0], [0, 0, 4, 0, 0, 1]])
def test_rotors_and_friction_are_the_columns_of_the_regressor(arm3, parameters):
    robot = arm3.standing(coupling=MATRIX)
    arm = Arm(robot, [*arm3.parameters, *parameters], rotor_inertia=np.zeros(3))
    speed, acceleration = np.random.default_rng(3).normal(size=(2, 25, 3))
    values, none = np.array(parameters, dtype=float), np.zeros((25, 3))

    def expected(speed):
        return np.einsum('jps,p->sj', robot.coupling.regressor_rows(speed.T, acceleration.T), values)

    rotors, friction = arm.rotor_torque(acceleration), arm.friction_torque(none, speed, none)
    np.testing.assert_allclose(rotors, expected(none), atol=1e-13)
    np.testing.assert_allclose(rotors + friction, expected(speed), atol=1e-13)
    np.testing.assert_allclose(arm.friction_torque(none[3], speed[3], none[3]), friction[3], atol=1e-14)
    np.testing.assert_allclose(arm.rotor_torque(acceleration[3]), rotors[3], atol=1e-14)
    assert not arm.friction_torque(none, none, none).any()
