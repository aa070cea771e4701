"""Lost motion: the play of a backlash, taken up by load; what is not known of it is said."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.lost_motion import LostMotion
from joint_dynamics.joint.lost_motion import LOADS, loads_of, lost_motion_share

PERIOD = 8e-3
LIMIT = 50.0


def made(width=1e-3):
    return LostMotion(1, lambda theta: np.full_like(theta, width), LIMIT, PERIOD)


def move(lost, theta, load=0.0):
    seen = []
    for angle in np.atleast_1d(theta):
        lost.update(np.array([angle]), np.array([load]))
        seen.append((lost.motion[0], lost.slack[0], lost.uncertainty[0]))
    return np.array(seen)


def test_unloaded_it_follows_the_direction_by_half_the_backlash():
    lost = made()
    there, back = np.linspace(0.0, 0.1, 100), np.linspace(0.1, 0.0, 100)
    assert move(lost, there)[-1, 0] == pytest.approx(1e-3)
    motion = move(lost, back)[:, 0]
    assert motion[-1] == pytest.approx(-1e-3)
    # In between by as much as θ itself: the gap is 2 𝓑 wide.
    short = made()
    move(short, there)
    assert move(short, [0.1 - 5e-4])[-1, 0] == pytest.approx(5e-4)


def test_all_of_it_is_uncertain_until_it_has_been_passed():
    lost = made()
    assert move(lost, np.linspace(0.0, 5e-4, 10))[-1, 2] >= 1e-3
    assert move(lost, np.linspace(5e-4, 0.1, 200))[-1, 2] == pytest.approx(0.0, abs=1e-9)


def test_load_takes_it_up_and_a_change_of_load_makes_it_uncertain():
    lost = made()
    move(lost, np.linspace(0.0, 0.1, 400))
    # Between the two loads, whose share is the same by symmetry in the logarithm: together half of it is left.
    loaded = move(lost, np.full(400, 0.1), load=LIMIT * np.sqrt(LOADS[0] * LOADS[1]))
    assert loaded[-1, 1] == pytest.approx(0.5e-3, rel=1e-3)
    assert loaded[:20, 2].max() > 0.3e-3
    assert loaded[-1, 2] < 1e-5


def test_without_a_backlash_there_is_none():
    lost = LostMotion(2, None, [1.0, 2.0], PERIOD)
    lost.update(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert np.all([lost.motion, lost.slack, lost.uncertainty] == np.zeros(2))


def test_a_joint_of_which_none_is_known_is_as_without_beside_one_that_has_some():
    """A description may have the backlash of one joint alone: the other's play is none, from its first sample on."""
    lost = LostMotion(2, lambda theta: np.array([0.0, 1e-3]), LIMIT, PERIOD)
    with np.errstate(all='raise'):
        for angle in np.linspace(0.0, 0.1, 100):
            lost.update(np.full(2, angle), np.zeros(2))
            assert lost.motion[0] == lost.slack[0] == lost.uncertainty[0] == 0.0
        # at rest as well, where 0/0 would stand
        lost.update(np.full(2, 0.1), np.zeros(2))
    assert lost.motion == pytest.approx([0.0, 1e-3])


def test_what_the_backlash_may_be_off_by_is_uncertain_as_far_as_the_load_leaves_it():
    lost = LostMotion(1, lambda theta: np.full_like(theta, 1e-4), LIMIT, PERIOD, deviation=2e-4)
    assert move(lost, np.linspace(0.0, 0.1, 400))[-1, 2] == pytest.approx(4e-4)
    loaded = move(lost, np.full(400, 0.1), load=LIMIT * np.sqrt(LOADS[0] * LOADS[1]))
    assert loaded[-1, 2] == pytest.approx(2e-4, rel=1e-3)
    # of a joint whose play came out as none, too
    none = LostMotion(1, lambda theta: np.zeros_like(theta), LIMIT, PERIOD, deviation=2e-4)
    assert move(none, np.linspace(0.0, 0.1, 400))[-1].tolist() == pytest.approx([0.0, 0.0, 4e-4])


def test_the_loads_halve_their_parts():
    np.testing.assert_allclose(loads_of([LIMIT, 2 * LIMIT]), np.outer([LIMIT, 2 * LIMIT], LOADS))
    np.testing.assert_allclose(lost_motion_share(np.array([0.0, 1.0, -1.0])), [1.0, 0.5, 0.5])


def test_bad_settings_are_refused():
    with pytest.raises(JointDynamicsError, match='limit'):
        LostMotion(1, None, -1.0, PERIOD)
