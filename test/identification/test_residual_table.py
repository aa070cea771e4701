"""The table of residuals says in which band each of its columns is."""

import numpy as np
import pytest

from joint_dynamics.identification.regression.residuals import Fit, FullRate
from joint_dynamics.identification.residual_table import band_text, residual_headers, residual_rows


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
    assert band_text(fits) == f'per joint, overall and moving {fitted}; in the last columns below {fixed}'
