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

"""Whole samples on a uniform grid out of disordered topics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.estimation.timeline import Timeline

NAMES = ('a', 'b', 'c')
MS = 1_000_000


def line(t):
    """Signals that are linear in time, so that linear interpolation is exact: (3,)."""
    return np.array([1.0, 2.0, -3.0]) * t * 1e-9


def send(timeline, stamps, quantity='q', names=NAMES, order=(0, 1, 2)):
    for stamp in stamps:
        timeline.add(quantity, int(stamp), names, line(stamp)[list(order)])


def take(timeline):
    out = list(timeline.samples())
    return np.array([stamp for stamp, _ in out]), [arrays for _, arrays in out]


def check(stamps, arrays, *quantities, within=1e-12):
    """The signals of these times; a sample within a twentieth of a period counts as one of the grid."""
    for quantity in quantities:
        assert np.array([sample[quantity] for sample in arrays]) == pytest.approx(
            np.array([line(t) for t in stamps]), rel=1e-12, abs=within
        )


@given(seed=st.integers(0, 10000))
@settings(max_examples=15, deadline=None)
def test_any_joint_order_and_split_gives_the_same(seed):
    """An order that changes from message to message is still one source."""
    rng = np.random.default_rng(seed)
    timeline = Timeline(NAMES, ('q', 'current'), 1e-3)
    for k in range(100):
        order = rng.permutation(3)
        send(timeline, [k * MS], 'q', tuple(np.array(NAMES)[order]), order)
        send(timeline, [k * MS], 'current', ('b', 'x'), (1, 0))
        send(timeline, [k * MS], 'current', ('c', 'a'), (2, 0))
    stamps, arrays = take(timeline)
    assert stamps.tolist() == (np.arange(100) * MS).tolist()
    for quantity in ('q', 'current'):
        np.testing.assert_array_equal([sample[quantity] for sample in arrays], [line(t) for t in stamps])
    assert timeline.error == timeline.bridged == timeline.gaps == timeline.late == 0
    assert timeline.missing() == timeline.silent() == {}
    assert timeline.duplicates() == []


@given(seed=st.integers(0, 10000), loss=st.floats(0.0, 0.2))
@settings(max_examples=15, deadline=None)
def test_lost_and_jittered_samples_are_interpolated(seed, loss):
    rng = np.random.default_rng(seed)
    timeline = Timeline(NAMES, ('q', 'theta'), 2e-3)
    for quantity in ('q', 'theta'):
        stamps = (np.arange(100) * 2 + rng.uniform(-0.3, 0.3, 100)) * MS
        kept = rng.random(100) >= loss
        kept[[0, -1]] = True
        send(timeline, stamps[kept].round(), quantity)
    stamps, arrays = take(timeline)
    check(stamps, arrays, 'q', 'theta', within=3 * 0.051 * 2e-3)
    assert timeline.restarts == 0
    assert np.diff(stamps).max() <= 2.2 * MS
    assert len(stamps) == pytest.approx(99, abs=2)


def test_motor_samples_that_come_late_hold_up_but_lose_nothing():
    timeline = Timeline(NAMES, ('q', 'theta'), 1e-3)
    out = []
    for k in range(200):
        send(timeline, [k * MS], 'q')
        if k >= 10:
            send(timeline, [(k - 10) * MS], 'theta')
        out += list(timeline.samples())
        assert len(out) == max(0, k - 9)
    assert timeline.late == timeline.gaps == 0
    check(np.array([stamp for stamp, _ in out]), [arrays for _, arrays in out], 'q', 'theta')


def test_period_is_found_from_the_stamps():
    timeline = Timeline(NAMES, ('q',), learn=50)
    stamps = np.arange(200) * 8 * MS
    send(timeline, np.delete(stamps, [7, 20, 21]))
    assert timeline.period == pytest.approx(8e-3, rel=1e-6)
    assert len(take(timeline)[0]) == 200
    assert timeline.bridged == 3


def test_grid_keeps_in_step_with_a_clock_that_is_slightly_off():
    timeline = Timeline(NAMES, ('q',), 1e-3)
    send(timeline, np.arange(4000) * 1.002 * MS)
    stamps, arrays = take(timeline)
    assert len(stamps) == 4000
    check(stamps, arrays, 'q', within=3 * 0.051 * 1e-3)


def test_a_hole_in_one_topic_restarts_after_it():
    timeline = Timeline(NAMES, ('q', 'theta'), 1e-3, max_gap=0.05)
    for k in range(400):
        send(timeline, [k * MS], 'q')
        if not 100 <= k < 300:
            send(timeline, [k * MS], 'theta')
        elif k == 250:
            assert list(timeline.silent()) == ['theta of a, b, c']
    stamps, arrays = take(timeline)
    assert stamps.tolist() == [k * MS for k in (*range(300, 400),)] or stamps[0] == 0
    check(stamps, arrays, 'q', 'theta')
    assert timeline.gaps == 1


@pytest.mark.parametrize('back', [1, 50, 10_000])
def test_time_that_goes_back_begins_again(back):
    timeline = Timeline(NAMES, ('q', 'theta'), 1e-3)
    for k in range(100):
        send(timeline, [(20_000 + k) * MS], 'q')
        send(timeline, [(20_000 + k) * MS], 'theta')
    take(timeline)
    start = 20_100 - back
    out = []
    for k in range(200):
        send(timeline, [(start + k) * MS], 'q')
        send(timeline, [(start + k) * MS], 'theta')
        out += list(timeline.samples())
    if back > 5:
        assert timeline.jumps == 1
        assert out[0][0] <= (start + 6) * MS
    assert out[-1][0] == (start + 199) * MS


def test_repeated_stamps_are_counted_by_themselves():
    timeline = Timeline(NAMES, ('q',), 1e-3)
    for k in range(100):
        send(timeline, [(1000 + min(k, 59)) * MS])
    assert (timeline.repeated, timeline.late, timeline.jumps) == (40, 0, 0)
    assert len(take(timeline)[0]) == 60


def test_a_lagging_second_publisher_is_no_new_time():
    timeline = Timeline(NAMES, ('q',), 1e-3)
    for k in range(500):
        send(timeline, [(1000 + k) * MS])
        send(timeline, [(k + 500) * MS])
    stamps, arrays = take(timeline)
    assert timeline.jumps == 0
    assert timeline.late == 500
    assert len(stamps) == 500
    check(stamps, arrays, 'q')


def test_two_publishers_are_merged_and_doubles_named():
    timeline = Timeline(NAMES, ('q',), 1e-3)
    for k in range(50):
        send(timeline, [k * MS], names=('a', 'b'), order=(0, 1))
        send(timeline, [k * MS + 300_000], names=('c', 'b'), order=(2, 1))
    stamps, arrays = take(timeline)
    check(stamps, arrays, 'q')
    assert timeline.duplicates() == ['b']


def test_values_that_are_no_numbers_are_lost_samples():
    timeline = Timeline(NAMES, ('q',), 1e-3)
    for k in range(100):
        timeline.add('q', k * MS, NAMES, line(k * MS) * (np.nan if k % 10 == 5 else 1.0))
    stamps, arrays = take(timeline)
    assert timeline.broken == timeline.bridged == 10
    check(stamps, arrays, 'q')


def test_a_stamp_far_ahead_does_not_block_for_ever():
    timeline = Timeline(NAMES, ('q',), 1e-3)
    send(timeline, np.arange(100) * MS)
    send(timeline, [10**18])
    send(timeline, np.arange(100, 300) * MS)
    stamps, _ = take(timeline)
    assert stamps[-1] == 299 * MS


def test_unwanted_joints_and_quantities_are_passed_over():
    timeline = Timeline(NAMES, ('q',), 1e-3)
    timeline.add('temperature', 0, NAMES, [1, 2, 3])
    timeline.add('q', 0, ('finger',), [1.0])
    assert timeline.missing() == {'q': ['a', 'b', 'c']}
    assert take(timeline)[1] == []


def test_memory_is_bounded():
    timeline = Timeline(NAMES, ('q', 'theta'), 1e-3)
    send(timeline, np.arange(20000) * MS)
    for k in range(200):
        timeline.add('q', k, ('a', f'x{k}'), [0.0, 0.0])
    assert 0 < len(timeline.held) <= 64
    assert max(timeline.held.values()) <= 4096
