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

"""Filters against scipy's."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.signal

from joint_dynamics.signals.filtering import zero_phase_kernel, zero_phase_lowpass
from joint_dynamics.signals.state_estimator import StateEstimator, smoothing_kernel


@pytest.mark.parametrize('samples', [20, 60, 151, 400, 3000])
@pytest.mark.parametrize('cutoff', [5.0, 10.0, 60.0])
def test_the_zero_phase_filter_is_a_butterworth_both_ways(samples, cutoff):
    x = np.cumsum(np.random.default_rng(5).normal(size=(samples, 2)), axis=0)
    sections = scipy.signal.butter(4, cutoff, fs=1000.0, output='sos')
    padding = min(samples - 1, int(np.ceil(1500.0 / cutoff)))
    # Poles are 2π f_c/f_s from 1, so that a section makes rounding of the signal 1/(2π f_c/f_s)² times as large:
    # two sections, both ways.
    rounding = np.finfo(float).eps * np.abs(x).max() / (2.0 * np.pi * cutoff / 1000.0) ** 2
    expected = scipy.signal.sosfiltfilt(sections, x, axis=0, padlen=padding)
    np.testing.assert_allclose(zero_phase_lowpass(x, cutoff, 1000.0), expected, rtol=1e-9, atol=4.0 * rounding)


@pytest.mark.parametrize(('cutoff', 'rate'), [(20.0, 1000.0), (5.0, 250.0), (40.0, 500.0)])
def test_the_kernel_has_the_squared_magnitude_of_the_filter(cutoff, rate):
    """Its transform against scipy's frequency response.

    The tails below 1e-4 of the peak, which are cut, add up to no more than that.
    """
    kernel = zero_phase_kernel(cutoff, rate)
    half = len(kernel) // 2
    frequencies = np.linspace(0, rate / 2, 200)
    found = (
        kernel[half] + 2 * np.cos(2 * np.pi / rate * np.outer(frequencies, np.arange(1, half + 1))) @ kernel[half + 1 :]
    )
    _, response = scipy.signal.sosfreqz(scipy.signal.butter(4, cutoff, fs=rate, output='sos'), frequencies, fs=rate)
    left_out = 2e-4 * kernel[half] * 6 * rate / cutoff
    np.testing.assert_allclose(found, np.abs(response) ** 2, atol=left_out)


@pytest.mark.parametrize('degree', [0, 1, 2, 3, 4])
@pytest.mark.parametrize('samples', [7, 21, 101])
def test_the_untapered_smoother_is_savitzkys_and_golays(samples, degree):
    np.testing.assert_allclose(
        smoothing_kernel(samples, degree, taper=False), scipy.signal.savgol_coeffs(samples, degree), atol=1e-12
    )


def test_state_estimator_is_savitzky_golay_and_differences():
    x = np.cumsum(np.random.default_rng(2).normal(size=400))
    estimator = StateEstimator(1, 1e-3, window=0.02, taper=False)
    out = np.array([estimator.update([value])[:, 0].copy() for value in x])[estimator.samples - 1 :]
    smooth = scipy.signal.savgol_filter(x, estimator.samples - 2, 2, mode='interp')
    middle = slice(estimator.samples // 2, len(x) - estimator.samples // 2)
    np.testing.assert_allclose(out[:, 0], smooth[middle], atol=1e-9)
    np.testing.assert_allclose(out[:, 1], np.gradient(smooth, 1e-3)[middle], atol=1e-7)
