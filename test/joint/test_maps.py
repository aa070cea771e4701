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

"""Periodic look-up tables and Fourier series."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.joint import FourierSeries, PeriodicMap

tables = st.lists(st.floats(-1, 1), min_size=1, max_size=20)


@given(table=tables, theta=st.floats(-50, 50), turns=st.integers(-5, 5))
def test_periodic_and_within_its_points(table, theta, turns):
    item = PeriodicMap(table)
    assert np.isclose(item(theta), item(theta + 2 * np.pi * turns), atol=1e-9)
    assert min(table) - 1e-12 <= item(theta) <= max(table) + 1e-12


def test_interpolation_is_linear_and_crosses_the_seam():
    table = np.array([0.0, 1.0, -2.0, 4.0])
    item = PeriodicMap(table)
    grid = np.arange(4) * np.pi / 2
    assert np.allclose(item(grid), table)
    assert np.isclose(item(np.pi / 4), 0.5)
    assert np.isclose(item(2 * np.pi - np.pi / 4), 2.0)
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


def test_fourier_fit_comes_back_and_as_a_table():
    rng = np.random.default_rng(2)
    truth = FourierSeries(1e-3, 1e-4 * rng.standard_normal(5), 1e-4 * rng.standard_normal(5))
    theta = rng.uniform(0, 2 * np.pi, 400)
    fit = FourierSeries.fit(theta, truth(theta), harmonics=5)
    assert np.allclose(fit.cosine, truth.cosine)
    assert np.allclose(fit.sine, truth.sine)
    assert np.allclose(fit.tabulate()(theta), truth(theta), atol=5e-4 * 1e-3)
    assert np.allclose(PeriodicMap.from_dict(fit.to_dict())(theta), truth(theta), atol=5e-4 * 1e-3)


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


def test_document_is_a_table_of_one_turn_by_default():
    item = PeriodicMap.from_dict({'values': [1.0, 3.0], 'standard_deviations': [0.1, 0.1], 'coverage': [1, 0]})
    assert np.allclose(item([0.0, np.pi, np.pi / 2]), [1.0, 3.0, 2.0])
    assert item.to_dict() == {'type': 'table', 'period': 2 * np.pi, 'values': [1.0, 3.0]}
    assert item.minimum == 1.0
