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

"""Moves, successions, braking on the path, and motions given by points."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import (
    Braking,
    FourierBasis,
    FourierTrajectory,
    LimitSettings,
    Move,
    Playback,
    SampledTrajectory,
    Succession,
)
from joint_dynamics.excitation.limits import MotionLimits


@pytest.fixture
def limits(arm):
    return MotionLimits.of(arm, LimitSettings())


@pytest.fixture
def series(arm):
    basis = FourierBasis(5.0, 2, 1, 1.0, True)
    waves = np.array([[0.2, 0.3, 0.1, -0.2, 0.1], [-0.3, 0.2, 0.1, 0.1, 0.1], [0.4, 0.1, -0.2, 0.2, 0.1]])
    return FourierTrajectory(arm.joint_names, basis, waves)


def derivatives_fit(trajectory, tolerance=1e-6):
    t = np.linspace(1e-3, trajectory.duration - 1e-3, 400)
    h = 1e-6
    np.testing.assert_allclose(
        (trajectory.position(t + h) - trajectory.position(t - h)) / (2 * h), trajectory.velocity(t), atol=tolerance
    )
    np.testing.assert_allclose(
        (trajectory.velocity(t + h) - trajectory.velocity(t - h)) / (2 * h),
        trajectory.acceleration(t),
        atol=100 * tolerance,
    )


@pytest.mark.parametrize('way', [0.001, 0.1, 3.0])
def test_move_uses_the_given_share_of_a_limit(arm, limits, way):
    move = Move.within(limits, arm.joint_names, [0, 0.5, 1], [way, 0.5, 1 - way / 2], 0.3)
    derivatives_fit(move, 1e-5)
    samples = move.sample(5000 / move.duration)
    used = max((np.abs(samples.dq) / limits.velocity).max(), (np.abs(samples.ddq) / limits.acceleration).max())
    assert used == pytest.approx(0.3, rel=1e-3)
    np.testing.assert_allclose(samples.q[[0, -1]], [[0, 0.5, 1], [way, 0.5, 1 - way / 2]], atol=1e-12)


def test_a_succession_plays_one_after_the_other(arm, limits, series):
    move = Move.within(limits, arm.joint_names, [0, 0, 0], series.posture, 0.2)
    both = Succession([move, series])
    assert both.duration == pytest.approx(move.duration + series.duration)
    t = np.linspace(0, series.duration, 50)
    np.testing.assert_allclose(both.position(move.duration + t), series.position(t), atol=1e-9)
    np.testing.assert_allclose(both.position([0.1]), move.position([0.1]))
    derivatives_fit(both, 1e-5)
    with pytest.raises(JointDynamicsError, match='rad'):
        Succession([series, move])


@pytest.mark.parametrize('at', [0.3, 2.7, 4.4, 6.9])
def test_braking_stays_on_the_path_and_ends_at_rest(limits, series, at):
    braking = Braking(series, at, limits)
    before = series.states(at)
    np.testing.assert_allclose(braking.position(0.0), before.q, atol=1e-12)
    np.testing.assert_allclose(braking.velocity(0.0), before.dq, atol=1e-12)
    np.testing.assert_allclose(braking.acceleration(0.0), before.ddq, atol=1e-9)
    end = braking.states(braking.duration)
    np.testing.assert_allclose(end.dq, 0, atol=1e-9)
    np.testing.assert_allclose(end.ddq, 0, atol=1e-6)
    derivatives_fit(braking, 1e-5)
    samples = braking.sample(500.0)
    assert np.all(np.abs(samples.ddq) <= 2.01 * limits.acceleration)
    path = series.position(np.linspace(at, at + braking.duration / 2, 4000))
    apart = np.abs(samples.q[:, None] - path[None]).max(axis=2).min(axis=1)
    assert apart.max() < 1e-3
    # With a lead the motion goes on first, and the same braking follows.
    later = Braking(series, at - 0.2, limits, lead=0.2)
    assert later.duration == pytest.approx(0.2 + braking.duration)
    t = np.linspace(0.0, 0.2, 21)
    np.testing.assert_allclose(later.position(t), series.position(at - 0.2 + t), atol=1e-12)
    t = np.linspace(0.0, braking.duration, 50)
    np.testing.assert_allclose(later.position(0.2 + t), braking.position(t), atol=1e-12)
    derivatives_fit(later, 1e-5)


def test_braking_of_a_motion_that_has_not_begun_waits(limits, series):
    waiting = Braking(series, -0.4, limits, lead=0.2)
    np.testing.assert_array_equal(waiting.position(0.3), Braking(series, 0.0, limits).position(0.3))


def test_points_give_the_motion_back(series):
    samples = series.sample(50.0)
    again = SampledTrajectory(series.joint_names, samples.time, samples.q, samples.dq, samples.ddq)
    derivatives_fit(again, 1e-4)
    t = np.linspace(0, series.duration, 777)
    np.testing.assert_allclose(again.position(t), series.position(t), atol=1e-7)
    np.testing.assert_allclose(again.acceleration(t), series.acceleration(t), atol=2e-2)
    np.testing.assert_allclose(again.position(samples.time), samples.q, atol=1e-12)


def test_unusable_points_are_refused():
    with pytest.raises(JointDynamicsError, match='increasing times'):
        SampledTrajectory(['a'], [0, 0], [[0], [1]], [[0], [0]], [[0], [0]])
    with pytest.raises(JointDynamicsError, match=r'\(2, 1\)'):
        SampledTrajectory(['a'], [0, 1], [[0], [np.nan]], [[0], [0]], [[0], [0]])


def test_playback_goes_to_the_start_and_repeats_the_period(arm, series):
    playback = Playback(arm, LimitSettings(), series, repeats=3)
    whole = playback.from_posture([0.1, 0.0, 0.3])
    approach = whole.duration - (series.duration + 2 * 5.0)
    assert approach > 0.5
    np.testing.assert_allclose(whole.position(0.0), [[0.1, 0.0, 0.3]])
    np.testing.assert_allclose(
        whole.position(approach + 1.0 + np.array([0.2, 5.2, 10.2])),
        np.repeat(series.position([1.2]), 3, axis=0),
        atol=1e-9,
    )


def test_playback_takes_joints_in_any_order(arm, series):
    order = [2, 0, 1]
    shuffled = FourierTrajectory([arm.joint_names[k] for k in order], series.basis, series.coefficients[order])
    found = Playback(arm, LimitSettings(), shuffled).trajectory
    assert found.joint_names == arm.joint_names
    np.testing.assert_allclose(found.position([1.3]), series.position([1.3]))


def test_playback_refuses_unsafe_motions(arm, series):
    def refused(found, trajectory=series, settings=None, **options):
        with pytest.raises(JointDynamicsError, match=found):
            Playback(arm, settings or LimitSettings(), trajectory, **options)

    refused('a, b', FourierTrajectory(['a', 'b'], series.basis, series.coefficients[:2]))
    refused('velocity', settings=LimitSettings(velocity=0.2, acceleration=10))
    refused('height', settings=LimitSettings(height=[0.9, 1.0]))
    samples = series.sample(20.0)
    part = (array[20:80] for array in (samples.time, samples.q, samples.dq, samples.ddq))
    refused('at rest', SampledTrajectory(series.joint_names, *part))
    refused('motion', Move(arm.joint_names, [0, 0, 0], [0.1, 0, 0], 2.0), repeats=2)


def test_playback_refuses_unsafe_starts(arm, series):
    playback = Playback(arm, LimitSettings(), series)
    with pytest.raises(JointDynamicsError, match=r'start: .* b .*2\.7'):
        playback.from_posture([0, 2.7, 0])
    # reaching back, the last sphere is in that of the base
    with pytest.raises(JointDynamicsError, match='clearance'):
        playback.from_posture([0, 2.22, 0.44])


NAMES = ('a', 'b')


def fourier(repeats=1, posture=None, ramp=0.7):
    basis = FourierBasis(4.0, 3, repeats, ramp, posture is None)
    return FourierTrajectory(NAMES, basis, np.random.default_rng(4).standard_normal((2, 7)), posture)


@pytest.mark.parametrize('posture', [None, [0.4, -1.0]])
def test_speed_and_acceleration_are_derivatives(posture):
    derivatives_fit(fourier(2, posture))


@pytest.mark.parametrize('posture', [None, [0.4, -1.0]])
def test_series_rests_at_both_ends(posture):
    trajectory = fourier(1, posture)
    assert trajectory.duration == pytest.approx(4.0 + 2 * 0.7)
    found = trajectory.states([-1.0, 0.0, trajectory.duration, trajectory.duration + 1])
    np.testing.assert_allclose(found.q, np.tile(trajectory.posture, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(found.dq, 0, atol=1e-12)
    np.testing.assert_allclose(found.ddq, 0, atol=1e-9)
    np.testing.assert_allclose(trajectory.posture, trajectory.coefficients[:, 0] if posture is None else posture)


def test_between_the_ramps_it_is_the_series():
    trajectory = fourier()
    t = np.linspace(0.7, 4.7, 50)
    w = 2 * np.pi / 4.0
    mean, sine, cosine = np.split(trajectory.coefficients, [1, 4], axis=1)
    k = np.arange(1, 4)[:, None]
    expected = mean + sine @ np.sin(k * w * (t - 0.7)) + cosine @ np.cos(k * w * (t - 0.7))
    np.testing.assert_allclose(trajectory.position(t), expected.T, atol=1e-12)
