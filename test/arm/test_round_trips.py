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

"""An arm that the estimator has adapted and written is read back as the same one."""

from dataclasses import replace

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.estimation import EstimationSettings, JointEstimator, JointHealth
from joint_dynamics.estimation.description_update import adapted_description


def learn_payload(estimator, arm, body):
    """Let a payload estimator see the torque of a body (10,) in ten seconds of fast motion."""
    rng = np.random.default_rng(1)
    bare, loaded = (arm.carrying(part).rigid for part in (np.zeros(10), body))
    for _ in range(round(10.0 / estimator.period)):
        motion = rng.normal(size=(3, arm.n)) * [[1.0], [2.0], [10.0]]
        torque = loaded.inverse_dynamics(*motion) - bare.inverse_dynamics(*motion)
        estimator.update(*motion, torque, np.sign(motion[1]), motion[1], np.ones(arm.n, dtype=bool))


def learn_stiffness(estimator, coefficients):
    """Let a stiffness estimator see torques of the polynomial α1 φ + α3 φ³ for five seconds."""
    for time in np.arange(0.0, 5.0, estimator.period):
        phi = np.full(estimator.joints, 2e-3 * np.sin(9 * time))
        estimator.update(phi, coefficients[0] * phi + coefficients[1] * phi**3)


def learn(estimator, arm):
    """Let an estimator learn friction, a payload of 2.5 kg and a stiffness of 15 kN·m/rad reliably."""
    estimator.friction.reset(np.array([[1.3, 0.4], [0.8, -0.2], [1.1, 0.1]]))
    learn_payload(estimator.payload, arm, np.array([0.0] * 6 + [0.1, -0.05, 0.2, 2.5]))
    np.testing.assert_allclose(estimator.payload.parameters, [2.5, 0.1, -0.05, 0.2], atol=0.05)
    assert estimator.payload.judge()
    learn_stiffness(estimator.stiffness, [1.5e4, 2e8])
    np.testing.assert_allclose(estimator.stiffness.coefficients[:, 0], 1.5e4, rtol=0.01)
    assert estimator.stiffness.reliable.all()


def test_saved_estimates_give_the_same_arm(tools, arm3):
    description = DynamicsDescription(tools.described(arm3))
    arm = Arm.from_description(arm3, description)
    estimator = JointEstimator(arm, 2e-3, EstimationSettings(payload=True), effort='torque')
    learn(estimator, arm)
    health = [JointHealth('ok', '') for _ in arm3.joint_names]
    saved = adapted_description(
        description, estimator, base='x', date='2024-05-01T12:00:00+00:00', health=health, history=[]
    )
    loaded = Arm.from_description(arm3, DynamicsDescription.from_yaml(saved.to_yaml()))
    M, *moments = estimator.payload.parameters
    payload = np.array([0.0] * 6 + [*moments, M])
    stiffness = type(arm.stiffness)(estimator.stiffness.coefficients)
    known = replace(arm, friction_scale=estimator.friction.parameters, payload=payload, stiffness=stiffness)
    motion, temperature = tools.motion_of(arm3)
    q, dq, ddq = (np.ascontiguousarray(motion[:, k]) for k in range(3))
    torque = loaded.motor_torque(q, dq, ddq, temperature=temperature)
    np.testing.assert_allclose(torque, known.motor_torque(q, dq, ddq, temperature=temperature), rtol=0, atol=1e-9)
    assert np.abs(torque - arm.motor_torque(q, dq, ddq, temperature=temperature)).max() > 1.0
    again = JointEstimator(loaded, 2e-3, EstimationSettings(payload=True), effort='torque')
    np.testing.assert_allclose(again.torque_link, estimator.torque_link)
    np.testing.assert_array_equal(again.links, loaded.constants.links)
    np.testing.assert_allclose(loaded.rigid.gravity(q[9]), known.rigid.gravity(q[9]), atol=1e-9)
    np.testing.assert_allclose(again.payload.body.gravity(q[9]), arm.rigid.gravity(q[9]), atol=1e-9)
