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

from joint_dynamics.identification.regression.diagnostics import (
    band_text,
    poorly_determined_parameters,
    relative_deviation_percent,
    residual_headers,
    residual_rows,
)
from joint_dynamics.identification.regression.residuals import Fit, FullRate


def test_deviations_in_percent_of_the_parameters():
    found = relative_deviation_percent(np.array([2.0, -4.0, 0.0]), np.array([0.5, 0.5, 0.0]))
    np.testing.assert_array_equal(found, [25.0, 12.5, np.inf])


def test_inflated_parameters_are_listed_worst_first():
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
