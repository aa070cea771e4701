import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.recording import Recording, find_repetition


def fourier(rng, time, period, joints=3, harmonics=5):
    """A series as an excitation is: several harmonics, so that nothing shorter than the period repeats."""
    phase = 2 * np.pi * np.outer(time / period, np.arange(1, harmonics + 1))
    return np.sin(phase) @ rng.normal(size=(harmonics, joints)) + np.cos(phase) @ rng.normal(size=(harmonics, joints))


def recording(q, rate):
    return Recording(tuple('abc'), np.arange(len(q)) / rate, q)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(2, 5),
    period=st.floats(2.0, 6.0),
    rate=st.sampled_from([100.0, 250.0, 1000.0]),
    before=st.floats(0.0, 8.0),
    after=st.floats(0.0, 8.0),
)
def test_periods_are_found_between_rest_and_ramps(seed, count, period, rate, before, after):
    rng = np.random.default_rng(seed)
    total = count * period
    time = np.arange(int((before + total + after) * rate) + 3) / rate - before
    q = fourier(rng, time, period)
    # Rest, a smooth start and a smooth end about the periodic part; the ramps are not periods.
    inside = np.clip(1 + np.minimum(time, total - time) / 1.5, 0.0, 1.0)[:, None]
    q = q * inside**2 * (3 - 2 * inside) + 1e-4 * rng.standard_normal(q.shape)
    found = find_repetition(recording(q, rate))
    assert found is not None
    assert found.count == count
    assert found.period == pytest.approx(period, abs=0.2 / rate + 1e-3 * period)
    assert found.start == pytest.approx(before, abs=0.3)
    assert found.end == pytest.approx(before + total, abs=0.3)


@pytest.mark.parametrize('seed', range(10))
def test_a_motion_that_does_not_repeat_has_no_period(seed):
    rng = np.random.default_rng(seed)
    time = np.arange(0, 12.0, 0.004)
    assert find_repetition(recording(fourier(rng, time, 9.0), 250.0)) is None
    steps = np.repeat(rng.normal(size=(12, 3)), 250, axis=0)
    assert find_repetition(recording(np.cumsum(steps, axis=0) / 250.0, 250.0)) is None


def test_a_long_rest_is_no_repetition():
    time = np.arange(0, 40.0, 0.01)
    q = np.where((time > 15)[:, None] & (time < 20)[:, None], np.sin(time - 15)[:, None] * [1.0, 0.5, 0.2], 0.0)
    assert find_repetition(recording(q, 100.0)) is None
    assert find_repetition(recording(np.zeros((500, 3)), 100.0)) is None


def test_one_joint_that_does_not_repeat_is_enough_to_refuse():
    rng = np.random.default_rng(3)
    time = np.arange(0, 20.0, 0.01)
    q = fourier(rng, time, 5.0)
    assert find_repetition(recording(q, 100.0)).count == 4
    q[:, 1] += 0.1 * time
    assert find_repetition(recording(q, 100.0)) is None


def test_a_stated_period_is_taken():
    time = np.arange(0, 20.0, 0.01)
    q = fourier(np.random.default_rng(4), time, 5.0)
    assert find_repetition(recording(q, 100.0), 10.0).count == 2
    assert find_repetition(recording(q, 100.0), 7.0) is None
