"""The gate and the hand-over: what goes out is finite, limited, and never steps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.control import SafetyGate
from joint_dynamics.control.loop_sample import BY_EFFORT, BY_LAW, BY_OTHERS, NO_SOURCE, blend, wait
from joint_dynamics.control.safety import Handover, taken_over
from joint_dynamics.errors import JointDynamicsError

LIMIT, RATE, RAMP = np.array([150.0, 28.0]), np.array([1500.0, 280.0]), 0.25
T = 0.002


@pytest.fixture
def gate():
    gate = SafetyGate(LIMIT, RATE, RAMP)
    gate.open()
    return gate


def settle(gate, command, safe=(0.0, 0.0), steps=1000):
    for _ in range(steps):
        out = gate.step(np.array(command), np.array(safe), T)
    return out


def test_a_failure_ends_at_zero_and_stays_there(gate):
    settle(gate, [100.0, 10.0], [-20.0, 5.0])
    gate.step(np.array([np.nan, 10.0]), np.array([-20.0, 5.0]), T)
    assert 'not finite' in gate.failure
    np.testing.assert_allclose(settle(gate, [100.0, 10.0], [-20.0, 5.0], int(RAMP / T) + 1), 0.0, atol=1e-9)
    np.testing.assert_array_equal(settle(gate, [100.0, 10.0], [-20.0, 5.0]), 0.0)
    gate.open()
    np.testing.assert_array_equal(settle(gate, [100.0, 10.0]), [100.0, 10.0])


def test_closed_it_gives_nothing(gate):
    settle(gate, [100.0, -20.0])
    way = list(gate.close(T))
    assert gate.step(np.zeros(2), np.zeros(2), T) is None
    np.testing.assert_array_equal(way[-1], 0.0)
    steps = np.diff(np.vstack([[100.0, -20.0], *way]), axis=0)
    assert (np.abs(steps) <= RATE * T * (1 + 1e-12)).all()
    assert len(way) * T <= RAMP
    assert not list(gate.close(T))
    assert SafetyGate(LIMIT, RATE, RAMP).step(np.zeros(2), np.zeros(2), T) is None


def test_closing_half_way_closes(gate):
    settle(gate, [100.0, -20.0])
    way = gate.close(T)
    next(way)
    way.close()
    assert not gate.is_open


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (([np.inf], [1.0], 1.0), 'finite torque limits'),
        (([0.0], [1.0], 1.0), 'torque limits'),
        (([1.0], [1.0, 2.0], 1.0), 'torque limits'),
        (([1.0], [1.0], 1.0), 'rate limits'),
        (([1.0], [np.nan], 1.0), 'rate limits'),
        (([1.0], [9.0], 0.0), 'ramp_time'),
    ],
)
def test_limits_that_cannot_keep_the_promise_are_refused(arguments, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        SafetyGate(*arguments)


NUMBER = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-200, 200)
STEP = st.tuples(
    st.sampled_from(['law', 'none', 'fail', 'close', 'open']) | st.just('law'),
    st.tuples(NUMBER, NUMBER),
    st.tuples(NUMBER, NUMBER),
    st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 0.02),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=60))
def test_whatever_happens_commands_are_finite_limited_in_torque_and_rate_and_none_when_closed(steps):
    gate, last = SafetyGate(LIMIT, RATE, RAMP), np.zeros(2)
    for kind, command, safe, period in steps:
        if kind == 'open':
            gate.open()
            last = np.zeros(2)
        elif kind == 'close':
            for out in gate.close(T):
                assert (np.abs(out - last) <= RATE * T + 1e-9).all()
                last = out
            assert (last == 0).all() or not gate.is_open
        else:
            if kind == 'fail':
                gate.fail('reason')
            out = gate.step(None if kind == 'none' else np.array(command), np.array(safe), period)
            assert (out is None) == (not gate.is_open)
            if out is None:
                continue
            assert np.isfinite(out).all()
            assert (np.abs(out) <= LIMIT).all()
            time = min(period, gate.max_period) if period > 0 else 0.0
            assert (np.abs(out - last) <= RATE * time + 1e-9).all()
            last = out


def test_a_new_gate_has_neither_failed_nor_opened():
    gate = SafetyGate(LIMIT, RATE, RAMP)
    assert (gate.failure, gate.weight, gate.is_open, gate.max_period) == ('', 0.0, False, 0.02)
    assert gate.limited.dtype == bool and gate.limited.shape == (2,) and not gate.limited.any()
    assert gate.step(np.ones(2), np.zeros(2), T) is None


def test_the_gate_step_by_step():
    """u = clip(clip(w u_law + (1 − w) u_safe, u(k−1) ± r T), ±u_max), w by T/t_ramp; every state it keeps."""
    limit, rate, ramp = np.array([10.0, 4.0]), np.array([100.0, 60.0]), 0.25
    gate = SafetyGate(limit, rate, ramp, max_period=0.05)
    gate.open()
    rng = np.random.default_rng(3)
    weight, last, law = 0.0, np.zeros(2), None
    for k in range(200):
        command = None if rng.random() < 0.3 else rng.uniform(-15, 15, 2)
        safe, period = rng.uniform(-12, 12, 2), rng.choice([0.0, -1.0, 0.01, 0.03, 0.2])
        if k == 50:
            safe[1] = np.nan
        good = command is not None
        if good:
            law = np.clip(command, -limit, limit)
        T = min(period, 0.05) if period > 0 else 0.0
        weight = min(1.0, weight + T / ramp) if good else max(0.0, weight - T / ramp)
        rest = np.clip(np.nan_to_num(safe), -limit, limit)
        target = rest if law is None else weight * law + (1 - weight) * rest
        out = np.clip(np.clip(target, last - rate * T, last + rate * T), -limit, limit)
        found = gate.step(command, safe, period)
        np.testing.assert_allclose(found, out, atol=1e-12)
        np.testing.assert_allclose(gate.last, out, atol=1e-12)
        assert gate.weight == pytest.approx(weight)
        limited = np.abs(out - target) > 1e-12
        np.testing.assert_array_equal(gate.limited, limited | (np.abs(command) > limit) if good else limited)
        last = out
    ends = list(gate.close(0.01))
    steps = math.ceil(np.max(np.abs(last) / (rate * 0.01)))
    assert len(ends) == steps + 1 and not ends[-1].any() and not ends[-2].any()
    for before, after in zip([last, *ends], ends, strict=False):
        assert (np.abs(after - before) <= rate * 0.01 + 1e-12).all()
    assert (gate.is_open, gate.weight) == (False, 0.0) and not gate.last.any()
    assert gate.step(np.ones(2), np.zeros(2), 0.01) is None and list(gate.close(0.01)) == []


def test_a_command_that_is_no_number_is_shown():
    gate = SafetyGate([1.0, 2.0], [40.0, 80.0], 0.5)
    gate.open()
    gate.step(np.array([0.5, np.nan]), np.zeros(2), 0.01)
    assert gate.failure == 'the law gave a command that is not finite: [0.5, nan]'
    gate.fail('something later')
    assert gate.failure.startswith('the law gave')
    gate.open()
    assert gate.failure == '' and not gate.limited.any()


WIDE = np.array([10.0, 20.0])
OTHERS, LAW, EFFORT = BY_OTHERS, BY_LAW, BY_EFFORT


def blended(handover, source, command, last, limit, period):
    """The command of a source, with what is left of the difference to the source before."""
    gate = SafetyGate(limit, 1e3 * limit, 1.0).constants
    gate.last[:] = last
    gate.command[:] = command
    blend(handover.constants, handover.rest, source, gate.command, gate, period)
    return gate.command.copy()


def follow_source(handover, source, command, last, steps, period):
    """What goes out in so many steps of one source."""
    out = [last]
    for _ in range(steps):
        out.append(np.clip(blended(handover, source, command, out[-1], WIDE, period), -WIDE, WIDE))
    return np.array(out)


def test_the_difference_fades_in_a_straight_line():
    handover, command = Handover(2, 0.1), np.array([4.0, -6.0])
    np.testing.assert_array_equal(blended(handover, LAW, command, np.zeros(2), WIDE, 0.01), command)
    other = np.array([-1.0, 5.0])
    out = follow_source(handover, EFFORT, other, command, 15, 0.01)
    shares = np.clip(1.0 - np.arange(15) / 10.0, 0.0, None)
    np.testing.assert_allclose(out[1:], other + np.outer(shares, command - other), atol=1e-12)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_beyond_the_limit_is_no_difference_to_fade(sign):
    """A command far beyond the limit goes out as the limit: from there to it there is nothing to fade."""
    handover = Handover(2, 0.1)
    handover.clear(OTHERS)
    last, asked = sign * np.array([2.0, 3.0]), sign * np.array([100.0, 5.0])
    out = blended(handover, LAW, asked, last, WIDE, 0.01)
    np.testing.assert_allclose(out, sign * np.array([92.0, 3.0]))
    handover.clear(OTHERS)
    out = blended(handover, LAW, -asked, last, WIDE, 0.01)
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
        np.testing.assert_array_equal(blended(handover, LAW, command, WIDE, WIDE, 0.01), command)


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
