import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording, average_periods

SIGMA = {'q': 1e-3, 'tau': 0.5}


def periodic(periods, period=1.0, rate=500.0, seed=5, tail=0.0):
    rng = np.random.default_rng(seed)
    time = np.arange(round((periods * period + tail) * rate)) / rate
    q = np.column_stack([np.sin(2 * np.pi * time / period), 0.3 * np.cos(4 * np.pi * time / period)])
    return Recording(
        ('a', 'b'),
        time,
        q + SIGMA['q'] * rng.standard_normal(q.shape),
        tau=5 * q + SIGMA['tau'] * rng.standard_normal(q.shape),
    )


def test_noise_of_the_mean_falls_with_the_number_of_periods():
    average = average_periods(periodic(40), 1.0)
    time = average.recording.time
    q = np.column_stack([np.sin(2 * np.pi * time), 0.3 * np.cos(4 * np.pi * time)])
    assert (average.periods, average.recording.samples, average.recording.rate) == (40, 500, pytest.approx(500))
    for name, true in (('q', q), ('tau', 5 * q)):
        np.testing.assert_allclose(average.noise_variance[name], SIGMA[name] ** 2, rtol=0.05)
        np.testing.assert_allclose(
            ((getattr(average.recording, name) - true) ** 2).mean(axis=0), average.mean_variance[name], rtol=0.2
        )
    assert 'mean of 40 periods of 1 s: noise variance divided by 40' in average.recording.notes


def test_without_noise_the_mean_is_each_period_and_the_rest_is_left_out():
    clean = periodic(3, tail=0.4)
    one = np.column_stack([np.sin(2 * np.pi * clean.time), 0.3 * np.cos(4 * np.pi * clean.time)])
    average = average_periods(Recording(('a', 'b'), clean.time, one), 1.0)
    assert average.periods == 3
    np.testing.assert_allclose(average.recording.q, one[:500], atol=1e-12)
    np.testing.assert_allclose(average.noise_variance['q'], 0, atol=1e-24)


def test_a_period_between_two_samples_is_resampled():
    time = np.arange(5000) / 500
    q = np.sin(2 * np.pi * time / 0.9993)[:, None]
    average = average_periods(Recording(('a',), time, q), 0.9993)
    assert average.recording.period * average.recording.samples == pytest.approx(0.9993)
    np.testing.assert_allclose(
        average.recording.q[:, 0], np.sin(2 * np.pi * average.recording.time / 0.9993), atol=2e-5
    )


def test_a_motion_that_does_not_repeat_is_refused():
    with pytest.raises(
        JointDynamicsError, match=r'expected a motion that repeats every 0.9 s, found that a differs by'
    ):
        average_periods(periodic(10), 0.9)
    with pytest.raises(JointDynamicsError, match=r'expected at least 2 periods of 6 s, found 10 s'):
        average_periods(periodic(10), 6.0)
    for period in (0.0, -1.0, float('nan'), 1e-3):
        with pytest.raises(JointDynamicsError, match='period: expected more than two samples'):
            average_periods(periodic(3), period)
