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

"""I-IRLS on an arm whose friction depends on speed, load and temperature.

Written down here by [L eq 4-6] and nothing of the package.
"""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import filter_plan, observe
from joint_dynamics.identification.regression.iirls import FrictionOptions, iirls
from joint_dynamics.identification.regression.irls import irls
from joint_dynamics.identification.regression.least_squares import ols
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import predict
from joint_dynamics.identification.regression.triangles import triangulate
from joint_dynamics.identification.validate import validate_description

COULOMB = np.array([9.0, 9.0, 7.0, 2.0, 2.0, 2.0])
VISCOUS = np.array([10.0, 10.0, 8.0, 2.5, 2.5, 2.5])
EXPONENT = np.array([0.60, 0.70, 0.65, 0.55, 0.60, 0.70])
LOAD = np.array([0.02, 0.0008, 0.002, 0.08, 0.3, 2.0])
COOLING = -0.012 * COULOMB


@pytest.fixture(scope='module')
def record(true_robot):
    """A function (seed, T0, T1, **motion) -> Recording of joints that warm up from T0 to T1 [°C]."""

    def make(seed, T0, T1, duration=20.0, rate=250.0, noise=0.02, **motion):
        rng = np.random.default_rng(seed)
        recording = true_robot.record(seed, duration=duration, rate=rate, noise=0.0, **motion)
        t, q, dq, ddq = true_robot.motion(np.random.default_rng(seed), duration, rate, **motion)
        workspace = true_robot.rigid.createData()
        load = np.array([pinocchio.rnea(true_robot.rigid, workspace, *state) for state in zip(q, dq, ddq, strict=True)])
        T = T0 + (T1 - T0) * (1 - np.exp(-t / 10))[:, None] + np.zeros(6)
        friction = (
            COULOMB + VISCOUS * np.abs(dq) ** EXPONENT + LOAD * load**2 + COOLING * np.sqrt(np.abs(dq)) * (T - 25)
        ) * np.sign(dq)
        tau = load + true_robot.standard[:, 10] * ddq + friction
        return replace(recording, tau=tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape), temperature=T)

    return make


@pytest.fixture(scope='module')
def training(record):
    return [record(1, 22.0, 40.0), record(2, 40.0, 48.0)]


@pytest.fixture(scope='module')
def plan(training):
    return filter_plan(training, IdentificationSettings())


@pytest.fixture(scope='module')
def problem(ur, training, plan):
    return Problem(ur, [observe(recording, plan) for recording in training], rest_speed=0.01)


@pytest.fixture(scope='module')
def estimate(problem, first):
    return iirls(problem, first)


def rmse(problem, chi, recordings, plan):
    unseen = problem.on([observe(recording, plan) for recording in recordings])
    return np.sqrt(
        np.mean(np.concatenate([(block.tau - predict(block, chi)).ravel() for block in unseen.blocks()]) ** 2)
    )


def test_prediction_is_better_than_by_irls_and_ls(record, problem, first, estimate, plan):
    unseen = [record(11, 25.0, 40.0), record(12, 45.0, 48.0)]
    warm = [record(13, 46.0, 48.0, frequency=0.2)]
    found = estimate[0]
    plain, robust = ols(triangulate(problem.blocks())).chi, irls(problem, first).solution.chi
    ours = rmse(found.problem, found.solution.chi, unseen, plan)
    assert ours < (1 - 0.14) * rmse(problem, robust, unseen, plan)
    assert ours < (1 - 0.16) * rmse(problem, plain, unseen, plan)
    assert rmse(found.problem, found.solution.chi, warm, plan) < (1 - 0.33) * rmse(problem, robust, warm, plan)


def test_the_friction_is_found(problem, estimate):
    found, course = estimate
    assert course['converged']
    np.testing.assert_allclose(list(course['exponents'].values()), EXPONENT, atol=0.1)
    chi = dict(zip(found.problem.names, found.solution.chi, strict=True))
    loads = [chi[f'F_C1_joint_{j}'] for j in range(1, 7)]
    np.testing.assert_allclose(loads[1:5], LOAD[1:5], rtol=0.3)
    assert all(chi[f'Fv_{j}'] == 0.0 for j in range(1, 7))
    assert found.solution.condition_number < 100
    assert np.isfinite(found.covariance()).all()


def test_identify_by_i_irls_and_its_description(ur, training, record):
    unseen = record(14, 30.0, 45.0, duration=10.0)
    result = identify(ur, training, [unseen], IdentificationSettings(method='i-irls'))
    assert result.details.i_irls['converged']
    assert result.validation[0].residual_percent()[1] < 3
    again = validate_description(result.description, [unseen])[0]
    np.testing.assert_allclose(again.predicted, result.validation[0].predicted, atol=0.05 * np.abs(again.tau).max())


@pytest.mark.parametrize(('options', 'message'), [
    ({'exponent': 0.8}, 'identification.options.exponent: .*since 0.3.0'),
    ({'load': 'yes'}, 'identification.options.load: expected true or false'),
    ({'speed': True}, "identification.options: expected the keys load, .*, found 'speed'"),
])  # fmt: skip
def test_options_that_make_no_sense(options, message):
    with pytest.raises(JointDynamicsError, match=message):
        FrictionOptions.from_mapping(options)


def test_temperature_needs_temperatures(ur, true_robot):
    settings = IdentificationSettings(method='i-irls', options={'temperature': True})
    with pytest.raises(JointDynamicsError, match='found none'):
        identify(ur, [true_robot.record(1, duration=15.0)], settings=settings)
