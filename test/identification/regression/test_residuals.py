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

TIME = np.arange(400) * 0.01  # s


@pytest.fixture
def fit():
    """Fit of the last 300 samples of two joints, the second mostly at rest, with the full-rate torques of all 400."""
    rng = np.random.default_rng(3)
    tau, dq = rng.normal(size=(400, 2)) * [1.0, 5.0], rng.normal(size=(400, 2)) * [1.0, 0.01]
    predicted, raw = tau + rng.normal(size=tau.shape) * [0.1, 0.2], (np.array([7.0, np.nan]), 8.0)
    part, full = (values[100:] for values in (TIME, tau, predicted, dq)), FullRate(TIME, tau, predicted, dq)
    return Fit('folder/run@0:2.npz/', ('a', 'b'), *part, 0.05, raw, full, 4.0)


def percent(residual, reference):
    """100 · ‖residual‖/‖reference‖; nan without samples."""
    return 100 * np.linalg.norm(residual) / np.linalg.norm(reference) if len(residual) else np.nan


@pytest.mark.parametrize('moving', [False, True])
def test_residuals_in_percent(fit, moving):
    mask = np.abs(fit.dq) > 0.05 if moving else fit.dq > -np.inf
    error = fit.tau - fit.predicted
    joints, overall = fit.residual_percent(moving=moving)
    np.testing.assert_allclose(joints, [percent(error[m, j], fit.tau[m, j]) for j, m in enumerate(mask.T)])
    assert overall == pytest.approx(percent(error[mask], fit.tau[mask]))
    np.testing.assert_array_equal(fit.residual, error)
    np.testing.assert_allclose(fit.rmse, np.sqrt((error**2).sum(axis=0) / 300))


def test_the_summary_of_a_fit(fit):
    summary = fit.summary()
    assert fit.short_name == 'run@0:2.npz'
    assert summary['raw_residual_percent'] == {'a': 7.0, 'b': None, 'overall': 8.0}
    assert (summary['band_hz'], summary['recording']) == (4.0, 'folder/run@0:2.npz/')
    assert summary['rmse'] == dict(zip('ab', fit.rmse.tolist(), strict=True))
    assert summary['moving_residual_percent']['b'] is None or summary['moving_residual_percent']['b'] > 0


def test_residuals_in_the_fixed_band(fit):
    residual, reference = fit.full.in_band()
    fixed, moving = fit.summary()['fixed_band'], np.abs(fit.full.dq) > 0.05
    assert fixed['band_hz'] == 10.0
    assert fixed['residual_percent']['overall'] == pytest.approx(percent(residual, reference))
    for j, name in enumerate('ab'):
        value = pytest.approx(percent(residual[moving[:, j], j], reference[moving[:, j], j]))
        assert fixed['moving_residual_percent'][name] == (value if moving[:, j].any() else None)
        assert fixed['rmse'][name] == pytest.approx(np.sqrt(np.mean(residual[:, j] ** 2)))
    # of several recordings as one: the same twice changes no share
    assert overall_in_fixed_band([fit, fit]) == {
        'band_hz': 10.0,
        'residual_percent': pytest.approx(fixed['residual_percent']['overall']),
        'moving_residual_percent': pytest.approx(fixed['moving_residual_percent']['overall']),
        'rms': pytest.approx(np.sqrt(np.mean(residual**2))),
    }


def test_the_lowest_band_of_several_recordings_is_stated(fit):
    slow = replace(fit.full, time=TIME * 10)
    assert (fit.full.rate, fit.full.band) == (pytest.approx(100.0), 10.0)
    assert (slow.rate, slow.band) == (pytest.approx(10.0), pytest.approx(4.0))
    assert overall_in_fixed_band([fit, replace(fit, full=slow)])['band_hz'] == pytest.approx(4.0)
    assert band_of_all([fit, fit]) == 'below 4 Hz'
    assert band_of_all([fit, replace(fit, band=10.25)]) == 'below 4 or 10.2 Hz'
    assert band_of_all([replace(fit, band=None)]) == ''


def test_a_torque_of_zero_has_no_share(fit):
    zero = replace(fit.full, tau=0.0 * fit.full.tau, predicted=0.0 * fit.full.tau)
    still = overall_in_fixed_band([replace(fit, full=zero)])
    assert (still['residual_percent'], still['moving_residual_percent'], still['rms']) == (None, None, 0.0)
    joints, overall = relative(np.array([[3.0, 0.0]]), np.array([[4.0, 0.0]]))
    assert joints[0] == 75.0 and np.isnan(joints[1]) and overall == 75.0
    assert np.isnan(relative_of_squares(np.zeros(2), np.zeros(2))[1])


def test_in_the_band_a_slow_part_is_whole_and_a_fast_one_gone():
    slow, fast = (np.sin(2 * np.pi * f * TIME)[:, None] for f in (1.0, 40.0))
    kept, _ = FullRate(TIME, slow + fast, 0.0 * slow, slow).in_band()
    np.testing.assert_allclose(kept[100:300], slow[100:300], atol=0.02)


def test_the_predicted_torque_is_the_rows_times_the_parameters():
    block = Block(np.random.default_rng(3).normal(size=(2, 3, 4)), np.zeros((2, 4)), np.zeros((2, 4)), 0)
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
