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

"""Whether a prediction of torque holds: its residual, and simple changes of the torques that explain it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.residuals import Fit, overall_residual
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.changes import torque_changes
from joint_dynamics.identification.reliability.verdict import Reason

Change = tuple[float, str, str]
"""Residual with a change of the torques, Σ (N·m)²; its code; its text."""


def judge_prediction(
    fits: Sequence[Fit],
    training_percent: float | None = None,
    others: Sequence[Change] = (),
    deviation_percent: float | None = None,
) -> list[Reason]:
    """Return why predictions cannot be relied on.

    training_percent: residual of the training (moving), where known; others: further changes that would explain the
    torques; deviation_percent: share of the torque in motion by the deviations of the parameters, where known. An
    expected residual is no evidence of a change with parameters of its own (a payload).
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
    expected = deviation > thresholds.EXPLAINED_SHARE * overall
    many: Sequence[Change] = () if expected else others
    if overall < 200 * thresholds.MIN_EFFECT:
        # at a small residual, a change with parameters of its own has to do better than other friction
        least = thresholds.BETTER**2 * _left_by_friction(fits)
        many = [change for change in many if change[0] < least]
    changes = sorted([*_changes(tau, predicted, names), *many], key=lambda change: change[0])
    reasons = []
    if changes and changes[0][0] < min(thresholds.BETTER**2 * left, left - thresholds.MIN_EFFECT**2 * np.sum(tau**2)):
        rest, code, text = changes[0]
        share = 100 * np.sqrt(rest / np.sum(tau**2))
        reasons.append(
            Reason(
                code,
                f'{text}: corrected, the residual is {share:.3g} % of the torque instead of {overall:.3g} %; '
                'correct the recording, or use its own description',
            )
        )
    if not overall > min(
        thresholds.USELESS_PERCENT, max(thresholds.POOR_PERCENT, thresholds.MAX_RATIO_TO_TRAINING * training)
    ):
        return reasons
    unrelated = [name for j, name in enumerate(names) if _unrelated(tau[:, j], predicted[:, j], moving[:, j])]
    if unrelated and not reasons and not expected:
        reasons.append(
            Reason(
                'torque_unrelated',
                f'the torque of {", ".join(unrelated)} is unrelated to its prediction: check that it was measured, '
                'and that robot, joints and mounting are those of the description',
            )
        )
    against = '' if training_percent is None else f', {training_percent:.3g} % in training'
    reasons.append(
        Reason(
            'validation',
            f'the residual is {overall:.3g} % of the torque in motion{against}: '
            + (
                f'deviations of the parameters explain {deviation:.3g} %; train on motions like this one'
                if expected
                else 'check that robot, payload, mounting and units are those of the training, or train on motions '
                'like this one'
            ),
        )
    )
    return reasons


def _left_by_friction(fits: Sequence[Fit]) -> float:
    """Return the residual in motion, Σ (N·m)², with another friction and offset of every joint."""
    left = 0.0
    residual, dq = (np.concatenate([getattr(fit, name) for fit in fits]) for name in ('residual', 'dq'))
    moving = np.concatenate([fit.moving for fit in fits])
    for rest, speed, moves in zip(residual.T, dq.T, moving.T, strict=True):
        columns = np.column_stack([np.sign(speed), speed, np.ones_like(speed)])[moves]
        left += float(np.sum((rest[moves] - columns @ np.linalg.lstsq(columns, rest[moves], rcond=None)[0]) ** 2))
    return left


def _unrelated(tau: FloatArray, predicted: FloatArray, moving: FloatArray) -> bool:
    y, residual = tau[moving], (tau - predicted)[moving]
    return bool(moving.sum() >= 20 and residual.std() > thresholds.UNRELATED_SHARE * max(y.std(), 1e-12))


def _changes(tau: FloatArray, predicted: FloatArray, names: tuple[str, ...]) -> Iterator[Change]:
    """Yield (residual of the measured torques, code, text)."""
    for change in torque_changes(names):
        order, factor = change.mend.torque_columns(names)
        yield float(((tau[:, order] * factor - predicted) ** 2).sum()), change.code, change.text
    product, size, expected = (tau * predicted).sum(axis=0), (tau**2).sum(axis=0), (predicted**2).sum(axis=0)
    own = size - 2 * product + expected
    scale = np.divide(product, expected, out=np.ones(len(names)), where=expected > 0)
    fitted = size - np.where(expected > 0, scale * product, 0.0)
    off = (
        (scale > 0)
        & ((scale > thresholds.DATA_SHEET_FACTOR) | (scale < 1 / thresholds.DATA_SHEET_FACTOR))
        & (fitted < 0.25 * size)
    )
    if off.sum() > max(1, len(names) // 2):
        factors = ', '.join(f'{name} {factor:.3g}' for name, factor in zip(names, scale, strict=True))
        yield (
            float(fitted.sum()),
            'current',
            f'the torques are these many times the predicted ones: {factors}: currents in A, or another unit than N·m',
        )
    for j in np.flatnonzero(off).tolist():
        text = f'the torque of {names[j]} is {scale[j]:.3g} times the predicted one'
        yield float(own.sum() - own[j] + fitted[j]), 'drive_gain', text
