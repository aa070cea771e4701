"""Polynomials between points: scipy's own, their derivatives, and bounds no sample is beyond."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from joint_dynamics.signals.extremes import certified_minimum
from joint_dynamics.signals.polynomial import STEP_PEAKS, PiecewisePolynomial, smooth_step


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
    assert np.all((when_lowest >= time[0]) & (when_highest <= time[-1]))


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
    assert least.time == pytest.approx(37.1234567, abs=1e-5)
    early = certified_minimum(begin, begin + 0.1, values, lowest, 1e-6, enough=0.5)
    assert early.bound < 0.5
    assert certified_minimum(begin, begin + 0.1, values, lowest, 1e-6, enough=-0.5).bound >= -0.5


def test_where_the_effort_ends_the_bound_is_true_all_the_same():
    """|t| has no second derivative: with a bound that cannot close the gap the answer stays below."""
    least = certified_minimum(
        np.array([-1.0]),
        np.array([1.3]),
        lambda t, inside: np.abs(t)[None],
        lambda begin, end, first, last: (np.minimum(first, last)[0] - 0.5, np.minimum(first, last)[0]),
        1e-3,
    )
    assert least.bound <= -0.5 + 1e-3
    assert least.seen >= 0
