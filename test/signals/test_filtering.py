"""Offline filters: no phase, the published factor, and a block-wise filter that is the whole one."""
import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.signals.bandwidth import HARMONICS, dynamics_bandwidth
from joint_dynamics.signals.filtering import (
    ParallelDecimator,
    central_difference,
    decimation_factor,
    second_difference,
    zero_phase_kernel,
    zero_phase_lowpass,
)

RATE = 1000.0


def test_decimation_factor_of_the_thesis():
    assert decimation_factor(1000.0, 10.0) == 20
    assert decimation_factor(10.0, 10.0) == 1


@pytest.mark.parametrize('frequency', [2.0, 10.0, 50.0])
def test_a_sine_comes_through_without_phase(frequency):
    t = np.arange(0, 4, 1 / RATE)
    x = np.sin(2 * np.pi * frequency * t)
    y = zero_phase_lowpass(x[:, None], 20.0, RATE)[:, 0]
    inner = slice(500, -500)
    gain = 1 / (1 + (np.tan(np.pi * frequency / RATE) / np.tan(np.pi * 20.0 / RATE))**8)
    assert np.allclose(y[inner], gain * x[inner], atol=2e-3)


def test_ends_keep_value_and_slope():
    t = np.arange(0, 1, 1 / RATE)
    line = 3.0 + 2.0 * t
    assert np.allclose(zero_phase_lowpass(line, 10.0, RATE), line, atol=5e-4)


def test_the_kernel_is_the_filter():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    kernel = zero_phase_kernel(20.0, RATE)
    half = len(kernel) // 2
    assert kernel.sum() == pytest.approx(1.0)
    assert np.array_equal(kernel, kernel[::-1])
    inner = slice(half, -half)
    assert np.allclose(np.convolve(x, kernel, 'same')[inner], zero_phase_lowpass(x, 20.0, RATE)[inner], atol=5e-3)


def test_decimated_blocks_equal_the_whole():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5000, 3))
    decimator = ParallelDecimator(5000, 20.0, RATE, 10)
    whole = decimator.apply(x)
    for part in (slice(0, 7), slice(100, 160), slice(len(decimator.kept) - 3, len(decimator.kept))):
        first, end = decimator.span(part)
        assert np.allclose(decimator.weights(part).T @ x[first:end], whole[part])
    assert np.allclose(decimator.apply(np.ones((5000, 1))), 1.0), 'a constant stays, at the ends too'


def test_the_parallel_filter_is_linear_so_parameters_survive_it():
    rng = np.random.default_rng(2)
    W, chi = rng.normal(size=(2000, 4)), rng.normal(size=4)
    decimator = ParallelDecimator(2000, 30.0, RATE, 5)
    assert np.allclose(decimator.apply(W) @ chi, decimator.apply(W @ chi))


def test_derivatives_of_polynomials_are_exact():
    t = np.arange(0, 1, 1 / RATE)
    assert np.allclose(central_difference(t**2, RATE), 2 * t, atol=1e-9)
    assert np.allclose(second_difference(t**2, RATE), 2.0, atol=1e-6)


def test_bad_filters_are_refused():
    with pytest.raises(JointDynamicsError, match='above 0 Hz'):
        zero_phase_lowpass(np.zeros(100), 0.0, RATE)
    with pytest.raises(JointDynamicsError, match='at least 3 samples'):
        second_difference(np.zeros(2), RATE)


def test_a_cutoff_beyond_the_rate_leaves_the_signal():
    x = np.random.default_rng(3).normal(size=100)
    assert np.array_equal(zero_phase_lowpass(x, 0.5 * RATE, RATE), x)
    assert np.array_equal(zero_phase_kernel(0.5 * RATE, RATE), [1.0])


@pytest.mark.parametrize('rate', [250.0, 1000.0, 5000.0])
@pytest.mark.parametrize('frequency', [0.5, 2.0])
def test_bandwidth_follows_the_motion_not_the_rate_nor_joints_at_rest(rate, frequency):
    t = np.arange(0, 10, 1 / rate)
    rng = np.random.default_rng(4)
    moving = np.sin(2 * np.pi * frequency * t)
    still = 0.3 + 1e-5 * rng.normal(size=len(t))
    found = dynamics_bandwidth([np.column_stack([moving, still])], [rate])
    assert found == pytest.approx(HARMONICS * frequency, rel=0.35)
