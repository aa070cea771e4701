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

"""What the residuals of the given explanation say: torque that neither motion nor details of friction explain."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import RANK, ExplanationFit, gain
from joint_dynamics.identification.reliability.verdict import Reason

RATED_FACTOR = 2.0  # rated torque of the strongest joint over the largest one of a recording, at least


def at_floor(alternatives: Alternatives, rated: FloatArray) -> BoolArray:
    """Return which joints leave no more over than their sensors resolve, (n,).

    rated (n,) [N·m]; where that is NaN, not known, `RATED_FACTOR` times the largest torque of any joint stands for it.
    """
    samples = alternatives.samples
    rated = np.where(np.isfinite(rated), rated, RATED_FACTOR * np.abs(samples.tau).max())
    square = (alternatives.normal.residuals(samples.tau, alternatives.given.chi) ** 2).sum(axis=1)
    left = np.sqrt(square / np.maximum((samples.weight**2).sum(axis=1), 1.0))
    return np.asarray(left < thresholds.FLOOR_SHARE * rated)


def residual_reasons(
    alternatives: Alternatives,
    better: ExplanationFit | None,
    noise: FloatArray | None = None,
    floor: BoolArray | None = None,
) -> list[Reason]:
    """Return what the residuals of the given explanation say.

    better: an explanation that is, if any; noise (n,): of each torque (rms) [N·m], none where not given; floor (n,):
    joints of which nothing is said (`at_floor`).
    """
    given, normal, samples, names = alternatives.given, alternatives.normal, alternatives.samples, alternatives.names
    residual = np.sqrt((normal.residuals(samples.tau, given.chi) ** 2).sum(axis=1))
    variation, moves = _variation(alternatives), _moving(alternatives)
    floor = np.zeros(len(names), dtype=bool) if floor is None else floor
    rest = residual if better is None else residual * np.sqrt(better.unexplained / np.maximum(given.unexplained, 1e-12))
    share = np.minimum(residual, rest) / np.where(variation > 0, variation, np.inf)
    within = _share_within(alternatives) * np.minimum(rest / np.where(residual > 0, residual, np.inf), 1.0)
    looked_at = np.flatnonzero(moves & ~floor).tolist()
    unrelated = [j for j in looked_at if share[j] > thresholds.UNRELATED_SHARE or within[j] > 1]
    reasons = []
    if unrelated:
        listed = ', '.join(f'{names[j]} {100 * max(share[j], within[j]):.0f} %' for j in unrelated)
        reasons.append(
            Reason(
                'torque_unrelated',
                f'the torque has little to do with the motion (left over of its variation: {listed}): look whether '
                'effort was measured, and whether robot and joints are the right ones',
                joints=tuple(names[j] for j in unrelated),
            )
        )
    if better is not None:
        return reasons
    beyond = [j for j in _beyond_friction(alternatives, noise) if j not in unrelated and not floor[j]]
    if beyond:
        listed = ', '.join(f'{names[j]} {100 * residual[j] / max(variation[j], 1e-12):.0f} %' for j in beyond)
        reasons.append(
            Reason(
                'residual',
                f'more torque is left over than details of friction make ({listed} of its variation): look whether '
                'robot, joints, units and mounting are the right ones',
            )
        )
    free = normal.free(samples.tau)
    lost = gain(given, free, np.where(floor, 0.0, alternatives.count))
    if lost > thresholds.LOG_LIKELIHOOD_THRESHOLD:
        wrong = [
            names[j] for j, columns in enumerate(normal.friction) if len(columns) and normal.power[j] @ free.chi < 0
        ]
        impossible = f'friction that drives ({", ".join(wrong)})' if wrong else 'rotor inertias below zero'
        reasons.append(
            Reason(
                'friction_sign' if wrong else 'negative_inertia',
                f'{impossible} would explain the torques clearly better (log-likelihood +{lost:.0f}), '
                'which no robot has: look at the signs of efforts and positions, and at the time',
            )
        )
    return reasons


def _beyond_friction(alternatives: Alternatives, noise: FloatArray | None) -> list[int]:
    """Return the joints that move and leave more torque over than noise and details of friction make."""
    samples, size = alternatives.samples, alternatives.power
    square = alternatives.given.unexplained * size
    if noise is not None:
        square = np.maximum(square - noise**2 * (samples.weight**2).sum(axis=1), 0.0)
    residual, variation = np.sqrt(square), _variation(alternatives)
    # friction that others of the joint's terms cancel explains no more than the torque there is
    friction = np.minimum(_friction(alternatives), np.sqrt(size))
    moves = _moving(alternatives)
    return [
        j
        for j in range(len(size))
        if moves[j]
        and residual[j]
        > max(thresholds.FRICTION_DETAILS * friction[j], thresholds.MIN_UNEXPLAINED_SHARE * variation[j])
    ]


def _variation(alternatives: Alternatives) -> FloatArray:
    """Return the size of each torque beyond its mean, over the weighted samples, (n,)."""
    samples = alternatives.samples
    return np.sqrt(_power_within(samples.tau, samples.weight, np.zeros_like(samples.part)))


def _power_within(values: FloatArray, weight: FloatArray, part: IntArray) -> FloatArray:
    """Return the weighted power of values (joints, samples) beyond their mean in each part, (joints,)."""
    power = np.zeros(len(values))
    for index in np.unique(part):
        x, square = values[:, part == index], weight[:, part == index] ** 2
        mean = (x * square).sum(axis=1) / np.maximum(square.sum(axis=1), np.finfo(float).tiny)
        power += ((x - mean[:, None]) ** 2 * square).sum(axis=1)
    return power


def _moving(alternatives: Alternatives) -> BoolArray:
    """Return which joints move at all, (n,): what one that never does holds is friction, which may be anything."""
    return np.asarray((alternatives.samples.weight == 1.0).any(axis=1))


def _share_within(alternatives: Alternatives) -> FloatArray:
    """Return what is left over of each torque's variation within the recordings (rms), (n,).

    Means of a few recordings are explained by as many parameters, whatever moves within them. Above one the motion
    explains less than none would: it is worse than a constant in each recording. One recording has no other mean.
    """
    samples = alternatives.samples
    if np.ptp(samples.part) == 0:
        return np.zeros(len(samples.tau))
    left = samples.tau - np.einsum('jbs,b->js', alternatives.rows, alternatives.given.chi, optimize=True)
    rest, power = (_power_within(values, samples.weight, samples.part) for values in (left, samples.tau))
    return np.asarray(np.sqrt(rest / np.where(power > 0, power, np.inf)))


def _friction(alternatives: Alternatives) -> FloatArray:
    """Return the size to expect of each joint's friction torque over the weighted samples, (n,).

    Its square is that of the estimate and the estimate's variance: where a joint moves one way only, nothing but its
    stays tells Coulomb friction from an offset, and an offset that takes it up leaves the rest no less a matter of
    friction.
    """
    normal, given = alternatives.normal, alternatives.given
    covariance = covariance_of(alternatives)
    size = np.zeros(len(normal.friction))
    for j, columns in enumerate(normal.friction):
        if len(columns):
            rows = normal.rows[j][columns]
            spread = float(np.trace(rows @ rows.T @ covariance[np.ix_(columns, columns)]))
            size[j] = np.sqrt(np.sum((rows.T @ given.chi[columns]) ** 2) + max(spread, 0.0))
    return size


def covariance_of(alternatives: Alternatives) -> FloatArray:
    """Return the covariance (b, b) of the given explanation; what no sample shows has a large variance, and not none.

    Samples count as the independent ones they are worth.
    """
    information = alternatives.information
    scale = np.sqrt(np.maximum(np.diag(information), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    inverse = 1.0 / np.maximum(values, RANK * max(float(values[-1]), np.finfo(float).tiny))
    return (vectors * inverse) @ vectors.T / np.outer(scale, scale)
