"""What a law is given: how old each joint's value is, and the sentence that says why it cannot be used."""

import numpy as np
import pytest

from joint_dynamics.control.inputs import OTHER_CLOCK, AgedInterfaces, beyond, other_clock

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
    values.write('position', [5.0, 6.0], 10.1, joints=('b', 'a'))
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


def test_other_clocks_are_a_day_off():
    assert other_clock(OTHER_CLOCK - 1.0) == other_clock(0.0) == ''
    assert other_clock(OTHER_CLOCK) == ': set use_sim_time alike here and for who publishes it'


def test_the_first_joint_beyond_its_bounds_is_named():
    low, high = np.array([-1.0, -2.0, -3.0]), np.array([1.0, 2.0, 3.0])
    assert beyond(NAMES, np.array([-1.0, 2.0, 0.0]), low, high, 'torque') == ''
    text = 'torque of b is 2.5, allowed are -2 … 2'
    assert beyond(NAMES, np.array([0.0, 2.5, -9.0]), low, high, 'torque') == text
    assert beyond(NAMES, np.array([0.0, 0.0, -9.0]), low, high, 'torque') == 'torque of c is -9, allowed are -3 … 3'
    assert beyond(NAMES, np.array([np.nan, 0.0, 0.0]), low, high, 'speed') == 'speed of a is nan, allowed are -1 … 1'


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


def test_values_in_another_order_are_numbers_in_double_precision(values):
    values.write('position', [3, 1, 2], 1.0, ('c', 'a', 'b'))
    np.testing.assert_array_equal(values['position'], [1.0, 2.0, 3.0])


def test_values_of_another_number_than_the_joints_are_refused(values):
    for names in (None, NAMES, NAMES[::-1]):
        with pytest.raises(ValueError):
            values.write('position', [1.0, 2.0], 1.0, names)


def test_what_has_no_limit_is_in_time_before_it_has_come(values):
    """Whether it is a number is asked for elsewhere: a temperature need not be measured."""
    assert values.fresh('temperature', 5.0) and not values.fresh('position', 5.0)
