# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Polynomials between points: as scipy has them, their derivatives, bounds and extremes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly, PPoly

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
    derivatives = found.derivatives(t, 2 * K)
    for d in range(2 * K):
        expected = oracle(t, nu=d)
        np.testing.assert_allclose(derivatives[d].T, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_smooth_step_is_the_quintic_from_rest_to_rest():
    ends = np.array([[0.0], [1.0]])
    x = np.linspace(0, 1, 50)
    quintic = PiecewisePolynomial.hermite(np.array([0.0, 1.0]), [ends, 0 * ends, 0 * ends]).derivatives(x, 5)[:, 0]
    s, ds, dds = smooth_step(x)
    np.testing.assert_allclose([s, ds, dds], [quintic[0], quintic[1], quintic[2]], atol=1e-12)
    fine = PiecewisePolynomial.hermite(np.array([0.0, 1.0]), [ends, 0 * ends, 0 * ends]).derivatives(
        np.linspace(0, 1, 20001), 5
    )[:, 0]
    np.testing.assert_allclose(STEP_PEAKS, np.abs(fine).max(axis=1), rtol=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 2), st.sampled_from([1e-9, 1e-2, 10.0]))
def test_extremes_are_reached_and_never_exceeded(seed, K, derivative, tolerance):
    if derivative >= 2 * K:
        return
    time, values = points(seed, K)
    function = PiecewisePolynomial.hermite(time, values)
    lowest, highest, when_lowest, when_highest = function.extremes(derivative, tolerance)
    t = np.concatenate([np.linspace(a, b, 4001) for a, b in itertools.pairwise(time)])
    inside = np.repeat((time[:-1] + time[1:]) / 2, 4001)
    reached = function.derivatives(t, derivative + 1, inside)[derivative]
    rounding = 1e-11 * np.abs(function.bernstein(derivative)).max()
    assert np.all(lowest <= reached.min(axis=1) + rounding)
    assert np.all(highest >= reached.max(axis=1) - rounding)
    # At those times it has the stated value, on one side of a point where the derivative jumps.
    for extreme, when in ((lowest, when_lowest), (highest, when_highest)):
        assert np.all((when >= time[0]) & (when <= time[-1]))
        for joint, (wanted, at) in enumerate(zip(extreme, when, strict=True)):
            sides = np.clip([at - 1e-9, at + 1e-9], time[0] + 1e-9, time[-1] - 1e-9)
            there = function.derivatives(np.full(2, at), derivative + 1, sides)[derivative, joint]
            assert np.abs(there - wanted).min() <= tolerance + rounding


def function_of(seed, K=3):
    time, values = points(seed, K)
    return PiecewisePolynomial.hermite(time, values), time


@pytest.mark.parametrize('K', [1, 2, 3, 4])
def test_derivatives_are_those_of_numpys_polynomial(K):
    function, time = function_of(3, K)
    t = np.array([time[0] - 0.1, time[0], 0.3 * time[1] + 0.7 * time[2], time[3], time[-1], time[-1] + 0.2])
    held = [0, 0, 1, 3, len(time) - 2, len(time) - 2]
    assert function.segment(t).tolist() == held
    found = function.derivatives(t, 2 * K + 3)
    assert found.shape == (2 * K + 3, 2, 6)
    assert not found[2 * K :].any(), 'beyond the degree'
    for sample, segment in enumerate(held):
        for joint in range(2):
            expected = np.polynomial.Polynomial(function.coefficients[segment, :, joint])
            size = np.abs(function.coefficients[segment]).max()
            for order in range(2 * K):
                at = expected.deriv(order)(t[sample] - time[segment])
                np.testing.assert_allclose(found[order, joint, sample], at, rtol=1e-9, atol=1e-10 * size)
    # the same time as the end of the segment before
    before = function.derivatives(time[3:4], 1, inside=np.array([(time[2] + time[3]) / 2]))
    np.testing.assert_allclose(before[0, :, 0], function.derivatives(time[3:4], 1)[0, :, 0], atol=1e-9)


@pytest.mark.parametrize('K', [1, 2, 3, 4])
def test_bernstein_coefficients_are_those_of_scipy(K):
    function, time = function_of(4, K)
    for order in range(2 * K):
        found = function.bernstein(order)
        for k in range(len(time) - 1):
            powers = PPoly(function.coefficients[k : k + 1, ::-1].transpose(1, 0, 2), time[k : k + 2])
            expected = BPoly.from_power_basis(powers.derivative(order) if order else powers).c[:, 0]
            np.testing.assert_allclose(found[k], expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


def test_extremes_are_independent_of_other_joints():
    function, time = function_of(6)
    tolerance = np.array([1e-3, 1e-7])
    together = function.extremes(1, tolerance)
    for joint in range(2):
        alone = PiecewisePolynomial(time, function.coefficients[:, :, joint : joint + 1])
        separate = np.array(alone.extremes(1, tolerance[joint]))[:, 0]
        np.testing.assert_allclose(np.array(together)[:, joint], separate, rtol=1e-12)
    # against the roots of the second derivative
    for joint in range(2):
        speeds = []
        for segment, T in enumerate(np.diff(time)):
            polynomial = np.polynomial.Polynomial(function.coefficients[segment, :, joint]).deriv()
            turns = [root.real for root in polynomial.deriv().roots() if abs(root.imag) < 1e-9 and 0 < root.real < T]
            speeds += [polynomial(x) for x in (0.0, T, *turns)]
        lowest, highest = together[0][joint], together[1][joint]
        rounding = 1e-12 * np.abs(speeds).max()
        assert min(speeds) - tolerance[joint] - rounding <= lowest <= min(speeds) + rounding
        assert max(speeds) - rounding <= highest <= max(speeds) + tolerance[joint] + rounding
