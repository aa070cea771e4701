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

"""A payload's parameters from recordings of the loaded robot, the robot known [G II.D, Khalil et al. 2007].

The recordings are also checked for different payloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.conversion import GainUncertainty, motor_part
from joint_dynamics.identification.drive_gains.payload_runs import (
    COUNT,
    PayloadParameters,
    known_payload,
    payload_problem,
    split,
)
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.covariance import sandwich
from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate
from joint_dynamics.identification.reliability.alternatives import explains_most
from joint_dynamics.identification.reliability.evidence import NormalEquations, effective_samples, gain
from joint_dynamics.identification.reliability.filtered_samples import row_weights
from joint_dynamics.identification.reliability.thresholds import LOG_LIKELIHOOD_THRESHOLD, MIN_EFFECT
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import INERTIAL
from joint_dynamics.robot.standard_parameters import point_mass


def identify_payload(
    problem: Problem,
    chi: FloatArray,
    loaded: Sequence[Observation],
    known: Mapping[str, float] | None = None,
    covariance: FloatArray | None = None,
    gains: GainUncertainty | None = None,
    joint: str | None = None,
    position: Sequence[float] | None = None,
) -> PayloadParameters:
    """Return the payload of observations of a known robot.

    W_L F x = Y − W χ − W_kL χ_kL by WLS, rows weighted per joint: the columns of F (10, u) are the unknown parameters,
    or the ten of a unit mass at `position`.

    Parameters
    ----------
    problem
        the robot's (columns, terms and their state).
    chi
        (b,) its parameters.
    loaded
        observations with torques in N·m.
    known
        {parameter: value} such as {'M': 4.59}.
    covariance
        (b, b) of chi; None: chi counts as exact.
    gains
        uncertainty of the drive gains of robot and payload, in addition to that covariance.
    joint
        of the payload's link; None: the last one.
    position
        (3,) of the payload in that joint's frame [m]: a point mass is the only unknown, also by each joint alone;
        None: unknown.

    Raises
    ------
    JointDynamicsError
        Without observations, or when nothing is unknown.
    """
    values, mask = known_payload(known)
    if not loaded:
        raise JointDynamicsError('payload: expected at least one recording of the loaded robot, found none')
    if mask.all():
        raise JointDynamicsError('payload: expected at least one parameter to identify, found all ten known')
    system = payload_problem(problem, loaded, joint=joint)

    def estimate(columns: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the unknowns (u,) with these columns (joints, u, samples) of W_L, their covariance, which show."""

        def blocks() -> Iterator[Block]:
            for block, W, W_L in split(system):
                rest = block.tau - np.einsum('jbs,b->js', W, chi, optimize=True) - np.einsum('jps,p->js', W_L, values)
                yield replace(block, rows=columns(W_L), tau=rest)

        solution = wls(triangulate(blocks()))
        spread = sandwich(blocks, solution)
        pull, moment = 0.0, 0.0
        for block, W, W_L in split(system):
            weighted = columns(W_L) * (solution.row_factors(block) ** 2)[:, None]
            if covariance is not None:
                pull += np.einsum('jus,jbs->ub', weighted, W, optimize=True)
            if gains is not None:
                # A wrong gain scales the torque of the loaded robot and, through the parameters, the prediction of the
                # bare one.
                change = motor_part(block.tau, gains.coupling) - np.einsum(
                    'jbs,bm->jms', W, gains.sensitivity, optimize=True
                )
                moment += np.einsum('jus,jms->um', weighted, change, optimize=True)
        if covariance is not None:
            S = solution.inverse @ pull
            spread = spread + S @ covariance @ S.T
        if gains is not None:
            sensitivity = solution.inverse @ moment
            spread = spread + sensitivity @ gains.relative @ sensitivity.T
        return solution.chi, spread, np.isfinite(solution.inflation)

    free = np.eye(COUNT)[:, ~mask] if position is None else point_mass(1.0, position)[:, None]
    x, spread, shown = estimate(lambda W_L: np.einsum('jps,pu->jus', W_L, free))
    whole = free @ spread @ free.T
    deviation = np.where(np.abs(free) @ ~shown > 0, np.inf, np.sqrt(np.maximum(np.diag(whole), 0.0)))
    by_joint: dict[str, tuple[float, float]] = {}
    if position is not None:
        apart = np.eye(problem.model.n)
        masses, spread, shown = estimate(lambda W_L: np.einsum('jps,p,ju->jus', W_L, free[:, 0], apart))
        for j in np.flatnonzero(shown):
            by_joint[problem.model.joint_names[j]] = float(masses[j]), float(np.sqrt(spread[j, j]))
    return PayloadParameters(values + free @ x, deviation, mask, whole, mass_by_joint=by_joint)


def _body(values: FloatArray) -> str:
    """Say mass and centre of mass of a payload's ten parameters; the mass alone where it is none."""
    moments, mass = values[6:9], float(values[9])
    if mass <= 0:
        return f'{mass:.3g} kg'
    return f'{mass:.3g} kg at ({", ".join(f"{round(value, 3) + 0.0:g}" for value in moments / mass)}) m'


def payload_differences(
    problem: Problem, chi: FloatArray, loaded: Sequence[Observation], joint: str | None = None
) -> list[Reason]:
    """Return a reason naming the recording whose payload differs most from that of the others, if any.

    problem, chi (b,): the robot; loaded: observations with torques in N·m; joint: of the payload's link. One payload
    for all recordings is compared with another one for one of them, by their likelihood (see `evidence`); it has to
    matter, too: make a twentieth of the torque.
    """
    if len(loaded) < 2:
        return []
    system = payload_problem(problem, loaded, joint=joint)
    blocks = []
    for block, W, W_L in split(system):
        rest = block.tau - np.einsum('jbs,b->js', W, chi, optimize=True)
        blocks.append((W_L, rest, block.tau, np.full(rest.shape[1], block.observation)))
    rows, rest, tau, index = (np.concatenate(part, axis=-1) for part in zip(*blocks, strict=True))
    weight = np.concatenate([row_weights(system, k) for k in range(len(loaded))], axis=1)
    pooled = NormalEquations(rows, weight)
    given = pooled.fit(rest)
    size = ((tau * weight) ** 2).sum(axis=1)
    share = ((rest * weight) ** 2).sum(axis=1)
    candidates = []
    for k in range(1 if len(loaded) == 2 else 0, len(loaded)):
        normal = NormalEquations(np.concatenate([rows, rows * (index == k)], axis=1), weight)
        fitted = normal.fit(rest)
        value = gain(given, fitted, effective_samples(normal.residuals(rest, fitted.chi), weight, index))
        effect = float(np.sqrt(max(share @ (given.unexplained - fitted.unexplained) / size.sum(), 0.0)))
        candidates.append((value, effect, k, fitted.chi))
    value, effect, k, changed = max(candidates, key=lambda candidate: candidate[0])
    left = float(np.sqrt(share @ given.unexplained / size.sum()))
    if value < LOG_LIKELIHOOD_THRESHOLD or (effect < MIN_EFFECT and not explains_most(effect, left)):
        return []
    others, more = changed.reshape(2, len(INERTIAL))
    return [
        Reason(
            'payload_mixed',
            f'the loaded recordings have different payloads, or one payload in two positions: {loaded[k].name} about '
            f'{_body(others + more)}, the others {_body(others)}, which makes '
            f'{100 * effect:.3g} % of the torque (log-likelihood +{value:.0f}); identify one payload at a time',
        )
    ]
