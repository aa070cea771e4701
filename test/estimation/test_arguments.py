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

"""Arguments, settings and building blocks of the learning parts."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from joint_dynamics.control.friction import ALPHA_BOUNDS, friction_parameters
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import (
    ContactDetector,
    EstimationSettings,
    FrictionEstimator,
    PayloadEstimator,
    StiffnessEstimator,
)
from joint_dynamics.estimation.estimation_settings import per_joint, positive
from joint_dynamics.estimation.spring import bound, rls_step
from joint_dynamics.estimation.timeline import Timeline


@pytest.mark.parametrize(
    ('make', 'name'),
    [
        (lambda: ContactDetector(2, 0.0, floor=1.0), 'period'),
        (lambda: ContactDetector(2, 1.0, floor=0.0), 'floor'),
        (lambda: ContactDetector(2, 1.0, floor=1, noise=-1), 'noise'),
        (lambda: ContactDetector(2, 1.0, floor=1.0, deviations=-1), 'deviations'),
        (lambda: FrictionEstimator(0), 'joints'),
        (lambda: FrictionEstimator(1, memory=0.0), 'memory'),
        (lambda: FrictionEstimator(1, rate=-1.0), 'rates'),
        (lambda: FrictionEstimator(1, rate=1.0, lower=2.0, upper=1.0), 'bounds'),
        (lambda: FrictionEstimator(2).update([1.0, 1.0], [1.0], [1.0, 1.0]), '(2,)'),
        (lambda: StiffnessEstimator(1, scale=0.0), 'scale'),
        (lambda: StiffnessEstimator(1, gate=-1.0), 'gate'),
        (lambda: StiffnessEstimator(1, noise=np.nan), 'noise'),
        (lambda: StiffnessEstimator(1, change_window=0.0), 'change_window'),
        (lambda: StiffnessEstimator(2).update([1.0], [1.0, 2.0]), '(2,)'),
        (lambda: StiffnessEstimator(0), 'joints'),
        (lambda: StiffnessEstimator(1, mu=1.5), 'mu'),
        (lambda: StiffnessEstimator(1, delta=np.inf), 'delta'),
        (lambda: StiffnessEstimator(1, initial_covariance=0.0), 'initial_covariance'),
        (lambda: PayloadEstimator(None, 1.0, memory=0.0), 'memory'),
        (lambda: Timeline(('a', 'a'), ('q',)), "('a', 'a')"),
        (lambda: Timeline(('a',), ('q',), max_gap=0.0), 'max_gap'),
        (lambda: EstimationSettings(friction_lower=(3.0, 0.0)), 'friction_lower'),
        (lambda: EstimationSettings(friction_lower=(0.4, 0.1)), 'friction_lower'),
        (lambda: EstimationSettings(friction='coulomb_viscous'), 'friction'),
        *((lambda name=name: EstimationSettings.from_mapping({name: 1.0}), name) for name in EstimationSettings.GONE),
    ],
)
def test_impossible_arguments_are_refused_by_name(make, name):
    with pytest.raises(JointDynamicsError) as refused:
        make()
    assert name in str(refused.value)


def test_numbers_for_one_and_for_every_joint():
    for given in (2.0, [2.0], [2.0, 2.0, 2.0]):
        np.testing.assert_array_equal(per_joint('x', given, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(per_joint('x', [0.0, 1.0], 2, zero=True), [0.0, 1.0])
    for bad in ([2.0, 2.0], [[2.0]], np.nan, np.inf, -1.0, 0.0):
        with pytest.raises(JointDynamicsError):
            per_joint('x', bad, 3)
    with pytest.raises(JointDynamicsError):
        per_joint('x', -1e-9, 1, zero=True)
    assert positive('x', np.inf) == np.inf
    with pytest.raises(JointDynamicsError):
        positive('x', np.nan)


def test_when_a_stiffness_is_reliable():
    """Two seconds; a fifth of the torque's mean square; a slope above zero at φ = 0 and at the scale."""
    for noise, seconds, sign, reliable in (
        (0.3, 25.0, 1.0, True), (0.6, 25.0, 1.0, False), (0.3, 1.9, 1.0, False), (0.0, 2.5, -1.0, False),
    ):  # fmt: skip
        rng = np.random.default_rng(1)
        estimator = StiffnessEstimator(1, 2, period=5e-3, gate=0.0, change_share=np.inf)
        t = np.arange(round(seconds / 5e-3) + 1) * 5e-3
        phi = 1e-3 * np.sin(9 * t)
        torque = sign * 20.0 * np.sin(9 * t) + noise * 20.0 * rng.normal(size=t.size)
        for pair in zip(phi, torque, strict=True):
            estimator.update(pair[:1], pair[1:])
        assert estimator.reliable[0] == reliable
    for (linear, cubic), reliable in (((1e4, 1e9), True), ((1e4, -5e9), False), ((-1e3, 5e9), False)):
        estimator = StiffnessEstimator(1, 2, period=5e-3, gate=0.0, change_share=np.inf)
        for phi in 1e-3 * np.sin(9 * np.arange(0.0, 9.0, 5e-3)):
            estimator.update([phi], [linear * phi + cubic * phi**3])
        np.testing.assert_allclose(estimator.coefficients, [[linear, cubic]], rtol=1e-3)
        assert estimator.reliable[0] == reliable


@pytest.mark.parametrize(('forgetting', 'delta'), [(1.0, 0.0), (0.97, 0.0), (0.97, 1e-3)])
def test_recursive_least_squares_is_the_textbooks(textbook, forgetting, delta):
    rng = np.random.default_rng(3)
    P, alpha, direction = np.diag([2.0, 5.0, 0.5]), np.array([0.3, -1.0, 2.0]), np.empty(3)
    for _ in range(60):
        psi, y = rng.normal(size=3), rng.normal()
        wanted = textbook(psi, y, P.copy(), alpha.copy(), forgetting, delta)
        error, weighed = rls_step(P, alpha, psi, y, True, (forgetting, delta), direction)
        np.testing.assert_allclose([error, error * weighed], wanted[2:], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(P, wanted[0], rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(alpha, wanted[1], rtol=1e-7, atol=1e-12)
    before = P.copy(), alpha.copy()
    rls_step(P, alpha, np.zeros(3), 0.0, False, (forgetting, delta), direction)
    np.testing.assert_array_equal(P, before[0])
    np.testing.assert_array_equal(alpha, before[1])


def test_the_covariance_is_bounded_relative_to_its_start():
    """Eigenvalues of P in units of P(0): at most 1, at least 1e-14 of the largest; values in between stay."""
    start = np.array([[4.0, 9.0]])
    root = np.sqrt(start[0])
    unit = np.outer(root, root)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for values, bounded in (
        ([0.5, 0.25], [0.5, 0.25]),
        ([7.0, 0.25], [1.0, 0.25]),
        ([0.5, -0.1], [0.5, 0.5e-14]),
        ([0.5, 1e-20], [0.5, 0.5e-14]),
        ([1e-30, 1e-30], [1e-24, 1e-24]),
    ):
        P = (turn @ np.diag(values) @ turn.T * unit)[None]
        before = P.copy()
        bound(P, start)
        if values == bounded:
            np.testing.assert_array_equal(P, before)
        # the smaller one is known to the rounding of the larger one
        expected = turn @ np.diag(bounded) @ turn.T * unit
        np.testing.assert_allclose(P[0], expected, rtol=1e-9, atol=4e-15 * max(bounded) * unit.max())
        np.testing.assert_array_equal(P[0], P[0].T)


PRESET = Path(__file__).parents[2] / 'config' / 'thesis' / 'estimator.yaml'


def test_preset_of_the_thesis():
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from joint_dynamics.nodes.estimator.parameters import PARAMETERS, settings_of

    values = {row.name: row.default for row in PARAMETERS}
    given = yaml.safe_load(PRESET.read_text(encoding='utf-8'))['/**/estimator']['ros__parameters']
    assert set(given) <= set(values)
    published = {'window': 0.1, 'taper': False, 'information': 0.0, 'friction_upper': (1.5, 0.05), 'viscous_share': 0.0}
    assert settings_of({**values, **given}) == EstimationSettings(**published)
    assert settings_of(values) == EstimationSettings()


def test_estimator_and_feedforward_have_one_region_of_alpha():
    settings = EstimationSettings()
    assert (settings.friction_lower, settings.friction_upper) == ALPHA_BOUNDS
    assert {item.name: item.default for item in friction_parameters('none')}['viscous_share'] == settings.viscous_share
