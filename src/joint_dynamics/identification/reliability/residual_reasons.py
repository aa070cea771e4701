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

"""Reasons from the torques of the given explanation: their size, and residuals beyond details of friction.

Efforts are not in N·m if they are a fraction of the torques by the inertials or the effort limits of the robot file.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain, regressor_columns
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import INERTIAL

RATED_FACTOR = 2.0  # rated torque of the strongest joint over the largest one of a recording, at least


def at_floor(alternatives: Alternatives, rated: FloatArray) -> BoolArray:
    """Return the joints whose residual is at the resolution of their sensors, (n,).

    rated (n,) [N·m]; where that is NaN, not known, `RATED_FACTOR` times the largest torque of any joint stands for it.
    """
    samples = alternatives.samples
    rated = np.where(np.isfinite(rated), rated, RATED_FACTOR * np.abs(samples.tau).max())
    square = (alternatives.normal.residuals(samples.tau, alternatives.given.chi) ** 2).sum(axis=1)
    left = np.sqrt(square / np.maximum((samples.weight**2).sum(axis=1), 1.0))
    return np.asarray(left < thresholds.FLOOR_SHARE * rated)


def residual_reasons(
    alternatives: Alternatives, better: ExplanationFit | None, noise: FloatArray, floor: BoolArray
) -> list[Reason]:
    """Return the reasons from the residuals of the given explanation.

    better: an explanation that is, if any; noise (n,): of each torque (rms) [N·m]; floor (n,): joints of which nothing
    is said (`at_floor`).
    """
    given, normal, samples, names = alternatives.given, alternatives.normal, alternatives.samples, alternatives.names
    residual = np.sqrt((normal.residuals(samples.tau, given.chi) ** 2).sum(axis=1))
    variation, moves = _variation(alternatives), _moving(alternatives)
    rest = residual if better is None else residual * np.sqrt(better.unexplained / np.maximum(given.unexplained, 1e-12))
    share = np.minimum(residual, rest) / np.where(variation > 0, variation, np.inf)
    looked_at = np.flatnonzero(moves & ~floor).tolist()
    unrelated = [j for j in looked_at if share[j] > thresholds.UNRELATED_SHARE]
    reasons = []
    if unrelated:
        listed = ', '.join(f'{names[j]} {100 * share[j]:.0f} %' for j in unrelated)
        reasons.append(
            Reason(
                'torque_unrelated',
                f'the torque hardly depends on the motion (residual, in % of its variation: {listed}): check that '
                'effort was measured, and that robot and joints are right',
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
                f'the residual is larger than details of friction explain ({listed} of its variation): check robot, '
                'joints, units and mounting',
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
                f'{impossible} would explain the torques significantly better (log-likelihood +{lost:.0f}), but no '
                'robot has them: check the signs of efforts and positions, and the time stamps',
            )
        )
    return reasons


def _beyond_friction(alternatives: Alternatives, noise: FloatArray) -> list[int]:
    """Return the joints that move and leave more torque over than noise and details of friction make."""
    samples, size = alternatives.samples, alternatives.power
    square = alternatives.given.unexplained * size - noise**2 * (samples.weight**2).sum(axis=1)
    residual, variation = np.sqrt(np.maximum(square, 0.0)), _variation(alternatives)
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
    tau, square = alternatives.samples.tau, alternatives.samples.weight**2
    mean = (tau * square).sum(axis=1) / np.maximum(square.sum(axis=1), np.finfo(float).tiny)
    return np.sqrt(((tau - mean[:, None]) ** 2 * square).sum(axis=1))


def _moving(alternatives: Alternatives) -> BoolArray:
    """Return which joints move at all, (n,): what one that never does holds is friction, which may be anything."""
    return np.asarray((alternatives.samples.weight == 1.0).any(axis=1))


def _friction(alternatives: Alternatives) -> FloatArray:
    """Return the norm of each joint's friction torque over the weighted samples, (n,)."""
    normal, chi = alternatives.normal, alternatives.given.chi
    rows = zip(normal.rows, normal.friction, strict=True)
    return np.array([np.linalg.norm(own[columns].T @ chi[columns]) for own, columns in rows])


def check_units(alternatives: Alternatives, rated: FloatArray) -> list[Reason]:
    """Return a reason where torques are a fraction of those by inertials and limits.

    rated: rated torques (n,) [N·m], NaN where not known (`joints.rated_torques`).
    """
    model, samples = alternatives.model, alternatives.samples
    largest = np.quantile(np.abs(samples.tau), 0.99, axis=1)
    if np.isfinite(rated).all() and np.all(largest < thresholds.SMALL_TORQUE_SHARE * rated):
        return [
            Reason(
                'current',
                f'no effort reaches {100 * thresholds.SMALL_TORQUE_SHARE:g} % of its limit in the robot file (largest: '
                f'{100 * float((largest / rated).max()):.2g} %): '
                'check whether it is a current (then give drive gains), or in another unit than N·m',
            )
        ]
    known = model.parameters is not None and np.any(model.parameters)
    factors = _factors(alternatives) if known else np.full(model.n, np.nan)
    seen = factors[np.isfinite(factors)]
    # far above them says nothing: many robot files hold a mass of 1 kg for every link
    if len(seen) >= 2 and np.median(seen) < 1 / thresholds.DISAGREEMENT_FACTOR:
        listed = ', '.join(
            f'{name} {factor:.3g}'
            for name, factor in zip(alternatives.names, factors, strict=True)
            if np.isfinite(factor)
        )
        return [
            Reason(
                'current',
                f'the efforts differ from those expected by the inertials of the robot file by these factors: '
                f'{listed}; check whether they are currents (then give drive gains), or in another unit than N·m',
            )
        ]
    return []


def _factors(alternatives: Alternatives) -> FloatArray:
    """Return s_j (n,) of τ_j ≈ s_j τ_file,j + friction + offset, NaN where the file's torque is not clearly in it."""
    model, samples = alternatives.model, alternatives.samples
    inertial = model.columns(INERTIAL)
    rows = regressor_columns(samples, model, independent=inertial)[:, : len(inertial)]
    stated = np.einsum('jps,p->js', rows, np.asarray(model.parameters, dtype=float)[inertial])
    factors = np.full(model.n, np.nan)
    for j, (weight, count) in enumerate(zip(samples.weight, alternatives.count, strict=True)):
        basis = np.linalg.qr((samples.own_rows(j) * weight).T)[0]
        y, x = (signal - basis @ (basis.T @ signal) for signal in (samples.tau[j] * weight, stated[j] * weight))
        power = float(x @ x)
        if power <= 0 or y @ y <= 0:
            continue
        share = float(x @ y) ** 2 / power / float(y @ y)
        clear = -0.5 * count * np.log(1 - min(share, 1 - 1e-9)) > thresholds.LOG_LIKELIHOOD_THRESHOLD
        if share > thresholds.EXPLAINED_SHARE and x @ y > 0 and clear:
            factors[j] = float(x @ y) / power
    return factors
