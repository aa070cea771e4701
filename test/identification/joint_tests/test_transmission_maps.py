"""Maps of kinematic error and play over the turn, on a joint that turns at constant speeds."""

import numpy as np
import pytest

from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.transmission_maps import fit_transmission_maps, travel_since_reversal
from joint_dynamics.joint import TorsionalStiffness


def test_maps_of_kinematic_error_and_backlash_come_back_exactly(of_speed):
    """Both are tables of the same points, so that their fit is exact; a known load's deformation is taken off."""
    rng, points = np.random.default_rng(3), 12
    grid = np.arange(points) * 2 * np.pi / points
    error, width = 1e-3 * np.sin(grid + 0.4), 1e-4 * (2.0 + np.cos(grid))
    stiffness = TorsionalStiffness([1e4])

    def table(values, theta):
        return np.interp(np.mod(theta, 2 * np.pi), np.append(grid, 2 * np.pi), np.append(values, values[0]))

    load = rng.normal(size=1600)
    omega = np.repeat([1.7, -1.7], 800)
    data = of_speed(
        omega, q=lambda theta, w: theta - table(error, theta) - np.sign(w) * table(width, theta) - load / 1e4,
        tau_J=load,
    )  # fmt: skip
    direction, travel = travel_since_reversal(data)
    np.testing.assert_array_equal(direction, np.sign(omega))
    np.testing.assert_allclose(travel, np.abs(data.theta - np.where(omega > 0, 0.0, data.theta[800])))
    maps = fit_transmission_maps([data], points, settle=1e-3, stiffness=stiffness)
    np.testing.assert_allclose(maps.kinematic_error.tables[0], error, atol=2e-6)
    np.testing.assert_allclose(maps.backlash.tables[0], width, atol=2e-6)
    assert maps.covered.all() and maps.residual_rms < 1e-6
    np.testing.assert_array_equal(maps.engaged[0], travel > 1e-3)
    assert fit_transmission_maps([data], points, settle=1e-3).residual_rms > 5e-5
    # engaged later than asked for where the backlash found is wider than that
    wide = fit_transmission_maps([data], points, settle=1e-5, stiffness=stiffness)
    assert travel[wide.engaged[0]].min() > 2.0 * width.max()
    with pytest.raises(NotReliableError, match=r'^j: the motion never settles in both directions \(0.004 rad past a'):
        fit_transmission_maps([of_speed(omega[:800], q=lambda theta, w: theta)])
