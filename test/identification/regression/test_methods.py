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

"""Every method through `identify` itself: its entries in summary and description."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.methods import least_squares, with_rotors_at_zero
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.report.identification import identification_report


@pytest.mark.parametrize(('settings', 'keys'), [
    ({'method': 'ols'}, ()), ({'method': 'wls'}, ('selection',)), ({'method': 'irls'}, ('selection', 'irls')),
    ({'method': 'i-irls'}, ('i_irls',)), ({'essential': True, 'selection': False}, ('essential',)),
    ({'essential': 'f', 'selection': False}, ('essential',)),
])  # fmt: skip
def test_every_method_reports(true_robot, settings, keys):
    run, unseen = (true_robot.record(seed, duration=seconds, rate=200.0) for seed, seconds in ((5, 12.0), (6, 8.0)))
    result = identify(true_robot.model, [run], [unseen], IdentificationSettings(**settings))
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert {'training', 'parameters', *keys} <= set(summary)
    description = result.description
    assert DynamicsDescription.from_yaml(description.to_yaml()).document == description.document
    assert result.validation[0].residual_percent()[1] < 10
    assert 'Residual' in identification_report(result).to_html()


@pytest.mark.parametrize(
    ('still', 'said'),
    [((), 'counts as one\\)'), ((0, 1), 'joint_1, joint_2 never move'), ((1,), 'joint_2 never moves')],
)
def test_too_few_rows_are_refused_with_the_still_joints(two_links, observed, still, said):
    speed = np.where(np.isin([0, 1], still), 0.0, 1.0)
    problem = Problem(two_links, [replace(observed(1, 5), dtheta=np.ones((5, 2)) * speed)])
    message = f'more rows than the {problem.columns} parameters, found 10 .*{said}: record a longer motion'
    for method in ('ols', 'wls'):
        with pytest.raises(JointDynamicsError, match=message):
            least_squares(problem, method)


def test_rotor_within_its_interval_of_zero_is_zero():
    """Columns resemble each other, so the others compensate; the true inertia is 0."""
    rng = np.random.default_rng(4)
    names, seen = ('ZZ_1', 'Ia_2', 'Ia_3', 'Fv_1'), 0
    for _ in range(20):
        A = rng.standard_normal((60, 4)) @ (np.eye(4) + 0.6)
        y = A @ [1.0, 0.0, 0.0, -1.0] + rng.standard_normal(60)
        inverse = np.linalg.inv(A.T @ A)
        plain = Solution(inverse @ A.T @ y, np.ones(1), inverse, 1.0, np.ones(4))
        solution, zero = with_rotors_at_zero(names, plain, inverse)
        if np.any(plain.chi[1:3] < -1.96 * np.sqrt(np.diag(inverse))[1:3]):
            continue
        seen += zero is not None
        bounded = lsq_linear(A, y, ([-np.inf, 0.0, 0.0, -np.inf], np.inf), tol=1e-14).x
        np.testing.assert_allclose(solution.chi, bounded, atol=1e-6)
        assert [name for name, value in zip(names, solution.chi, strict=True) if value == 0] == (zero or [])
    assert seen > 5


@pytest.mark.parametrize(('share', 'zero'), [(1.9, ['Ia_1']), (2.0, None)])
def test_a_rotor_known_to_be_below_zero_stays(share, zero):
    solution = Solution(np.array([-share, -share]), np.ones(1), np.eye(2), 1.0, np.ones(2))
    done, found = with_rotors_at_zero(('Ia_1', 'Fv_1'), solution, np.eye(2))
    assert found == zero and done.chi.tolist() == [0.0 if zero else -share, -share]


def test_a_rotor_at_zero_has_its_deviation_and_laws_take_it(true_robot, monkeypatch):
    """Motors without inertia, and a short recording of them."""
    monkeypatch.setattr(true_robot, 'standard', true_robot.standard * (np.arange(14) != 10))
    run = true_robot.record(6, duration=6.0, rate=200.0)
    result = identify(true_robot.model, [run], settings=IdentificationSettings(selection=False))
    zero = result.summary()['rotors_at_zero']
    assert 'Ia_4' in zero and result.summary()['uses']['feedforward'] == ''
    assert f'{", ".join(zero)} estimated below 0, within the deviation: set to 0' in result.notes
    rotors = {name: result.description.joint(f'joint_{name[-1]}')['rotor_inertia'] for name in zero}
    assert all(rotor['value'] == 0 and rotor['std'] > 0 for rotor in rotors.values())
    Arm.from_description(None, result.description).check_drives()
