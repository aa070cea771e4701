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

"""Reasons, the line that comes first, faults of single recordings, the band that is the same for all."""

import re
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.regression.residuals import Fit, FullRate, overall_residual, relative
from joint_dynamics.identification.reliability.verdict import Reason, headline, summary_of, without_duplicates

NAMES = ('a', 'b', 'c')


def fit_of(tau, predicted, name='folder/run.csv'):
    time = 0.01 * np.arange(len(tau))
    full = FullRate(time, tau, predicted, np.ones_like(tau))
    return Fit(name, NAMES, time, tau, predicted, full.dq, 0.02, relative(tau - predicted, tau), full, 20.0)


@pytest.fixture
def torques():
    """Smooth torques of three joints, and a prediction that is 2 % off."""
    t = 0.01 * np.arange(2000)
    tau = np.stack([10 * np.sin(t) + 3, 6 * np.sin(2.3 * t + 1), 2 * np.cos(3.1 * t)], axis=1)
    return tau, tau + 0.02 * np.random.default_rng(1).normal(size=tau.shape) * tau.std(axis=0)


def test_a_reason_has_a_known_code_and_reads_as_its_text():
    assert str(Reason('delay', 'late')) == 'late'
    with pytest.raises(ValueError, match=r"expected one of excitation, .*, found 'lateness'"):
        Reason('lateness', 'late')
    late, still, other = Reason('delay', 'late'), Reason('stuck', 'still'), Reason('delay', 'early')
    assert without_duplicates(iter([late, still, late, other, still])) == [late, still, other]


def test_the_line_says_reliable_within_or_why_not():
    assert headline([]) == 'reliable'
    reasons = [Reason('delay', 'late'), Reason('stuck', 'still')]
    assert headline(reasons) == 'not reliable, because late (and 1 more)'
    assert headline(reasons[:1]) == 'not reliable, because late'
    entry = summary_of(reasons, 'line')
    assert (entry['verdict'], entry['verdict_line'], entry['believable']) == ('not reliable', 'line', False)
    assert entry['reasons'] == [{'code': 'delay', 'text': 'late'}, {'code': 'stuck', 'text': 'still'}]
    assert summary_of([], 'line') == {
        'verdict': 'reliable', 'verdict_line': 'line', 'believable': True, 'reasons': [],
    }  # fmt: skip


def test_headline_says_whose_torque_and_which_recordings(torques):
    """The share of moving samples and that of all differ; training data alone are no validation."""
    tau, predicted = torques
    fit = fit_of(tau, predicted)
    rests = replace(fit, full=replace(fit.full, dq=0.0 * fit.full.dq), dq=0.0 * fit.dq, predicted=tau + 1.0)
    line = headline([], [fit, rests], validated=True)
    assert line.endswith('validated on run.csv')
    moving, overall = (float(word) for word in re.findall(r'([0-9.]+) %', line))
    assert moving == pytest.approx(overall_residual([fit], moving=True)[1], rel=0.05)
    assert overall == pytest.approx(overall_residual([fit, rests])[1], rel=0.05)
    assert overall > moving
    assert headline([], [fit]).endswith('not validated: training data only')
