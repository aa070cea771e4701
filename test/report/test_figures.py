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

"""Figures: the arrays that a page holds, and intervals in tables."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from joint_dynamics.report.figure import STEPS, Figure, Packer, Panel, Series, figure_html
from joint_dynamics.report.html import HALF, WIDTH, Interval, Report, add_values


def test_series_keep_their_own_abscissae(held, unpack):
    x = np.array([1.0, 2.0, 4.0])
    points = Series('samples', np.array([10.0, 20.0]), 'first', np.array([3.0, 2.0]), 'points')
    line = Series('fit', np.array([1.0, 2.0, 4.0]), 'second', x, low=x - 0.5, high=x + 0.5)
    specification, text = held(figure_html(Figure([Panel('a', '', [points, line])], 'x'), '', 'f'))
    (panel,) = specification['panels']
    assert np.allclose(unpack(panel['x'], text), [1, 2, 3, 4])
    samples, fit = panel['series']
    nan = np.nan
    assert np.allclose(unpack(samples['y'], text), [nan, 20, 10, nan], atol=1e-3, equal_nan=True)
    assert np.allclose(unpack(fit['y'], text), [1, 2, nan, 4], atol=1e-3, equal_nan=True)
    assert np.allclose(unpack(fit['high'], text), [1.5, 2.5, nan, 4.5], atol=1e-3, equal_nan=True)


def test_text_of_others_cannot_leave_its_place():
    bad = '</script><script>alert(1)</script>'
    figure = Figure([Panel(bad, bad, [Series(bad, np.arange(3.0))], np.arange(3.0), note=bad)], bad)
    report = Report(bad, bad)
    report.add_section(bad)
    report.add_text(bad)
    report.add_list([bad])
    report.add_table([bad], [[bad]], bad)
    report.add_figure(figure, bad)
    assert 'alert(1)</script>' not in report.to_html().replace('&lt;', '')
    assert '<script>alert' not in report.to_html()


def test_an_entry_becomes_tables_with_readable_names():
    report = Report('a')
    entry = {'models': [{'fit_percent': 91.5}, {'fit_percent': 98.0}], 'joints': {'j_1': {'largest_load': 3.0}}}
    add_values(report, {**entry, 'load_source': 'robot model'})
    page = report.to_html()
    assert re.findall(r'<th[^>]*>([^<]+)</th>', page) == ['fit percent', 'largest load', 'value']
    assert '<td class="text">load source</td><td class="text">robot model</td>' in page


def test_interval_with_zero_reaches_the_edge():
    item = Interval(-20.0, 1.0, reference=-19.0)
    low, high = map(float, re.search(r'wide" d="M([\d.]+) 9H([\d.]+)"', item.svg()).groups())
    assert (low + high) / 2 == pytest.approx(WIDTH / 2)
    assert high - WIDTH / 2 == pytest.approx(0.1 * HALF, abs=0.05)
    assert item.place(-19.0) - WIDTH / 2 == pytest.approx(0.05 * HALF)
    low, high = map(float, re.search(r'wide" d="M([\d.]+) 9H([\d.]+)"', Interval(0.01, 0.3).svg()).groups())
    assert (low, high) == pytest.approx((WIDTH / 2 - HALF, WIDTH / 2 + HALF))


@pytest.fixture(scope='session')
def round_trip(unpack):
    """Function (arrays) that packs and unpacks them, and returns their entries, too."""

    def both(*given_arrays, resolution=0.0):
        packer = Packer()
        entries = [packer.add(values, resolution) for values in given_arrays]
        text = packer.text()
        return [unpack(entry, text) for entry in entries], entries

    return both


FLOATS = st.one_of(st.just(np.nan), st.floats(-1e6, 1e6, allow_subnormal=False))


@given(values=arrays.arrays(float, st.integers(1, 60), elements=FLOATS))
def test_an_array_comes_back_to_half_a_step_of_its_range(round_trip, values):
    (found,), (entry,) = round_trip(values)
    assert np.array_equal(np.isnan(found), np.isnan(values))
    # Beside half a step, what adding start and step · code rounds.
    bound = 0.5 * entry['step'] + 4 * np.finfo(float).eps * np.nanmax(np.abs(values), initial=0.0)
    finite = np.isfinite(values)
    if entry['kind'] == 'ramp':
        bound = 0.011 * entry['step']
    assert np.all(np.abs(found - values)[finite] <= bound)
    if finite.any() and entry['kind'] == 'codes':
        assert entry['step'] <= max(np.ptp(values[finite]) / STEPS, 1.0 if np.ptp(values[finite]) == 0 else 0.0)


def test_arrays_share_one_text_and_equal_ones_are_held_once(round_trip):
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=500), rng.uniform(size=300)
    (a, b, c), entries = round_trip(first, second, first)
    assert entries[0] is entries[2]
    assert np.array_equal(a, c)
    assert np.abs(a - first).max() <= 0.5 * entries[0]['step'] * (1 + 1e-9)
    assert np.abs(b - second).max() <= 0.5 * entries[1]['step'] * (1 + 1e-9)


def test_a_coarser_resolution_makes_the_text_shorter(round_trip):
    values = np.random.default_rng(1).normal(size=20_000)
    (found,), (entry,) = round_trip(values, resolution=0.02)
    assert entry['step'] == 0.02
    assert np.abs(found - values).max() <= 0.01 * (1 + 1e-9)
    coarse, fine = Packer(), Packer()
    coarse.add(values, 0.02)
    fine.add(values)
    assert len(coarse.text()) < 0.75 * len(fine.text())
