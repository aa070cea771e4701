"""Where a robot is on its motion, and how one that is not on it comes to rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from joint_dynamics.excitation import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.playback import LONGEST_DELAY, SHORTEST, come_to_rest, delay_of

NAMES = ('a', 'b', 'c')


@pytest.fixture(scope='module')
def motion():
    return FourierTrajectory(
        NAMES, FourierBasis(4.0, 3, 2, 0.8, True), 0.3 * np.random.default_rng(1).standard_normal((3, 7))
    )


@pytest.mark.parametrize('delay', [0.0, 0.05, 0.12, 0.3, 0.5])
def test_the_delay_of_a_robot_on_the_path_is_found(motion, delay):
    for at in np.arange(2.0, 7.0, 0.37):
        q, speed = (
            motion.position(at - delay)[0],
            np.abs(motion.motion(np.linspace(at - delay - 0.05, at, 50))[1]).max(axis=0).min(),
        )
        found, apart = delay_of(motion, at, q)
        # what 1 mrad leaves open at the speed the path has there, and half a step of the search
        assert abs(found - delay) <= 2.5e-3 / speed + 0.005
        assert apart <= 1e-3 + 1e-9 or apart <= 2.5e-3 * 1.5


def test_a_robot_elsewhere_is_told_apart(motion):
    q = motion.position(3.0)[0] + np.array([0.0, 0.4, 0.0])
    assert delay_of(motion, 3.0, q)[1] > 0.1


def test_before_the_motion_and_at_rest_there_is_no_delay(motion):
    assert delay_of(motion, 0.0, motion.position(0.0)[0]) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert LONGEST_DELAY == 0.5


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_coming_to_rest_keeps_the_allowed_deceleration(q, dq):
    limit = np.array([2.0, 3.0, 5.0])
    target, duration = come_to_rest(q, dq, limit)
    assert duration >= SHORTEST
    assert np.all(np.abs(dq) / duration <= limit * (1 + 1e-12))
    assert_allclose(target, np.array(q) + np.array(dq) * duration / 2)
