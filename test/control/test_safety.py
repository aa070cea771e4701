import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.control import SafetyGate
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


def test_a_command_within_the_limits_comes_through(gate):
    np.testing.assert_array_equal(settle(gate, [20.0, -5.0]), [20.0, -5.0])
    assert not gate.limited.any()
    assert gate.weight == 1


def test_torque_is_limited(gate):
    np.testing.assert_array_equal(settle(gate, [1e9, -29.0]), [150.0, -28.0])
    np.testing.assert_array_equal(gate.limited, [True, True])


def test_rate_is_limited(gate):
    settle(gate, [0.0, 0.0])
    np.testing.assert_allclose(gate.step(np.array([100.0, 0.1]), np.zeros(2), T), [3.0, 0.1])
    np.testing.assert_array_equal(gate.limited, [True, False])
    # A pause does not buy a jump: it counts as max_period.
    np.testing.assert_allclose(gate.step(np.array([100.0, 0.1]), np.zeros(2), 10.0), [33.0, 0.1])


def test_a_fault_ends_at_the_safe_command_within_the_ramp_time_and_comes_back(gate):
    settle(gate, [100.0, 10.0], [-20.0, 5.0])
    for _ in range(int(RAMP / T) + 1):
        out = gate.step(None, np.array([-20.0, 5.0]), T, fallback=True)
    np.testing.assert_allclose(out, [-20.0, 5.0], atol=1e-9)
    for _ in range(int(RAMP / T) + 1):
        out = gate.step(np.array([90.0, 9.0]), np.array([-20.0, 5.0]), T)
    np.testing.assert_allclose(out, [90.0, 9.0], atol=1e-9)


def test_a_failure_ends_at_zero_and_stays_there(gate):
    settle(gate, [100.0, 10.0], [-20.0, 5.0])
    gate.step(np.array([np.nan, 10.0]), np.array([-20.0, 5.0]), T)
    assert 'not finite' in gate.failure
    np.testing.assert_allclose(settle(gate, [100.0, 10.0], [-20.0, 5.0], int(RAMP / T) + 1), 0.0, atol=1e-9)
    np.testing.assert_array_equal(settle(gate, [100.0, 10.0], [-20.0, 5.0]), 0.0)
    gate.open()
    np.testing.assert_array_equal(settle(gate, [100.0, 10.0]), [100.0, 10.0])


def test_no_time_no_change(gate):
    before = settle(gate, [10.0, 1.0])
    for period in (0.0, -1.0, np.nan):
        np.testing.assert_array_equal(gate.step(np.array([50.0, 5.0]), np.zeros(2), period), before)


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
    st.sampled_from(['law', 'none', 'fault', 'fail', 'close', 'open']) | st.just('law'),
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
            out = gate.step(
                None if kind == 'none' else np.array(command), np.array(safe), period, fallback=kind == 'fault'
            )
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


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (
            ([1.0, np.inf], [1e3, 1e3], 0.25),
            'finite torque limits > 0 of every joint (effort in the URDF, or a parameter), found [1.0, inf]',
        ),
        (([1.0], [1e3], 0.0), 'ramp_time and max_period > 0 s, found 0.0 and 0.02'),
        (
            ([1.0, 2.0], [8.0, 15.0], 0.25),
            'rate limits of at least 2 limit / ramp_time, so that the ramp ends in time: [8.0, 16.0], '
            'found [8.0, 15.0]',
        ),
    ],
)
def test_what_no_gate_can_be_made_of_is_said(arguments, expected):
    with pytest.raises(JointDynamicsError) as found:
        SafetyGate(*arguments)
    assert str(found.value) == f'gate: expected {expected}'
