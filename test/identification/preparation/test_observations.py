"""Filter plans and observations of a motion known in closed form."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.preparation.data import FilterPlan, filter_plan
from joint_dynamics.identification.preparation.observations import observe
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
    assert plan.shortest(runs) == pytest.approx((10 * 7 + 2 * 25) / 100.0)
    factor = decimation_factor(100.0, 3.0)
    assert replace(plan, decimation=None).shortest(runs) == pytest.approx((10 * factor + 50) / 100.0)
    assert plan.shortest([]) == 0.0


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
    with pytest.raises(JointDynamicsError, match=r'run: expected at least 1\.20 s .*f_dyn 2 Hz.*, found 1\.19 s'):
        observe(recording(239 / RATE), plan)
    assert len(observe(recording(240 / RATE), plan).q) == 40
    # without a stated factor, that of the bandwidth
    assert set(np.diff(observe(recording(), replace(plan, decimation=None)).kept)) == {decimation_factor(RATE, 2.0)}
