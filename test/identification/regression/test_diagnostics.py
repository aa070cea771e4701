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

"""Diagnostics of residuals as scipy has them; their table says in which band each of its columns is."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kurtosis, skew, spearmanr

from joint_dynamics.identification.regression.diagnostics import (
    band_text,
    diagnose,
    poorly_determined_parameters,
    rank_correlation,
    relative_deviation_percent,
    residual_headers,
    residual_rows,
)
from joint_dynamics.identification.regression.residuals import Fit, FullRate, relative

NAMES = ('a', 'b', 'c')


@pytest.mark.parametrize('seed', range(3))
def test_diagnostics_are_those_of_the_moving_samples(seed):
    """Rank correlations, kurtosis and skewness as scipy has them; the autocorrelation of residuals, 0 at rest."""
    rng = np.random.default_rng(seed)
    fits, parts = [], []
    for length in (300, 200):
        time = 0.01 * np.arange(length)
        predicted = np.round(rng.normal(size=(length, 3)) * 4.0, 1)
        tau = predicted + rng.standard_t(4 + 2 * seed, size=(length, 3)) * [1.0, 0.3, 2.0]
        tau[1:, 1] += 0.25 * seed * (tau - predicted)[:-1, 1]
        dq = rng.normal(size=(length, 3))
        dq[:, 2] *= 0.001
        fits.append(Fit('run', NAMES, time, tau, predicted, dq, 0.02, relative(tau, tau), None))
        parts.append((tau - predicted, predicted, np.abs(dq) > 0.02))
    problem = SimpleNamespace(observations=[], blocks=list, model=SimpleNamespace(joint_names=NAMES))
    found = diagnose(problem, None, fits)
    assert found['leverage'] == {} and list(found['residuals']) == list(NAMES)
    for j, name in enumerate(NAMES):
        own = found['residuals'][name]
        residual = np.concatenate([r[m[:, j], j] for r, _, m in parts])
        fitted = np.concatenate([p[m[:, j], j] for _, p, m in parts])
        if name == 'c':
            assert own == {'samples': len(residual)}
            continue
        series = np.concatenate([np.where(m[:, j], r[:, j], 0.0) for r, _, m in parts])
        series = series - series.mean()
        largest = max(abs(series[k:] @ series[:-k]) / (series @ series) for k in range(1, 41))
        expected = {
            'mean': residual.mean(), 'trend': spearmanr(fitted, residual).statistic,
            'largest_autocorrelation': largest, 'spread': spearmanr(np.abs(fitted), np.abs(residual)).statistic,
            'skewness': skew(residual), 'excess_kurtosis': kurtosis(residual),
        }  # fmt: skip
        assert {key: own[key] for key in expected} == {key: pytest.approx(value) for key, value in expected.items()}
        assert own['samples'] == len(residual)
        assert own['linear'] == (abs(expected['trend']) < 0.2)
        assert own['independent'] == (largest < 0.15)
        assert own['constant_variance'] == (abs(expected['spread']) < 0.2)
        assert own['normal'] == (abs(expected['excess_kurtosis']) < 3 and abs(expected['skewness']) < 1)
        assert set(own) == {'samples', *expected, 'linear', 'independent', 'constant_variance', 'normal'}


def test_ranks_of_equal_values_are_shared():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, 60), rng.integers(0, 4, 60)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, -3.0 * a) == pytest.approx(-1.0)


def test_deviations_in_percent_of_the_parameters():
    found = relative_deviation_percent(np.array([2.0, -4.0, 0.0]), np.array([0.5, 0.5, 0.0]))
    np.testing.assert_array_equal(found, [25.0, 12.5, np.inf])


def test_parameters_whose_deviation_others_inflate_are_listed_worst_first():
    solution = SimpleNamespace(inflation=np.array([31.0, 1.0, 400.0, 30.0]))
    assert poorly_determined_parameters(['p', 'q', 'r', 's'], solution) == ['r', 'p']
    assert poorly_determined_parameters(['p', 'q', 'r', 's'], solution, 10.0) == ['r', 'p', 's']


def fit(rate, band):
    rng = np.random.default_rng(1)
    time, tau, dq = np.arange(400) / rate, rng.normal(size=(400, 2)), np.ones((400, 2))
    full = FullRate(time, tau, 0.9 * tau, dq)
    return Fit('run', ('a', 'b'), time, tau, 0.9 * tau, dq, 0.05, (np.full(2, 10.0), 10.0), full, band)


@pytest.mark.parametrize(
    ('rates', 'band', 'fixed', 'fitted'),
    [
        ((100.0,), 4.0, '10 Hz', 'below 4 Hz'),
        # sampled too slowly for 10 Hz
        ((12.5,), 2.5, '5 Hz', 'below 2.5 Hz'),
        ((12.5, 100.0), 2.5, '5 or 10 Hz', 'below 2.5 Hz'),
        ((100.0,), None, '10 Hz', 'of the full band'),
    ],
)
def test_every_column_has_its_band(rates, band, fixed, fitted):
    fits = [fit(rate, band) for rate in rates]
    headers = residual_headers(fits)
    assert headers == ['recording', 'overall %', 'moving %', 'unfiltered %', 'a %', 'b %', f'{fixed} %', f'{fixed} N·m']
    assert all(len(row) == len(headers) for row in residual_rows(fits))
    assert band_text(fits).endswith(f'{fitted}; in the last columns below {fixed}')
