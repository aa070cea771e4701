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

"""Desired motions meet their points, as smooth as stated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.control import Path, order_joints
from joint_dynamics.errors import JointDynamicsError

TIME = np.array([0.0, 0.8, 1.5, 3.0])


def points(seed=0, n=3):
    rng = np.random.default_rng(seed)
    q, dq, ddq = rng.normal(size=(3, TIME.size, n))
    for values in (dq, ddq):
        values[[0, -1]] = 0.0
    return q, dq, ddq


@pytest.mark.parametrize('given', [1, 2, 3])
@pytest.mark.parametrize('smooth', [True, False])
def test_it_meets_what_is_given_and_is_as_smooth_as_it_says(given, smooth):
    values = points()[:given]
    path = Path(TIME, *values, smooth=smooth)
    K = 4 if smooth else given
    for k, time in enumerate(TIME):
        for d, expected in enumerate(values):
            np.testing.assert_allclose(path.at(time)[d], expected[k], atol=1e-9)
    for time in TIME:
        before, after = path.at(time - 1e-9), path.at(time + 1e-9)
        np.testing.assert_allclose(before[: path.derivatives], after[: path.derivatives], atol=1e-4)
    # Without accelerations of the ends they jump to rest there; a motion made smooth starts and ends at rest.
    assert path.derivatives == (K if smooth or given != 2 else 2)
    assert smooth or np.abs(path.at(1e-9)[path.derivatives]).max() > 1e-3


@pytest.mark.parametrize('given', [1, 2, 3])
def test_its_rows_are_the_derivatives_of_each_other(given):
    path = Path(TIME, *points()[:given])
    h = 1e-4
    for time in (0.31, 1.1, 2.4):
        difference = (path.at(time + h) - path.at(time - h)) / (2 * h)
        np.testing.assert_allclose(path.at(time)[1:], difference[:-1], rtol=1e-4, atol=1e-4)
    assert path.sample([0.31, 1.1]).shape == (2, 5, 3)


def test_it_rests_before_and_after():
    q, dq, ddq = points()
    path = Path(TIME, q, dq, ddq)
    for time, k in ((-1.0, 0), (3.0, -1), (9.0, -1)):
        np.testing.assert_array_equal(path.at(time)[0], q[k])
        np.testing.assert_array_equal(path.at(time)[1:], 0.0)


def test_a_motion_into_another_keeps_its_derivatives():
    first = Path(TIME, *points())
    now = first.at(1.1)
    for count in (1, 2, 3):
        q, dq, ddq = points(1)
        q[0] = now[0]
        second = Path(TIME + 1.1, *(q, dq, ddq)[:count], start=now)
        np.testing.assert_allclose(second.at(1.1)[:4], now[:4], atol=1e-9)
        assert second.derivatives == 4


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (([0, 0, 1, 2], points()[0]), 'increase'),
        (([0, 1, 2], points()[0]), 'rows'),
        (([0], points()[0][:1]), 'two points'),
        ((TIME, points()[0], None, points()[2]), 'velocities where'),
        ((TIME, points()[0] * np.nan), 'finite positions'),
        ((TIME, points()[0], np.full((4, 3), np.inf)), 'finite velocities'),
        ((TIME, points()[0], points()[1] + 1), 'last point at rest'),
        ((TIME * np.nan, points()[0]), 'times'),
    ],
)
def test_what_cannot_be_is_refused(arguments, expected):
    with pytest.raises(JointDynamicsError, match=expected), np.errstate(invalid='ignore'):
        Path(*arguments)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.05, 2.0), min_size=1, max_size=6), st.integers(0, 10), st.integers(1, 3))
def test_any_points_give_a_finite_motion_through_them(steps, seed, given_count):
    time = np.concatenate([[0.0], np.cumsum(steps)])
    values = list(np.random.default_rng(seed).normal(size=(given_count, time.size, 2)))
    for derivative in values[1:]:
        derivative[[0, -1]] = 0.0
    path = Path(time, *values)
    assert path.derivatives == 4
    motion = path.sample(np.linspace(-0.1, time[-1] + 0.1, 50))
    assert np.isfinite(motion).all()
    np.testing.assert_allclose([path.at(t)[0] for t in time], values[0], atol=1e-8)


def test_joints_are_found_by_name():
    assert order_joints(('a', 'b', 'c'), ['c', 'a', 'b']) == [1, 2, 0]
    for names in (['a', 'b'], ['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'a'], []):
        with pytest.raises(JointDynamicsError, match='each of the joints'):
            order_joints(('a', 'b', 'c'), names)


def test_a_path_of_points_is_the_quintic_spline_at_its_knots():
    """Smooth, from positions: the derivatives at the points are those of scipy's quintic spline at rest at its ends."""
    from scipy.interpolate import make_interp_spline

    t, q = np.array([0.0, 0.7, 1.5, 2.0, 3.1]), np.array([[0.0], [1.0], [0.4], [-0.3], [0.2]])
    zero = np.zeros(1)
    spline = make_interp_spline(t, q, k=5, bc_type=([(1, zero), (2, zero)], [(1, zero), (2, zero)]))
    path = Path(t, q)
    for time in t[1:-1]:
        np.testing.assert_allclose(path.at(time)[:4, 0], [spline(time, nu=d)[0] for d in range(4)], atol=1e-9)
