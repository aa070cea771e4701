"""Polynomials between points: scipy's own, their derivatives, and bounds no sample is beyond."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from joint_dynamics.signals.polynomial import (
    STEP_PEAKS,
    PiecewisePolynomial,
    certified_minimum,
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
    bend = np.abs(function.majorants(time[:-1], time[1:], derivative + 3)[derivative + 2]).max() * 24
    slip = bend * (np.diff(time).max() / 4000) ** 2 + 2e-6
    assert np.all(lowest >= reached.min(axis=1) - slip)
    assert np.all(highest <= reached.max(axis=1) + slip)
    # At those times it is what was said, on one side of a point where the derivative jumps.
    for extreme, when in ((lowest, when_lowest), (highest, when_highest)):
        assert np.all((when >= time[0]) & (when <= time[-1]))
        for joint, (wanted, at) in enumerate(zip(extreme, when, strict=True)):
            sides = np.clip([at - 1e-9, at + 1e-9], time[0] + 1e-9, time[-1] - 1e-9)
            there = function.taylor(np.full(2, at), derivative + 1, sides)[derivative, joint]
            assert np.abs(there * math.factorial(derivative) - wanted).min() <= 2e-6


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
