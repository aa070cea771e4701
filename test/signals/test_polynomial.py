"""Polynomials between points: as scipy has them, their derivatives, bounds no sample is beyond; branch and bound."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from joint_dynamics.signals import polynomial
from joint_dynamics.signals.polynomial import (
    ROUNDING,
    STEP_PEAKS,
    PiecewisePolynomial,
    certified_minimum,
    decided,
    hermite_segments,
    smooth_step,
)


def points(seed, K, count=6, n=2):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.uniform(0.05, 1.0, count)), [rng.standard_normal((count, n)) * 3.0**d for d in range(K)]


@pytest.mark.parametrize('K', [1, 2, 3, 4])
def test_segments_are_those_of_scipy(K):
    time, values = points(K, K)
    found = PiecewisePolynomial.hermite(time, values)
    oracle = BPoly.from_derivatives(time, np.stack(values, axis=1))
    t = np.linspace(time[0], time[-1], 200)[1:-1]
    taylor = found.taylor(t, 2 * K)
    for d in range(2 * K):
        expected = oracle(t, nu=d)
        factorial = np.prod(np.arange(1, d + 1))
        np.testing.assert_allclose(factorial * taylor[d].T, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_smooth_step_is_the_quintic_from_rest_to_rest():
    ends = np.array([[0.0], [1.0]])
    x = np.linspace(0, 1, 50)
    quintic = PiecewisePolynomial.hermite(np.array([0.0, 1.0]), [ends, 0 * ends, 0 * ends]).taylor(x, 6)[:, 0]
    s, ds, dds = smooth_step(x)
    np.testing.assert_allclose([s, ds, dds], [quintic[0], quintic[1], 2 * quintic[2]], atol=1e-12)
    fine = PiecewisePolynomial.hermite(np.array([0.0, 1.0]), [ends, 0 * ends, 0 * ends]).taylor(
        np.linspace(0, 1, 20001), 6
    )[:, 0]
    peaks = np.abs(fine).max(axis=1) * np.array([1, 1, 2, 6, 24, 120])
    np.testing.assert_allclose(STEP_PEAKS, peaks, rtol=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 2))
@example(0, 4, 2)  # values of 3000, sums of magnitudes of a million: rounding counts beside the tolerance
def test_nothing_is_beyond_the_extremes_and_they_are_reached(seed, K, derivative):
    if derivative >= 2 * K:
        return
    time, values = points(seed, K)
    function = PiecewisePolynomial.hermite(time, values)
    lowest, highest, when_lowest, when_highest = function.extremes(derivative, 1e-6)
    t = np.concatenate([np.linspace(a, b, 4001) for a, b in itertools.pairwise(time)])
    inside = np.repeat((time[:-1] + time[1:]) / 2, 4001)
    reached = function.taylor(t, derivative + 1, inside)[derivative] * (2 if derivative == 2 else 1)
    assert np.all(lowest <= reached.min(axis=1) + 1e-12)
    assert np.all(highest >= reached.max(axis=1) - 1e-12)
    # the tolerance, and rounding once in the bound, once in the value compared with it
    close = 1e-6 + 2 * ROUNDING * function.magnitude(derivative + 1)[derivative]
    bend = np.abs(function.majorants(time[:-1], time[1:], derivative + 3)[derivative + 2]).max() * 24
    slip = bend * (np.diff(time).max() / 4000) ** 2 + close
    assert np.all(lowest >= reached.min(axis=1) - slip)
    assert np.all(highest <= reached.max(axis=1) + slip)
    # At those times it is what was said, on one side of a point where the derivative jumps.
    for extreme, when in ((lowest, when_lowest), (highest, when_highest)):
        assert np.all((when >= time[0]) & (when <= time[-1]))
        for joint, (wanted, at) in enumerate(zip(extreme, when, strict=True)):
            sides = np.clip([at - 1e-9, at + 1e-9], time[0] + 1e-9, time[-1] - 1e-9)
            there = function.taylor(np.full(2, at), derivative + 1, sides)[derivative, joint]
            assert np.abs(there * math.factorial(derivative) - wanted).min() <= close[joint]


def test_a_value_beyond_is_found_however_narrow_it_is():
    """A dip of 1 over a few milliseconds in 100 s: no grid of 20,000 samples would see it for sure."""

    def values(t, inside):
        return np.array([1 - np.exp(-(((t - 37.1234567) / 2e-3) ** 2))])

    def lowest(begin, end, first, last):
        seen = np.minimum(first, last)[0]
        return seen - (end - begin) ** 2 / 8 * 2 / 2e-3**2, seen

    begin = np.linspace(0, 100, 1001)[:-1]
    least = certified_minimum(begin, begin + 0.1, values, lowest, 1e-6)
    assert -1e-6 <= least.bound <= least.seen <= 1e-6
    assert [least.begin, least.end] == pytest.approx(2 * [37.1234567], abs=1e-5)
    early = certified_minimum(begin, begin + 0.1, values, lowest, 1e-6, enough=0.5)
    assert early.bound < 0.5
    assert certified_minimum(begin, begin + 0.1, values, lowest, 1e-6, enough=-0.5).bound >= -0.5


def function_of(seed, K=3):
    time, values = points(seed, K)
    return PiecewisePolynomial.hermite(time, values), time


def shifted(function, segment, middle):
    """numpy's polynomial of a segment in the time since `middle`, of each joint."""
    x = np.polynomial.Polynomial([middle - function.time[segment], 1.0])
    return [np.polynomial.Polynomial(row)(x).coef for row in function.coefficients[segment].T]


@pytest.mark.parametrize('K', [1, 2, 3, 4])
def test_taylor_coefficients_are_those_of_numpys_shifted_polynomial(K):
    function, time = function_of(3, K)
    t = np.array([time[0] - 0.1, time[0], 0.3 * time[1] + 0.7 * time[2], time[3], time[-1], time[-1] + 0.2])
    held = [0, 0, 1, 3, len(time) - 2, len(time) - 2]
    assert function.segment(t).tolist() == held
    found = function.taylor(t, 2 * K + 3)
    assert found.shape == (2 * K + 3, 2, 6)
    assert not found[2 * K :].any(), 'beyond the degree'
    for sample, segment in enumerate(held):
        for joint, expected in enumerate(shifted(function, segment, t[sample])):
            size = np.abs(function.coefficients[segment]).max()
            np.testing.assert_allclose(found[: 2 * K, joint, sample], expected, rtol=1e-9, atol=1e-12 * size)
    # the same time as the end of the segment before
    before = function.taylor(time[3:4], 1, inside=np.array([(time[2] + time[3]) / 2]))
    np.testing.assert_allclose(before[0, :, 0], function.taylor(time[3:4], 1)[0, :, 0], atol=1e-9)


def test_majorants_are_the_sums_over_the_terms_about_the_middle():
    """Σ_p C(p, k) |c_p| h^(p−k), c_p about the middle of the interval and h half of it."""
    function, time = function_of(4)
    begin, end = time[1] + 0.1 * (time[2] - time[1]), time[1] + 0.6 * (time[2] - time[1])
    found = function.majorants(np.array([time[0], begin]), np.array([time[1], end]), 4)
    assert found.shape == (4, 2, 2)
    for interval, (segment, first, last) in enumerate([(0, time[0], time[1]), (1, begin, end)]):
        for joint, coefficients in enumerate(shifted(function, segment, (first + last) / 2)):
            for k in range(4):
                expected = sum(
                    math.comb(p, k) * abs(c) * ((last - first) / 2) ** (p - k)
                    for p, c in enumerate(coefficients)
                    if p >= k
                )
                assert found[k, joint, interval] == pytest.approx(expected, rel=1e-9)


def test_the_magnitude_is_the_largest_sum_of_terms_of_any_segment():
    function, time = function_of(5)
    for derivative in range(5):
        sums = [
            sum(
                math.perm(p, derivative) * np.abs(c) * T ** (p - derivative)
                for p, c in enumerate(segment)
                if p >= derivative
            )
            for segment, T in zip(function.coefficients, np.diff(time), strict=True)
        ]
        np.testing.assert_allclose(function.magnitude(5)[derivative], np.max(sums, axis=0), rtol=1e-12)


def test_extremes_of_each_function_are_its_own_whatever_stands_beside_it():
    function, time = function_of(6)
    tolerance = np.array([1e-3, 1e-7])
    together = function.extremes(1, tolerance)
    for joint in range(2):
        alone = PiecewisePolynomial(time, function.coefficients[:, :, joint : joint + 1])
        np.testing.assert_array_equal(np.array(together)[:, joint], np.array(alone.extremes(1, tolerance[joint]))[:, 0])
    # against the roots of the second derivative
    for joint in range(2):
        speeds = []
        for segment, T in enumerate(np.diff(time)):
            polynomial = np.polynomial.Polynomial(function.coefficients[segment, :, joint]).deriv()
            turns = [root.real for root in polynomial.deriv().roots() if abs(root.imag) < 1e-9 and 0 < root.real < T]
            speeds += [polynomial(x) for x in (0.0, T, *turns)]
        lowest, highest = together[0][joint], together[1][joint]
        assert min(speeds) - tolerance[joint] - 1e-9 <= lowest <= min(speeds)
        assert max(speeds) <= highest <= max(speeds) + tolerance[joint] + 1e-9


def test_many_segments_are_each_their_own():
    """More than the block that is solved at once."""
    time, values = points(7, 2, count=1203, n=1)
    whole = hermite_segments(time, values)
    assert whole.shape == (1202, 4, 1)
    for k in (0, 499, 500, 501, 999, 1000, 1201):
        one = hermite_segments(time[k : k + 2], [value[k : k + 2] for value in values])
        np.testing.assert_allclose(whole[k], one[0], rtol=1e-12, atol=1e-12 * np.abs(one).max())


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
