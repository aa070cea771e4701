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

"""A payload beside friction: learnt from the torques, forgotten with its memory, and the batch solution."""

import math

import numpy as np
import pinocchio
import pytest

from joint_dynamics.estimation import PayloadEstimator
from joint_dynamics.robot import PER_JOINT


def loaded_samples(arm, payload, scale, samples=300, seed=0, noise=0.2):
    """Torque that the unloaded model lacks, on random motion: payload, friction wrong by `scale`, noise.

    Computed by the batch regressor.
    """
    rng = np.random.default_rng(seed)
    q, dq, ddq = rng.uniform(-2, 2, (samples, 6)), rng.uniform(-1, 1, (samples, 6)), rng.uniform(-2, 2, (samples, 6))
    last = PER_JOINT * 5
    columns = [last + 9, last + 6, last + 7, last + 8]
    coulomb = np.sign(dq) * np.array([8, 8, 7, 2, 2, 2.0])
    torque = arm.regressor(q, dq, ddq)[:, :, columns] @ payload + coulomb * scale[0] + dq * scale[1]
    torque += rng.normal(0, noise, q.shape)
    return q, dq, ddq, torque, coulomb


@pytest.mark.parametrize('payload', [[7.5, 0.0, 0.0, 0.6], [0.8, 0.05, -0.02, 0.04], [0.0, 0.0, 0.0, 0.0]])
def test_payload_comes_back_beside_wrong_friction(arm, payload):
    estimator = PayloadEstimator(arm.rigid_body(), 0.1)
    for state in zip(*loaded_samples(arm, np.array(payload), (0.15, 0.4)), strict=True):
        q, dq, ddq, torque, coulomb = state
        estimator.update(q, dq, ddq, torque, coulomb, dq, np.abs(dq) > 0.05)
    deviation = np.sqrt(np.diag(estimator.covariance))
    error = np.abs(estimator.parameters - payload)
    assert estimator.mass == pytest.approx(payload[0], abs=0.05)
    assert np.all(error < 5 * deviation)
    assert estimator.mass_deviation < 0.05
    assert estimator.judge() and estimator.known


# pinocchio's XX XY YY XZ YZ ZZ as XX XY XZ YY YZ ZZ, then first moments and mass
ORDER = [-6, -5, -3, -4, -2, -1, -9, -8, -7, -10]


def carry(estimator, arm, samples, forget):
    """Let an estimator see a payload; return Σ λ^age of WᵀW, Wᵀy, yᵀy and of the rows, and the samples taken."""
    rng, sums, taken = np.random.default_rng(8), np.zeros((24, 24)), 0
    for k in range(samples):
        q, dq, ddq, coulomb, omega = rng.uniform(-2, 2, (5, 6))
        slipping = rng.random(6) < 0.7
        full = pinocchio.computeJointTorqueRegressor(arm.pinocchio, arm.pinocchio.createData(), q, dq, ddq)
        torque = full[:, -10:-6] @ [2.0, 0.1, -0.2, 0.3] + 0.2 * coulomb + 0.7 * omega + rng.normal(0, 0.3, 6)
        if k % 20 == 19:
            torque[3] = np.nan
        estimator.update(q, dq, ddq, torque, coulomb, omega, slipping)
        if slipping.any() and k % 20 != 19:
            rows = np.column_stack([full[:, ORDER], np.diag(coulomb), np.diag(omega), torque, np.ones(6)])
            rows = rows[slipping]
            sums, taken = forget * sums + rows.T @ rows, taken + 1
    return sums[:22, :22], sums[:22, 22], sums[22, 22], sums[23, 23], taken


def batch_solution(A, b, yy, weight, share):
    """Solve (share A + Λ) x = share b, Λ the prior's inverse variances; (22,) and its covariance by the residual."""
    prior = np.diag(1.0 / np.array([*[0.9] * 6, 3.0, 3.0, 3.0, 10.0, *[0.3] * 6, *[1.0] * 6]) ** 2)
    solution = np.linalg.solve(share * A + prior, share * b)
    # the share of the friction counts as residual
    friction = np.diag(np.where(np.arange(22) < 10, 0.0, np.diag(prior)))
    rest = share * (yy - 2 * solution @ b) + solution @ (share * A + friction) @ solution
    variance = (rest + 10.0) / (share * weight + 10.0)
    return solution, np.linalg.inv(share * A / variance + prior)


def test_the_payload_is_the_regularised_batch_solution(arm):
    period, memory = 0.05, 2.0
    estimator = PayloadEstimator(arm.rigid_body(), period, memory=memory)
    *sums, taken = carry(estimator, arm, 80, 1 - period / memory)
    assert estimator.excitation == pytest.approx(taken * period, rel=1e-12)
    solution, covariance = batch_solution(*sums, period / 0.25)
    shown = [9, 6, 7, 8]
    np.testing.assert_allclose(estimator.inertial, solution[:10], rtol=1e-8)
    np.testing.assert_allclose(estimator.parameters, solution[shown], rtol=1e-8)
    np.testing.assert_allclose(estimator.covariance, covariance[np.ix_(shown, shown)], rtol=1e-7)
    assert estimator.mass == estimator.parameters[0]
    np.testing.assert_array_equal(estimator.first_moments, estimator.parameters[1:])
    assert estimator.mass_deviation == pytest.approx(math.sqrt(covariance[9, 9]), rel=1e-7)
    assert not estimator.known
    assert estimator.judge() == estimator.known == (estimator.mass_deviation < max(0.02 * estimator.mass, 0.1))
    estimator.reset()
    assert not estimator.parameters.any() and estimator.excitation == 0 and not estimator.known
    np.testing.assert_allclose(estimator.covariance, np.diag([100.0, 9.0, 9.0, 9.0]), rtol=1e-9)


def test_correlated_errors_count_once(arm):
    """The stated deviations are those of the errors: rms of their ratio over 60 payloads, within three deviations."""
    rng = np.random.default_rng(5)
    still, moving, ratios = np.zeros(6), np.ones(6, dtype=bool), []
    for _ in range(60):
        estimator = PayloadEstimator(arm.rigid_body(), 0.05, memory=np.inf)
        for _ in range(40):
            q, dq, ddq = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6), rng.uniform(-2, 2, 6)
            torque = rng.normal(size=6)
            for _ in range(5):
                estimator.update(q, dq, ddq, torque, still, still, moving)
        ratios.append(estimator.parameters / np.sqrt(np.diag(estimator.covariance)))
    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1.0, abs=3.0 / np.sqrt(2.0 * np.size(ratios)))


def test_another_payload_is_learnt_within_the_memory(arm):
    estimator = PayloadEstimator(arm.rigid_body(), 0.1, memory=5.0)
    for mass in (5.0, 2.0):
        for state in zip(*loaded_samples(arm, np.array([mass, 0, 0, 0.1 * mass]), (0.0, 0.0)), strict=True):
            estimator.update(*state, state[1], np.ones(6, dtype=bool))
        assert estimator.mass == pytest.approx(mass, rel=0.02)
    estimator.update(*(np.full(6, np.nan),) * 6, np.ones(6, dtype=bool))
    assert np.isfinite(estimator.parameters).all()
