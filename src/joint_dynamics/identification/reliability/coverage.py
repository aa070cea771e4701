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

r"""Whether the training motion excites the robot, and covers another motion.

The condition number of the regressor with columns scaled to norm 1 is the largest growth of noise. With covariance C of
the parameters, the torque predicted for a row w has the deviation √(w C wᵀ). Its mean square over the samples in
motion, as a share of the torque, is the error to expect of a prediction from sound recordings. Speeds, accelerations
and positions outside those of the training are listed beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.description.schema import MAX_NUMBER
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.diagnostics import poorly_determined_parameters
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability import thresholds
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


@dataclass(frozen=True)
class Coverage:
    """reasons, notes; summary: `coverage` of summary.json."""

    reasons: Sequence[Reason] = ()
    notes: Sequence[str] = ()
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Training:
    """The training motion: covariance of its parameters, and its ranges.

    covariance (b, b): of the first b columns of a problem of this robot; deviation: of the torque it predicts for the
    training motion, in percent of that; percent: residual of the torque in motion; position (n, 2) [rad], speed,
    acceleration (n,): lowest and highest, and largest.
    """

    covariance: FloatArray
    deviation: float
    percent: float
    position: FloatArray
    speed: FloatArray
    acceleration: FloatArray

    @staticmethod
    def of(problem: Problem, covariance: FloatArray, percent: float) -> Training:
        """Return that of a training's problem."""
        speed, acceleration = (_largest(problem, key) for key in ('dtheta', 'ddtheta'))
        deviation = predicted_deviation(problem, covariance)
        return Training(covariance, deviation, percent, _extent(problem), speed, acceleration)

    def document(self, names: Sequence[str]) -> dict[str, Any]:
        """Return it as plain numbers of six digits, quantities by joint; covariance: its lower triangle by rows."""

        def plain(value: Any) -> Any:
            return [plain(each) for each in value] if np.ndim(value) else float(f'{value:.6g}')

        ranges = {key: getattr(self, key) for key in ('position', 'speed', 'acceleration')}
        return {
            'deviation_percent': plain(self.deviation),
            **{key: dict(zip(names, plain(values), strict=True)) for key, values in ranges.items()},
            # undetermined parameters have the largest variance of a description
            'covariance': [
                plain(row[: k + 1]) for k, row in enumerate(np.clip(self.covariance, -MAX_NUMBER, MAX_NUMBER))
            ],
        }

    @staticmethod
    def from_document(document: Mapping[str, Any], percent: float, names: Sequence[str]) -> Training:
        """Return that of `document`, joints in the order of `names`; raise JointDynamicsError where it is no such."""
        try:
            rows = document['covariance']
            covariance = np.zeros((len(rows), len(rows)))
            for k, row in enumerate(rows):
                covariance[k, : k + 1] = covariance[: k + 1, k] = row
            position, speed, acceleration = (
                np.array([document[key][name] for name in names], dtype=float)
                for key in ('position', 'speed', 'acceleration')
            )
            deviation = float(document['deviation_percent'])
        except (KeyError, TypeError, ValueError) as error:
            raise JointDynamicsError(
                f'dynamics description: provenance.coverage: expected what `identify` writes there, found {error!r}'
            ) from None
        return Training(covariance, deviation, percent, position, speed, acceleration)


def judge_coverage(training: Training, unseen: Problem, percent: float) -> Coverage:
    """Judge the motion of `unseen` against that of the training; percent: residual of its torque in motion."""
    own, other = training.deviation, predicted_deviation(unseen, training.covariance)
    left = leaves(training, unseen)
    summary = {
        'coverage': {
            'training_deviation_percent': finite(own),
            'validation_deviation_percent': finite(other),
            'beyond_training': left,
        }
    }
    if not np.isfinite(other):
        return Coverage((), ['no joint moves in the validation: it says nothing of the torque in motion'], summary)
    where = f' ({"; ".join(left)})' if left else ''
    failed = percent > max(thresholds.POOR_PERCENT, thresholds.MAX_RATIO_TO_TRAINING * training.percent)
    if failed and other > max(thresholds.DEVIATION_RATIO * own, thresholds.EXPLAINED_SHARE * percent):
        text = (
            f'the training motion is too poor for the validation motion{where}: the deviations of the parameters alone '
            f'make {other:.3g} % of its torque (training: {own:.3g} %), left over are {percent:.3g} %; train on '
            'motions more like it'
        )
        return Coverage([Reason('coverage', text)], (), summary)
    # a prediction that came out well enough is not refused because it might not have
    if percent > max(thresholds.EQUAL_RATIO_TO_TRAINING * training.percent, 100 * thresholds.MIN_EFFECT):
        within = (
            f'and it leaves the training{where}: the smaller figure does not hold for motions like this one'
            if left
            else 'and it lies within the training: look whether robot, load and temperature were the same'
        )
        note = (
            f'the validation motion is predicted worse than the training motion ({percent:.3g} against '
            f'{training.percent:.3g} % of the torque); deviations of the parameters make {other:.2g} % of it '
            f'(training: {own:.2g} %), {within}'
        )
        return Coverage((), [note], summary)
    return Coverage((), (), summary)


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


def _largest(problem: Problem, key: str) -> FloatArray:
    return np.asarray(
        np.max([np.abs(getattr(part, key)[part.kept]).max(axis=0) for part in problem.observations], axis=0)
    )


def _extent(problem: Problem) -> FloatArray:
    low = np.min([part.q[part.kept].min(axis=0) for part in problem.observations], axis=0)
    high = np.max([part.q[part.kept].max(axis=0) for part in problem.observations], axis=0)
    return np.stack([low, high], axis=1)


def leaves(training: Training, unseen: Problem) -> list[str]:
    """Return what of the motion of `unseen` lies outside that of the training, in words, joint by joint."""
    lines = []
    speed, acceleration, extent = _largest(unseen, 'dtheta'), _largest(unseen, 'ddtheta'), _extent(unseen)
    for j, name in enumerate(unseen.model.joint_names):
        for what, new, known, unit in (
            ('speed', speed[j], training.speed[j], 'rad/s'),
            ('acceleration', acceleration[j], training.acceleration[j], 'rad/s²'),
        ):
            if new > thresholds.RANGE_TOLERANCE * known:
                lines.append(f'{what} of {name} {new:.3g} {unit}, in training {known:.3g}')
        (low, high), (least, most) = training.position[j], extent[j]
        if min(least - low, high - most) < -(thresholds.RANGE_TOLERANCE - 1) * (high - low):
            lines.append(f'position of {name} {least:.3g} to {most:.3g}, in training {low:.3g} to {high:.3g}')
    return lines
