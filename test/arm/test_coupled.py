"""Coupled drives of an arm against the regressor of the robot layer."""

import numpy as np
import pytest

from joint_dynamics.arm.coupled import CoupledDrives
from joint_dynamics.robot import DriveCoupling

MATRIX = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, -0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.1, 0.0, 0.5, 1.0]]


@pytest.mark.parametrize('parameters', [[0.3, 5.0, 4.0, 0.2, 2.0, 1.0], [0, 0, 4, 0, 0, 1]])
def test_rotors_and_friction_are_the_columns_of_the_regressor(parameters):
    coupling = DriveCoupling(MATRIX)
    drives = CoupledDrives(coupling, parameters)
    speed, acceleration = np.random.default_rng(3).normal(size=(2, 25, 4))
    rows = coupling.regressor_rows(speed.T, acceleration.T)
    whole = np.einsum('jps,p->sj', rows, np.array(parameters, dtype=float))
    still = np.einsum('jps,p->sj', coupling.regressor_rows(0 * speed.T, acceleration.T), np.array(parameters, float))
    np.testing.assert_allclose(drives.rotors(acceleration), still, atol=1e-13)
    np.testing.assert_allclose(drives.rotors(acceleration) + drives.friction(speed), whole, atol=1e-13)
    np.testing.assert_allclose(drives.friction(speed[3]), drives.friction(speed)[3], atol=1e-14)
    np.testing.assert_allclose(drives.rotors(acceleration[3]), drives.rotors(acceleration)[3], atol=1e-14)
    assert not drives.friction(np.zeros(4)).any()
