"""Offline filters: no phase, the published factor, and a block-wise filter that is the whole one."""

import numpy as np
import pytest
import scipy.signal
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import median_filter

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.signals.filtering import (
    HARMONICS,
    ParallelDecimator,
    butterworth_sections,
    central_difference,
    decimation_factor,
    dynamics_bandwidth,
    filtered,
    forward_backward,
    lowest_frequencies,
    running_median,
    second_difference,
    zero_phase_kernel,
    zero_phase_lowpass,
)

RATE = 1000.0


def test_decimation_factor_of_the_thesis():
    assert decimation_factor(1000.0, 10.0) == 20
    assert decimation_factor(10.0, 10.0) == 1


def test_ends_keep_value_and_slope():
    t = np.arange(0, 1, 1 / RATE)
    line = 3.0 + 2.0 * t
    assert np.allclose(zero_phase_lowpass(line, 10.0, RATE), line, atol=5e-4)


@pytest.mark.parametrize('cutoff', [5.0, 100.0, 250.0, 300.0, 350.0, 400.0, 449.0])
def test_the_kernel_is_the_response_to_an_impulse_up_to_nyquist(cutoff):
    """scipy's response of a recording long enough to ring out; what is cut off is below 1e-4 of the peak."""
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


def test_each_kept_sample_has_the_kernel_around_it_or_what_fits():
    decimator = ParallelDecimator(1000, 20.0, RATE, 10)
    half = decimator.half
    assert decimator.span(slice(0, 1)) == (0, decimator.kept[0] + half + 1)
    assert decimator.span(slice(len(decimator.kept) - 1, len(decimator.kept))) == (decimator.kept[-1] - half, 1000)
    middle = len(decimator.kept) // 2
    np.testing.assert_allclose(decimator.weights(slice(middle, middle + 1))[:, 0], decimator.kernel, rtol=1e-12)
    whole = decimator.weights(slice(0, len(decimator.kept)))
    np.testing.assert_allclose(decimator.apply(np.eye(1000)).T, whole, rtol=1e-12, atol=1e-18)


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


@pytest.mark.parametrize('rate', [250.0, 1000.0, 5000.0])
@pytest.mark.parametrize('frequency', [0.5, 2.0])
def test_bandwidth_follows_the_motion_not_the_rate_nor_joints_at_rest(rate, frequency):
    t = np.arange(0, 10, 1 / rate)
    rng = np.random.default_rng(4)
    moving = np.sin(2 * np.pi * frequency * t)
    still = 0.3 + 1e-5 * rng.normal(size=len(t))
    found = dynamics_bandwidth([np.column_stack([moving, still])], [rate])
    assert found == pytest.approx(HARMONICS * frequency, rel=0.35)


def two_motions(slow_rate, fast_rate, share):
    """Joints that swing at 1 Hz in one recording and at 5 Hz in another one as long.

    This other one has `share` of the power of all velocities.
    """

    def swing(rate, frequency, power):
        t = np.arange(0, 20, 1 / rate)
        return np.sqrt(power) * np.sin(2 * np.pi * frequency * t)[:, None] / frequency

    return [swing(slow_rate, 1.0, 1 - share), swing(fast_rate, 5.0, share)], [slow_rate, fast_rate]


@pytest.mark.parametrize('rates', [(200.0, 1000.0), (1000.0, 200.0), (500.0, 500.0)])
@pytest.mark.parametrize(('share', 'frequency'), [(0.03, 1.0), (0.08, 5.0)])
def test_recordings_weigh_by_their_power_whatever_their_rates(rates, share, frequency):
    """The frequency below which 95 % of the power lies: 3 % above it do not count, 8 % do."""
    assert dynamics_bandwidth(*two_motions(*rates, share)) == pytest.approx(HARMONICS * frequency, rel=0.15)


@pytest.mark.parametrize(('share', 'frequency'), [(0.03, 1.0), (0.08, 5.0)])
def test_motions_of_one_recording_weigh_by_their_power(share, frequency):
    (slow, fast), (rate, _) = two_motions(400.0, 400.0, share)
    assert dynamics_bandwidth([slow + fast], [rate]) == pytest.approx(HARMONICS * frequency, rel=0.15)


def test_what_a_slow_recording_cannot_tell_does_not_count():
    """At 100 Hz, above 25 Hz there is noise and its mirror image only."""
    t = np.arange(0, 10, 0.01)
    q = np.sin(2 * np.pi * t) + 0.2 * np.sin(2 * np.pi * 30.0 * t)
    assert dynamics_bandwidth([q[:, None]], [100.0]) == pytest.approx(HARMONICS, rel=0.15)


def test_a_robot_at_rest_has_the_least_bandwidth():
    assert dynamics_bandwidth([np.full((500, 2), 0.7)], [100.0]) == HARMONICS


def test_a_drift_has_the_bandwidth_of_the_slowest_motion_there_is():
    t = np.arange(0, 1000, 0.1)
    assert dynamics_bandwidth([np.sin(2 * np.pi * 5e-4 * t)[:, None]], [10.0]) == pytest.approx(HARMONICS * 0.01)


def test_a_short_recording_has_the_frequency_of_its_motion():
    """Two seconds tell frequencies half a hertz apart.

    In between the spectrum is interpolated, so that no motion jumps to the next half.
    """
    found = []
    for frequency in (2.0, 2.1, 2.2, 2.3):
        t = np.arange(0, 2, 0.005)
        found.append(dynamics_bandwidth([np.sin(2 * np.pi * frequency * t)[:, None]], [200.0]))
    np.testing.assert_allclose(np.diff(found), HARMONICS * 0.1, atol=HARMONICS * 0.06)


@pytest.mark.parametrize(
    ('samples', 'length', 'count'),
    [(400, 50_000, 602), (401, 50_001, 3), (1, 50_000, 7), (2, 10_000, 1), (400, 500, 251), (500, 500, 62)],
)
def test_the_lowest_frequencies_are_those_of_the_transform_padded_with_zeros(samples, length, count):
    """Both where the padding is most of it and where there is none; to the rounding of a transform, eps log₂ N."""
    x = np.random.default_rng(3).normal(size=(2, samples))
    expected = np.fft.rfft(x, length)[:, :count]
    found = lowest_frequencies(x, length, count)
    assert found.shape == expected.shape
    rounding = 4 * np.finfo(float).eps * np.log2(length) * np.linalg.norm(x, axis=1, keepdims=True) * np.sqrt(samples)
    assert (np.abs(found - expected) <= rounding).all()


def test_parts_with_the_same_weights_share_them():
    """Those that the ends of the signal do not reach, and what they give is what the kernel gives."""
    decimator = ParallelDecimator(20_000, 20.0, 1000.0, 10)
    parts = [slice(start, start + 100) for start in range(0, len(decimator.kept), 100)]
    weights = [decimator.weights(part) for part in parts]
    assert len({id(each) for each in weights[1:-1]}) == 1
    x = np.random.default_rng(0).normal(size=20_000)
    for part, each in zip(parts, weights, strict=True):
        first, end = decimator.span(part)
        expected = []
        for kept in decimator.kept[part]:
            inside = np.arange(max(0, kept - decimator.half), min(20_000, kept + decimator.half + 1))
            kernel = decimator.kernel[inside - kept + decimator.half]
            expected.append(kernel @ x[inside] / kernel.sum())
        # sums of a few hundred products, rounded in another order
        np.testing.assert_allclose(x[first:end] @ each, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize('size', [1, 3, 5, 7, 21])
@pytest.mark.parametrize('length', [1, 2, 5, 40, 4096, 9001])
def test_it_is_the_median_of_the_neighbours(size, length):
    rng = np.random.default_rng(size + length)
    # ties, plateaus and jumps
    for x in (rng.normal(size=length), rng.integers(0, 4, length).astype(float), np.cumsum(rng.normal(size=length))):
        found = running_median(x, size)
        around = sliding_window_view(np.pad(x, size // 2, mode='edge'), size)
        assert np.array_equal(found, np.median(around, axis=1))
        if length >= size:  # scipy 1.15 gives zeros for a window longer than the signal
            assert np.array_equal(found, median_filter(x, size=size, mode='nearest'))


CASES = [(4, 20.0, 1000.0), (4, 0.5, 1000.0), (4, 57.0, 5000.0), (4, 440.0, 1000.0), (1, 3.0, 100.0), (3, 10.0, 50.0)]


@pytest.mark.parametrize(('order', 'cutoff', 'rate'), CASES)
@pytest.mark.parametrize('shape', [(2000,), (2000, 1), (2000, 3)])
def test_forward_and_backward_is_that_of_scipy(order, cutoff, rate, shape):
    """To rounding times what a recursion with poles this close to 1 makes of it, (rate / cut-off)²."""
    x = np.cumsum(np.random.default_rng(0).standard_normal(shape), axis=0)
    padding = min(len(x) - 1, int(np.ceil(1.5 * rate / cutoff)))
    expected = scipy.signal.sosfiltfilt(
        scipy.signal.butter(order, cutoff, fs=rate, output='sos'), x, axis=0, padlen=padding
    )
    found = forward_backward(butterworth_sections(order, cutoff, rate), x, padding)
    assert found.shape == x.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 * np.abs(x).max() * (rate / cutoff) ** 2 + 1e-12)


def test_a_signal_that_stands_stays_exactly_as_it_is():
    """Rounding in place of rest would pass for motion."""
    x = np.full((1, 300), 0.1234567)
    np.testing.assert_array_equal(filtered(butterworth_sections(4, 10.0, 1000.0), x), x)
