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

"""Joints at rest: their rest torque, the band of their Coulomb level, and the share of samples within it."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import rest_intervals
from joint_dynamics.identification.regression.residuals import Fit, overall_residual
from joint_dynamics.identification.validate import judge_description, resting_summary
from joint_dynamics.recording import Recording

RATE = 250.0


@pytest.fixture(scope='module')
def with_stays(true_robot):
    """Return what records a motion that stops for half a second every second; friction holds anything at rest."""

    def of(seed):
        rng = np.random.default_rng(seed)
        t, q, _, _ = true_robot.motion(rng, 20.0, RATE, frequency=0.07)
        pause = np.mod(t, 1.0) < 0.4
        pace = np.convolve(np.where(pause, 0.0, 1.0), np.hanning(51) / np.hanning(51).sum(), 'same')
        clock = np.cumsum(pace) / RATE
        q = np.stack([np.interp(clock, t, column) for column in q.T], axis=1)
        dq = np.gradient(q, 1 / RATE, axis=0)
        ddq = np.gradient(dq, 1 / RATE, axis=0)
        tau = true_robot.torque(q, dq, ddq)
        rests = np.abs(dq) < 1e-3
        level = true_robot.standard[:, 12]
        stay = np.cumsum(np.diff(rests[:, 0], prepend=False))
        held = rng.uniform(-1, 1, (stay.max() + 1, len(level)))[stay] * level
        moving = tau - np.sign(dq) * level
        tau = moving + np.where(rests, held, np.sign(dq) * level) + 0.02 * rng.normal(size=q.shape)
        return Recording(true_robot.model.joint_names, t, q, tau=tau, name=f'stays {seed}')

    return of


def test_resting_joints_lie_within_their_coulomb_band(true_robot, with_stays):
    settings = IdentificationSettings(selection=False, position_cutoff=40.0, parallel_cutoff=10.0)
    result = identify(true_robot.model, [with_stays(1), with_stays(2)], [with_stays(3)], settings)
    told = result.summary()['resting']['validation']
    assert told['samples'] > 500 and told['within_percent']['overall'] > 95
    widths = [told['half_width'][name] for name in true_robot.model.joint_names]
    np.testing.assert_allclose(widths, true_robot.standard[:, 12], rtol=0.15)
    # the description says the same
    again = judge_description(result.description, [with_stays(3)], settings)
    for key in ('within_percent', 'half_width'):
        assert again.summary['resting'][key] == pytest.approx(told[key], rel=1e-6)
    # no chatter with the sign of the noise: at rest the prediction changes by less than half the level
    full = result.validation[0].full
    for j, level in enumerate(true_robot.standard[:, 12]):
        still = full.band_of_rest[:, j] > 0
        steps = np.diff(full.predicted[:, j])[still[1:] & still[:-1]]
        assert np.abs(steps).max() < 0.5 * level


def made(dq, residual, at_rest):
    """A fit of one sample a row with these residuals."""
    tau = np.full(np.shape(dq), 5.0)
    raw = np.zeros(2), 0.0
    time = np.arange(float(len(tau)))
    return Fit('run', ('a', 'b'), time, tau, tau - residual, np.array(dq), 0.02, raw, None, at_rest=at_rest)


def test_summary_counts_resting_samples_by_joint():
    at_rest = np.array([[2.0, np.nan], [2.0, 1.0], [np.nan, 1.0]])
    fit = made([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]], np.array([[1.9, 9.0], [-2.1, 1.0], [9.0, 3.0]]), at_rest)
    assert resting_summary([fit]) == {
        'samples': 4,
        'within_percent': {'a': 50.0, 'b': 50.0, 'overall': 50.0},
        'half_width': {'a': 2.0, 'b': 1.0},
    }
    none = made(np.ones((3, 2)), np.ones((3, 2)), None)
    assert resting_summary([none])['samples'] == 0
    assert resting_summary([none])['within_percent'] == {'a': None, 'b': None, 'overall': None}


def test_headline_residual_leaves_resting_joints_out():
    moving = made(
        [[1.0, 1.0], [0.0, 1.0]], np.array([[0.5, 0.5], [50.0, 0.5]]), np.array([[np.nan] * 2, [2.0, np.nan]])
    )
    assert overall_residual([moving], moving=True)[1] == pytest.approx(10.0)


def test_rest_intervals_are_runs_of_rest():
    assert rest_intervals(np.array([True, True, False, True])) == [slice(0, 2), slice(3, 4)]


def test_settings_of_earlier_versions_end_in_one_error():
    with pytest.raises(JointDynamicsError, match=r'identification\.encoder_step.*0\.3\.0'):
        IdentificationSettings.from_mapping({'encoder_step': 1e-5})
