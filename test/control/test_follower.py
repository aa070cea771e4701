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

"""The desired motion over time: trajectories that go over into each other, and how one ends early."""

import numpy as np
import pytest

from joint_dynamics.control import Follower, Path, Points
from joint_dynamics.control.follower import BRAKING_FACTOR, SPACING, braking
from joint_dynamics.errors import JointDynamicsError

NAMES = ('a', 'b')
HERE = np.array([0.1, 0.2])


@pytest.fixture
def follower():
    return Follower(NAMES)


def test_nothing_is_desired_at_first(follower):
    assert follower.motion(0.0) is None


def test_joints_in_any_order_from_where_the_robot_stands(follower):
    path = follower.plan(Points(['b', 'a'], [2.0], [[1.2, 1.1]]), 5.0, HERE)
    follower.follow(path, 5.0, 5.0)
    np.testing.assert_allclose(follower.motion(5.0)[0], HERE)
    np.testing.assert_allclose(follower.motion(7.0)[0], [1.1, 1.2])
    np.testing.assert_allclose(follower.motion(99.0)[0], [1.1, 1.2])
    assert path.derivatives == 4


def test_a_trajectory_that_begins_in_motion_is_continuous(follower):
    """As a stop does, whose first point is where the motion is when it is planned."""
    first = follower.plan(Points(NAMES, [0.0, 2.0], [[0.1, 0.2], [0.5, -0.6]], np.zeros((2, 2))), 10.0, [0.1, 0.2])
    follower.follow(first, 10.0, 10.0)
    desired = follower.motion(11.0)
    points = [desired[0], desired[0] + 0.25 * desired[1]]
    stop = Points(NAMES, [0.0, 0.5], points, [desired[1], [0.0, 0.0]], [desired[2], [0.0, 0.0]])
    path = follower.plan(stop, 11.0, [9.0, 9.0])
    assert path.derivatives == first.derivatives
    np.testing.assert_allclose(path.at(0.0)[:4], desired[:4], atol=1e-12)


def test_a_trajectory_in_the_future_waits(follower):
    first = follower.plan(Points(NAMES, [0.0, 1.0], [HERE, [0.5, 0.5]]), 0.0, HERE)
    follower.follow(first, 0.0, 0.0)
    later = follower.plan(Points(NAMES, [1.0], [[1.0, 1.0]]), 2.0, HERE)
    follower.follow(later, 2.0, 0.5)
    np.testing.assert_allclose(follower.motion(1.9)[0], 0.5)
    np.testing.assert_allclose(follower.motion(3.0)[0], 1.0)


@pytest.mark.parametrize(
    ('points', 'expected'),
    [
        (Points(['a'], [1.0], [[1.0]]), 'each of the joints'),
        (Points(NAMES, [1.0], [[1.0]]), '2 values'),
        (Points(NAMES, [1.0, 2.0], [[1.0, 1.0]]), '2 values'),
        (Points(NAMES, [], []), 'found'),
        (Points(NAMES, [-1.0], [[1.0, 1.0]]), 'times >= 0'),
        (Points(NAMES, [np.nan], [[1.0, 1.0]]), 'times >= 0'),
        (Points(NAMES, [1.0], [[np.nan, 1.0]]), 'finite positions'),
        (Points(NAMES, [0.0, 1.0], [[0.1, 0.9], [1.0, 1.0]]), 'b at 0.9 rad, from 0.2 rad'),
        (Points(NAMES, [1.0], [[1.0, 1.0]], [[1.0, 0.0]]), 'at rest'),
    ],
)
def test_points_that_cannot_be_followed_are_refused(follower, points, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        follower.plan(points, 0.0, HERE)


def test_without_a_position_there_is_no_start(follower):
    with pytest.raises(JointDynamicsError, match='position'):
        follower.plan(Points(NAMES, [1.0], [[1.0, 1.0]]), 0.0, np.array([np.nan, 0.0]))


def test_planning_ahead_does_not_end_what_is_followed_now():
    follower = Follower(NAMES)
    follower.follow(follower.plan(Points(NAMES, [1.0], [[1.0, 1.0]]), 0.0, HERE), 0.0, 0.0)
    follower.follow(follower.plan(Points(NAMES, [1.0], [[2.0, 2.0]]), 5.0, HERE), 5.0, 0.0)
    before = follower.motion(0.5)
    np.testing.assert_allclose(follower.origin(6.0, HERE)[0], 2.0)
    np.testing.assert_array_equal(follower.motion(0.5), before)


@pytest.mark.parametrize('ahead', [1e-3, 0.4, 1.0, 1.5])
def test_a_first_point_however_soon_is_reached_out_of_the_motion(follower, ahead):
    follower.follow(follower.plan(Points(NAMES, [2.0], [[1.0, -1.0]]), 0.0, HERE), 0.0, 0.0)
    desired = follower.motion(1.0)
    assert np.abs(desired[1]).min() > 0.1
    path = follower.plan(Points(NAMES, [ahead, 4.0], [desired[0] + ahead * desired[1], [1.0, 1.0]]), 1.0, HERE)
    np.testing.assert_allclose(path.at(0.0)[:4], desired[:4], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize('step', [2e-3, 0.1, 2.0])
@pytest.mark.parametrize('derivatives', [1, 2, 3])
def test_a_motion_begins_at_the_robot_and_joins_the_request(follower, step, derivatives):
    """Friction holds a joint beside the first point: the reference must not jump there."""
    here, goal, asked = HERE + np.array([0.015, -0.019]), HERE + np.array([0.4, -0.3]), Follower(NAMES)
    time = np.arange(0.0, 2.0 + step / 2, step)
    whole = asked.plan(Points(NAMES, [0.0, 2.0], [HERE, goal], np.zeros((2, 2)), np.zeros((2, 2))), 0.0, HERE)
    points = Points(NAMES, time, *np.moveaxis(whole.sample(time)[:, :derivatives], 1, 0))
    plain, path = asked.plan(points, 0.0, HERE), follower.plan(points, 0.0, here)
    np.testing.assert_allclose(path.at(0.0)[:3], [here, [0.0, 0.0], [0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(path.brought_in, [0.015, -0.019])
    np.testing.assert_allclose(plain.brought_in, 0.0)
    late = np.linspace(max(0.5, step) + 0.3, 2.2, 50)
    np.testing.assert_allclose(path.sample(late)[:, 0], plain.sample(late)[:, 0], atol=2e-5)
    # s(t/T) = a smooth step: |ds/dt| ≤ 35/16 / T. What points 2 s apart ask for is slower.
    early = np.linspace(0.0, min(step, 2.0), 200) if step > 1 else np.linspace(0.0, 0.5, 200)
    excess = np.abs(path.sample(early)[:, 1] - plain.sample(early)[:, 1]).max(axis=0)
    assert (excess <= 35 / 16 / 0.5 * np.array([0.015, 0.019]) * 1.05).all()


def paths():
    rng = np.random.default_rng(5)
    times = np.array([0.0, 0.8, 1.5, 2.5])
    q = np.cumsum(rng.normal(0, 0.4, (4, 3)), axis=0)
    dq = rng.normal(0, 0.3, (4, 3))
    dq[[0, -1]] = 0.0
    return [Path(times, q), Path(times, q, dq), Path(times, q, dq, smooth=False), Path([0.0, 2.0], q[:2], dq[[0, 0]])]


@pytest.mark.parametrize('path', paths())
@pytest.mark.parametrize('at', [0.0, 0.05, 0.9, 1.7, 1.99])
def test_it_goes_on_from_the_motion_and_ends_at_rest_on_the_path(path, at):
    brake = braking(path, at)
    np.testing.assert_allclose(brake.at(0.0)[:3], path.at(at)[:3], atol=1e-9)
    # Where the path has a jerk, the braking begins with it.
    if path.derivatives == brake.derivatives == 4:
        np.testing.assert_allclose(brake.at(0.0)[3], path.at(at)[3], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(brake.at(brake.end)[1:], 0.0)
    # Half as far along the path as in the same time without braking.
    np.testing.assert_allclose(brake.at(brake.end)[0], path.at(at + brake.end / 2)[0], atol=1e-9)
    # Between the points too, to what interpolation over 20 ms leaves (fourth derivatives of 1e4 rad/s⁴ times h⁴/384).
    along = path.sample(np.linspace(at, at + brake.end / 2, 2001))[:, 0]
    for q in brake.sample(np.linspace(0, brake.end, 101))[:, 0]:
        assert np.abs(along - q).max(axis=1).min() < 2e-3


@pytest.mark.parametrize('path', paths()[:2])
def test_braking_uses_twice_the_acceleration_of_the_motion(path):
    for at in (0.3, 0.9, 1.4):
        brake = braking(path, at)
        assert (brake.largest_acceleration <= BRAKING_FACTOR * path.largest_acceleration * 1.02).all()
        assert brake.end < 1.6


def test_largest_acceleration_is_that_of_a_fine_grid():
    for path in paths():
        fine = np.abs(path.sample(np.linspace(0.0, path.end - 1e-9, 20001))[:, 2]).max(axis=0)
        assert (path.largest_acceleration <= fine * (1 + 1e-3) + 1e-6).all()
        # Nine instants of a polynomial of degree 5 at most.
        assert (path.largest_acceleration >= 0.85 * fine).all()


def test_a_longer_one_is_had_where_the_first_is_no_good():
    path = paths()[0]
    first = braking(path, 0.9)
    assert first.end < braking(path, 0.9, longer_than=first.end).end
    # With a lead the motion goes on first, and the same braking follows.
    later = braking(path, 0.8, lead=0.1)
    assert later.end == pytest.approx(first.end + 0.1)
    t = np.linspace(0.0, 0.1, 6)
    np.testing.assert_allclose(later.sample(t)[:, :3], path.sample(0.8 + t)[:, :3], atol=1e-4)
    # At its points; between them the first piece of either has a jerk of its own.
    t = np.linspace(0.0, first.end, max(9, int(np.ceil(first.end / SPACING)) + 1))
    np.testing.assert_allclose(later.sample(0.1 + t)[:, :3], first.sample(t)[:, :3], atol=1e-9)


def test_what_is_not_followed_needs_no_braking():
    follower = Follower(['a', 'b'])
    assert follower.followed(0.0) is None
    path = follower.plan(Points(['a', 'b'], [1.0], [[1.0, 1.0]]), 0.0, np.zeros(2))
    follower.follow(path, 0.0, 0.0)
    assert follower.followed(0.5) == (path, 0.5)
    assert follower.followed(1.0) is None
