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

"""The feedforward laws give the torque that `validate` predicts along a recorded motion."""

import numpy as np

from joint_dynamics.arm import Arm, terms_from_config, with_reversal
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import FilterPlan, observe
from joint_dynamics.identification.validate import predicted_torque
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

EXACT = 1e-9
"""N·m, beside torques up to 1e4 N·m: rounding is a thousand times less."""


def played(tools, robot, description, observation, friction):
    """Torque of a law, built as the node builds it, along the motion of an observation; the law."""
    law = tools.node_law(robot, description, law='adaptive_friction', friction=friction, viscous_share=1.0)
    still, unknown = np.zeros_like(observation.q), np.full((robot.n, 2), np.nan)
    motion = np.stack([observation.q, observation.dq, observation.ddq, still, still], axis=1)
    if observation.temperature is None:
        return law.effort_along(motion), law
    torque = []
    for k, temperature in enumerate(observation.temperature):
        law.adapt(temperature, unknown)
        torque.append(law.effort_along(motion[k : k + 1])[0])
    return np.array(torque), law


def check(tools, robot, description, observation):
    """The law as described, and with hysteresis, which turns friction over within an angle where none is described."""
    arm = Arm.from_description(None, description)
    if arm.friction.maxwell_slip is None:
        predicted = predicted_torque(arm, observation)
        torque, _ = played(tools, robot, description, observation, 'static')
        np.testing.assert_allclose(torque, predicted, rtol=0, atol=EXACT)
    predicted = predicted_torque(with_reversal(arm)[0], observation)
    torque, law = played(tools, robot, description, observation, 'hysteresis')
    np.testing.assert_allclose(torque, predicted, rtol=0, atol=EXACT)
    return predicted, law


def observation_of(result, recording, gains=None):
    return observe(recording.select(result.problem.model.joint_names), result.plan, gains)


def test_tx40_with_its_coupling(tools, data):
    model = RobotModel.load(data / 'tx40' / 'mdh.yaml')
    recording = Recording.load(data / 'tx40' / 'exciting_traj')
    result = identify(model, [recording])
    description = DynamicsDescription.from_yaml(result.description.to_yaml())
    predicted, law = check(
        tools, RobotModel.load(data / 'tx40' / 'mdh.yaml'), description, observation_of(result, recording)
    )
    assert law.arm.coupled is not None
    document = description.document
    without = DynamicsDescription(
        {**document, 'inertial': {key: value for key, value in document['inertial'].items() if key != 'coupling'}}
    )
    reduced, _ = with_reversal(Arm.from_description(None, without))
    missing = predicted - predicted_torque(reduced, observation_of(result, recording))
    rms = np.sqrt((missing**2).mean(axis=0))
    assert rms[4] > 1.0
    assert rms[5] > 1.0


def recorded(robot):
    """Motion of seven joints: inverse dynamics, rotors, friction under load, a spring, and a coupled motor."""
    t = np.arange(0.0, 30.0, 4e-3)
    k = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None]
    a, b = np.random.default_rng(11).normal(size=(2, 5, 7)) * 0.9
    sine, cosine = np.sin(t[:, None] * k.T), np.cos(t[:, None] * k.T)
    q, dq, ddq = sine @ (a / k) + cosine @ (b / k), cosine @ a - sine @ b, -sine @ (a * k) - cosine @ (b * k)
    load = robot.rigid_body(robot.parameters).inverse_dynamics
    tau_J = np.array([load(*state) for state in zip(q, dq, ddq, strict=True)])
    motor = dq[:, 5] + dq[:, 6]
    tau = tau_J + 0.3 * ddq + 4.0 * dq + np.sign(dq) * (3.0 + 0.25 * np.abs(tau_J)) + 0.5
    tau[:, 1] += 12.0 * np.sin(q[:, 1]) - 5.0 * np.cos(q[:, 1])
    tau[:, [5, 6]] += 4.0 * np.sign(motor)[:, None]
    noise = np.random.default_rng(12).normal(scale=0.05, size=tau.shape)
    return Recording(robot.joint_names, t, q, tau=tau + noise, name='seven')


def test_seven_joints_with_springs_coupling_and_load_friction(tools):
    """The law plays the torque that identification predicts, near the recorded one."""
    coupling = np.eye(7)
    coupling[6, 5] = 1.0
    urdf = tools.chain_urdf(7)
    robot = RobotModel.from_urdf(urdf, coupling=coupling)
    recording = recorded(robot)
    terms = terms_from_config(
        {f'j{j}': [{'friction': 'F_Cl'}, *([{'fourier': 1}] if j == 2 else [])] for j in range(1, 8)}
    )
    result = identify(robot, [recording], settings=IdentificationSettings(terms=terms, selection=False))
    description = result.description
    observation = observe(recording, FilterPlan(5.0, 25.0, 10.0, 4, 0.1))
    predicted, law = check(tools, RobotModel.from_urdf(urdf), description, observation)
    assert law.arm.coupled is not None
    assert law.arm.terms
    # The residual is the noise, and the position filter's error at the steps of friction.
    assert np.sqrt(((predicted - observation.tau) ** 2).mean()) < 0.05 * np.sqrt((observation.tau**2).mean())
