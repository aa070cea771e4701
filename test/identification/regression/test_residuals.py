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

"""What a fit says of itself: residuals in percent, of moving samples, in the band that is the same for every robot."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.regression.diagnostics import residual_headers, residual_rows
from joint_dynamics.identification.regression.residuals import (
    Fit,
    FullRate,
    band_of_all,
    overall_in_fixed_band,
    predict,
    relative,
    relative_of_squares,
)
from joint_dynamics.identification.regression.rows import Block


def test_residuals_in_percent():
    rng = np.random.default_rng(3)
    time, tau, dq = np.arange(400) * 0.01, rng.normal(size=(400, 2)) * [1.0, 5.0], rng.normal(size=(400, 2))
    predicted = tau + rng.normal(size=tau.shape) * [0.1, 0.2]
    dq[:, 1] *= 0.01
    full = FullRate(time, tau, predicted, dq)
    raw = np.array([7.0, np.nan]), 8.0
    parts = [
        Fit('folder/run@0:2.npz/', ('a', 'b'), time[k], tau[k], predicted[k], dq[k], 0.05, raw, full, 4.0)
        for k in (slice(0, 100), slice(100, 400))
    ]
    fit = parts[1]
    assert fit.short_name == 'run@0:2.npz'
    error = fit.tau - fit.predicted
    np.testing.assert_array_equal(fit.residual, error)
    np.testing.assert_allclose(fit.rmse, np.sqrt((error**2).sum(axis=0) / 300))
    for moving in (False, True):
        mask = np.abs(fit.dq) > 0.05 if moving else fit.dq > -np.inf
        joints, overall = fit.residual_percent(moving=moving)
        expected = [100 * np.linalg.norm(error[m, j]) / np.linalg.norm(fit.tau[m, j]) if m.any() else np.nan
                    for j, m in enumerate(mask.T)]  # fmt: skip
        np.testing.assert_allclose(joints, expected)
        assert overall == pytest.approx(100 * np.linalg.norm(error[mask]) / np.linalg.norm(fit.tau[mask]))
    summary = fit.summary()
    assert summary['raw_residual_percent'] == {'a': 7.0, 'b': None, 'overall': 8.0}
    assert (summary['band_hz'], summary['recording']) == (4.0, 'folder/run@0:2.npz/')
    assert summary['rmse'] == dict(zip('ab', fit.rmse.tolist(), strict=True))
    assert summary['moving_residual_percent']['b'] is None or summary['moving_residual_percent']['b'] > 0
    residual, reference = full.in_band()
    assert full.rate == pytest.approx(100.0) and full.band == 10.0
    slow = FullRate(time * 10, tau, predicted, dq)
    assert slow.rate == pytest.approx(10.0) and slow.band == pytest.approx(4.0)
    fixed = fit.summary()['fixed_band']
    assert fixed['band_hz'] == 10.0
    share = 100 * np.linalg.norm(residual) / np.linalg.norm(reference)
    assert fixed['residual_percent']['overall'] == pytest.approx(share)
    moving = np.abs(dq) > 0.05
    for j, name in enumerate('ab'):
        left, whole = (np.linalg.norm(values[moving[:, j], j]) for values in (residual, reference))
        value = pytest.approx(100 * left / whole) if moving[:, j].any() else None
        assert fixed['moving_residual_percent'][name] == value
        assert fixed['rmse'][name] == pytest.approx(np.sqrt(np.mean(residual[:, j] ** 2)))
    # of several recordings as one: the same twice changes no share, and the lowest band is said
    overall = overall_in_fixed_band([fit, fit])
    assert overall == {
        'band_hz': 10.0,
        'residual_percent': pytest.approx(fixed['residual_percent']['overall']),
        'moving_residual_percent': pytest.approx(fixed['moving_residual_percent']['overall']),
        'rms': pytest.approx(np.sqrt(np.mean(residual**2))),
    }
    assert overall_in_fixed_band([fit, replace(fit, full=slow)])['band_hz'] == pytest.approx(4.0)
    still = overall_in_fixed_band([replace(fit, full=FullRate(time, 0.0 * tau, 0.0 * tau, dq))])
    assert (still['residual_percent'], still['moving_residual_percent'], still['rms']) == (None, None, 0.0)
    assert band_of_all(parts) == 'below 4 Hz'
    assert band_of_all([fit, replace(fit, band=10.25)]) == 'below 4 or 10.2 Hz'
    assert band_of_all([replace(fit, band=None)]) == ''
    # in the band a slow part is whole and a fast one is gone
    wave = np.sin(2 * np.pi * 1.0 * time)[:, None] + np.sin(2 * np.pi * 40.0 * time)[:, None]
    kept, _ = FullRate(time, wave, 0.0 * wave, wave).in_band()
    middle = slice(100, 300)
    np.testing.assert_allclose(kept[middle, 0], np.sin(2 * np.pi * time[middle]), atol=0.02)
    joints, overall = relative(np.array([[3.0, 0.0]]), np.array([[4.0, 0.0]]))
    assert joints[0] == 75.0 and np.isnan(joints[1]) and overall == 75.0
    assert np.isnan(relative_of_squares(np.zeros(2), np.zeros(2))[1])
    block = Block(rng.normal(size=(2, 3, 4)), np.zeros((2, 4)), np.zeros((2, 4)), 0)
    np.testing.assert_allclose(predict(block, [1.0, 2.0, 3.0]), np.tensordot([1.0, 2.0, 3.0], block.rows, (0, 1)))


def test_forces_and_torques_are_weighed_by_their_own_size():
    """A joint that slides beside one that turns: in mm instead of m, the overall percentage is the same."""
    rng = np.random.default_rng(4)
    time, tau, dq = np.arange(300) * 0.01, rng.normal(size=(300, 2)) * [800.0, 5.0], rng.normal(size=(300, 2))
    predicted = tau + rng.normal(size=tau.shape) * [40.0, 1.0]

    def fit(scale=1.0, sliding=(True, False)):
        factor = np.array([scale, 1.0])
        full = FullRate(time, tau * factor, predicted * factor, dq)
        raw = (np.array([7.0, 8.0]), 9.0)
        return Fit('run', ('a', 'b'), time, tau * factor, predicted * factor, dq, 0.05, raw, full, 4.0, sliding)

    mixed = fit()
    assert (mixed.units, mixed.unit) == (('N', 'N·m'), None)
    joints, overall = mixed.residual_percent()
    assert overall == pytest.approx(np.sqrt((joints**2).mean()))
    assert fit(1e-3).residual_percent()[1] == pytest.approx(overall)
    fixed = overall_in_fixed_band([mixed, mixed])
    other = overall_in_fixed_band([fit(1e-3)])
    assert fixed['rms'] is None and fixed['residual_percent'] == pytest.approx(other['residual_percent'])
    assert (fit(sliding=(True, True)).unit, fit(sliding=()).unit) == ('N', 'N·m')
    headers = residual_headers([mixed])
    assert headers[-1].endswith('%') and len(residual_rows([mixed])[0]) == len(headers)
    assert residual_headers([fit(sliding=(True, True))])[-1].endswith(' N')
