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

"""A prediction that fails, and what would explain it."""

import math

import numpy as np
import pytest

from joint_dynamics.identification.regression.residuals import Fit, relative
from joint_dynamics.identification.reliability.prediction import judge_prediction

NAMES = ('a', 'b', 'c')


def fit_of(tau, predicted, dq=None, name='run'):
    time = 0.01 * np.arange(len(tau))
    dq = np.ones_like(tau) if dq is None else dq
    return Fit(name, NAMES, time, tau, predicted, dq, 0.02, relative(tau - predicted, tau), None)


def pairs(reasons):
    return [(reason.code, reason.text) for reason in reasons]


@pytest.fixture
def motion():
    """Predicted torques of two recordings, and the torque with noise; where the joints move."""
    rng = np.random.default_rng(2)
    found = []
    for length in (900, 600):
        t = 0.01 * np.arange(length)[:, None]
        predicted = np.array([10.0, 6.0, 2.0]) * np.sin(np.array([1.0, 2.3, 3.1]) * t + [0.0, 1.0, 2.0]) + [3.0, 0, 0]
        dq = np.where(t % 3 < 0.5, 0.0, 1.0) * np.ones(3)
        noise = 0.05 * rng.normal(size=predicted.shape) * [8.0, 4.0, 1.5]
        found.append((predicted, dq, np.where(dq > 0, noise, 30.0)))
    return found


@pytest.mark.parametrize(
    ('change', 'code', 'text'),
    [
        (lambda tau: -tau, 'torque_sign', 'the torques of all joints have the opposite sign'),
        (lambda tau: tau * [1, -1, 1], 'torque_sign', 'the torque of b has the opposite sign'),
        (lambda tau: tau[:, [0, 2, 1]], 'torque_order', 'the torques of b and c are swapped'),
        (lambda tau: tau[:, [1, 0, 2]], 'torque_order', 'the torques of a and b are swapped'),
    ],
    ids=['all', 'one', 'swap', 'swap others'],
)
def test_explaining_change_is_named_with_its_residual(motion, change, code, text):
    """Samples at rest are off by 30 N·m, and take no part."""
    fits = [fit_of(np.where(dq > 0, change(p + noise), p + noise), p, dq) for p, dq, noise in motion]
    predicted = np.concatenate([np.where(fit.dq > 0, fit.predicted, 0.0) for fit in fits])
    tau = np.concatenate([np.where(fit.dq > 0, fit.tau, 0.0) for fit in fits])
    undone = {'all': -tau, 'b has': tau * [1, -1, 1], 'b and c': tau[:, [0, 2, 1]], 'a and b': tau[:, [1, 0, 2]]}
    best = next(value for key, value in undone.items() if key in text) - predicted
    share = 100 * math.sqrt(np.sum(best**2) / np.sum(tau**2))
    overall = 100 * math.sqrt(np.sum((tau - predicted) ** 2) / np.sum(tau**2))
    (own, said), (other, left) = pairs(judge_prediction(fits, 4.0))
    assert (own, other) == (code, 'validation')
    assert said.startswith(f'{text}: corrected, the residual is {share:.3g} % of the torque instead of')
    assert f' {overall:.3g} %; correct the recording' in said
    assert left.startswith(f'the residual is {overall:.3g} % of the torque in motion, 4 % in training')
    (_, (_, without)) = pairs(judge_prediction(fits))
    assert f'{overall:.3g} % of the torque in motion: ' in without


def test_reverse_order_is_named(motion):
    fits = [fit_of(p[:, ::-1] + np.where(dq > 0, noise, 0.0), p, dq) for p, dq, noise in motion]
    # of three joints, the reverse is the first and the last swapped, which is found before it
    assert pairs(judge_prediction(fits))[0][1].startswith('the torques of a and c are swapped: corrected, ')


def test_as_good_as_the_training_needs_no_explanation(motion):
    """Up to 5 %, or one and a half times the training; 15 %, or three times, without anything better to say."""
    for share, training, expected in (
        (4.9, None, []), (4.9, 0.1, []), (14.5, 10.0, []), (14.5, None, []), (14.5, 1.0, []),
        (15.5, None, ['validation']), (15.5, 6.0, []), (15.5, 5.0, ['validation']), (49.0, 40.0, []),
        (51.0, 40.0, ['validation']),
    ):  # fmt: skip
        fits = []
        for p, dq, _ in motion:
            rng = np.random.default_rng(5)
            noise = rng.normal(size=p.shape)
            noise *= 1.0 / math.sqrt(np.mean(noise**2))
            fits.append((p, dq, noise))
        size = math.sqrt(np.mean(np.concatenate([p**2 for p, _, _ in fits])))
        # residual over measured: share = k/√(1 + k²) of independent noise, scaled alike at all joints
        k = share / 100 / math.sqrt(1 - (share / 100) ** 2)
        made = [fit_of(p + k * size * noise, p, np.ones_like(p)) for p, _, noise in fits]
        codes = [reason.code for reason in judge_prediction(made, training)]
        assert codes == expected, (share, training)
