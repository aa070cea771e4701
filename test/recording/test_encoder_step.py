"""The step of position readings: found where it shows, never made up."""

import numpy as np
import pytest

from joint_dynamics.recording import encoder_step


def motion(seed, samples=6000, rate=500.0):
    """A smooth random motion (N,) that turns several times [rad]."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / rate
    return sum(rng.uniform(0.1, 0.6) * np.sin(w * t + rng.uniform(0, 6)) for w in rng.uniform(0.3, 2.0, 4))


@pytest.mark.parametrize('seed', range(20))
def test_the_step_is_found(seed):
    rng = np.random.default_rng(seed)
    # slower than 20 steps a sample at times
    step = 10 ** rng.uniform(-5, -3)
    readings = np.round((motion(seed) + rng.uniform(0, step)) / step) * step
    assert encoder_step([readings[:, None]]) == pytest.approx([step], rel=1e-3)
    # as a file of single precision has them
    assert encoder_step([readings.astype(np.float32)[:, None]]) == pytest.approx([step], rel=0.1)


@pytest.mark.parametrize('seed', range(20))
def test_none_is_found_where_there_is_none(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(6000) / 500.0
    for readings in (
        motion(seed),
        motion(seed) + rng.normal(0, 1e-4, t.size),
        # speeds that stay: all changes alike
        np.interp(t % 4.0, [0, 2, 4], [0, 1, 0]),
        np.zeros(t.size),
    ):
        assert np.isnan(encoder_step([readings[:, None]])).all()


def test_significant_digits_are_a_step_that_grows():
    """Six digits: hundredths of a milliradian beyond 1 rad; the coarsest is told."""
    written = np.array([float(f'{value:.6g}') for value in 1.3 * np.sin(0.4 * np.arange(0, 20, 0.002))])
    assert encoder_step([written[:, None]]) == pytest.approx([1e-5])


def test_recordings_that_contradict_tell_nothing():
    fine = np.round(motion(1) / 1e-4) * 1e-4
    still = np.zeros(1000)
    other = motion(2)
    assert encoder_step([fine[:, None], still[:, None]]) == pytest.approx([1e-4])
    assert np.isnan(encoder_step([fine[:, None], other[:, None]])).all()
    both = encoder_step([np.stack([fine, other], axis=1)])
    assert both[0] == pytest.approx(1e-4) and np.isnan(both[1])
