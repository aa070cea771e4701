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

"""Maps of friction over speed: exact on exact data, deviations by numerical derivatives."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.result import nrmse_percent
from joint_dynamics.identification.joint_tests.speed_map import fit_speed_map


@pytest.mark.parametrize('speeds', [[0.1, 0.4, 1.0, -0.3], [0.1, 0.1, 0.1, -0.1, 0.4, 0.4]])
def test_fewer_plateaus_or_speeds_than_parameters_are_refused(speeds):
    with pytest.raises(JointDynamicsError, match=f'found {len(speeds)}$'):
        fit_speed_map(np.array(speeds), np.ones(len(speeds)), np.ones(len(speeds)), 'cubic', True)


@pytest.mark.parametrize('offset', [True, False])
def test_a_stribeck_map_comes_back_exactly(offset):
    """Without noise all of its parameters, their places, and no deviation to speak of; deviations weigh rows."""
    w = np.concatenate([np.geomspace(0.01, 2.0, 15), -np.geomspace(0.012, 1.9, 14)])
    s, v = np.sign(w), np.abs(w)
    y = s * (5.0 + 2.5 * np.exp(-((v / 0.08) ** 1.3))) + 3.0 * w - 0.8 * w * v + 0.2 * w**3 + (0.4 if offset else 0.0)
    std = np.linspace(0.01, 0.05, w.size)
    found = fit_speed_map(w, y, std, 'stribeck', offset)
    truth = {'F_C': 5.0, 'F_S': 7.5, 'V_S': 0.08, 'mu': 1.3, 'F_V1': 3.0, 'F_V2': -0.8, 'F_V3': 0.2}
    truth |= {'offset': 0.4} if offset else {}
    assert list(found.values) == list(truth) and found.at_bound == () and found.model == 'stribeck'
    for name, value in truth.items():
        assert found.values[name].value == pytest.approx(value, rel=2e-2, abs=1e-3)
    np.testing.assert_allclose(found.friction.static(w), y - found.residual, rtol=1e-6, atol=1e-6)
    assert found.nrmse_percent == pytest.approx(nrmse_percent(y, y - found.residual)) and found.nrmse_percent > 99.9
    weight = 1.0 / np.maximum(std, np.median(std))
    squares = np.sum((found.residual * weight) ** 2) / np.mean(weight**2)
    free = len(truth)
    assert found.bic == pytest.approx(29 * np.log(max(squares / 29, 1e-300)) + free * np.log(29))


def test_deviations_of_a_map_are_those_of_its_jacobian():
    """Numerical derivatives of the torque by every parameter, weighted rows, the residual's own scale."""
    rng = np.random.default_rng(8)
    w = np.concatenate([np.geomspace(0.01, 2.0, 25), -np.geomspace(0.012, 1.9, 24)])

    def torque(F_C, F_S, V_S, mu, F_V1, offset):
        v = np.abs(w)
        return np.sign(w) * (F_C + (F_S - F_C) * np.exp(-((v / V_S) ** mu))) + F_V1 * w + offset

    y = torque(5.0, 8.0, 0.1, 1.1, 3.0, 0.3) + 0.05 * rng.normal(size=w.size)
    found = fit_speed_map(w, y, np.full(w.size, 0.05), 'stribeck_viscous', True)
    at = np.array([found.values[name].value for name in ('F_C', 'F_S', 'V_S', 'mu', 'F_V1', 'offset')])
    J = []
    for k in range(6):
        h = 1e-5 * max(abs(at[k]), 0.1)
        J.append((torque(*(at + h * np.eye(6)[k])) - torque(*(at - h * np.eye(6)[k]))) / (2 * h))
    J = np.stack(J, axis=1)
    variance = np.sum(found.residual**2) / (w.size - 6)
    std = np.sqrt(np.diag(np.linalg.inv(J.T @ J)) * variance)
    found_std = [found.values[name].std for name in ('F_C', 'F_S', 'V_S', 'mu', 'F_V1', 'offset')]
    np.testing.assert_allclose(found_std, std, rtol=1e-4)
