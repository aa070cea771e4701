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

"""The thesis [M3 to M6]: stiffness, presliding, base parameters, calibration, hysteresis and adaptive feedforward."""

from __future__ import annotations

import numpy as np
from bench_control import START, adapted, against_sgn, cycle, reduction, reversals
from plants import from_tests

from joint_dynamics.estimation import StiffnessEstimator
from joint_dynamics.excitation import LimitSettings, make_profile
from joint_dynamics.identification import identify
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.observations import observe
from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.signals.filtering import zero_phase_lowpass
from joint_dynamics.signals.state_estimator import StateEstimator
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, TrajectoryPoints, record, ur5e_urdf

SEEDS = range(3)


def measure(seed: int) -> dict[str, float]:
    """Return all figures of one seed."""
    return {**stiffness(seed), **presliding(seed), **calibration(seed), **feedforward(seed)}


def stiffness(seed: int) -> dict[str, float]:
    """Return the NRMSE of the map on the joint of chapter 3, friction model 5 % wrong."""
    made = from_tests('estimation/conftest.py')
    joint = made.make_joint(seed=seed)
    smoother, pairs = StateEstimator(3, joint.period, window=0.05), []
    for sample in np.stack([joint.q, joint.theta, joint.motor_torque - 1.05 * joint.friction], axis=1):
        value, first, second = smoother.update(sample)
        torque = value[2] - joint.inertia * second[1] - joint.damping * (first[1] - first[0])
        pairs.append((value[1] - value[0], torque))
    reach, change, found = np.abs(joint.phi).max(), 10000, {}
    for preset, make in (('default', StiffnessEstimator), ('thesis', StiffnessEstimator.thesis)):
        for factor in (1.0, 0.5):
            estimator = make(1)
            truth = tuple(factor * k for k in joint.stiffness)
            for k, (phi, torque) in enumerate(pairs):
                estimator.update([phi], [torque * (factor if k >= change else 1.0)])
                if k == change - 1 and factor == 1.0:
                    found[f'map_10_{preset}'] = made.map_nrmse(estimator.coefficients[0], truth, reach)
            name = f'map_35_{preset}' if factor == 1.0 else f'map_halved_{preset}'
            found[name] = made.map_nrmse(estimator.coefficients[0], truth, reach)
    return {name: float(value) for name, value in found.items()}


def presliding(seed: int) -> dict[str, float]:
    """Return the NRMSE of Maxwell-slip and the static map on held-out data; the truth has eighteen operators."""
    made = from_tests('identification/joint_tests/conftest.py')
    joint = made.Joint(seed=8 + seed)
    result = identify_hysteresis([joint.data(made.reciprocating())], HysteresisSettings(estimation_fraction=0.25))
    names = {'static': 'static_map', 'nlr': 'maxwell_slip'}
    return {key: float(result.quality[name]['validation_percent']) for key, name in names.items()}


def nmse(tau: np.ndarray, predicted: np.ndarray) -> float:
    """Return the sum over the joints of the mean squared error over the mean torque [M5 eq 22, by its text]."""
    return float(np.sum(np.mean((tau - predicted) ** 2, axis=0) / np.mean(np.abs(tau), axis=0)))


def calibration(seed: int) -> dict[str, float]:
    """Compare, on unseen work, the identified robot with the URDF and friction fitted to its residual."""
    model = RobotModel.load(ur5e_urdf())
    count = model.base_parameters(INERTIAL).count
    robot = FlexibleJointRobot(seed=seed, errors=ModelErrors())
    training, unseen = (record(robot, random_motion(10 * seed + k), torque=True, every=5) for k in (1, 2))
    result = identify(model, [training])
    seen, new = (observe(recording, result.plan) for recording in (training, unseen))
    rows = np.searchsorted(unseen.time, new.time - 0.5 * unseen.period)
    predicted, cad = result.predict(unseen)[rows], np.empty_like(new.q)
    for j in range(model.n):
        fitted = np.linalg.lstsq(drive(seen, j), (seen.tau - rigid(model, seen))[:, j], rcond=None)[0]
        cad[:, j] = rigid(model, new)[:, j] + drive(new, j) @ fitted
    measured = zero_phase_lowpass(new.tau, 10.0, unseen.rate)
    return {'count': float(count), 'calibrated': 100 * (1 - nmse(measured, predicted) / nmse(measured, cad))}


def random_motion(seed: int, seconds: float = 20.0) -> TrajectoryPoints:
    """Return a Fourier series for six joints that does not repeat itself."""
    time = np.arange(0.0, seconds, 0.01)
    omega = 2 * np.pi * 0.05 * np.arange(1, 11)[:, None]
    a, b = np.random.default_rng(seed).normal(scale=0.2, size=(2, 10, 6))
    sine, cosine = np.sin(omega * time).T, np.cos(omega * time).T
    q = sine @ (a / omega) - (cosine - 1) @ (b / omega)
    return TrajectoryPoints(time, q, cosine @ a + sine @ b, cosine @ (b * omega) - sine @ (a * omega))


def rigid(model: RobotModel, observation) -> np.ndarray:
    """Return the torque of the bodies of the URDF."""
    return model.inverse_dynamics(observation.q, observation.dq, observation.ddq)


def drive(observation, j: int) -> np.ndarray:
    """Return the columns of rotor inertia, Coulomb and viscous friction and offset of a joint."""
    dq, ddq = observation.dq[:, j], observation.ddq[:, j]
    return np.column_stack([ddq, np.sign(dq), dq, np.ones_like(dq)])


def feedforward(seed: int) -> dict[str, float]:
    """Return figures of hysteresis against sgn, and of adaptation, by the functions of bench_control.py."""
    limits = LimitSettings(velocity=np.pi, acceleration=10.0)
    period = make_profile(RobotModel.load(ur5e_urdf()), 'waypoints', limits=limits)[0].duration
    (e0, t0), (e1, t1) = against_sgn(reversals(), seed)
    (tracking0, torque0), (tracking1, torque1), _ = adapted(cycle, START, seed=seed, errors=ModelErrors())
    return {
        'period': float(period),
        'sgn_torque': float(t0[1] / t1[1]),
        'sgn_tracking': float(e0[1] / e1[1]),
        'torque': float(reduction(torque0, torque1)),
        'tracking': float(reduction(tracking0, tracking1)),
    }
