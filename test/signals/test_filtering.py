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

"""Offline filters: no phase, the published factor, and a block-wise filter that is the whole one."""

import numpy as np
import pytest
import scipy.signal
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import median_filter

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.signals.filtering import (
    ParallelDecimator,
    butterworth_sections,
    central_difference,
    filtered,
    running_median,
    second_difference,
    zero_phase_kernel,
    zero_phase_lowpass,
)

RATE = 1000.0


@pytest.mark.parametrize('cutoff', [5.0, 100.0, 250.0, 300.0, 350.0, 400.0, 449.0])
def test_kernel_is_the_impulse_response_up_to_nyquist(cutoff):
    """scipy's response of a recording long enough to ring out; the cut-off part is below 1e-4 of the peak."""
    half = 3000
    impulse = np.zeros(2 * half + 1)
    impulse[half] = 1.0
    response = scipy.signal.sosfiltfilt(scipy.signal.butter(4, cutoff, fs=RATE, output='sos'), impulse, padlen=0)
    kernel = zero_phase_kernel(cutoff, RATE)
    reach = len(kernel) // 2
    np.testing.assert_array_equal(kernel, kernel[::-1])
    np.testing.assert_allclose(
        kernel / kernel[reach], response[half - reach : half + reach + 1] / response[half], atol=1e-4
    )
    # one past the kernel the response stays below the tolerance, but for that with which the kernel is known
    assert np.abs(response[: half - reach]).max() < 2e-4 * response[half]


@pytest.mark.parametrize(
    ('samples', 'factor', 'kept'), [(10, 3, [0, 3, 6, 9]), (11, 4, [1, 5, 9]), (9, 5, [1, 6]), (4, 1, [0, 1, 2, 3])]
)
def test_the_kept_samples_stand_in_the_middle(samples, factor, kept):
    assert ParallelDecimator(samples, 20.0, RATE, factor).kept.tolist() == kept


def test_derivatives_of_polynomials_are_exact():
    t = np.arange(0, 1, 1 / RATE)
    assert np.allclose(central_difference(t**2, RATE), 2 * t, atol=1e-9)
    assert np.allclose(second_difference(t**2, RATE), 2.0, atol=1e-6)
    both = np.column_stack([t**2, -3 * t**2])
    np.testing.assert_allclose(central_difference(both, RATE), np.column_stack([2 * t, -6 * t]), atol=1e-9)
    np.testing.assert_allclose(second_difference(both, RATE), np.broadcast_to([2.0, -6.0], both.shape), atol=1e-6)
    np.testing.assert_allclose(second_difference(np.array([0.0, 1.0, 4.0]), 2.0), [8.0, 8.0, 8.0])
    np.testing.assert_allclose(central_difference(np.array([0.0, 1.0, 4.0]), 2.0), [0.0, 4.0, 8.0], atol=1e-12)
    np.testing.assert_allclose(second_difference(np.array([0.0, 1.0, 4.0, 4.0]), 1.0), [2.0, 2.0, -3.0, -3.0])


def test_bad_filters_are_refused():
    with pytest.raises(JointDynamicsError, match='above 0 Hz'):
        zero_phase_lowpass(np.zeros(100), 0.0, RATE)
    for derivative in (central_difference, second_difference):
        with pytest.raises(JointDynamicsError, match='derivative: expected at least 3 samples, found 2'):
            derivative(np.zeros(2), RATE)


def test_a_cutoff_at_nine_twentieths_of_the_rate_is_beyond_it():
    x = np.random.default_rng(9).normal(size=(50, 2))
    np.testing.assert_array_equal(zero_phase_lowpass(x, 450.0, 1000.0), x)
    np.testing.assert_array_equal(zero_phase_kernel(450.0, 1000.0), [1.0])
    assert np.abs(zero_phase_lowpass(x, 449.0, 1000.0) - x).max() > 1e-3
    assert len(zero_phase_kernel(449.0, 1000.0)) > 1


@pytest.mark.parametrize('size', [1, 3, 5, 7, 21])
@pytest.mark.parametrize('length', [1, 2, 5, 40, 4096, 9001])
def test_running_median_is_that_of_scipy(size, length):
    rng = np.random.default_rng(size + length)
    # ties, plateaus and jumps
    for x in (rng.normal(size=length), rng.integers(0, 4, length).astype(float), np.cumsum(rng.normal(size=length))):
        found = running_median(x, size)
        around = sliding_window_view(np.pad(x, size // 2, mode='edge'), size)
        assert np.array_equal(found, np.median(around, axis=1))
        if length >= size:  # scipy 1.15 gives zeros for a window longer than the signal
            assert np.array_equal(found, median_filter(x, size=size, mode='nearest'))


def test_constant_signal_stays_exactly_constant():
    """Rounding in place of rest would pass for motion."""
    x = np.full((1, 300), 0.1234567)
    np.testing.assert_array_equal(filtered(butterworth_sections(4, 10.0, 1000.0), x), x)
