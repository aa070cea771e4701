"""What a law is given: how old each value is, whether a joint can have moved there, and why it cannot be used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.control import LoopSettings
from joint_dynamics.control.aged_interfaces import OTHER_CLOCK, AgedInterfaces, out_of_bounds
from joint_dynamics.control.inputs import FINE, JUMPED, RECOVERY_TIME

NAMES = ('a', 'b', 'c')


@pytest.fixture
def values():
    return AgedInterfaces(NAMES, {'position': 0.1, 'temperature': np.inf, 'velocity': 0.5})


def test_nothing_has_come_at_first(values):
    assert values.why_invalid((), 0.0, 'state') == ''
    for quantity in ('position', 'velocity'):
        assert not values.fresh(quantity, 5.0)
        assert values.stale(quantity, 5.0).all()
        assert np.isnan(values[quantity]).all()
    assert values.why_invalid(('velocity', 'position'), 5.0, 'state') == 'state velocity of a has not come yet'


def test_each_joint_has_its_own_age(values):
    values.write('position', [1.0, 2.0, 3.0], 10.0)
    assert values.fresh('position', 10.0) and values.fresh('position', 10.1) and not values.fresh('position', 10.101)
    values.write('position', [7.0, 8.0], 10.05, joints=('c', 'stranger'))
    np.testing.assert_array_equal(values['position'], [1.0, 2.0, 7.0])
    np.testing.assert_array_equal(values.stale('position', 10.12), [True, True, False])
    assert not values.fresh('position', 10.12)
    values.write('position', [5, 6], 10.1, joints=('b', 'a'))
    np.testing.assert_array_equal(values['position'], [6.0, 5.0, 7.0])
    assert values.fresh('position', 10.12) and not values.stale('position', 10.12).any()
    assert values.why_invalid(('position',), 10.12, 'state') == ''
    # another quantity is not touched, and one that is not claimed is passed over
    assert np.isnan(values['velocity']).all()
    values.write('jerk', [1.0, 1.0, 1.0], 10.0)
    assert 'jerk' not in values and values.quantities == ('position', 'temperature', 'velocity')


def test_the_limit_itself_is_within_either_way(values):
    """Of numbers that have no rounding: half a second old, half a second ahead."""
    values.write('velocity', [1.0, 2.0, 3.0], 10.0)
    for now in (9.5, 10.5):
        assert values.fresh('velocity', now) and not values.stale('velocity', now).any()
        assert values.why_invalid(('velocity',), now, 'state') == ''
    for now in (9.499, 10.501):
        assert not values.fresh('velocity', now) and values.stale('velocity', now).all()
        assert values.why_invalid(('velocity',), now, 'state') != ''


def test_what_is_old_is_said_of_the_oldest_joint(values):
    values.write('position', [1.0, 2.0, 3.0], 10.0)
    values.write('position', [1.0, 3.0], 10.2, joints=('a', 'c'))
    text = 'state position of b is 0.250 s old, allowed are 0.1 s'
    assert values.why_invalid(('position',), 10.25, 'state') == text
    remedy = ': set use_sim_time alike here and for who publishes it'
    text = f'state position of b is {OTHER_CLOCK:.3f} s old, allowed are 0.1 s{remedy}'
    assert values.why_invalid(('position',), 10.0 + OTHER_CLOCK, 'state') == text


def test_what_comes_from_the_future_is_said_of_the_newest_joint(values):
    values.write('position', [1.0, 2.0, 3.0], 10.0)
    values.write('position', [3.0], 10.3, joints=('c',))
    assert not values.fresh('position', 10.05)
    np.testing.assert_array_equal(values.stale('position', 10.05), [False, False, True])
    text = 'reference position of c is stamped 0.250 s ahead of the clock here, allowed are 0.1 s'
    text += ': are the clocks of the machines the same?'
    assert values.why_invalid(('position',), 10.05, 'reference') == text
    values.write('position', [1.0, 2.0, 3.0], 10.0 + OTHER_CLOCK)
    text = f'state position of a is stamped {OTHER_CLOCK:.3f} s ahead of the clock here, allowed are 0.1 s'
    text += ': set use_sim_time alike here and for who publishes it'
    assert values.why_invalid(('position',), 10.0, 'state') == text


def test_what_is_no_number_is_said_of_the_first_joint(values):
    for wrong in (np.nan, np.inf, -np.inf):
        values.write('position', [1.0, wrong, wrong], 10.0)
        assert values.why_invalid(('position',), 10.0, 'state') == 'state position of b is not a finite number'
    # what is older comes first, of several quantities the first
    assert values.why_invalid(('velocity', 'position'), 10.0, 'state') == 'state velocity of a has not come yet'


def test_without_a_limit_nothing_gets_old(values):
    values.write('temperature', [20.0, 21.0, 22.0], 0.0)
    assert values.fresh('temperature', 1e9) and values.why_invalid(('temperature',), 1e9, 'state') == ''
    assert not values.stale('temperature', 1e9).any()


def test_cleared_it_has_forgotten_values_and_ages(values):
    values.write('position', [1.0, 2.0, 3.0], 10.0)
    values.write('velocity', [1.0], 99.0, joints=('a',))
    values.clear()
    for quantity in ('position', 'velocity'):
        assert np.isnan(values[quantity]).all() and values.stale(quantity, 10.0).all()
        assert values.why_invalid((quantity,), 10.0, 'state') == f'state {quantity} of a has not come yet'
    values.write('position', [1.0, 2.0, 3.0], 5.0)
    assert values.fresh('position', 5.0)


def test_the_first_joint_beyond_its_bounds_is_named():
    low, high = np.array([-1.0, -2.0, -3.0]), np.array([1.0, 2.0, 3.0])
    assert out_of_bounds(NAMES, np.array([-1.0, 2.0, 0.0]), low, high, 'torque') == ''
    text = 'torque of b is 2.5, allowed are -2 … 2'
    assert out_of_bounds(NAMES, np.array([0.0, 2.5, -9.0]), low, high, 'torque') == text
    assert (
        out_of_bounds(NAMES, np.array([0.0, 0.0, -9.0]), low, high, 'torque') == 'torque of c is -9, allowed are -3 … 3'
    )
    assert (
        out_of_bounds(NAMES, np.array([np.nan, 0.0, 0.0]), low, high, 'speed')
        == 'speed of a is nan, allowed are -1 … 1'
    )


def test_rows_at_once_are_what_one_after_the_other_would_be(values):
    other = AgedInterfaces(NAMES, {'position': 0.1, 'temperature': np.inf, 'velocity': 0.5})
    rows = np.arange(6.0).reshape(2, 3)
    values.write_rows(rows, 10.0)
    for quantity, row in zip(other.quantities, rows, strict=False):
        other.write(quantity, row, 10.0)
    np.testing.assert_array_equal(values.rows, other.rows)
    for quantity in values.quantities:
        for now in (9.0, 10.0, 10.05, 10.2):
            assert values.fresh(quantity, now) == other.fresh(quantity, now)
            np.testing.assert_array_equal(values.stale(quantity, now), other.stale(quantity, now))
    rows[:] = -1.0
    np.testing.assert_array_equal(values['position'], [0.0, 1.0, 2.0])
    values.clear()
    assert values.stale('position', 10.0).all()


def test_values_of_another_number_than_the_joints_are_refused(values):
    for names in (None, NAMES, NAMES[::-1]):
        with pytest.raises(ValueError):
            values.write('position', [1.0, 2.0], 1.0, names)


def test_what_has_no_limit_is_in_time_before_it_has_come(values):
    """Whether it is a number is asked for elsewhere: a temperature need not be measured."""
    assert values.fresh('temperature', 5.0) and not values.fresh('position', 5.0)


T = 0.002
PAIR = ('a', 'b')
FEEDBACK = {'feedback': True, 'kp': 400.0, 'kd': 40.0}


@pytest.fixture
def states():
    return AgedInterfaces(PAIR, {'position': 0.05, 'velocity': 0.05}, reach=[2.0, np.inf], margin=0.01)


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


def test_jumps_joint_by_joint():
    """A step beyond v T + margin is one, by the limit or a larger reported speed; over after 0.1 s without."""
    names = ('a', 'b')
    states = AgedInterfaces(names, {'position': 1e9, 'velocity': 1e9}, reach=[2.0, np.inf], margin=0.05)

    def accept(q, time, reported=(0.0, 1.0), joints=names):
        states.write('velocity', reported, time)
        states.write('position', q, time, joints)
        return [jump == FINE for jump in (jump_of_joint(states, k) for k in range(2))]

    assert accept([0.0, 0.0], 0.0) == [True, True]
    assert accept([0.24, 0.14], 0.1) == [True, True]
    assert accept([0.24, 0.5], 0.2) == [True, False]
    # joint 0 jumps by more than 2 · 0.1 + 0.05
    assert accept([0.5, 0.5], 0.25) == [False, False]
    assert accept([0.5, 0.5], 0.29) == [False, False]
    assert accept([0.5, 0.5], 0.31) == [False, True]
    assert accept([0.5, 0.5], 0.36) == [True, True]
    # a reported speed beyond the limit lets more through; one that is not a number, where no limit is, everything
    assert accept([1.0, 0.5], 0.46, reported=(5.0, 1.0)) == [True, True]
    assert accept([1.0, 9.0], 0.56, reported=(0.0, np.nan)) == [True, True]
    assert accept([np.nan, 9.0], 0.66) == [True, True]
    assert accept([9.0], 0.66, joints=('b',)) == [True, True]
    assert accept([1.0, 9.0], 0.66) == [True, True]
    # time that goes back is as long as time that goes on
    assert accept([1.2, 9.0], 0.56) == [True, True]


def jump_of_joint(states, joint):
    """FINE or JUMPED of one joint's position."""
    return FINE if np.isnan(states.inputs.jumps['jumped'][0, joint]) else JUMPED
