"""A motion that is left before its end comes to rest on its own path."""

import numpy as np
import pytest

from joint_dynamics.control import Follower, Path, Points
from joint_dynamics.control.braking import HARDER, braking


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
def test_it_is_as_short_as_twice_the_acceleration_of_the_motion_allows(path):
    for at in (0.3, 0.9, 1.4):
        brake = braking(path, at)
        assert (brake.largest_acceleration <= HARDER * path.largest_acceleration * 1.02).all()
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


def test_what_is_not_followed_needs_no_braking():
    follower = Follower(['a', 'b'])
    assert follower.followed(0.0) is None
    path = follower.plan(Points(['a', 'b'], [1.0], [[1.0, 1.0]]), 0.0, np.zeros(2))
    follower.follow(path, 0.0, 0.0)
    assert follower.followed(0.5) == (path, 0.5)
    assert follower.followed(1.0) is None
    follower.set_point(['a', 'b'], [0, 0], [0, 0], [0, 0], 0.5)
    assert follower.followed(0.5) is None
