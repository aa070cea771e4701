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

"""All checks of a training: faults of the recordings, better explanations, differences, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, finite
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.observations import torque_noise
from joint_dynamics.identification.regression.diagnostics import poorly_determined_parameters, positive_inertia
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, overall_residual
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.causes import find_causes
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.identification.reliability.joints import NOT_POSITIVE, judge_joints, rated_torques, uses
from joint_dynamics.identification.reliability.prediction import (
    excitation_reasons,
    judge_prediction,
    predicted_deviation,
)
from joint_dynamics.identification.reliability.residual_reasons import at_floor, check_units, residual_reasons
from joint_dynamics.identification.reliability.signals import confirm_stamps, faults
from joint_dynamics.identification.reliability.verdict import Reason, without_duplicates
from joint_dynamics.recording import Recording

MOST_SAMPLES = 1024  # samples looked at; at twice the bandwidth good recordings of a minute keep 400


@dataclass(frozen=True)
class CheckResult:
    """reasons, the most telling first; notes: what does not speak against the result; summary: of summary.json.

    weak: joints whose torque is no better known than their sensor resolves.
    """

    reasons: Sequence[Reason]
    notes: Sequence[str] = ()
    summary: dict[str, Any] = field(default_factory=dict)
    weak: Sequence[str] = ()


def _poor(alternatives: Alternatives, floor: BoolArray) -> list[str]:
    """Return the joints at the floor of their sensors with a residual above that of model details."""
    left = np.sqrt(alternatives.given.unexplained)
    return [
        name
        for name, poor in zip(alternatives.names, floor & (left > thresholds.MIN_UNEXPLAINED_SHARE), strict=True)
        if poor
    ]


def _thinned(problem: Problem) -> Problem:
    """Return a problem of `MOST_SAMPLES` kept samples at most."""
    stride = -(-sum(problem.samples) // MOST_SAMPLES)
    if stride == 1:
        return problem
    return problem.on([replace(one, decimator=one.decimator.thinned(stride)) for one in problem.observations])


def check_training(problem: Problem, recordings: Sequence[Recording]) -> CheckResult:
    """Check the recordings of a problem, as the settings state it; recordings: as they came, before any averaging."""
    own = [reason for recording in recordings for reason in faults(recording)]
    # columns formed from a solution would favour the explanation of that solution
    problem = _thinned(problem.without_state())
    samples = replace(samples_of(problem), timed=all(map(confirm_stamps, recordings)))
    alternatives = Alternatives(problem.model, samples)
    rated, placeholder = rated_torques(problem.model)
    units = check_units(alternatives, rated)
    measured = [reason for reason in own if 'recording' in reason.mend][:1]
    causes = find_causes(alternatives, problem.observations, measured)
    # faults with a correction are among the causes
    said = {cause.code for cause in causes.reasons}
    if 'time_scale' in said | {reason.code for reason in own}:
        # wrong stamps contradict the speed of a single moving joint, too
        said.add('speed_mismatch')
    own = [reason for reason in own if reason.code not in said]
    floor = at_floor(alternatives, rated)
    # what a sensor resolves is not known in another unit; a signal that is stuck is said to be
    silent = [name for one in own if one.code in ('stuck', 'dead_band') for name in one.joints]
    noise = torque_noise(problem.observations)
    judged = floor | np.isin(alternatives.names, silent)
    left = [] if units else residual_reasons(alternatives, causes.fitted(), noise, judged)
    # what a recording shows by itself comes first: what else explains it may follow from that;
    # a torque that no correction explains is one thing that is wrong; the others were inferred with it
    inferred = sorted([*causes.reasons, *units, *left], key=lambda reason: reason.code != 'torque_unrelated')
    notes = list(causes.unproved)
    if placeholder:
        notes.append(f'the effort limits of the robot file are placeholders ({placeholder}): they are ignored')
    return CheckResult(
        without_duplicates([*own, *inferred]),
        notes,
        {'delay': causes.first.delay.figures, **causes.summary()},
        _poor(alternatives, floor),
    )


def check_recordings(
    stated: Problem,
    problem: Problem,
    solution: Solution,
    recordings: Sequence[Recording],
    training: Sequence[Fit],
    validation: Sequence[Fit],
    unseen: Problem | None,
    settings: IdentificationSettings,
    covariance: FloatArray,
) -> CheckResult:
    """Judge excitation, the training recordings (as they came, in N·m or A), and the prediction of the others.

    stated: the problem as the settings state it, before a method adds terms: every method judges the recordings alike.
    problem, solution: as solved. validation, unseen: fits and problem of the recordings that were not used in training,
    None without any. covariance (b, b): of the solution's parameters.
    """
    checked = check_training(stated, recordings)
    predicted, notes, summary = list[Reason](), list[str](), dict[str, Any]()
    if unseen is not None:
        percent, deviation = overall_residual(training, moving=True)[1], predicted_deviation(unseen, covariance)
        if not np.isfinite(deviation):
            notes.append('no joint moves in the validation: it says nothing of the torque in motion')
        summary['validation_deviation_percent'] = finite(deviation)
        predicted = judge_prediction(validation, percent, deviation)
        named = {reason.code for reason in checked.reasons}
        predicted = [reason for reason in predicted if reason.code not in named]
    reasons = [
        *excitation_reasons(problem.names, solution, settings.condition_limit, problem.still_joints),
        *checked.reasons,
        *predicted,
    ]
    reasons = without_duplicates(reasons)
    seen = validation or training
    joints = judge_joints(seen, reasons, checked.weak, rated_torques(problem.model)[0])
    positive = positive_inertia(problem, solution.chi)
    determined = not poorly_determined_parameters(problem.names, solution)
    good = uses(joints, reasons, determined, positive, problem.model.weightless)
    notes = [*checked.notes, *notes, *(str(one) for one in joints if one.state == 'weak')]
    verdicts = {'joints': {one.name: one.summary() for one in joints}, 'uses': good}
    notes += [] if positive else [f'{NOT_POSITIVE}: laws, gains and simulators refuse it']
    return CheckResult(reasons, notes, checked.summary | summary | verdicts, checked.weak)
