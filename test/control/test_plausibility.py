"""Measured positions that no joint can have moved to, and stamps from the future."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.control import LoopSettings
from joint_dynamics.control.input_sample import RECOVERY_TIME
from joint_dynamics.control.inputs import AgedInterfaces

T = 0.002
NAMES = ('a', 'b')
FEEDBACK = {'feedback': True, 'kp': 400.0, 'kd': 40.0}


@pytest.fixture
def states():
    return AgedInterfaces(NAMES, {'position': 0.05, 'velocity': 0.05}, reach=[2.0, np.inf], margin=0.01)


@pytest.mark.parametrize(
    ('ahead', 'expected'),
    [
        (0.04, ''),
        (
            3600.0,
            (
                'x of a is stamped 3600.000 s ahead of the clock here, allowed are 0.05 s: are the clocks of the'
                ' machines the same?'
            ),
        ),
        (86400.0, 'set use_sim_time alike'),
    ],
)
def test_what_is_stamped_ahead_is_not_fresh(ahead, expected):
    values = AgedInterfaces(NAMES, {'x': 0.05})
    values.write('x', [1.0, 2.0], 100.0)
    values.write('x', [1.0], 100.0 + ahead, ['a'])
    assert values.fresh('x', 100.0) == (not expected)
    np.testing.assert_array_equal(values.stale('x', 100.0), [bool(expected), False])
    assert expected in values.why_invalid(('x',), 100.0, 'state')
    assert bool(values.why_invalid(('x',), 100.0, 'state')) == bool(expected)
    # The next good sample is accepted at once.
    values.write('x', [1.0], 100.0, ['a'])
    assert values.why_invalid(('x',), 100.0, 'state') == ''


def test_a_motion_within_the_speed_limit_is_accepted(states):
    rng = np.random.default_rng(3)
    q = np.zeros(2)
    for k, period in enumerate(rng.uniform(0.0005, 0.04, 300)):
        q = q + rng.uniform(-2.0, 2.0, 2) * period
        time = k * 0.05
        states.clear()
        states.write('position', q, time)
        states.write('position', q + 1.99 * period + 0.01, time + period)
        assert states.why_invalid(('position',), time + period, 'state') == ''


def test_a_jump_is_not_taken_over_and_named(states):
    states.write('position', [0.1, 0.2], 1.0)
    states.write('position', [0.5, 0.3], 1.002)
    # The joint without a limit and without a reported speed has nothing that says it cannot.
    np.testing.assert_array_equal(states['position'], [0.1, 0.3])
    assert states.why_invalid(('position',), 1.002, 'state').startswith(
        'state position of a jumped by 0.4 rad in 0.002 s, allowed are 2 rad/s and 0.01 rad'
    )
    assert states.why_invalid(('velocity',), 1.002, 'state') == 'state velocity of a has not come yet'


def test_where_no_limit_is_known_the_reported_speed_bounds(states):
    states.write('velocity', [0.0, 0.5], 1.0)
    states.write('position', [0.0, 0.0], 1.0)
    states.write('position', [0.0, 0.0109], 1.002)
    assert states.why_invalid(('position',), 1.002, 'state') == ''
    states.write('position', [0.0, 0.05], 1.004)
    assert 'position of b jumped' in states.why_invalid(('position',), 1.004, 'state')


def test_a_slip_is_accepted_after_a_while_and_flips_never_are(states):
    states.write('position', [0.0, 0.0], 0.0)
    time, accepted = 0.0, []
    for _ in range(100):
        time += T
        states.write('position', [0.4, 0.0], time)
        accepted.append(not states.why_invalid(('position',), time, 'state'))
    # Consistent from the jump at T on.
    assert accepted.index(True) == pytest.approx(RECOVERY_TIME / T, abs=1)
    assert all(accepted[accepted.index(True) :])
    assert states['position'][0] == 0.4
    for k in range(1000):
        time += T
        states.write('position', [0.4 * (k % 20 < 10), 0.0], time)
        assert states['position'][0] == 0.4
        assert k < 10 or states.why_invalid(('position',), time, 'state')


@given(st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.floats(-1.0, 1.0)), max_size=60))
def test_what_is_taken_over_is_near_the_sample_before(samples):
    # Whatever comes: two samples taken over one after the other are no jump, unless positions have gone on in between.
    states = AgedInterfaces(('a',), {'position': 0.05}, ('position', 'velocity'), reach=[2.0], margin=0.01)
    states.write('position', [0.0], 0.0)
    time, q, since = 0.0, 0.0, 0.0
    for value, step in samples:
        time, before = time + step, time
        states.write('position', [value], time)
        if not np.isfinite(value):
            since += abs(step)
            continue
        trusted = not states.why_invalid(('position',), time, 'state')
        if trusted and states['position'][0] == value:
            reach = 2.0 * (abs(time - before) + since) + 0.01
            assert abs(value - q) <= reach * (1 + 1e-9)
        q, since = value, 0.0


@pytest.mark.parametrize('law', ['computed_torque', 'adaptive_friction', 'flexible_joint'])
def test_flips_at_zero_speed_do_not_reach_the_command(make_loop, path, feed, law):
    loop = make_loop(law, settings=LoopSettings(), **FEEDBACK)
    stand = path.at(0.0)
    for k in range(600):
        feed(loop, stand, k * T)
        before = loop.step(k * T, T)
    assert loop.fallback_reason == ''
    for k in range(600, 900):
        feed(loop, stand, k * T, position=stand[0] + (0.4 if k % 2 else -0.4))
        out = loop.step(k * T, T)
        assert 'jumped by' in loop.fallback_reason
        # On the way from the law to gravity where the arm was last, which differ by the friction's hysteresis only.
        gravity = loop.arm.rigid.gravity(stand[0])
        assert np.all((out >= np.minimum(before, gravity) - 1e-9) & (out <= np.maximum(before, gravity) + 1e-9))
    np.testing.assert_allclose(out, gravity, atol=1e-9)
    for k in range(900, 1500):
        feed(loop, stand, k * T)
        loop.step(k * T, T)
    assert loop.fallback_reason == ''
    assert loop.gate.weight == 1


def test_rows_at_once_are_looked_at_like_others(states):
    states.write_rows(np.array([[0.0, 0.0], [0.1, 0.2]]), 1.0)
    assert states.why_invalid(('position', 'velocity'), 1.0, 'state') == ''
    states.write_rows(np.array([[0.5, 0.0], [0.1, 0.2]]), 1.0 + T)
    assert states['position'][0] == 0.0
    assert 'position of a jumped by 0.5 rad' in states.why_invalid(('position',), 1.0 + T, 'state')
