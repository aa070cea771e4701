"""Periodic look-up tables and Fourier series."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FourierSeries, PeriodicMap

tables = st.lists(st.floats(-1, 1), min_size=1, max_size=20)


@given(table=tables, theta=st.floats(-50, 50), turns=st.integers(-5, 5))
def test_periodic_and_within_its_points(table, theta, turns):
    item = PeriodicMap(table)
    assert np.isclose(item(theta), item(theta + 2 * np.pi * turns), atol=1e-9)
    assert min(table) - 1e-12 <= item(theta) <= max(table) + 1e-12


def test_interpolates_linearly_through_its_points_and_across_the_seam():
    table = np.array([0.0, 1.0, -2.0, 4.0])
    item = PeriodicMap(table)
    grid = np.arange(4) * np.pi / 2
    assert np.allclose(item(grid), table)
    assert np.isclose(item(np.pi / 4), 0.5)
    assert np.isclose(item(2 * np.pi - np.pi / 4), 2.0)
    assert np.isclose(item.derivative(2 * np.pi - 0.1), -4 / (np.pi / 2))
    assert item(np.zeros((3, 2))).shape == (3, 2)


def test_stacked_maps_are_each_map():
    maps = [PeriodicMap([1, 2, 3]), PeriodicMap([0.5]), PeriodicMap(np.arange(10), period=1.0)]
    together = PeriodicMap.stack(maps)
    theta = np.random.default_rng(0).uniform(-9, 9, (50, 3))
    for j, item in enumerate(maps):
        assert np.array_equal(together(theta)[:, j], item(theta[:, j]))
        assert np.array_equal(together.for_joint(j)(theta[:, j]), item(theta[:, j]))
    assert np.array_equal(together(theta[3]), together(theta)[3])
    assert together.minimum == 0
    with pytest.raises(JointDynamicsError, match=r'\(…, 3\)'):
        together(np.zeros((4, 2)))


def test_fourier_fit_comes_back_and_as_a_table():
    rng = np.random.default_rng(2)
    truth = FourierSeries(1e-3, 1e-4 * rng.standard_normal(5), 1e-4 * rng.standard_normal(5))
    theta = rng.uniform(0, 2 * np.pi, 400)
    fit = FourierSeries.fit(theta, truth(theta), harmonics=5)
    assert np.allclose(fit.cosine, truth.cosine)
    assert np.allclose(fit.sine, truth.sine)
    assert np.allclose(fit.tabulate()(theta), truth(theta), atol=5e-4 * 1e-3)
    assert np.allclose(PeriodicMap.from_dict(fit.to_dict())(theta), truth(theta), atol=5e-4 * 1e-3)


def test_too_little_of_a_turn_is_refused():
    with pytest.raises(JointDynamicsError, match='cover too little'):
        FourierSeries.fit(np.linspace(0, 1e-3, 100), np.zeros(100), harmonics=6)
    with pytest.raises(JointDynamicsError, match='1 to 12'):
        FourierSeries(0, np.zeros(13), np.zeros(13))


def test_documents():
    item = PeriodicMap([1.0, 2.0], period=3.0)
    assert np.array_equal(PeriodicMap.from_dict(item.to_dict())(0.7), item(0.7))
    for bad in ({'values': [1], 'colour': 1}, {'type': 'spline', 'values': [1]}, {'type': 'table'}, {'values': [np.inf]}):
        with pytest.raises(JointDynamicsError):
            PeriodicMap.from_dict(bad)
