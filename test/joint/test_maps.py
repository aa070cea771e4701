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
    with pytest.raises(JointDynamicsError, match='expected angles over enough of a turn'):
        FourierSeries.fit(np.linspace(0, 1e-3, 100), np.zeros(100), harmonics=6)
    with pytest.raises(JointDynamicsError, match='1 to 12'):
        FourierSeries(0, np.zeros(13), np.zeros(13))


def test_documents():
    item = PeriodicMap([1.0, 2.0], period=3.0)
    assert np.array_equal(PeriodicMap.from_dict(item.to_dict())(0.7), item(0.7))
    for bad in (
        {'values': [1], 'colour': 1},
        {'type': 'spline', 'values': [1]},
        {'type': 'table'},
        {'values': [np.inf]},
        {'values': False},
        {'values': 1.0},
        {'values': ['1']},
        {'values': [True]},
        {'values': [10**400]},
        {'values': [1], 'period': '3'},
        {'type': 'fourier', 'mean': 0, 'cosine': 1.0, 'sine': 1.0},
    ):
        with pytest.raises(JointDynamicsError):
            PeriodicMap.from_dict(bad)


def test_a_series_has_its_period():
    series = FourierSeries(0.5, [1.0, 0.2], [0.3, -0.4], period=3.0)
    theta = np.linspace(-4, 4, 41)
    turn = 2 * np.pi * theta / 3.0
    expected = 0.5 + np.cos(turn) + 0.2 * np.cos(2 * turn) + 0.3 * np.sin(turn) - 0.4 * np.sin(2 * turn)
    assert np.allclose(series(theta), expected)
    fit = FourierSeries.fit(theta, expected, harmonics=2, period=3.0)
    assert np.allclose([fit.mean, *fit.cosine, *fit.sine], [0.5, 1.0, 0.2, 0.3, -0.4])
    assert fit.to_dict()['period'] == 3.0
    assert np.allclose(FourierSeries.from_dict(fit.to_dict())(theta), expected)
    assert fit.tabulate(30).tables[0].size == 30
    assert np.allclose(fit.tabulate(30)(np.arange(30) * 0.1), fit(np.arange(30) * 0.1))


def test_one_harmonic_is_fitted_exactly():
    theta = np.linspace(0, 6, 50)
    series = FourierSeries.fit(theta, 0.5 + 2.0 * np.cos(theta) - 3.0 * np.sin(theta), harmonics=1)
    np.testing.assert_allclose([series.mean, *series.cosine, *series.sine], [0.5, 2.0, -3.0], rtol=1e-12)


def test_twelve_harmonics_are_allowed_and_one():
    for harmonics in (1, 12):
        assert FourierSeries(0, np.ones(harmonics), np.ones(harmonics)).cosine.size == harmonics
    assert FourierSeries.fit(np.arange(50.0), np.zeros(50)).cosine.size == 6


@pytest.mark.parametrize(
    ('build', 'message'),
    [
        (
            lambda: FourierSeries.fit(np.linspace(0, 0.8, 500), np.zeros(500), harmonics=6),
            r'^FourierSeries: expected angles over enough of a turn for 6 harmonics, found too few \(rank \d+ of 13\)$',
        ),
        (
            lambda: FourierSeries.fit(np.linspace(0, 6, 500), np.zeros(500), harmonics=13),
            '^FourierSeries: expected 1 to 12 harmonics, found 13$',
        ),
        (
            lambda: FourierSeries.fit(np.linspace(0, 6, 500), np.zeros(500), harmonics=0),
            '^FourierSeries: expected 1 to 12 harmonics, found 0$',
        ),
        (
            lambda: FourierSeries(0, [1, 2], [1]),
            '^FourierSeries: expected 1 to 12 cosine and as many sine coefficients, found 2 and 1$',
        ),
        (
            lambda: PeriodicMap.from_dict({'values': [1], 'colour': 1}),
            "^periodic map: expected a known field, found 'colour'$",
        ),
        (
            lambda: PeriodicMap.from_dict({'type': 'table', 'period': 1}),
            '^periodic map of type table: expected the field values, found type, period$',
        ),
        (lambda: PeriodicMap([1.0], period=0.0), '^PeriodicMap: expected a period > 0 rad, found 0.0$'),
        (
            lambda: PeriodicMap.from_dict({'type': 'spline'}),
            "^periodic map: expected type table or fourier, found 'spline'$",
        ),
        (
            lambda: PeriodicMap.from_dict({'type': 'fourier', 'mean': 0, 'sine': [1]}),
            '^periodic map of type fourier: expected the field cosine, found ',
        ),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(build, message):
    with pytest.raises(JointDynamicsError, match=message):
        build()


@pytest.mark.parametrize(
    ('field', 'value', 'message'),
    [
        ('mean', 'x', "expected a finite number in mean, found 'x'"),
        ('mean', True, "expected a finite number in mean, found 'True'"),
        ('period', None, "expected a finite number in period, found 'None'"),
        ('period', 10**400, f'expected a finite number in period, found {"1" + "0" * 39!r}'),
        ('cosine', [np.inf, 1.0], "expected a finite number in cosine, found 'inf'"),
        ('cosine', 1.0, "expected a list of numbers in cosine, found '1.0'"),
        ('sine', '12', "expected a list of numbers in sine, found '12'"),
        ('sine', [0.0, np.nan], "expected a finite number in sine, found 'nan'"),
    ],
)
def test_a_number_that_is_none_is_named_by_its_field(field, value, message):
    document = FourierSeries(1.0, [1.0, 2.0], [3.0, 4.0], 2.5).to_dict()
    with pytest.raises(JointDynamicsError) as caught:
        FourierSeries.from_dict({**document, field: value})
    assert str(caught.value) == f'periodic map: {message}'
    if field in ('period', 'sine'):
        name = 'values' if field == 'sine' else 'period'
        with pytest.raises(JointDynamicsError) as caught:
            PeriodicMap.from_dict({'values': [1.0], name: value})
        assert str(caught.value) == f'periodic map: {message.replace("sine", name)}'


def test_a_document_is_a_table_of_one_turn_unless_it_says_otherwise():
    item = PeriodicMap.from_dict({'values': [1.0, 3.0], 'standard_deviations': [0.1, 0.1], 'coverage': [1, 0]})
    assert np.allclose(item([0.0, np.pi, np.pi / 2]), [1.0, 3.0, 2.0])
    assert item.to_dict() == {'type': 'table', 'period': 2 * np.pi, 'values': [1.0, 3.0]}
    assert item.minimum == 1.0


def test_the_slope_is_that_of_the_lines_between_the_points():
    item = PeriodicMap([0.0, 1.0, -2.0, 4.0], period=2.0)
    middle = 0.25 + 0.5 * np.arange(4)
    assert np.allclose(item.derivative(middle), np.array([1.0, -3.0, 6.0, -4.0]) / 0.5)
    assert np.allclose(PeriodicMap.stack([item, item]).derivative([0.25, 0.75]), [2.0, -6.0])


def test_a_stack_is_of_maps_of_one_joint_each():
    item = PeriodicMap([1.0])
    for wrong in ([], [PeriodicMap.stack([item, item])]):
        with pytest.raises(
            JointDynamicsError, match=r'^PeriodicMap.stack: expected at least one map, each of one joint, found '
        ):
            PeriodicMap.stack(wrong)
