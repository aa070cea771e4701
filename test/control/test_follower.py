import numpy as np
import pytest

from joint_dynamics.control import Follower, Points
from joint_dynamics.control.inputs import AgedInterfaces
from joint_dynamics.control.interface import REFERENCES
from joint_dynamics.errors import JointDynamicsError

NAMES = ('a', 'b')
HERE = np.array([0.1, 0.2])


@pytest.fixture
def follower():
    return Follower(NAMES)


@pytest.fixture
def reference():
    return AgedInterfaces(NAMES, dict.fromkeys(REFERENCES, 0.1))


def motion(follower, reference, time):
    follower.write(reference, time)
    return np.array([reference[quantity] for quantity in REFERENCES])


def test_nothing_is_desired_at_first(follower, reference):
    assert np.isnan(motion(follower, reference, 0.0)).all()
    assert 'has not come yet' in reference.doubt(('position',), 0.0, 'reference')


def test_joints_in_any_order_from_where_the_robot_stands(follower, reference):
    path = follower.plan(Points(['b', 'a'], [2.0], [[1.2, 1.1]]), 5.0, HERE)
    follower.follow(path, 5.0, 5.0)
    np.testing.assert_allclose(motion(follower, reference, 5.0)[0], HERE)
    np.testing.assert_allclose(motion(follower, reference, 7.0)[0], [1.1, 1.2])
    np.testing.assert_allclose(motion(follower, reference, 99.0)[0], [1.1, 1.2])
    assert reference.doubt(('position', 'snap'), 99.0, 'reference') == ''
    assert path.derivatives == 4


def test_a_new_trajectory_goes_on_from_the_motion_of_the_old_one(follower, reference):
    follower.follow(follower.plan(Points(NAMES, [0.0, 2.0], [HERE, [1.0, 1.0]]), 0.0, HERE), 0.0, 0.0)
    before = motion(follower, reference, 1.0)
    second = follower.plan(Points(NAMES, [1.5], [[0.0, 0.0]]), 1.0, np.full(2, 9.0))
    follower.follow(second, 1.0, 1.0)
    np.testing.assert_allclose(motion(follower, reference, 1.0)[:4], before[:4], atol=1e-9)
    assert second.derivatives == 4


def test_a_trajectory_in_the_future_waits(follower, reference):
    first = follower.plan(Points(NAMES, [0.0, 1.0], [HERE, [0.5, 0.5]]), 0.0, HERE)
    follower.follow(first, 0.0, 0.0)
    later = follower.plan(Points(NAMES, [1.0], [[1.0, 1.0]]), 2.0, HERE)
    follower.follow(later, 2.0, 0.5)
    np.testing.assert_allclose(motion(follower, reference, 1.9)[0], 0.5)
    np.testing.assert_allclose(motion(follower, reference, 3.0)[0], 1.0)


def test_a_set_point_gets_old(follower, reference):
    follower.set_point(['b', 'a'], [2.0, 1.0], [0.2, 0.1], [0.02, 0.01], 3.0)
    np.testing.assert_array_equal(motion(follower, reference, 3.05)[:3], [[1, 2], [0.1, 0.2], [0.01, 0.02]])
    assert reference.doubt(('position',), 3.05, 'reference') == ''
    assert 'snap of a is not a finite' in reference.doubt(('snap',), 3.05, 'reference')
    motion(follower, reference, 3.2)
    assert 'old' in reference.doubt(('position',), 3.2, 'reference')


@pytest.mark.parametrize(('points', 'expected'), [
    (Points(['a'], [1.0], [[1.0]]), 'each of the joints'),
    (Points(NAMES, [1.0], [[1.0]]), '2 values'),
    (Points(NAMES, [1.0, 2.0], [[1.0, 1.0]]), '2 values'),
    (Points(NAMES, [], []), 'found'),
    (Points(NAMES, [-1.0], [[1.0, 1.0]]), 'times >= 0'),
    (Points(NAMES, [np.nan], [[1.0, 1.0]]), 'times >= 0'),
    (Points(NAMES, [1.0], [[np.nan, 1.0]]), 'finite positions'),
    (Points(NAMES, [0.0, 1.0], [[0.1, 0.9], [1.0, 1.0]]), 'b at 0.9 rad, from 0.2 rad'),
    (Points(NAMES, [1.0], [[1.0, 1.0]], [[1.0, 0.0]]), 'at rest'),
])
def test_points_that_cannot_be_followed_are_refused(follower, points, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        follower.plan(points, 0.0, HERE)


def test_without_a_position_there_is_no_start(follower):
    with pytest.raises(JointDynamicsError, match='where the robot is'):
        follower.plan(Points(NAMES, [1.0], [[1.0, 1.0]]), 0.0, np.array([np.nan, 0.0]))
    for arguments in (([1.0], [0.0, 0.0], [0.0, 0.0]), ([1.0, 1.0], [], [0.0, 0.0])):
        with pytest.raises(JointDynamicsError, match='expected 2'):
            follower.set_point(NAMES, *arguments, 0.0)
