"""All checks of a training: faults of the recordings, better explanations, differences, what is left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.payload_difference import payload_changes
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.regression.friction_state import FrictionState
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, overall_residual
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.bodies import impossible_inertials
from joint_dynamics.identification.reliability.chow import ChowTest
from joint_dynamics.identification.reliability.coverage import Coverage, Training, judge_coverage
from joint_dynamics.identification.reliability.delay import Delay, estimate_delay
from joint_dynamics.identification.reliability.differences import compare_recordings, differences
from joint_dynamics.identification.reliability.excitation import excitation_reasons
from joint_dynamics.identification.reliability.explanation import Candidate, named
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.identification.reliability.prediction import judge_prediction
from joint_dynamics.identification.reliability.reasons import (
    chow_reason,
    delay_reason,
    difference_note,
    difference_reason,
    explanation_note,
    explanation_reason,
    scales_note,
    scales_reason,
    unconfirmed_scales,
)
from joint_dynamics.identification.reliability.residual_reasons import residual_reasons, torque_noise
from joint_dynamics.identification.reliability.resting import resting_reasons
from joint_dynamics.identification.reliability.robot_file import file_alternatives
from joint_dynamics.identification.reliability.scales import estimate_scales
from joint_dynamics.identification.reliability.signals import faults
from joint_dynamics.identification.reliability.thresholds import LATE, LOG_LIKELIHOOD_THRESHOLD, MIN_EFFECT, UNLIKELY
from joint_dynamics.identification.reliability.units import check_units
from joint_dynamics.identification.reliability.verdict import Reason, without_duplicates
from joint_dynamics.recording import Recording


@dataclass(frozen=True)
class CheckResult:
    """reasons, the most telling first; notes: what does not speak against the result; summary: of summary.json."""

    reasons: Sequence[Reason]
    notes: Sequence[str] = ()
    summary: dict[str, Any] = field(default_factory=dict)


def check_training(problem: Problem, recordings: Sequence[Recording]) -> CheckResult:
    """Check the recordings that a problem was built from; recordings: as they came, before anything was averaged."""
    own = [reason for recording in recordings for reason in faults(recording)]
    # terms chosen by held-out data, or formed from the solution, would hide from one explanation what they were
    # chosen by under another
    problem = problem.with_terms(
        [term for term in problem.terms if not term.selected and 'load' not in term.needs], FrictionState()
    )
    samples = samples_of(problem)
    alternatives = Alternatives(problem.model, samples)
    delay, noise = estimate_delay(alternatives, problem.observations), torque_noise(problem.observations)
    names = [observation.name for observation in problem.observations]
    changes = differences(alternatives, names)
    ahead = alternatives.ahead()
    candidates = [
        Candidate(alternatives.given, found.fitted, explanation_reason(alternatives, found))
        for found in ahead
        if found.clear
    ]
    from_file = file_alternatives(alternatives, ahead)
    by_file = [] if from_file is None else from_file.ahead()
    candidates += [
        Candidate(from_file.given, found.fitted, explanation_reason(from_file, found))
        for found in by_file
        if from_file is not None and found.clear
    ]
    if _delayed(delay):
        candidates.append(Candidate(alternatives.given, delay.fitted, delay_reason(delay)))
    scales = estimate_scales(alternatives)
    if scales.clear:
        candidates.append(Candidate(alternatives.given, scales.fitted, scales_reason(scales)))
    clear = [found for found in changes if found.clear]
    candidates += [
        Candidate(alternatives.given, found.fitted, difference_reason(found)) for found in clear if found.matters
    ]
    others = [
        Candidate(alternatives.given, found.fitted, explanation_reason(alternatives, found))
        for found in alternatives.tried
        if found.gain > 0 and not found.clear
    ]
    better = named(candidates, others)
    reasons = [
        *own,
        *resting_reasons(problem, alternatives),
        *(candidate.reason for candidate in better),
        *check_units(alternatives),
    ]
    reasons += residual_reasons(alternatives, better[0].fitted if better else None, noise)
    if not reasons:
        reasons += impossible_inertials(problem, alternatives)
    by_part = compare_recordings(alternatives, names)
    if not reasons:
        reasons += [chow_reason(name, found) for name, found in by_part.items() if _apart(by_part, found) > MIN_EFFECT]
    notes = [explanation_note(found) for found in (*ahead[:1], *by_file[:1]) if not found.clear and not reasons]
    notes += [difference_note(found) for found in clear if not found.matters]
    notes += [*scales_note(scales), *unconfirmed_scales(scales)]
    return CheckResult(
        without_duplicates(reasons),
        notes,
        {
            'delay': delay.summary(),
            **scales.summary(),
            'parts': {name: found.summary() for name, found in by_part.items()},
        },
    )


def with_faults(error: JointDynamicsError, recordings: Sequence[Recording]) -> JointDynamicsError:
    """Return an error for which nothing was identified, with the faults, one of a kind, that recordings show.

    Stamps in another unit make a motion that is too slow, or too short, for anything else to be said of it.
    """
    found: dict[str, Reason] = {}
    for recording in recordings:
        for reason in faults(recording):
            found.setdefault(reason.code, reason)
    return JointDynamicsError('; '.join([str(error), *map(str, found.values())])) if found else error


def _apart(by_part: Mapping[str, ChowTest], found: ChowTest) -> float:
    """Return the share of the torque (rms) that a part's own parameters make, 0 where that may be chance."""
    return found.effect if found.probability < UNLIKELY / len(by_part) else 0.0


def check_recordings(
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

    validation, unseen: fits and problem of the recordings that were not used in training, None without any; covariance
    (b, b): of the solution's parameters.
    """
    found = check_training(problem, recordings)
    percent = overall_residual(training, moving=True)[1]
    covered = Coverage()
    if unseen is not None:
        covered = judge_coverage(
            Training.of(problem, covariance, percent), unseen, overall_residual(validation, moving=True)[1]
        )
    explained = covered.summary.get('coverage', {}).get('validation_deviation_percent')
    predicted: list[Reason] = []
    if unseen is not None:
        predicted = judge_prediction(validation, percent, payload_changes(unseen, validation), explained)
    reasons = [
        *excitation_reasons(problem.names, solution, settings.condition_limit, problem.still_joints),
        *found.reasons,
        *predicted,
        *covered.reasons,
    ]
    return CheckResult(without_duplicates(reasons), [*found.notes, *covered.notes], found.summary | covered.summary)


def _delayed(delay: Delay) -> bool:
    """Whether a delay counts: by what it costs, in which its deviation is as much as in itself, or by its length."""
    beyond = max(abs(delay.seconds) - 2 * delay.deviation, 0.0)
    cost = delay.cost * beyond / abs(delay.seconds) if delay.seconds else 0.0
    return delay.clear and (cost > MIN_EFFECT or (beyond > LATE and delay.fall > LOG_LIKELIHOOD_THRESHOLD))
