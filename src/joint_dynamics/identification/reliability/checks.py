"""All checks of a training: faults of the recordings, better explanations, differences, what is left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.drive_gains.payload_difference import payload_residual
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.regression.friction_state import FrictionState
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, overall_residual
from joint_dynamics.identification.reliability.alternatives import (
    FREE_SCALE_THRESHOLD,
    LOG_LIKELIHOOD_THRESHOLD,
    Alternative,
    Alternatives,
)
from joint_dynamics.identification.reliability.bodies import impossible_inertials
from joint_dynamics.identification.reliability.chow import UNLIKELY, ChowTest
from joint_dynamics.identification.reliability.coverage import Coverage, Training, judge_coverage
from joint_dynamics.identification.reliability.delay import MIN_DELAY_COST, Delay, estimate_delay
from joint_dynamics.identification.reliability.differences import Difference, compare_recordings, differences
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain, samples_of
from joint_dynamics.identification.reliability.excitation import excitation_reasons
from joint_dynamics.identification.reliability.prediction import UNRELATED_SHARE, judge_prediction
from joint_dynamics.identification.reliability.scales import Scales, estimate_scales
from joint_dynamics.identification.reliability.signals import faults
from joint_dynamics.identification.reliability.units import check_units
from joint_dynamics.identification.reliability.verdict import Reason, without_duplicates
from joint_dynamics.recording import Recording

MAX_NAMED = 3
"""So many alternatives are named at most."""
TIE_SHARE = 0.2
"""Alternatives whose log-likelihood is within this share of the best one's are named beside it: mirror images of one
another often are."""
LATE = 0.025
"""A delay that is longer than this [s] by two deviations is never the drives' own filters, whatever it costs."""


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
    delay = estimate_delay(alternatives, problem.observations)
    names = [observation.name for observation in problem.observations]
    changes = differences(alternatives, names)
    candidates: list[tuple[float, ExplanationFit, Reason]] = [
        (found.gain, found.fitted, _reason(alternatives, found)) for found in alternatives.clear()
    ]
    if _delayed(delay):
        candidates.append((delay.gain, delay.fitted, delay_reason(delay)))
    candidates += [
        (found.gain, found.fitted, difference_reason(found))
        for found in changes
        if found.clear and found.effect > MIN_DELAY_COST
    ]
    scales = estimate_scales(alternatives)
    if scales.clear:
        candidates.append((scales.gain, scales.fitted, scales_reason(scales)))
    candidates.sort(key=lambda candidate: -candidate[0])
    best = candidates[0][0] if candidates else 0.0
    reasons = [
        *own,
        *(
            reason
            for value, _, reason in candidates[:MAX_NAMED]
            if value > (1 - TIE_SHARE) * best - FREE_SCALE_THRESHOLD
        ),
        *check_units(alternatives),
    ]
    reasons += _left_over(alternatives, candidates[0][1] if candidates else None)
    if not reasons:
        reasons += impossible_inertials(problem, alternatives)
    by_part = compare_recordings(alternatives, names)
    if not reasons:
        reasons += [
            _apart_reason(name, found) for name, found in by_part.items() if _apart(by_part, found) > MIN_DELAY_COST
        ]
    notes = [difference_note(found) for found in changes if found.clear and found.effect <= MIN_DELAY_COST]
    notes += _untold(scales)
    return CheckResult(
        without_duplicates(reasons),
        notes,
        {
            'delay': delay.summary(),
            **scales.summary(),
            'parts': {name: found.summary() for name, found in by_part.items()},
        },
    )


def _apart(by_part: Mapping[str, ChowTest], found: ChowTest) -> float:
    """Return the share of the torque (rms) that a part's own parameters make, 0 where that may be chance."""
    return found.effect if found.probability < UNLIKELY / len(by_part) else 0.0


def _apart_reason(name: str, found: ChowTest) -> Reason:
    return Reason(
        'recordings_differ',
        f'{name} has other parameters than the rest, by more than their deviations ({found}), which make '
        f'{100 * found.effect:.3g} % of the torque: look whether robot, payload and temperature were the same, or '
        'identify them apart',
    )


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
    reasons = [
        *excitation_reasons(problem.names, solution, settings.condition_limit, problem.still_joints),
        *found.reasons,
        *(judge_prediction(validation, percent, [payload_residual(unseen, validation)]) if unseen is not None else []),
        *covered.reasons,
    ]
    return CheckResult(without_duplicates(reasons), [*found.notes, *covered.notes], found.summary | covered.summary)


def _shares(alternatives: Alternatives, found: Alternative) -> str:
    before, after = np.sqrt(alternatives.given.unexplained), np.sqrt(found.fitted.unexplained)
    j = int(np.argmax(alternatives.given.unexplained - found.fitted.unexplained))
    name = alternatives.names[j]
    return f'{100 * before[j]:.3g} % of the torque of {name} left over would become {100 * after[j]:.3g} %'


def _reason(alternatives: Alternatives, found: Alternative) -> Reason:
    return Reason(
        found.code,
        f'{found.text}: that explains the torques clearly better ({_shares(alternatives, found)}; log-likelihood '
        f'+{found.gain:.0f}); correct '
        f'{_REMEDY.get(found.code, "the recording or its settings")}',
    )


_REMEDY = {
    'mounting': 'robot.mounting',
    'degrees': 'the unit of the positions',
    'time_scale': 'the time stamps',
    'time_reversed': 'the time stamps',
    'drive_gain': 'the unit or the drive gain',
    'torque_sign': 'the sign of the effort or of the drive gain',
    'position_offset': 'the zero position',
    'joint_order': 'the names of the joints',
    'torque_order': 'the order of the efforts',
    'position_order': 'the order of the positions',
    'position_sign': 'the sign of the position',
    'axis_sign': 'the axis in the robot file, or both signs',
}


def _delayed(delay: Delay) -> bool:
    return delay.gain > LOG_LIKELIHOOD_THRESHOLD and (
        delay.cost > MIN_DELAY_COST or abs(delay.seconds) - 2 * delay.deviation > LATE
    )


def delay_reason(delay: Delay) -> Reason:
    """Say that torque and motion are apart in time."""
    side = 'after' if delay.seconds > 0 else 'before'
    return Reason(
        'delay',
        f'the torques come {abs(1000 * delay.seconds):.3g} ± {1000 * delay.deviation:.2g} ms {side} the motion they '
        'belong to, which leaves '
        f'{100 * delay.cost:.3g} % of the torque over: align the time stamps of efforts and positions',
    )


def difference_reason(found: Difference) -> Reason:
    """Say that a part of the recordings has a payload, a mounting or parameters of its own."""
    share = f'{100 * found.effect:.3g} % of the torque (log-likelihood +{found.gain:.0f})'
    if found.kind == 'payload':
        mass = '' if found.mass is None else f' of about {found.mass:.3g} kg'
        return Reason(
            'payload_mixed',
            f'{found.part} differs from the other recordings by a payload{mass}, {share}: identify them apart, or '
            'give those with the '
            'payload as --loaded',
        )
    if found.kind == 'friction':
        return Reason(
            'recordings_differ',
            f'{found.part} has other friction or offsets than the other recordings, {share}: record all at the same '
            'temperature, or '
            'identify them apart',
        )
    return Reason(
        'recordings_differ',
        f'{found.part} has another {found.kind} than the other recordings, {share}: correct it, or leave it out',
    )


def difference_note(found: Difference) -> str:
    """Say the same of a difference that is too small for a reason."""
    return f'{found.part} has another {found.kind} than the rest, which makes {100 * found.effect:.2g} % of the torque'


def scales_reason(scales: Scales) -> Reason:
    """Say that the torques of some joints are off by a factor."""
    listed = ', '.join(
        f'{scales.names[j]} {scales.factor[j]:.2g} ± {scales.factor[j] * scales.deviation[j]:.1g}' for j in scales.off
    )
    return Reason(
        'drive_gain' if len(scales.off) == 1 else 'current',
        f'the torques do not go together: in what several joints feel, they are these many times those of the other '
        f'joints: {listed} (log-likelihood +{scales.gain:.0f}); look whether they are currents (then give drive '
        'gains), or whether a unit or a drive gain is wrong',
    )


def _untold(scales: Scales) -> list[str]:
    """Return a note of the joints whose scale no other joint confirms to within a factor of two."""
    uncertain = [name for name, dark in zip(scales.names, 2 * scales.deviation > np.log(2.0), strict=True) if dark]
    if not uncertain:
        return []
    return [
        f'no other joint shows to within a factor of two what the torque of {", ".join(uncertain)} is: its unit and '
        'drive gain are taken as given'
    ]


def _left_over(alternatives: Alternatives, better: ExplanationFit | None) -> list[Reason]:
    """Return what the residuals of the given explanation say; better: an explanation that is, if any."""
    given, normal, samples, names = alternatives.given, alternatives.normal, alternatives.samples, alternatives.names
    square = samples.weight**2
    residual = np.sqrt((normal.residuals(samples.tau, given.chi) ** 2).sum(axis=1))
    mean = (samples.tau * square).sum(axis=1) / np.maximum(square.sum(axis=1), 1e-12)
    variation = np.sqrt((((samples.tau - mean[:, None]) * samples.weight) ** 2).sum(axis=1))
    rest = residual if better is None else residual * np.sqrt(better.unexplained / np.maximum(given.unexplained, 1e-12))
    unrelated = [j for j in range(len(names)) if min(residual[j], rest[j]) > UNRELATED_SHARE * variation[j] > 0]
    reasons = []
    if unrelated:
        listed = ', '.join(f'{names[j]} {100 * residual[j] / variation[j]:.0f} %' for j in unrelated)
        reasons.append(
            Reason(
                'torque_unrelated',
                f'the torque has little to do with the motion (left over of its variation: {listed}): look whether '
                'effort was '
                'measured, and whether robot and joints are the right ones',
            )
        )
    if better is not None:
        return reasons
    # friction that others of the joint's terms cancel explains no more than the torque there is
    friction = np.minimum(_friction(alternatives), np.linalg.norm(samples.tau * samples.weight, axis=1))
    beyond = [
        j
        for j in range(len(names))
        if j not in unrelated and residual[j] > max(DETAILS * friction[j], MIN_UNEXPLAINED_SHARE * variation[j])
    ]
    if beyond:
        listed = ', '.join(f'{names[j]} {100 * residual[j] / max(variation[j], 1e-12):.0f} %' for j in beyond)
        reasons.append(
            Reason(
                'residual',
                f'more torque is left over than details of friction make ({listed} of its variation): look '
                'whether robot, joints, '
                'units and mounting are the right ones',
            )
        )
    free = normal.free(samples.tau)
    lost = gain(given, free, alternatives.count)
    if lost > LOG_LIKELIHOOD_THRESHOLD:
        wrong = [
            names[j] for j, columns in enumerate(normal.friction) if len(columns) and normal.power[j] @ free.chi < 0
        ]
        found = f'friction that drives ({", ".join(wrong)})' if wrong else 'rotor inertias below zero'
        reasons.append(
            Reason(
                'friction_sign' if wrong else 'negative_inertia',
                f'{found} would explain the torques clearly better (log-likelihood +{lost:.0f}), '
                'which no robot has: look at the signs of efforts and positions, and at the time',
            )
        )
    return reasons


DETAILS = 1 / 3
"""Share of a joint's friction torque that may be left over: that much load, temperature and low speed change it."""
MIN_UNEXPLAINED_SHARE = 0.3
"""Share of a joint's variation (rms) that has to be left over before it is compared with friction: less is a matter
of the model's details."""


def _friction(alternatives: Alternatives) -> FloatArray:
    """Return the size of each joint's friction torque over the weighted samples, (n,)."""
    normal, chi = alternatives.normal, alternatives.given.chi
    return np.array(
        [
            np.linalg.norm(normal.rows[j][columns].T @ chi[columns]) if len(columns) else 0.0
            for j, columns in enumerate(normal.friction)
        ]
    )
