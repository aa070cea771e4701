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

r"""Whether the motion determines the parameters, and whether a prediction of torque holds.

The condition number of the regressor with columns scaled to norm 1 is the largest growth of noise. With covariance C of
the parameters, the torque predicted for a row w has the deviation √(w C wᵀ). Its mean square over the samples in
motion, as a share of the torque, is the error to expect of a prediction from sound recordings. A larger residual is
compared with those of other signs and orders of the torques.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.diagnostics import poorly_determined_parameters
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, overall_residual
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.changes import order_changes, sign_changes
from joint_dynamics.identification.reliability.verdict import Reason


def excitation_reasons(
    names: list[str], solution: Solution, condition_limit: float, still: Sequence[str] = ()
) -> list[Reason]:
    """Return why the result is not reliable, one Reason each; none where it is. still: joints that never move."""
    reasons = []
    if not solution.condition_number <= condition_limit:
        poorly_determined = poorly_determined_parameters(names, solution)
        number = f'{solution.condition_number:.3g}' if np.isfinite(solution.condition_number) else 'infinite'
        listed = f'; not well determined: {", ".join(poorly_determined)}' if poorly_determined else ''
        unmoved = '' if not still else f'; {", ".join(still)} never move{"s" if len(still) == 1 else ""}'
        reasons.append(
            Reason(
                'excitation',
                f'the recordings do not excite the robot enough: condition number {number}, expected at most '
                f'{condition_limit:g}{unmoved}{listed}; record a motion planned with `joint-dynamics excite`',
            )
        )
    return reasons


def predicted_deviation(problem: Problem, covariance: FloatArray) -> float:
    """Return 100 √(Σ w C wᵀ / Σ τ²) over the samples in motion, NaN where there are none.

    covariance (b, b): of the problem's first b columns.
    """
    spread = size = 0.0
    b = len(covariance)
    for block in problem.blocks():
        moving = np.ones_like(block.tau) if block.resting is None else np.where(block.resting, 0.0, 1.0)
        for rows, weight, tau in zip(block.rows, moving, block.tau, strict=True):
            moved = rows[:b] * weight
            spread += float(np.sum(moved * (covariance @ moved)))
            size += float(np.sum((tau * weight) ** 2))
    return 100 * float(np.sqrt(max(spread, 0.0) / size)) if size > 0 else float('nan')


def judge_prediction(
    fits: Sequence[Fit], training_percent: float | None = None, deviation_percent: float | None = None
) -> list[Reason]:
    """Return why predictions cannot be relied on.

    training_percent: residual of the training (moving), where known; deviation_percent: share of the torque in motion
    by the deviations of the parameters, where known.
    """
    tau = np.concatenate([fit.tau for fit in fits])
    predicted = np.concatenate([fit.predicted for fit in fits])
    moving = np.concatenate([fit.moving for fit in fits])
    overall = overall_residual(fits, moving=True)[1]
    training = training_percent or 0.0
    if not overall > min(
        thresholds.USELESS_PERCENT, max(100 * thresholds.MIN_EFFECT, thresholds.EQUAL_RATIO_TO_TRAINING * training)
    ):
        return []
    names = fits[0].joint_names
    tau, predicted = np.where(moving, tau, 0.0), np.where(moving, predicted, 0.0)
    left = float(np.sum((tau - predicted) ** 2))
    deviation = deviation_percent or 0.0
    changes = [*sign_changes(names), *(change for change in order_changes(names) if change.code == 'torque_order')]
    columns = [change.mend.torque_columns(names) for change in changes]
    rests = [float(((tau[:, order] * factor - predicted) ** 2).sum()) for order, factor in columns]
    rest, best = min(rests), changes[int(np.argmin(rests))]
    reasons = []
    if rest < min(thresholds.BETTER**2 * left, left - thresholds.MIN_EFFECT**2 * np.sum(tau**2)):
        share = 100 * np.sqrt(rest / np.sum(tau**2))
        reasons.append(
            Reason(
                best.code,
                f'{best.text}: corrected, the residual is {share:.3g} % of the torque instead of {overall:.3g} %; '
                'correct the recording, or use its own description',
            )
        )
    if not overall > min(
        thresholds.USELESS_PERCENT, max(thresholds.POOR_PERCENT, thresholds.MAX_RATIO_TO_TRAINING * training)
    ):
        return reasons
    against = '' if training_percent is None else f', {training_percent:.3g} % in training'
    reasons.append(
        Reason(
            'validation',
            f'the residual is {overall:.3g} % of the torque in motion{against}: '
            + (
                f'deviations of the parameters explain {deviation:.3g} %; train on motions like this one'
                if deviation > thresholds.EXPLAINED_SHARE * overall
                else 'check that robot, payload, mounting and units are those of the training, or train on motions '
                'like this one'
            ),
        )
    )
    return reasons
