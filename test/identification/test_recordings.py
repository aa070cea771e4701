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

"""Requirements on the recordings of one identification; mean periods, with right deviations."""

import re
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.recordings import PreparedRecordings, thinned, wholes, with_mean_periods
from joint_dynamics.recording import Recording


@pytest.fixture
def recording(true_robot):
    return true_robot.record(1, duration=2.0)


def prepared(true_robot, recording):
    return PreparedRecordings.of(true_robot.model, [recording], [], [])


def silenced(values, *joints):
    values = values.copy()
    values[:, joints] = 0.0
    return values


def test_a_joint_that_moves_without_any_torque_was_not_measured(true_robot, recording):
    names = recording.joint_names
    one = replace(recording, tau=silenced(recording.tau, 1), name='run1')
    with pytest.raises(JointDynamicsError, match=rf'^run1: torque of {names[1]}: expected .* found zero in all'):
        prepared(true_robot, one)
    nothing = replace(recording, tau=np.zeros_like(recording.tau), name='run1')
    with pytest.raises(JointDynamicsError, match=f'torque of {", ".join(names)}: expected'):
        prepared(true_robot, nothing)


def test_a_current_in_its_place_and_a_joint_that_stays_are_taken(true_robot, recording):
    silent = silenced(recording.tau, 1)
    assert prepared(true_robot, replace(recording, tau=silent, current=recording.tau)).training
    with pytest.raises(JointDynamicsError, match='found zero in all'):
        prepared(true_robot, replace(recording, tau=silent, current=silent))
    resting = recording.q.copy()
    resting[:, 1] = 0.3
    dq = None if recording.dq is None else silenced(recording.dq, 1)
    assert prepared(true_robot, replace(recording, q=resting, dq=dq, tau=silent)).training
    for level, measured in ((1e-308, False), (1e-7, False), (1e-3, True)):
        almost = silent.copy()
        almost[0, 1] = level
        if measured:
            assert prepared(true_robot, replace(recording, tau=almost)).training
        else:
            with pytest.raises(JointDynamicsError, match=recording.joint_names[1]):
                prepared(true_robot, replace(recording, tau=almost))


WLS = IdentificationSettings(selection=False)


NAMES = ('a', 'b')


def repeated(true_robot, seed, periods=4, error=0.0, ramp=1.0, rate=200.0):
    """A motion of 5 s played several times between two ramps.

    `error`: unexplained torque [N·m], the same in every period.
    """
    rng = np.random.default_rng(seed)
    t, *motion = true_robot.motion(rng, 5.0, rate, frequency=0.2)
    q, dq, ddq = (np.tile(part, (periods, 1)) for part in motion)
    tau = true_robot.torque(q, dq, ddq)
    smooth = np.cumsum(rng.normal(size=(len(t), tau.shape[1])), axis=0)
    below = (np.abs(np.fft.fftfreq(len(t), 1 / rate)) < 4.0)[:, None]
    smooth = np.real(np.fft.ifft(np.fft.fft(smooth - smooth.mean(axis=0), axis=0) * below, axis=0))
    tau += error * np.tile(smooth / smooth.std(axis=0), (periods, 1)) * np.sqrt((tau**2).mean(axis=0))
    tau += 0.02 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return Recording(true_robot.model.joint_names, np.arange(len(q)) / rate, q, tau=tau, name=f'run {seed}')


def share_within(results, truth, deviations=3.0):
    b = len(truth)
    return np.mean([np.abs(one.solution.chi[:b] - truth) <= deviations * one.deviation[:b] for one in results])


@pytest.mark.slow
def test_repeated_errors_count_once(true_robot):
    """Errors that repeat with the motion are covered, whether its periods are averaged or not."""
    runs = [repeated(true_robot, seed, error=0.03) for seed in range(8)]
    averaged = [identify(true_robot.model, [run], settings=WLS) for run in runs]
    apart = [identify(true_robot.model, [run], settings=replace(WLS, period=0)) for run in runs]
    assert 'mean of 4 periods of 5 s' in ' '.join(averaged[0].notes)
    assert not any('periods' in note for note in apart[0].notes)
    # 95 % less two standard errors of a share over 8 runs
    assert share_within(averaged, true_robot.base) > 0.93
    assert share_within(apart, true_robot.base) > 0.93


def test_no_window_is_spoken_of_that_nobody_gave(true_robot):
    """Periods up to the very last sample: where they end is no window of the user's."""
    run = repeated(true_robot, 2)
    for samples in (run.samples, run.samples + 1):
        q, tau = (np.concatenate([values, values])[:samples] for values in (run.q, run.tau))
        whole = replace(run, time=np.arange(samples) / 200.0, q=q, tau=tau)
        (mean,) = with_mean_periods([whole], None, 5.0, 0.5)
        assert 'mean of 4 periods' in mean.name
        assert not any('window' in note for note in mean.notes)


def test_pieces_are_told_from_recordings_of_their_own(true_robot):
    """By name and order, also where recordings have the same name."""
    (mean,) = with_mean_periods([repeated(true_robot, 3)], None, 5.0, 0.5)
    pieces = ['run 3 (before)', mean.name, 'run 3 (after)']
    assert wholes([*pieces, *pieces, mean.name, mean.name]) == [0, 0, 0, 1, 1, 1, 2, 3]
    assert wholes(['run', 'run', 'run (after)', 'run (mean of 3 periods)', 'other (after)']) == [0, 1, 2, 3, 4]
    assert wholes([]) == []


def periodic(periods=4, before=0.0, after=0.0, rate=100.0, seed=0, drift=0.0, warm=0.0):
    """A motion of 5 s, several times, between two stretches at rest."""
    rng = np.random.default_rng(seed)
    t = np.arange(round((before + 5.0 * periods + after) * rate)) / rate
    inside = (t >= before) & (t < before + 5.0 * periods)
    phase = 2 * np.pi * (t - before) / 5.0
    wave = np.sin(np.outer(phase, [1, 2])) + 0.3 * np.sin(np.outer(phase, [3, 1]))
    q = np.where(inside[:, None], wave, 0.0)
    number = np.floor((t - before) / 5.0)
    tau = 3.0 * q * (1.0 + drift * number[:, None]) + 0.01 * rng.normal(size=q.shape)
    temperature = 30.0 + warm * number[:, None] * np.array([0.0, 1.0]) * inside[:, None]
    return Recording(NAMES, t, q, tau=tau, temperature=temperature + 0 * q, name='run')


def test_periods_become_their_mean_and_their_rest_stays():
    run = periodic()
    mean = with_mean_periods([run], 5.0, 4.0, 1.0)
    assert [piece.name for piece in mean] == ['run (mean of 4 periods)']
    folded = run.tau.reshape(4, 500, 2).mean(axis=0)
    assert mean[0].samples >= 500
    start = int(np.argmin(np.abs(folded[:, 0] - mean[0].tau[0, 0]) + np.abs(folded[:, 1] - mean[0].tau[0, 1])))
    np.testing.assert_allclose(mean[0].tau[:500], np.roll(folded, -start, axis=0), atol=0.03)
    assert with_mean_periods([run], 0, 4.0, 1.0) == [run]
    pieces = with_mean_periods([periodic(before=3.0, after=2.0)], 5.0, 4.0, 1.5)
    assert [piece.name for piece in pieces] == ['run (before)', 'run (mean of 4 periods)', 'run (after)']
    assert all(not piece.notes for piece in pieces[::2])
    # the motion may be found a few samples away from where it was begun: there it is nearly at rest
    np.testing.assert_allclose([pieces[0].duration, pieces[2].duration], [3.0, 2.0], atol=0.1)
    few = with_mean_periods([periodic(before=3.0, after=1.0)], 5.0, 4.0, 1.5)
    assert [piece.name for piece in few] == ['run (before)', 'run (mean of 4 periods)']
    with pytest.raises(JointDynamicsError, match='period: expected a recording in which the motion repeats every 7 s'):
        with_mean_periods([run], 7.0, 4.0, 1.0)
    assert with_mean_periods([], 7.0, 4.0, 1.0) == []


def test_periods_that_differ_stay_and_say_in_what():
    """More than a tenth of the torque's deviation, more than 2 °C."""
    start = 'the motion repeats every 5 s, but the '
    for options, words in (
        ({'drift': 0.2}, r'torque of [ab] differs by 1[0-9.]+ % between periods: not averaged over periods'),
        ({'warm': 0.7}, 'temperature of b differs by 2.1 °C: not averaged over periods'),
    ):
        run = periodic(**options)
        (same,) = with_mean_periods([run], 5.0, 4.0, 1.0)
        assert same.name == 'run' and same.samples == run.samples
        assert re.fullmatch(start + words, same.notes[-1])
    for options in ({'drift': 0.02}, {'warm': 0.6}):
        assert with_mean_periods([periodic(**options)], 5.0, 4.0, 1.0)[0].name == 'run (mean of 4 periods)'


@pytest.mark.parametrize(('samples', 'cutoff', 'factor'), [(39_999, 5.0, 1), (60_000, 5.0, 3), (60_000, 20.0, 2)])
def test_long_recordings_are_means_at_a_lower_rate(samples, cutoff, factor):
    """A third of 60,000 samples is kept, or a rate of 20 times the cut-off."""
    time = np.arange(samples) / 1000.0
    q = np.random.default_rng(0).normal(size=(samples, 2))
    run = Recording(('a', 'b'), time, q, tau=2.0 * q, name='run')
    found = thinned(run, cutoff)
    assert found.samples == samples // factor and found.rate == pytest.approx(1000.0 / factor)
    np.testing.assert_allclose(found.q[7], q[7 * factor : 8 * factor].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.tau, 2.0 * found.q, atol=1e-12)
    assert (found is run) == (factor == 1) and bool(found.notes) == (factor > 1)
