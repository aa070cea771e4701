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

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from joint_dynamics.signals.alignment import COINCIDENT, alignment_error, resample, sample_period


@settings(max_examples=50, deadline=None)
@given(
    period=st.floats(1e-4, 0.5),
    count=st.integers(100, 400),
    jitter=st.floats(0, 0.3),
    lost=st.integers(0, 5),
    seed=st.integers(0, 99),
)
@example(period=0.5, count=100, jitter=0.25, lost=1, seed=85)
def test_the_period_is_found_under_jitter_and_with_samples_lost(period, count, jitter, lost, seed):
    """The mean step is wrong by the jitter of both ends.

    By one period where jitter makes the hole look shorter than it is.
    """
    rng = np.random.default_rng(seed)
    time = period * (np.arange(count) + rng.uniform(-jitter, jitter, count))
    keep = np.ones(count, dtype=bool)
    keep[5 : 5 + lost] = False
    assert sample_period(time[keep]) == pytest.approx(period, rel=(2 * jitter + (lost > 0)) / (count - 2) + 1e-9)


def test_a_pause_does_not_change_the_period():
    time = np.r_[np.arange(100), 100_000 + np.arange(100)] * 1e-3
    assert sample_period(time) == pytest.approx(1e-3, rel=1e-6)


def test_paired_messages_have_the_period_of_their_source():
    time = np.repeat(np.arange(100) * 4e-3, 2) + np.tile([0, 1e-4], 100)
    assert sample_period(time) == pytest.approx(2e-3, rel=0.01)


def test_the_grid_ends_with_the_last_sample_in_spite_of_rounding():
    for rate in (125, 240, 250, 500, 1000, 5000):
        for count in (100, 1001, 22401):
            time = np.rint(np.arange(count) / rate * 1e9) * 1e-9
            assert np.abs(sample_period(time) * np.arange(count) - time).max() < COINCIDENT


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=60), st.integers(1, 80))
def test_alignment_error_is_the_distance_to_the_next_sample(steps, count):
    time = np.cumsum(steps)
    grid = np.linspace(time[0] - 1, time[-1] + 1, count)
    assert alignment_error(grid, time) == pytest.approx(np.abs(grid[:, None] - time).min(axis=1).max())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=60), st.floats(-5, 5), st.floats(-5, 5))
def test_resampling_is_exact_for_lines_and_holds_the_ends(steps, slope, offset):
    time = np.cumsum(steps)
    grid = np.linspace(time[0] - 0.5, time[-1] + 0.5, 57)
    values = np.column_stack([slope * time + offset, np.full(time.size, offset)])
    expected = slope * np.clip(grid, time[0], time[-1]) + offset
    out = resample(grid, time, values)
    np.testing.assert_allclose(out[:, 0], expected, atol=1e-9)
    np.testing.assert_allclose(out[:, 1], offset, atol=1e-9)


def test_samples_on_the_grid_come_back_bit_for_bit():
    rng = np.random.default_rng(2)
    grid = np.arange(1000) * 1e-3
    values = rng.standard_normal((1200, 3))
    time = np.arange(-100, 1100) * 1e-3 + rng.uniform(-5e-7, 5e-7, 1200)
    np.testing.assert_array_equal(resample(grid, time, values), values[100:1100])
    np.testing.assert_array_equal(resample(grid, time[100:1100], values[100:1100]), values[100:1100])


def test_median_decides_between_two_periods():
    """A third of the time at one and a half times the period.

    No whole samples are missing, and most steps have the sample period.
    """
    time = np.cumsum([0.0, *[1e-3] * 100, *[1.5e-3] * 60])
    assert sample_period(time) == pytest.approx(1e-3, rel=1e-9)
