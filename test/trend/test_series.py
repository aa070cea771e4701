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

"""Slopes of series over time."""

import datetime
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.trend import Run, Series

START = datetime.datetime(2026, 1, 5, tzinfo=datetime.timezone.utc)
DAYS = 7.0 * np.arange(12)


def series(values, temperatures=None):
    unknown = np.full(len(values), np.nan)
    runs = tuple(Run('arm', Path(f'run_{day:g}'), START + datetime.timedelta(days=day)) for day in DAYS[: len(values)])
    warm = unknown if temperatures is None else temperatures
    return Series('arm', 'joint', 'coulomb', runs, np.asarray(values), unknown, warm, None)


def test_slope_of_a_line_is_exact():
    slope = series(4.0 + 0.02 * DAYS).slope
    assert slope.per_day == pytest.approx(0.02)
    assert (slope.start, slope.end) == pytest.approx((4.0, 4.0 + 0.02 * DAYS[-1]))
    assert slope.change_percent == pytest.approx(0.5 * DAYS[-1])
    assert slope.significance < 1e-6


def test_temperature_explains_its_share():
    warm = 28.0 + 5.0 * np.sin(DAYS)
    slope = series(4.0 + 0.02 * DAYS - 0.3 * warm, warm).slope
    assert slope.per_day == pytest.approx(0.02)


def test_significance_is_a_probability():
    """Of series without a change, a share p has a significance below p: binomial, four deviations."""
    rng = np.random.default_rng(5)
    found = np.array([series(rng.normal(size=12)).slope.significance for _ in range(2000)])
    for p in (0.02, 0.1, 0.5):
        assert abs(np.mean(found < p) - p) < 4.0 * np.sqrt(p * (1.0 - p) / 2000)


def test_deviation_covers_the_slope():
    rng = np.random.default_rng(6)
    slopes = [series(0.01 * DAYS + rng.normal(size=12)).slope for _ in range(1000)]
    errors = np.array([(slope.per_day - 0.01) / slope.deviation for slope in slopes])
    # Student's t of ten degrees of freedom lies within 2.228 with probability 0.95
    assert abs(np.mean(np.abs(errors) < 2.228) - 0.95) < 4.0 * np.sqrt(0.05 * 0.95 / 1000)


def test_equal_values_have_no_significant_slope():
    assert series(np.full(12, 4.0)).slope.significance > 0.1


@pytest.mark.parametrize('count', [1, 2])
def test_two_runs_determine_no_slope(count):
    assert series(np.ones(count)).slope is None
