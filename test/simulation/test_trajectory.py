"""Interpolation between trajectory points, as the joint trajectory controller does it."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import TrajectoryPoints

RNG = np.random.default_rng(6)
TIME = np.array([0.5, 1.0, 2.2, 3.0])
Q, DQ, DDQ, EFFORT = (RNG.normal(size=(4, 3)) for _ in range(4))
FULL = {
    'linear': TrajectoryPoints(TIME, Q),
    'cubic': TrajectoryPoints(TIME, Q, DQ),
    'quintic': TrajectoryPoints(TIME, Q, DQ, DDQ, EFFORT),
}


@pytest.mark.parametrize('kind', FULL)
def test_it_goes_through_its_points(kind):
    at = FULL[kind].sample(TIME)
    np.testing.assert_allclose(at.q, Q, atol=1e-12)
    just = FULL[kind].sample(TIME[1:] - 1e-9)
    if kind != 'linear':
        np.testing.assert_allclose(just.dq, DQ[1:], atol=1e-6)
        np.testing.assert_allclose(at.dq[:-1], DQ[:-1], atol=1e-9)
    if kind == 'quintic':
        np.testing.assert_allclose(just.ddq, DDQ[1:], atol=1e-5)
        np.testing.assert_allclose(at.ddq[:-1], DDQ[:-1], atol=1e-9)


@pytest.mark.parametrize('kind', FULL)
def test_speeds_are_the_derivatives_of_positions(kind):
    t = np.linspace(0.55, 2.95, 97)
    t = t[np.abs(t[:, None] - TIME).min(axis=1) > 0.01]
    h = 1e-5
    here, ahead, behind = (FULL[kind].sample(t + d) for d in (0, h, -h))
    np.testing.assert_allclose(here.dq, (ahead.q - behind.q) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(here.ddq, (ahead.dq - behind.dq) / (2 * h), atol=1e-4)


def test_a_polynomial_of_its_degree_is_met_exactly():
    t = np.linspace(0, 2, 5)
    coefficients = RNG.normal(size=6)

    def exact(x, order=0):
        return np.polynomial.Polynomial(coefficients[::-1]).deriv(order)(x)

    trajectory = TrajectoryPoints(t, exact(t)[:, None], exact(t, 1)[:, None], exact(t, 2)[:, None])
    fine = np.linspace(0, 1.99, 200)
    at = trajectory.sample(fine)
    np.testing.assert_allclose(at.q[:, 0], exact(fine), atol=1e-10)
    np.testing.assert_allclose(at.ddq[:, 0], exact(fine, 2), atol=1e-8)


def test_effort_is_a_straight_line_and_holds():
    trajectory = FULL['quintic']
    np.testing.assert_allclose(trajectory.sample([0.75]).effort[0], (EFFORT[0] + EFFORT[1]) / 2)
    np.testing.assert_allclose(trajectory.sample([9.0]).effort[0], EFFORT[-1])
    np.testing.assert_array_equal(FULL['cubic'].sample([0.7]).effort, np.zeros((1, 3)))


@pytest.mark.parametrize('kind', FULL)
def test_it_rests_before_and_after(kind):
    at = FULL[kind].sample([0.0, 5.0])
    np.testing.assert_allclose(at.q, Q[[0, -1]], atol=1e-12)
    np.testing.assert_array_equal(at.dq, np.zeros((2, 3)))


def test_the_first_segment_starts_where_the_robot_is():
    here, moving = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.0, -0.5])
    at = FULL['cubic'].from_here(here, moving).sample([0.0, 0.5])
    np.testing.assert_allclose(at.q, [here, Q[0]], atol=1e-12)
    np.testing.assert_allclose(at.dq, [moving, DQ[0]], atol=1e-12)
    at_once = TrajectoryPoints([0.0, 1.0], Q[:2])
    assert at_once.from_here(here, moving) is at_once


def test_columns_and_delays():
    swapped = FULL['quintic'].select([2, 0, 1]).delayed(1.0)
    np.testing.assert_allclose(swapped.sample(TIME + 1.0).q, Q[:, [2, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(swapped.sample(TIME + 1.0).effort, EFFORT[:, [2, 0, 1]], atol=1e-12)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (([0.0, 1.0], [[0.0], [1.0], [2.0]]), 'one row of positions per point'),
        (([], np.zeros((0, 1))), 'one row of positions per point'),
        (([0.0, 0.0], [[0.0], [1.0]]), 'increase'),
        (([-1.0, 0.0], [[0.0], [1.0]]), 'increase'),
        (([0.0, np.nan], [[0.0], [1.0]]), 'increase'),
        (([0.0, 1.0], [[0.0], [np.inf]]), 'finite q'),
        (([0.0, 1.0], [[0.0], [1.0]], [[0.0, 1.0]]), 'dq of shape'),
        (([0.0, 1.0], [[0.0], [1.0]], None, [[0.0], [1.0]]), 'velocities where accelerations'),
    ],
)
def test_what_is_no_trajectory_is_refused(arguments, message):
    with pytest.raises(JointDynamicsError, match=message):
        TrajectoryPoints(*arguments)
