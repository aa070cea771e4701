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

"""The PA-10 [A]: base parameters, trapezoid friction test, limit cycle, dominant inertia."""

from __future__ import annotations

import numpy as np
from plants import from_tests

from joint_dynamics.arm import Arm
from joint_dynamics.control.applied import check_compensation
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.joint_tests.data import joint_data
from joint_dynamics.identification.joint_tests.friction import FrictionSettings, identify_friction
from joint_dynamics.identification.joint_tests.oscillation import InertiaSettings, identify_inertia
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, RobotModel

SEEDS = range(3)
TRUE = {'f_vp': 3.57, 'f_cp': 14.26, 'f_vn': 7.64, 'f_cn': 18.25}  # joint 2, the largest of table C.1
SPEEDS = (0.1, 0.2, 0.4, 0.6, 0.9, 1.2)  # rad/s
RATE = 1000.0  # Hz
REAL = (5.0, 10.0)  # N·m, N·m·s/rad: friction
TOO_MUCH = (5.5, 9.0)  # N·m, N·m·s/rad: a compensation that crosses it at 0.5 rad/s (situation s4)
SPRING = 80.0  # N·m/rad
INERTIA = 1.5  # kg·m²
SPRINGS = (1.0, 5.0, 20.0, 80.0)  # N·m/rad, of the virtual spring
BANDWIDTH = 80.0  # low-pass of the fit over the frequency; a narrower one moves the reversals of the slowest cycle
HALF = np.pi / 2
PA10 = ((0, 0.317), (-HALF, 0), (HALF, 0.45), (-HALF, 0), (HALF, 0.48), (-HALF, 0), (HALF, 0.07))  # alpha, d


def measure(seed: int) -> dict[str, float]:
    """Return all figures of one seed of the noise."""
    rows = [{'alpha': alpha, 'a': 0.0, 'd': d, 'theta': 0.0} for alpha, d in PA10]
    count = RobotModel.from_mdh({'joints': rows}).base_parameters(INERTIAL).count
    return {'count': float(count), **trapezoid(seed), **limit_cycle(), **inertia(seed)}


def trapezoid(seed: int) -> dict[str, float]:
    """Return friction per direction from plateaus of speed."""
    motions, rng = from_tests('identification/joint_tests/conftest.py'), np.random.default_rng(seed)
    theta = motions.trapezoids([side * speed for speed in SPEEDS for side in (1, -1)])
    omega = np.gradient(theta, 1 / RATE)
    forward = TRUE['f_cp'] + TRUE['f_vp'] * omega
    backward = -TRUE['f_cn'] + TRUE['f_vn'] * omega
    tau = np.where(omega > 0, forward, np.where(omega < 0, backward, 0.0)) + 2.0 * np.gradient(omega, 1 / RATE)
    tau = tau + 0.3 * rng.standard_normal(len(tau))
    recording = Recording(('joint',), np.arange(len(theta)) / RATE, theta[:, None], tau=tau[:, None])
    found = identify_friction([joint_data(recording, 'joint')], FrictionSettings(model='viscous'))
    sides = found.document['friction']['directions']
    return {
        'f_vp': sides['positive']['F_V1'],
        'f_cp': sides['positive']['F_C'],
        'f_vn': sides['negative']['F_V1'],
        'f_cn': sides['negative']['F_C'],
    }


def excess(speed: float) -> float:
    """Return the torque by which the compensation exceeds the friction [N·m]."""
    return (TOO_MUCH[0] + TOO_MUCH[1] * speed) - (REAL[0] + REAL[1] * speed)


def integrated(q0: float, dq0: float, spring: float, seconds: float, step: float = 5e-4) -> np.ndarray:
    """Return the states of I q̈ = −K q + sgn(q̇) e(|q̇|), by Runge and Kutta's fourth-order steps."""

    def rate(x: np.ndarray) -> np.ndarray:
        return np.array([x[1], (-spring * x[0] + np.tanh(x[1] / 1e-3) * excess(abs(x[1]))) / INERTIA])

    states = [np.array([q0, dq0])]
    for _ in range(int(seconds / step)):
        x = states[-1]
        k1 = rate(x)
        k2 = rate(x + step / 2 * k1)
        k3 = rate(x + step / 2 * k2)
        states.append(x + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + step * k3)))
    return np.array(states)


def limit_cycle() -> dict[str, float]:
    """Return settled speeds, and the limit cycle with a spring, integrated and predicted."""
    part = {'friction': {'parameters': {'F_C0': REAL[0], 'F_V1': REAL[1]}}}
    arm = Arm.of_joints(DynamicsDescription({'robot': {'joint_names': ['j']}, 'joints': {'j': part}}))
    applied = {'parameters': {'F_C0': TOO_MUCH[0], 'F_V1': TOO_MUCH[1]}, 'spring': SPRING, 'inertia': INERTIA}
    [check] = check_compensation(arm, {'j': applied}, {'j': 2.0})
    [cycle] = check.cycles
    settled = [integrated(0.0, speed, 0.0, 15.0)[-1, 1] for speed in (0.2, 0.9)]
    assert abs(check.positive.crossings[0].speed - settled[0]) < 0.01
    reached = [np.abs(integrated(q0, 0.0, SPRING, 40.0)[-4000:, 0]).max() for q0 in (0.02, 0.3)]
    return {
        'settled': float(np.mean(settled)),
        'cycle_spread': float(max(reached) / min(reached)),
        'cycle_predicted': float(np.mean(reached) / cycle.amplitude),
    }


def inertia(seed: int) -> dict[str, float]:
    """Return the dominant inertia from limit cycles under several springs, with noise of torque and encoder."""
    tests = from_tests('identification/joint_tests/test_oscillation.py')
    rng, alone, error = np.random.default_rng(seed), [], []
    for spring in SPRINGS:
        states = integrated(0.05, 0.0, spring, 60.0, 1 / RATE)[-int(35 * RATE) :]
        q, dq = states.T
        tau = -spring * q + TOO_MUCH[0] * np.sign(dq) + TOO_MUCH[1] * dq + 0.3 * rng.standard_normal(len(q))
        q = tests.encoder(q[:, None], 2**20)
        recording = Recording(('joint',), np.arange(len(q)) / RATE, q, tau=tau[:, None])
        settings = InertiaSettings(spring=spring, bandwidth=BANDWIDTH)
        found = identify_inertia([joint_data(recording, 'joint')], settings).parameters
        alone.append(found['inertia_from_period'].value)
        error.append(abs(100 * (found['inertia'].value / INERTIA - 1)))
    return {'period_spread': alone[0] / alone[-1], 'fit_error': max(error)}
