"""The detector of jumps by itself: what is one, and what only looks like it."""

import numpy as np
import pytest

from joint_dynamics.estimation.jumps import JumpDetector

WINDOW, LOOK = 100, 10
EVERY = np.ones(2, dtype=bool)


def detector(share=0.3):
    return JumpDetector(2, 1e-3, WINDOW, share, np.full(2, 1e-4))


def watched(found, samples, error, torque, active=EVERY):
    """Give so many samples of a constant error and torque, both (2,), and return at which of them joints jumped."""
    at = []
    for k in range(samples):
        found.sums += [active, np.square(error) * active, np.square(torque) * active]
        if k % LOOK == LOOK - 1 and (jumped := found.jumped()).any():
            at.append((k, jumped.tolist()))
            found.forget(np.flatnonzero(jumped))
    return at


def test_an_error_that_grows_in_one_joint_is_a_jump_of_that_joint():
    found, torque = detector(), np.array([10.0, 10.0])
    assert watched(found, 50 * WINDOW, np.array([0.5, 0.5]), torque) == []
    (first, joints), *_ = watched(found, WINDOW, np.array([5.0, 0.5]), torque)
    assert joints == [True, False] and first < WINDOW
    assert found.seen[0] <= WINDOW < found.seen[1]


def test_an_error_that_is_always_there_is_one_at_first_only():
    """Above the share it is told until the usual level has grown to it, by a bounded step at a time; below, never."""
    assert watched(detector(), 20 * WINDOW, np.array([2.5, 2.9]), np.array([10.0, 10.0])) == []
    found, error, torque = detector(), np.array([4.0, 0.1]), np.array([10.0, 10.0])
    assert watched(found, 20 * WINDOW, error, torque) != []
    assert watched(found, 20 * WINDOW, error, torque) == []


@pytest.mark.parametrize(('error', 'expected'), [(2.9, False), (3.1, True)])
def test_from_the_share_of_the_torque_on_an_error_is_a_jump(error, expected):
    """√(short) has to pass 0.3 · 10 N·m; the window is filled many times over, so that it holds nothing else."""
    found, torque = detector(), np.array([10.0, 10.0])
    watched(found, 50 * WINDOW, np.array([0.1, 0.1]), torque)
    assert bool(watched(found, 10 * WINDOW, np.array([error, 0.1]), torque)) == expected


def test_without_a_share_nothing_is_a_jump():
    found, torque = detector(np.inf), np.array([10.0, 10.0])
    watched(found, 50 * WINDOW, np.array([0.1, 0.1]), torque)
    assert watched(found, WINDOW, np.array([100.0, 0.1]), torque) == []


def test_what_does_not_count_changes_nothing_but_for_the_others():
    found = detector()
    only_first = np.array([True, False])
    watched(found, 3 * WINDOW, np.array([0.5, 0.5]), np.array([10.0, 10.0]), only_first)
    np.testing.assert_allclose(found.excitation, [3 * WINDOW * 1e-3, 0.0])
    assert found.short[1] == found.level[1] == found.usual[1] == 0.0 and found.long[1] == 1e-4
    assert found.level[0] == pytest.approx(100.0) and found.short[0] == pytest.approx(0.25)
