"""Filter plans, observations, rows at rest and periods on recordings put together by hand, number by number."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.preparation.averaging import with_mean_periods
from joint_dynamics.identification.preparation.observations import (
    FilterPlan,
    Observation,
    filter_plan,
    observe,
    shortest,
)
from joint_dynamics.identification.preparation.rest import find_rest
from joint_dynamics.recording import Recording
from joint_dynamics.signals.filtering import decimation_factor, dynamics_bandwidth

RATE = 200.0
NAMES = ('a', 'b')


def recording(seconds=20.0, rate=RATE, frequency=0.4, **more):
    t = np.arange(round(seconds * rate)) / rate
    q = 0.5 * np.sin(2 * np.pi * frequency * np.outer(t, [1.0, 2.0]) + [0.0, 1.0]) + [1.0, -2.0]
    return Recording(NAMES, t, q, tau=more.pop('tau', np.cos(q)), name='run', **more)


def test_cut_offs_follow_from_the_motion_or_from_the_settings():
    runs = [recording(), recording(30.0, 100.0, 0.2)]
    f_dyn = dynamics_bandwidth([run.q for run in runs], [run.rate for run in runs])
    plan = filter_plan(runs, IdentificationSettings())
    assert plan == FilterPlan(f_dyn, 5.0 * f_dyn, 2.0 * f_dyn, None, 1.0 / (5.0 * f_dyn))
    settings = IdentificationSettings(f_dyn=3.0, decimation=7)
    assert filter_plan(runs, settings) == FilterPlan(3.0, 15.0, 6.0, 7, 1.0 / 15.0)
    settings = IdentificationSettings(f_dyn=3.0, position_cutoff=12.0, parallel_cutoff=5.0, trim=0.25)
    assert filter_plan(runs, settings) == FilterPlan(3.0, 12.0, 5.0, None, 0.25)
    assert filter_plan(runs, replace(settings, trim=0.0)).trim == 0.0
    # ten kept samples and twice the trim, at the slowest rate
    plan = FilterPlan(3.0, 12.0, 5.0, 7, 0.25)
    assert shortest(plan, runs) == pytest.approx((10 * 7 + 2 * 25) / 100.0)
    factor = decimation_factor(100.0, 3.0)
    assert shortest(replace(plan, decimation=None), runs) == pytest.approx((10 * factor + 50) / 100.0)
    assert shortest(plan, []) == 0.0


def test_an_observation_is_the_motion_and_its_derivatives_without_the_ends():
    run = recording(theta=recording().q + 0.01, temperature=recording().q + 30.0)
    plan = FilterPlan(2.0, 20.0, 5.0, 4, 0.5)
    found = observe(run, plan)
    keep, w = slice(100, 3900), 2 * np.pi * 0.4 * np.array([1.0, 2.0])
    t = run.time[keep]
    np.testing.assert_array_equal(found.time, t)
    phase = np.outer(t, w) + np.array([0.0, 1.0])
    # the filter has no phase, and one part in a thousand of a signal far below its cut-off
    for name, expected in (
        ('q', 0.5 * np.sin(phase) + [1.0, -2.0]), ('dq', 0.5 * w * np.cos(phase)), ('ddq', -0.5 * w**2 * np.sin(phase)),
        ('theta', 0.5 * np.sin(phase) + [1.01, -1.99]), ('dtheta', 0.5 * w * np.cos(phase)),
        ('ddtheta', -0.5 * w**2 * np.sin(phase)),
    ):  # fmt: skip
        middle = slice(200, -200)
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(found, name)[middle], expected[middle], atol=2e-3 * size, err_msg=name)
    np.testing.assert_array_equal(found.tau, run.tau[keep])
    np.testing.assert_array_equal(found.temperature, run.temperature[keep])
    assert found.name == 'run'
    np.testing.assert_array_equal(np.diff(found.kept), 4)
    assert found.decimator.cutoff == 5.0
    one = observe(recording(), plan)
    assert one.theta is one.q and one.dtheta is one.dq and one.ddtheta is one.ddq and one.temperature is None
    plain = replace(one, decimator=None)
    np.testing.assert_array_equal(plain.kept, np.arange(3800))
    currents = Recording(NAMES, run.time, run.q, current=np.ones_like(run.q), name='run')
    np.testing.assert_allclose(observe(currents, plan, {'a': 3.0, 'b': 5.0}).tau, np.tile([3.0, 5.0], (3800, 1)))
    message = 'run: expected at least 1.20 s at these filter settings (f_dyn 2 Hz), found 1.19 s'
    with pytest.raises(JointDynamicsError, match=f'^{re.escape(message)}$'):
        observe(recording(239 / RATE), plan)
    assert len(observe(recording(240 / RATE), plan).q) == 40
    # without a stated factor, that of the bandwidth
    assert set(np.diff(observe(recording(), replace(plan, decimation=None)).kept)) == {decimation_factor(RATE, 2.0)}


def test_stays_are_rows_below_the_speed_for_more_than_half_of_what_the_filter_saw():
    dtheta = np.array([[0, 0, 1, 0, 0, 0, 1, 1, 0.009, 0.01], [1] * 10], dtype=float).T
    nothing = np.zeros_like(dtheta)
    observation = Observation('run', np.arange(10.0), *[nothing] * 4, dtheta, nothing, nothing, None, None)
    rest = find_rest(observation)
    assert rest.resting[0].tolist() == [True, True, False, True, True, True, False, False, True, False]
    two, three = 2**-0.5, 3**-0.5
    np.testing.assert_allclose(rest.scale[0], [two, two, 1, three, three, three, 1, 1, 1, 1])
    assert not rest.resting[1].any() and (rest.scale[1] == 1).all()
    assert find_rest(observation, speed=2.0).resting.all()
    # a filter that takes every second sample as the mean of itself and the one before
    pairs = SimpleNamespace(apply=lambda still: 0.5 * (still[::2] + still[1::2]), kept=np.arange(0, 10, 2))
    assert find_rest(replace(observation, decimator=pairs)).resting[0].tolist() == [True, False, True, False, False]


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


def test_several_periods_become_their_mean_and_what_was_around_them_stays():
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
    with pytest.raises(
        JointDynamicsError, match=r'^period: expected a recording in which the motion repeats every 7 s, found'
    ):
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
