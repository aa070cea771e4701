"""The filter written out, held against scipy.signal."""

import numpy as np
import pytest
import scipy.signal

from joint_dynamics.signals.filtering import butterworth_sections, filtered, forward_backward

CASES = [(4, 20.0, 1000.0), (4, 0.5, 1000.0), (4, 57.0, 5000.0), (4, 440.0, 1000.0), (1, 3.0, 100.0), (3, 10.0, 50.0)]


@pytest.mark.parametrize(('order', 'cutoff', 'rate'), CASES)
def test_the_response_is_that_of_scipy(order, cutoff, rate):
    frequencies = np.linspace(0.0, 0.49 * rate, 200)
    expected = scipy.signal.freqz(*scipy.signal.butter(order, cutoff, fs=rate), worN=frequencies, fs=rate)[1]
    if cutoff > 0.01 * rate:  # the polynomial form of scipy's own answer loses digits below
        z = np.exp(-2j * np.pi * frequencies / rate)
        found = np.prod(
            [
                (b0 + b1 * z + b2 * z**2) / (1 + a1 * z + a2 * z**2)
                for b0, b1, b2, a1, a2 in butterworth_sections(order, cutoff, rate)
            ],
            axis=0,
        )
        np.testing.assert_allclose(found, expected, atol=1e-9)
    sections = butterworth_sections(order, cutoff, rate)
    gains = sections[:, :3].sum(axis=1) / (1 + sections[:, 3:].sum(axis=1))
    np.testing.assert_allclose(gains, 1.0, rtol=1e-9)


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


def test_the_recursion_is_the_one_written_out():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 50)) + 3.0
    sections = butterworth_sections(3, 5.0, 100.0)
    expected = []
    for signal in x:
        y = [value - signal[0] for value in signal]
        for b0, b1, b2, a1, a2 in sections:
            out = []
            for k, value in enumerate(y):
                v = b0 * value + (b1 * y[k - 1] if k > 0 else 0.0) + (b2 * y[k - 2] if k > 1 else 0.0)
                out.append(v - (a1 * out[k - 1] if k > 0 else 0.0) - (a2 * out[k - 2] if k > 1 else 0.0))
            y = out
        expected.append([value + signal[0] for value in y])
    np.testing.assert_allclose(filtered(sections, x), expected, rtol=1e-13)
