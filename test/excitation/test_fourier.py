"""Fourier series with ramps: derivatives, rest at both ends, postures, repeats."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import FourierBasis, FourierTrajectory

NAMES = ('a', 'b')


def series(repeats=1, posture=None, ramp=0.7):
    basis = FourierBasis(4.0, 3, repeats, ramp, posture is None)
    return FourierTrajectory(NAMES, basis, np.random.default_rng(4).standard_normal((2, 7)), posture)


@pytest.mark.parametrize('posture', [None, [0.4, -1.0]])
def test_speed_and_acceleration_are_derivatives(posture):
    trajectory = series(2, posture)
    t = np.linspace(0.01, trajectory.duration - 0.01, 500)
    h = 1e-5
    np.testing.assert_allclose(
        (trajectory.position(t + h) - trajectory.position(t - h)) / (2 * h), trajectory.velocity(t), atol=1e-7
    )
    np.testing.assert_allclose(
        (trajectory.velocity(t + h) - trajectory.velocity(t - h)) / (2 * h), trajectory.acceleration(t), atol=1e-6
    )


@pytest.mark.parametrize('posture', [None, [0.4, -1.0]])
def test_it_rests_at_its_posture_at_both_ends_and_beyond(posture):
    trajectory = series(1, posture)
    assert trajectory.duration == pytest.approx(4.0 + 2 * 0.7)
    found = trajectory.states([-1.0, 0.0, trajectory.duration, trajectory.duration + 1])
    np.testing.assert_allclose(found.q, np.tile(trajectory.posture, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(found.dq, 0, atol=1e-12)
    np.testing.assert_allclose(found.ddq, 0, atol=1e-9)
    np.testing.assert_allclose(trajectory.posture, trajectory.coefficients[:, 0] if posture is None else posture)


def test_between_the_ramps_it_is_the_series():
    trajectory = series()
    t = np.linspace(0.7, 4.7, 50)
    w = 2 * np.pi / 4.0
    mean, sine, cosine = np.split(trajectory.coefficients, [1, 4], axis=1)
    k = np.arange(1, 4)[:, None]
    expected = mean + sine @ np.sin(k * w * (t - 0.7)) + cosine @ np.cos(k * w * (t - 0.7))
    np.testing.assert_allclose(trajectory.position(t), expected.T, atol=1e-12)


def test_repeats_visit_the_same_states():
    once, thrice = series(), series().repeated(3)
    assert thrice.duration == pytest.approx(once.duration + 8.0)
    t = np.linspace(0.7, 4.7, 40)
    for shift in (0.0, 4.0, 8.0):
        np.testing.assert_allclose(thrice.position(t + shift), once.position(t), atol=1e-11)
    np.testing.assert_allclose(thrice.position(thrice.duration - 0.3), once.position(once.duration - 0.3), atol=1e-11)


@pytest.mark.parametrize('posture', [None, [0.4, -1.0]])
def test_shrinking_keeps_the_posture_and_scales_the_rest(posture):
    trajectory = series(1, posture)
    t = np.linspace(0, trajectory.duration, 60)
    half = trajectory.scaled(0.5)
    np.testing.assert_allclose(
        half.position(t) - trajectory.posture, 0.5 * (trajectory.position(t) - trajectory.posture), atol=1e-12
    )
    np.testing.assert_allclose(half.acceleration(t), 0.5 * trajectory.acceleration(t), atol=1e-12)


def test_samples_include_the_very_end():
    samples = series().sample(30.0)
    assert samples.time[0] == 0
    assert samples.time[-1] == pytest.approx(5.4)
    np.testing.assert_allclose(np.diff(samples.time)[:-1], 1 / 30)
    assert samples.q.shape == (len(samples.time), 2)
    with pytest.raises(JointDynamicsError, match='rate: expected a number > 0'):
        series().sample(0.0)
