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

"""What a joint test gives back, from least squares with deviations that know residuals hang together in time."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.result import (
    JointTestResult,
    Value,
    friction_document,
    least_squares,
    nrmse_percent,
)


@pytest.mark.parametrize('correlation', [0.0, 0.95])
def test_deviations_match_the_spread_over_seeds(correlation):
    t = np.linspace(0, 1, 2000)
    W = np.column_stack([np.ones_like(t), np.sin(7 * t)])
    errors, stated = [], []
    for seed in range(60):
        noise = np.random.default_rng(seed).standard_normal(t.size)
        for k in range(1, t.size):
            noise[k] += correlation * noise[k - 1]
        fit = least_squares(W, W @ [1, 2] + noise, ('a', 'b'))
        errors.append(fit.values - [1, 2])
        stated.append(fit.std)
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.sqrt(np.mean(np.square(stated), axis=0))
    assert np.all((ratio > 0.7) & (ratio < 1.35))


def test_what_cannot_be_told_apart_is_named():
    x = np.random.default_rng(0).standard_normal(50)
    with pytest.raises(NotReliableError, match='F_C, offset'):
        least_squares(np.column_stack([np.ones(50), x, np.ones(50)]), x, ('F_C', 'F_V1', 'offset'))
    with pytest.raises(NotReliableError, match='excites b'):
        least_squares(np.column_stack([x, np.zeros(50)]), x, ('a', 'b'))


@pytest.mark.parametrize('weighted', [False, True])
def test_least_squares_with_classical_deviations(weighted):
    rng = np.random.default_rng(2)
    W = rng.normal(size=(60, 3)) * [1.0, 1e3, 1e-3]
    y, weights = W @ [1.0, 2e-3, 3e3] + rng.normal(size=60), rng.uniform(0.5, 2.0, 60)
    A, b = (W * weights[:, None], y * weights) if weighted else (W, y)
    fit = least_squares(W, y, ('a', 'b', 'c'), weights=weights if weighted else None, in_time=False)
    expected = np.linalg.lstsq(A / np.linalg.norm(A, axis=0), b, rcond=None)[0] / np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(fit.values, expected, rtol=1e-9)
    np.testing.assert_allclose(fit.residual, y - W @ expected, rtol=1e-9, atol=1e-9)
    variance = np.sum((b - A @ expected) ** 2) / 57
    np.testing.assert_allclose(fit.covariance, variance * np.linalg.inv(A.T @ A), rtol=1e-7)
    assert fit.condition == pytest.approx(np.linalg.cond(A / np.linalg.norm(A, axis=0)), rel=1e-9)
    assert fit['b'] == fit.values[1] and fit.deviation('c') == fit.std[2]
    in_time = least_squares(W, y, ('a', 'b', 'c'), weights=weights if weighted else None)
    growth = in_time.std / fit.std
    assert np.all(growth >= 1.0)
    np.testing.assert_allclose(in_time.covariance, fit.covariance * np.outer(growth, growth), rtol=1e-9)
    with pytest.raises(JointDynamicsError, match=r'3 parameters .* found 3'):
        least_squares(W[:3], y[:3], ('a', 'b', 'c'))


def test_nrmse_is_a_share_of_the_spread():
    y = np.array([1.0, 2.0, 4.0])
    assert nrmse_percent(y, y) == 100.0
    assert nrmse_percent(y, np.full(3, y.mean())) == pytest.approx(0.0)
    wrong = y + np.array([0.1, -0.2, 0.2])
    assert nrmse_percent(y, wrong) == pytest.approx(100 * (1 - 0.3 / np.linalg.norm(y - y.mean())))
    assert nrmse_percent(np.ones(3), np.zeros(3)) == float('-inf')


def test_an_insignificant_value_is_a_reason():
    values = {'a': Value(-2.0, 0.5, 'N·m'), 'b': Value(0.0, 1.0, 's'), 'c': Value(1.0, None, '')}
    result = JointTestResult('friction', 'j', values)
    assert result.summary()['believable']
    result.flag_insignificant(['a', 'b', 'c'], 'too short')
    assert [reason.partition(' is')[0] for reason in result.reasons] == ['b = 0 ± 1 s']
    result.warnings.append('w')
    summary = result.summary()
    assert [item['relative_std_percent'] for item in summary['parameters']] == [25.0, None, None]
    assert (summary['verdict'], summary['believable'], summary['warnings']) == ('not reliable', False, ['w'])
    kept = {'parameters': {'a': -2.0, 'b': 0.0, 'c': 1.0}, 'standard_deviations': {'a': 0.5, 'b': 1.0}}
    assert friction_document(values, method='motion') == {'friction': {**kept, 'method': 'motion'}}
