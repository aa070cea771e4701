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

"""Health by the change against a reference."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import HealthMonitor, HealthThresholds
from joint_dynamics.estimation.health import JointHealth
from joint_dynamics.joint import TorsionalStiffness

ENOUGH = 60.0  # s of excited motion


def judged(
    monitor, stiffness=None, stiffness_deviation=0.0, stiffness_excitation=ENOUGH,
    friction=None, friction_deviation=0.0, friction_excitation=ENOUGH,
):  # fmt: skip
    """Return the health by coefficients (n, P) and α₁ (n,), their relative deviations and their excited motion [s]."""
    n, spring, scale = len(friction if stiffness is None else stiffness), None, None
    if stiffness is not None:
        variance = np.full(n, stiffness_deviation) ** 2
        spring = SimpleNamespace(
            coefficients=stiffness, excitation=np.full(n, stiffness_excitation), torque=np.ones_like,
            variance=lambda phi: variance,
        )  # fmt: skip
    if friction is not None:
        covariance = np.full(n, friction_deviation)[:, None, None] ** 2 * np.eye(2)
        parameters = np.stack([friction, np.zeros(n)], axis=1)
        scale = SimpleNamespace(
            parameters=parameters, covariance=covariance, excitation=np.full(n, friction_excitation)
        )
    return monitor.of(SimpleNamespace(n=n, stiffness=spring, friction=scale))


def test_a_change_about_its_threshold_is_decided_once():
    """Entered beyond 25 % by two deviations, left below 20 % by two: nothing in between is news."""
    monitor = HealthMonitor(None)
    rng = np.random.default_rng(7)

    def status(change):
        return judged(monitor, friction=np.array([1.0 + change]), friction_deviation=0.01)[0].status

    assert [status(0.25 + 0.04 * value) for value in rng.uniform(-1, 0.4, 200)] == ['ok'] * 200
    assert status(0.28) == 'warning'
    assert {status(0.25 + 0.04 * value) for value in rng.uniform(-1, 1, 200)} == {'warning'}
    assert status(0.43) == 'error'
    assert {status(0.38 + 0.04 * value) for value in rng.uniform(-1, 1, 200)} == {'error'}
    assert status(0.29) == 'warning'
    assert status(0.17) == 'ok'
    assert status(0.25) == 'ok'


def test_a_stiffness_is_compared_by_its_torque():
    """Over the working range: the projection of one torque on the other."""
    reference = TorsionalStiffness([[2e4, 3e9]] * 3)
    monitor, phi = HealthMonitor(reference, 2e-3), 2e-3 * np.linspace(0.05, 1.0, 20)
    ratios = monitor.stiffness_ratios(reference.coefficients * [[0.9], [0.8], [1.25]])
    np.testing.assert_allclose(ratios, [0.9, 0.8, 1.25])
    known = 2e4 * phi + 3e9 * phi**3
    ratio = 2e4 * phi @ known / (known @ known)
    np.testing.assert_allclose(monitor.stiffness_ratios(np.tile([2e4, 0.0], (3, 1))), ratio)
    assert np.isnan(HealthMonitor(None).stiffness_ratios(np.ones((2, 2)))).tolist() == [True, True]


@pytest.mark.parametrize(
    ('deviation', 'status'),
    [([0.0, 0.0, 0.0], ['warning', 'error', 'error']), ([0.01, 0.04, 0.08], ['ok', 'warning', 'ok'])],
)
def test_two_deviations_are_taken_off_a_change(deviation, status):
    reference = TorsionalStiffness([[2e4, 3e9]] * 3)
    monitor = HealthMonitor(reference, 2e-3, HealthThresholds((0.1, 0.2), (0.3, 0.5), 5.0, 2.0))
    learnt = reference.coefficients * np.array([[0.9 - 1e-9], [0.8 - 1e-9], [1.25]])
    found = judged(monitor, stiffness=learnt, stiffness_deviation=np.array(deviation))
    assert [item.status for item in found] == status
    assert [item.friction_ratio for item in found] == [None] * 3
    np.testing.assert_allclose([item.stiffness_ratio for item in found], [0.9, 0.8, 1.25])


@pytest.mark.parametrize('name', ['stiffness', 'friction'])
def test_thresholds_are_above_zero_and_in_order(name):
    for limits, expected in (((0.3, 0.2), 'warning and error, warning ≤ error'), ((0.0, 0.1), '')):
        with pytest.raises(JointDynamicsError, match=rf'\b{name}(\[\d\])?: expected .*{expected}.*, found '):
            HealthThresholds(**{name: limits})
    HealthThresholds(**{name: (0.2, 0.2)})


def test_health_is_that_of_the_worse_of_stiffness_and_friction():
    stiff = TorsionalStiffness(np.array([[2e4], [1e4]]))
    monitor = HealthMonitor(stiff, 1e-3, HealthThresholds(), np.array([0.5, 0.25]))
    given = {
        'stiffness': np.array([[1.6e4], [1e4]]), 'stiffness_deviation': np.array([0.01, 0.2]),
        'stiffness_excitation': np.array([9.0, 5.0]), 'friction': np.array([0.5, 0.375]),
        'friction_deviation': np.array([0.01, 0.005]), 'friction_excitation': np.array([4.9, 9.0]),
    }  # fmt: skip
    assert judged(monitor, **given) == [
        JointHealth('warning', 'stiffness -20 % against the reference', pytest.approx(0.8), np.nan),
        JointHealth('error', 'Coulomb friction +50 % against the reference', 1.0, 1.5),
    ]
    alone = judged(monitor, friction=np.array([0.5, 0.325]))
    assert alone == [
        JointHealth('ok', 'Coulomb friction +0 % against the reference', None, 1.0),
        JointHealth('warning', 'Coulomb friction +30 % against the reference', None, 1.3),
    ]
    unseen = judged(monitor, stiffness=given['stiffness'], stiffness_excitation=np.zeros(2))
    assert unseen[1] == JointHealth('unknown', 'stiffness not excited yet', np.nan, None)
    bare = judged(HealthMonitor(None), stiffness=given['stiffness'])
    assert bare == [JointHealth('unknown', 'no reference', None, None)] * 2
