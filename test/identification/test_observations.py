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

"""Cut-offs of a motion, observations of one known in closed form, rows at rest."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.observations import (
    HARMONICS,
    FilterPlan,
    Observation,
    dynamics_bandwidth,
    filter_plan,
    find_rest,
    lowest_frequencies,
    observe,
)
from joint_dynamics.recording import Recording
from joint_dynamics.signals.filtering import decimation_factor

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
    assert plan.shortest(runs) == pytest.approx((10 * 7 + 2 * 25) / 100.0)
    factor = decimation_factor(100.0, 3.0)
    assert replace(plan, decimation=None).shortest(runs) == pytest.approx((10 * factor + 50) / 100.0)
    assert plan.shortest([]) == 0.0


def test_observation_is_the_motion_without_the_ends():
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


def test_one_encoder_and_current_stand_for_both_sides_and_torque():
    run, plan = recording(), FilterPlan(2.0, 20.0, 5.0, 4, 0.5)
    one = observe(run, plan)
    assert one.theta is one.q and one.dtheta is one.dq and one.ddtheta is one.ddq and one.temperature is None
    currents = Recording(NAMES, run.time, run.q, current=np.ones_like(run.q), name='run')
    np.testing.assert_allclose(observe(currents, plan, {'a': 3.0, 'b': 5.0}).tau, np.tile([3.0, 5.0], (3800, 1)))
    with pytest.raises(JointDynamicsError, match=r'run: expected at least 1\.20 s .*f_dyn 2 Hz.*, found 1\.19 s'):
        observe(recording(239 / RATE), plan)
    assert len(observe(recording(240 / RATE), plan).q) == 40
    # without a stated factor, that of the bandwidth
    assert set(np.diff(observe(recording(), replace(plan, decimation=None)).kept)) == {decimation_factor(RATE, 2.0)}


@pytest.mark.parametrize('rate', [250.0, 1000.0, 5000.0])
@pytest.mark.parametrize('frequency', [0.5, 2.0])
def test_bandwidth_follows_the_motion_alone(rate, frequency):
    t = np.arange(0, 10, 1 / rate)
    rng = np.random.default_rng(4)
    moving = np.sin(2 * np.pi * frequency * t)
    still = 0.3 + 1e-5 * rng.normal(size=len(t))
    found = dynamics_bandwidth([np.column_stack([moving, still])], [rate])
    assert found == pytest.approx(HARMONICS * frequency, rel=0.35)


def test_what_a_slow_recording_cannot_tell_does_not_count():
    """At 100 Hz, above 25 Hz there is noise and its mirror image only."""
    t = np.arange(0, 10, 0.01)
    q = np.sin(2 * np.pi * t) + 0.2 * np.sin(2 * np.pi * 30.0 * t)
    assert dynamics_bandwidth([q[:, None]], [100.0]) == pytest.approx(HARMONICS, rel=0.15)


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
def test_lowest_frequencies_are_of_the_padded_transform(samples, length, count):
    """Both where the padding is most of it and where there is none; to the rounding of a transform, eps log₂ N."""
    x = np.random.default_rng(3).normal(size=(2, samples))
    expected = np.fft.rfft(x, length)[:, :count]
    found = lowest_frequencies(x, length, count)
    assert found.shape == expected.shape
    rounding = 4 * np.finfo(float).eps * np.log2(length) * np.linalg.norm(x, axis=1, keepdims=True) * np.sqrt(samples)
    assert (np.abs(found - expected) <= rounding).all()


def test_rows_rest_from_half_of_the_filter_window():
    dtheta = np.array([[0, 0, 1, 0, 0, 0, 1, 1, 0.009, 0.01], [1] * 10], dtype=float).T
    nothing = np.zeros_like(dtheta)
    every = SimpleNamespace(apply=lambda still: still, kept=np.arange(10))
    observation = Observation(
        'run', np.arange(10.0), *[nothing] * 4, dtheta, nothing, nothing, None, every, np.full(2, True)
    )
    rest = find_rest(observation)
    assert rest.resting[0].tolist() == [True, True, False, True, True, True, False, False, True, False]
    two, three = 2**-0.5, 3**-0.5
    np.testing.assert_allclose(rest.scale[0], [two, two, 1, three, three, three, 1, 1, 1, 1])
    assert not rest.resting[1].any() and (rest.scale[1] == 1).all()
    assert find_rest(observation, speed=2.0).resting.all()
    # a filter that takes every second sample as the mean of itself and the one before
    pairs = SimpleNamespace(apply=lambda still: 0.5 * (still[::2] + still[1::2]), kept=np.arange(0, 10, 2))
    assert find_rest(replace(observation, decimator=pairs)).resting[0].tolist() == [True, False, True, False, False]


@pytest.mark.parametrize('rate', [4.0, 20.0, 500.0])
def test_automatic_cutoffs_lie_below_nyquist(rate):
    time = np.arange(0, 20, 1 / rate)
    recording = Recording(('a',), time, np.sin(2 * np.pi * 0.6 * time)[:, None], tau=np.ones((len(time), 1)))
    plan = filter_plan([recording], IdentificationSettings())
    assert 0.0 < plan.parallel_cutoff <= plan.position_cutoff < 0.5 * rate
