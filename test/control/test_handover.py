"""From one source of commands to another: without a step, and gone after the time."""

import numpy as np
import pytest

from joint_dynamics.control import SafetyGate
from joint_dynamics.control.handover import Handover, taken_over
from joint_dynamics.control.loop_sample import BY_EFFORT, BY_LAW, BY_OTHERS, NO_SOURCE, blend, wait

LIMIT = np.array([10.0, 20.0])


OTHERS, LAW, EFFORT = BY_OTHERS, BY_LAW, BY_EFFORT


def blended(handover, source, command, last, limit, period):
    """The command of a source, with what is left of the difference to the source before."""
    gate = SafetyGate(limit, 1e3 * limit, 1.0).constants
    gate.last[:] = last
    gate.command[:] = command
    blend(handover.constants, handover.rest, source, gate.command, gate, period)
    return gate.command.copy()


def follow(handover, source, command, last, steps, period):
    """What goes out in so many steps of one source."""
    out = [last]
    for _ in range(steps):
        out.append(np.clip(blended(handover, source, command, out[-1], LIMIT, period), -LIMIT, LIMIT))
    return np.array(out)


def test_the_difference_fades_in_a_straight_line():
    handover, command = Handover(2, 0.1), np.array([4.0, -6.0])
    np.testing.assert_array_equal(blended(handover, LAW, command, np.zeros(2), LIMIT, 0.01), command)
    other = np.array([-1.0, 5.0])
    out = follow(handover, EFFORT, other, command, 15, 0.01)
    shares = np.clip(1.0 - np.arange(15) / 10.0, 0.0, None)
    np.testing.assert_allclose(out[1:], other + np.outer(shares, command - other), atol=1e-12)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_beyond_the_limit_is_no_difference_to_fade(sign):
    """A command far beyond the limit goes out as the limit: from there to it there is nothing to fade."""
    handover = Handover(2, 0.1)
    handover.clear(OTHERS)
    last, asked = sign * np.array([2.0, 3.0]), sign * np.array([100.0, 5.0])
    out = blended(handover, LAW, asked, last, LIMIT, 0.01)
    np.testing.assert_allclose(out, sign * np.array([92.0, 3.0]))
    handover.clear(OTHERS)
    out = blended(handover, LAW, -asked, last, LIMIT, 0.01)
    np.testing.assert_allclose(out, sign * np.array([-88.0, 3.0]))


def test_it_fades_while_nobody_commands_and_not_by_a_time_that_is_none():
    handover = Handover(1, 0.1)
    handover.clear(OTHERS)
    blended(handover, LAW, np.zeros(1), np.ones(1), np.ones(1), 0.01)
    for period in (0.04, -1.0, float('nan')):
        wait(handover.constants, period)
    assert blended(handover, LAW, np.zeros(1), np.ones(1), np.ones(1), 0.01) == pytest.approx(0.5)
    wait(handover.constants, 1.0)
    assert blended(handover, LAW, np.zeros(1), np.ones(1), np.ones(1), 0.01) == 0.0


def test_without_a_time_or_a_source_before_there_is_nothing_to_fade():
    command = np.array([1.0, 2.0])
    for handover, source in ((Handover(2, 0.0), OTHERS), (Handover(2, 0.1), NO_SOURCE)):
        handover.clear(source)
        np.testing.assert_array_equal(blended(handover, LAW, command, LIMIT, LIMIT, 0.01), command)


def test_what_is_taken_over(make_arm):
    arm, q = make_arm(), np.array([0.0, -1.0, 1.0, -1.5, -1.5, 0.0])
    gravity, unknown, zeros = arm.rigid.gravity(q), np.full(6, np.nan), np.zeros(6)
    measured = gravity + 3.0
    np.testing.assert_array_equal(taken_over(arm, q, measured, unknown), measured)
    np.testing.assert_array_equal(taken_over(arm, q, measured, gravity), measured)
    np.testing.assert_allclose(taken_over(arm, q, measured, unknown, holds_gravity=False), 3.0)
    # What stands on the command interface counts where friction bears the rest, and only where nothing is measured.
    rest = arm.friction_torque(np.ones((1, 6)), np.full((1, 6), 1e-9), gravity[None])[0]
    for share, holds in ((0.99, True), (-0.99, True), (1.01, False), (-1.01, False)):
        left = gravity + share * rest
        for nothing in (unknown, zeros):
            found = taken_over(arm, q, nothing, left)
            assert (found is left) == holds, (share, nothing)
        # One joint beyond is enough.
        one = gravity + share * rest * np.eye(6)[1]
        assert (taken_over(arm, q, unknown, one) is one) == holds
    assert taken_over(arm, q, zeros, zeros) is None
    assert taken_over(arm, q, unknown, unknown) is None
    left = 0.5 * rest
    assert taken_over(arm, q, unknown, left, holds_gravity=False) is left
