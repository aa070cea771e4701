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

"""I-IRLS with friction by speed, load and temperature [L 3.3, 3.4] against IRLS and least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
from plants import from_tests

from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.observations import filter_plan, observe
from joint_dynamics.identification.physical.semidefinite import physical
from joint_dynamics.identification.regression.iirls import FrictionOptions, iirls
from joint_dynamics.identification.regression.irls import irls
from joint_dynamics.identification.regression.least_squares import ols, wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import predict
from joint_dynamics.identification.regression.triangles import triangulate
from joint_dynamics.robot import RobotModel

SEEDS = range(3)
HALF = np.pi / 2
UR5E = ((0, 0, 0.1625), (HALF, 0, 0), (0, -0.425, 0), (0, -0.3922, 0.1333), (HALF, 0, 0.0997), (-HALF, 0, 0.0996))
"""Modified Denavit-Hartenberg table: alpha, a, d."""


def measure(seed: int) -> dict[str, float]:
    """Return reductions in percent for one training set and the unseen motions of a seed."""
    tests, shared = from_tests('identification/regression/test_iirls.py'), from_tests('identification/conftest.py')
    rows = [{'alpha': alpha, 'a': a, 'd': d, 'theta': 0.0} for alpha, a, d in UR5E]
    robot = shared.TrueRobot(RobotModel.from_mdh({'joints': rows}))
    training = [record(tests, robot, 100 * seed + 1, 22.0, 40.0), record(tests, robot, 100 * seed + 2, 40.0, 48.0)]
    plan = filter_plan(training, IdentificationSettings())
    problem = Problem(robot.model, [observe(recording, plan) for recording in training], rest_speed=0.01)
    triangles = triangulate(problem.blocks())
    first = wls(triangles)
    found, bare = iirls(problem, first)[0], iirls(problem, first, FrictionOptions(load=False, temperature=False))[0]
    robust, plain = irls(problem, first).solution.chi, ols(triangles).chi
    bound = physical(found.problem, found.solution).solution.chi
    unseen = [record(tests, robot, 100 * seed + k, 25.0 + 10 * (k - 11), 45.0) for k in (11, 12)]
    warm = [record(tests, robot, 100 * seed + 13, 46.0, 48.0, frequency=0.2)]

    def rmse(on: Problem, chi: np.ndarray, recordings: list) -> float:
        on = on.on([observe(recording, plan) for recording in recordings])
        return float(np.sqrt(np.mean(np.hstack([block.tau - predict(block, chi) for block in on.blocks()]) ** 2)))

    def below(on: Problem, chi: np.ndarray, recordings: list) -> float:
        return 100 * (1 - rmse(found.problem, found.solution.chi, recordings) / rmse(on, chi, recordings))

    return {
        'irls': below(problem, robust, unseen),
        'ls': below(problem, plain, unseen),
        'terms': below(bare.problem, bare.solution.chi, unseen),
        'warm_irls': below(problem, robust, warm),
        'warm_ls': below(problem, plain, warm),
        'physical': 100 * (rmse(found.problem, bound, unseen) / rmse(found.problem, found.solution.chi, unseen) - 1),
    }


def record(tests, robot, seed: int, T0: float, T1: float, duration=20.0, rate=250.0, noise=0.02, **motion):
    """Return a recording of joints that warm up from T0 to T1 [°C], with the constants of the tests."""
    rng = np.random.default_rng(seed)
    recording = robot.record(seed, duration=duration, rate=rate, noise=0.0, **motion)
    t, q, dq, ddq = robot.motion(np.random.default_rng(seed), duration, rate, **motion)
    workspace = robot.rigid.createData()
    load = np.array([pinocchio.rnea(robot.rigid, workspace, *state) for state in zip(q, dq, ddq, strict=True)])
    T = T0 + (T1 - T0) * (1 - np.exp(-t / 10))[:, None] + np.zeros(6)
    level = tests.COULOMB + tests.VISCOUS * np.abs(dq) ** tests.EXPONENT + tests.LOAD * load**2
    friction = (level + tests.COOLING * np.sqrt(np.abs(dq)) * (T - 25)) * np.sign(dq)
    tau = load + robot.standard[:, 10] * ddq + friction
    return replace(recording, tau=tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape), temperature=T)
