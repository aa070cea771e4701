"""Branch and bound by hand: which intervals are done, and what is returned where the search ends."""

import numpy as np
import pytest

from joint_dynamics.signals import polynomial
from joint_dynamics.signals.polynomial import certified_minimum, decided

LOWER = np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2])


@pytest.mark.parametrize(
    ('seen', 'options', 'done'),
    [
        # within the tolerance of 0.1 of the smallest value
        (0.0, {}, LOWER >= -0.1),
        (0.25, {}, LOWER >= 0.15),
        # the only question is whether all is above 0.1, whatever was seen
        (0.0, {'enough': 0.1}, LOWER >= 0.1),
        (9.0, {'enough': -0.2}, LOWER >= -0.2),
        # on the same side of 0 and of −0.15 as what was seen
        (0.2, {'allowed': 0.15}, LOWER >= 0.1),
        (0.15, {'allowed': 0.15}, LOWER >= 0.05),
        (0.05, {'allowed': 0.05}, LOWER >= 0.0),
        (0.0, {'allowed': 0.15}, LOWER >= -0.1),
        (-0.1, {'allowed': 0.15}, LOWER >= -0.15),
        (-0.15, {'allowed': 0.15}, LOWER >= -0.15),
        (-0.16, {'allowed': 0.15}, LOWER >= -0.26),
        # a question of its own goes before
        (0.0, {'enough': 0.1, 'allowed': 0.15}, LOWER >= 0.1),
    ],
)
def test_what_is_decided(seen, options, done):
    assert decided(LOWER, seen, 0.1, **options).tolist() == done.tolist()


def parabola(middle, height=0.0):
    """Return what `certified_minimum` needs of (t − middle)² + height, whose second derivative is 2."""

    def values(t, inside):
        return ((t - middle) ** 2 + height)[None]

    def lowest(begin, end, first, last):
        seen = np.minimum(first, last)[0]
        return seen - (end - begin) ** 2 / 8 * 2, seen

    return values, lowest


@pytest.mark.parametrize('middle', [0.0, 0.3, 1.0, 1.7, 2.0])
@pytest.mark.parametrize('tolerance', [1e-1, 1e-3, 1e-6])
def test_the_bound_is_below_and_within_the_tolerance(middle, tolerance):
    least = certified_minimum(np.array([0.0, 1.0]), np.array([1.0, 2.0]), *parabola(middle, 3.0), tolerance)
    assert 3.0 - tolerance <= least.bound <= 3.0 <= least.seen <= least.bound + tolerance + 1e-15


def test_a_value_below_what_is_enough_ends_the_search():
    least = certified_minimum(np.array([0.0, 1.0]), np.array([1.0, 2.0]), *parabola(0.0), 1e-9, enough=0.5)
    assert (least.seen, least.begin, least.end) == (0.0, 0.0, 1.0)
    # of the first round: the chord's error over 1 s is 1/4
    assert least.bound == -0.25
    later = certified_minimum(np.array([0.0]), np.array([2.0]), *parabola(0.9), 1e-9, enough=0.5)
    # neither end is below, the middle is: of two intervals of 1 s
    assert (later.seen, later.bound) == (pytest.approx(0.01), pytest.approx(0.01 - 0.25))


def test_a_value_that_is_just_enough_does_not():
    def lowest(begin, end, first, last):
        return first[0], first[0]

    def values(t, inside):
        return np.full((1, len(t)), 0.5)

    least = certified_minimum(np.array([0.0]), np.array([2.0]), values, lowest, 1e-9, enough=0.5)
    assert least == (0.5, 0.5, 0.0, 2.0)


def test_values_are_asked_for_from_the_side_of_the_interval():
    """A jump from 1 to −1 at 1 s: the interval before it never sees what is after."""

    def values(t, inside):
        assert t.shape == inside.shape
        return np.where(inside < 1.0, 1.0, -1.0)[None] + 0 * t

    def lowest(begin, end, first, last):
        assert np.array_equal(np.sign(first), np.sign(last))
        seen = np.minimum(first, last)[0]
        return seen - 0.1 * (end - begin), seen

    least = certified_minimum(np.array([0.0, 1.0]), np.array([1.0, 2.0]), values, lowest, 1e-3)
    assert -1.001 <= least.bound <= -1.0 == least.seen
    assert 1.0 <= least.begin < least.end <= 2.0
    before = certified_minimum(np.array([0.0]), np.array([1.0]), values, lowest, 1e-3)
    assert 0.999 <= before.bound <= 1.0 == before.seen


@pytest.mark.parametrize(('name', 'value', 'width'), [('MAX_HALVINGS', 3, 2.0 / 8), ('MAX_INTERVALS', 15, 2.0 / 8)])
def test_effort_is_bounded_and_the_bound_is_that_of_the_last_round(monkeypatch, name, value, width):
    """A bound that sinks with the width alone: |t| where only its slope of 1 is known, all of it within reach of 0."""
    monkeypatch.setattr(polynomial, name, value)

    def lowest(begin, end, first, last):
        seen = np.minimum(first, last)[0]
        return 0 * seen - (end - begin), seen

    least = certified_minimum(np.array([0.0]), np.array([2.0]), lambda t, inside: t[None], lowest, 1e-9)
    assert least.bound == -width
    assert least.seen == 0.0


def test_limits_that_are_kept_are_not_called_broken():
    """A minimum of 0.01 with a tolerance of 1: whether it is above 0 is decided all the same."""
    ends = np.array([0.0]), np.array([2.0])
    coarse = certified_minimum(*ends, *parabola(0.9, 0.01), 1.0)
    assert coarse.bound < 0.0
    kept = certified_minimum(*ends, *parabola(0.9, 0.01), 1.0, allowed=1e-3)
    assert 0.0 <= kept.bound <= 0.01
    slightly = certified_minimum(*ends, *parabola(0.9, -5e-4), 1.0, allowed=1e-3)
    assert -1e-3 <= slightly.bound <= -5e-4
    broken = certified_minimum(*ends, *parabola(0.9, -0.5), 1.0, allowed=1e-3)
    assert -1.5 <= broken.bound <= -0.5
