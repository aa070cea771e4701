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

"""Where a motion repeats, and the mean over its periods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording, average_periods, find_repetition

SIGMA = {'q': 1e-3, 'tau': 0.5}


def periodic(periods, period=1.0, rate=500.0, seed=5, tail=0.0):
    rng = np.random.default_rng(seed)
    time = np.arange(round((periods * period + tail) * rate)) / rate
    q = np.column_stack([np.sin(2 * np.pi * time / period), 0.3 * np.cos(4 * np.pi * time / period)])
    measured = q + SIGMA['q'] * rng.standard_normal(q.shape)
    return Recording(('a', 'b'), time, measured, tau=5 * q + SIGMA['tau'] * rng.standard_normal(q.shape))


def test_noise_of_the_mean_falls_with_the_number_of_periods():
    mean = average_periods(periodic(40), 1.0)
    time = mean.time
    q = np.column_stack([np.sin(2 * np.pi * time), 0.3 * np.cos(4 * np.pi * time)])
    assert (mean.samples, mean.rate) == (500, pytest.approx(500))
    for name, true in (('q', q), ('tau', 5 * q)):
        np.testing.assert_allclose(((getattr(mean, name) - true) ** 2).mean(axis=0), SIGMA[name] ** 2 / 40, rtol=0.2)
    assert 'mean of 40 periods of 1 s: noise variance divided by 40' in mean.notes


def test_without_noise_the_mean_is_each_period():
    clean = periodic(3, tail=0.4)
    one = np.column_stack([np.sin(2 * np.pi * clean.time), 0.3 * np.cos(4 * np.pi * clean.time)])
    mean = average_periods(Recording(('a', 'b'), clean.time, one), 1.0)
    assert 'mean of 3 periods of 1 s: noise variance divided by 3' in mean.notes
    np.testing.assert_allclose(mean.q, one[:500], atol=1e-12)


def test_a_period_between_two_samples_is_resampled():
    time = np.arange(5000) / 500
    q = np.sin(2 * np.pi * time / 0.9993)[:, None]
    mean = average_periods(Recording(('a',), time, q), 0.9993)
    assert mean.period * mean.samples == pytest.approx(0.9993)
    np.testing.assert_allclose(mean.q[:, 0], np.sin(2 * np.pi * mean.time / 0.9993), atol=2e-5)


def test_a_motion_that_does_not_repeat_is_refused():
    with pytest.raises(JointDynamicsError, match=r'that repeats every 0.9 s, found that a differs by'):
        average_periods(periodic(10), 0.9)
    with pytest.raises(JointDynamicsError, match=r'5 s\), found 6.0 s'):
        average_periods(periodic(10), 6.0)
    for period in (0.0, -1.0, float('nan'), 1e-3):
        with pytest.raises(JointDynamicsError, match=f'found {period}'):
            average_periods(periodic(3), period)


def fourier(rng, time, period, joints=3, harmonics=5):
    """A series as an excitation is: several harmonics, so that nothing shorter than the period repeats."""
    phase = 2 * np.pi * np.outer(time / period, np.arange(1, harmonics + 1))
    return np.sin(phase) @ rng.normal(size=(harmonics, joints)) + np.cos(phase) @ rng.normal(size=(harmonics, joints))


def recording(q, rate):
    return Recording(tuple('abc'), np.arange(len(q)) / rate, q)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(2, 5),
    period=st.floats(2.0, 6.0),
    rate=st.sampled_from([100.0, 250.0, 1000.0]),
    before=st.floats(0.0, 8.0),
    after=st.floats(0.0, 8.0),
)
def test_periods_are_found_between_rest_and_ramps(seed, count, period, rate, before, after):
    rng = np.random.default_rng(seed)
    total = count * period
    time = np.arange(int((before + total + after) * rate) + 3) / rate - before
    q = fourier(rng, time, period)
    # Rest, a smooth start and a smooth end about the periodic part; the ramps are not periods.
    inside = np.clip(1 + np.minimum(time, total - time) / 1.5, 0.0, 1.0)[:, None]
    q = q * inside**2 * (3 - 2 * inside) + 1e-4 * rng.standard_normal(q.shape)
    found = find_repetition(recording(q, rate))
    assert found is not None
    assert found.count == count
    assert found.period == pytest.approx(period, abs=0.2 / rate + 1e-3 * period)
    assert found.start == pytest.approx(before, abs=0.3)
    assert found.end == pytest.approx(before + total, abs=0.3)


@pytest.mark.parametrize('seed', range(10))
def test_a_motion_that_does_not_repeat_has_no_period(seed):
    rng = np.random.default_rng(seed)
    time = np.arange(0, 12.0, 0.004)
    assert find_repetition(recording(fourier(rng, time, 9.0), 250.0)) is None
    steps = np.repeat(rng.normal(size=(12, 3)), 250, axis=0)
    assert find_repetition(recording(np.cumsum(steps, axis=0) / 250.0, 250.0)) is None


def test_samples_between_which_nothing_moves_are_no_repetition():
    """Stamps a thousand times too far apart: positions a sample later are the same within the tolerance."""
    rng = np.random.default_rng(4)
    time = np.arange(0.0, 4.5, 2e-4)
    waves = np.sin(
        2 * np.pi * np.array([0.31, 0.83, 1.37])[:, None, None] * time[:, None] + rng.uniform(0, 6, (3, 1, 2))
    )
    q = np.einsum('kj,ktj->tj', rng.normal(size=(3, 2)), waves) + 1e-4 * rng.normal(size=(len(time), 2))
    assert find_repetition(Recording(('a', 'b'), 1000.0 * time, q)) is None


def test_a_long_rest_is_no_repetition():
    time = np.arange(0, 40.0, 0.01)
    q = np.where((time > 15)[:, None] & (time < 20)[:, None], np.sin(time - 15)[:, None] * [1.0, 0.5, 0.2], 0.0)
    assert find_repetition(recording(q, 100.0)) is None
    assert find_repetition(recording(np.zeros((500, 3)), 100.0)) is None


def test_one_joint_that_does_not_repeat_is_enough_to_refuse():
    rng = np.random.default_rng(3)
    time = np.arange(0, 20.0, 0.01)
    q = fourier(rng, time, 5.0)
    assert find_repetition(recording(q, 100.0)).count == 4
    q[:, 1] += 0.1 * time
    assert find_repetition(recording(q, 100.0)) is None


def test_a_stated_period_is_taken():
    time = np.arange(0, 20.0, 0.01)
    q = fourier(np.random.default_rng(4), time, 5.0)
    assert find_repetition(recording(q, 100.0), 10.0).count == 2
    assert find_repetition(recording(q, 100.0), 7.0) is None


@pytest.mark.parametrize('periods', [2, 3, 7])
def test_a_recording_of_exactly_whole_periods_loses_none(periods):
    """The last sample is one period of the grid before the end of the last period."""
    recording = periodic(periods, period=2.0, rate=100.0)
    found = find_repetition(recording)
    assert (found.start, found.count) == (0.0, periods)
    assert found.period == pytest.approx(2.0, abs=0.5 / 100.0)
    assert f'mean of {periods} periods' in average_periods(recording, found.period).notes[-1]
