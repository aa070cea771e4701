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

"""Whether the inertial parameters that explain the torques best may be those of a robot.

The kinetic energy of bodies is positive in every posture: v'M(q)v > 0, with M the mass matrix of the base parameters
with rotor inertias, a linear function of χ with a deviation of its own. Noise makes it negative within that deviation.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import inverse_of
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import RobotModel

POSTURES = 100
"""Random postures in which the mass matrix is looked at."""


def impossible_inertials(alternatives: Alternatives) -> list[Reason]:
    """Return a reason where the mass matrix of the base parameters is negative by far more than its deviation."""
    mass = _mass_matrices(alternatives.model)
    base = alternatives.given.chi[: mass.shape[-1]]
    spread = inverse_of(alternatives.information)[: len(base), : len(base)]
    values, vectors = np.linalg.eigh(0.5 * (mass @ base + (mass @ base).transpose(0, 2, 1)))
    form = np.einsum('qi,qijp,qj->qp', vectors[:, :, 0], mass, vectors[:, :, 0])
    deviation = np.sqrt(np.maximum(np.einsum('qp,pr,qr->q', form, spread, form), 0.0))
    # as many deviations as make a likelihood clear: z²/2 > LOG_LIKELIHOOD_THRESHOLD
    wrong = values[:, 0] < -np.sqrt(2 * thresholds.LOG_LIKELIHOOD_THRESHOLD) * deviation
    if not wrong.any():
        return []
    return [
        Reason(
            'negative_inertia',
            f'the mass matrix is not positive in {int(wrong.sum())} of {POSTURES} postures, by more than its deviation:'
            ' no robot has such inertias; look whether the effort is the whole torque of the drives, and whether robot'
            ' and mounting are the right ones',
        )
    ]


def positive_inertia(problem: Problem, chi: FloatArray) -> bool:
    """Whether parameters chi (b,) have no rotor inertia, and in random postures no mass matrix, below 0.

    That of a joint that never moved may be 0, within rounding.
    """
    mass = _mass_matrices(problem.model)
    rotors = (value for name, value in zip(problem.names, chi, strict=True) if name.startswith('Ia_'))
    if not all(value >= 0 for value in rotors):
        return False
    values = np.linalg.eigvalsh(mass @ chi[: mass.shape[-1]])
    return bool(values.min() >= -1e-9 * values.max())


def _mass_matrices(model: RobotModel) -> FloatArray:
    """Return what each base parameter adds to the mass matrix of the joints with torque, (POSTURES, m, m, b)."""
    independent = model.base_parameters().independent
    q = model.random_states(POSTURES, np.random.default_rng(0))[0]
    zero = np.zeros_like(q)
    still = model.regressor(q, zero, zero)[:, :, independent]
    columns = []
    for k in range(model.n):
        unit = zero.copy()
        unit[:, k] = 1.0
        columns.append(model.regressor(q, zero, unit)[:, :, independent] - still)
    measured = ~np.isin(model.joint_names, model.without_torque)
    return np.stack(columns, axis=2)[:, measured][:, :, measured]
