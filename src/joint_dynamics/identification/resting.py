r"""The entry `resting` of summary.json: how much of what joints at rest hold lies within the interval stated for it.

From an identification, as `regression.stiction` has the interval

    τ ∈ τ_0 ± ρ F_C ± z √(σ_j² + wᵀ C w),

with H from the recorded motion where the training bears that out. From a description, τ_0 and F_C are those of the
arm's own torque at H = ±1 (its mean, and half its difference), ρ and σ_j of `provenance.resting`, C of
`provenance.coverage`. There presliding does not narrow the interval: H of a recording that begins at rest is unknown,
and the interval holds for any H.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import BoolArray, FloatArray, finite
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.presliding import (
    MIN_STEPS,
    Encoder,
    HysteresisAtRest,
    hysteresis_at_rest,
    not_slipped,
    steps_per_length,
)
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import relative_of_squares
from joint_dynamics.identification.regression.stiction import (
    LEVEL,
    Resting,
    breakaway_ratios,
    is_confirmed,
    resting_torque,
)


def resting_entry(
    training: Problem,
    unseen: Problem | None,
    chi: FloatArray,
    covariance: FloatArray,
    sigma: FloatArray,
    encoder: Encoder,
) -> dict[str, Any]:
    """Return the entry of an identification: training and, with its ρ, validation recordings, and presliding."""
    names, mixed, state = training.model.joint_names, training.model.mixed, training.state
    given = chi, covariance, sigma
    resolved = [hysteresis_at_rest(observation, state, encoder) for observation in training.observations]
    ratio = breakaway_ratios(resting_torque(training, *given))
    tried = resting_torque(training, *given, resolved, ratio)
    used = np.array([is_confirmed(tried, j) for j in range(len(names))])
    resting = resting_torque(training, *given, [recording.only(used) for recording in resolved], ratio)
    entry = {'training': resting_summary(resting, names, mixed)}
    if unseen is not None:
        others = [hysteresis_at_rest(observation, state, encoder).only(used) for observation in unseen.observations]
        entry['validation'] = resting_summary(resting_torque(unseen, *given, others, ratio), names, mixed)
    return entry | {'presliding': presliding_summary(state, names, encoder, resolved, used)}


def resting_of_description(
    arm: Arm, document: Mapping[str, Any], problem: Problem, covariance: FloatArray | None
) -> dict[str, Any]:
    """Return the entry `resting` of summary.json of `validate`: samples, share within their interval, its half width.

    Parameters
    ----------
    arm
        of the description.
    document
        its `provenance.resting`.
    problem
        the recordings, with a `rest_speed`.
    covariance
        (b, b) of the problem's first b columns; None: the prediction counts as exact.

    Raises
    ------
    JointDynamicsError
        Where `document` does not have the form that `identify` writes.
    """
    names = arm.joint_names
    try:
        sigma = np.array([document['residual_deviation'][name] for name in names], dtype=float)
        first = document['first_breakaway_ratio']
        ratio = float(document['breakaway_ratio']), np.inf if first is None else float(first)
    except (KeyError, TypeError, ValueError) as error:
        raise JointDynamicsError(
            f'dynamics description: provenance.resting: expected what `identify` writes there, found {error!r}'
        ) from None
    spread = _spread(problem, covariance)
    entries = []
    for index, observation in enumerate(problem.observations):
        resting = problem.rest(index).resting
        low, high = (observation.at_kept(_torque(arm, observation, H)).T for H in (-1.0, 1.0))
        tau, base, level = observation.at_kept(observation.tau).T, 0.5 * (low + high), 0.5 * np.abs(high - low)
        ends, narrow = np.ones(tau.shape), np.zeros(tau.shape, dtype=bool)
        half_width = ndtri(LEVEL) * np.sqrt(sigma[:, None] ** 2 + spread[index])
        first = not_slipped(observation)
        entries.append(
            Resting(observation.name, resting, tau, base, base, level, -ends, ends, half_width, first, narrow, *ratio)
        )
    return resting_summary(entries, names, arm.robot.mixed)


def _torque(arm: Arm, observation: Observation, H: float) -> FloatArray:
    """Return the motor torque (samples, n) with friction at one end of what it may be at rest."""
    load = arm.link_torque(observation.q, observation.dq, observation.ddq)
    return load + arm.drive_torque(
        np.full(load.shape, H), observation.q, observation.dtheta, observation.ddtheta, load, observation.temperature
    )


def _spread(problem: Problem, covariance: FloatArray | None) -> list[FloatArray]:
    """Return wᵀ C w (n, K) of every observation."""
    parts: list[list[FloatArray]] = [[] for _ in problem.observations]
    C = np.zeros((0, 0)) if covariance is None else covariance
    for block in problem.blocks():
        rows = block.rows[:, : len(C)]
        parts[block.observation].append(np.maximum(np.einsum('jbs,bc,jcs->js', rows, C, rows, optimize=True), 0.0))
    return [np.concatenate(own, axis=1) for own in parts]


def resting_summary(recordings: Sequence[Resting], joint_names: Sequence[str], mixed: bool = False) -> dict[str, Any]:
    """Return the samples at rest with an interval and those without, the share within, mean half width, ρ, residual.

    mixed: whether some joints slide and others turn, see `relative_of_squares`.
    """
    unstated = int(sum((part.resting & ~part.stated).sum() for part in recordings))
    if not any(part.stated.any() for part in recordings):
        return {'samples': 0, 'unstated': unstated}

    def total(of: Callable[[Resting], FloatArray | BoolArray]) -> FloatArray:
        return np.sum([np.where(part.stated, of(part), 0.0).sum(axis=1) for part in recordings], axis=0)

    count, within = total(lambda part: part.stated), total(lambda part: part.within)
    width = total(lambda part: part.half_width + 0.5 * part.held * (part.high - part.low))
    error, size = total(lambda part: (part.tau - part.expected) ** 2), total(lambda part: part.tau**2)
    percent, overall = relative_of_squares(error, size, mixed)

    def by_joint(values: FloatArray, whole: float | None = None) -> dict[str, float | None]:
        named = {
            name: float(value) if moved and np.isfinite(value) else None
            for name, value, moved in zip(joint_names, values, count > 0, strict=True)
        }
        return named if whole is None else {**named, 'overall': float(whole)}

    each = np.maximum(count, 1)
    return {
        'samples': int(count.sum()),
        'unstated': unstated,
        'within_percent': by_joint(100 * within / each, 100 * within.sum() / count.sum()),
        'half_width': by_joint(width / each),
        'residual_percent': by_joint(percent, overall),
        'breakaway_ratio': recordings[0].ratio,
        'first_breakaway_ratio': finite(recordings[0].first_ratio),
    }


def presliding_summary(
    state: FrictionState,
    names: Sequence[str],
    encoder: Encoder,
    hysteresis: Sequence[HysteresisAtRest],
    used: BoolArray,
) -> dict[str, Any]:
    """Return by joint: step of the readings and of what they are off by, presliding length [rad], whether it is used.

    Null where there is none.
    """
    resolution = np.max([recording.resolution for recording in hysteresis], axis=0)
    steps = steps_per_length(state, resolution)
    by_joint = {}
    for j, name in enumerate(names):
        values = {
            'encoder_step': encoder.step[j],
            'resolution': resolution[j],
            'length': np.nan if np.isnan(steps[j]) or state.width is None else state.width[j],
            'steps': steps[j] if np.isfinite(resolution[j]) else np.nan,
        }
        by_joint[name] = {key: finite(value) for key, value in values.items()}
        by_joint[name]['used'] = bool(used[j])
    return by_joint


def presliding_notes(resting: Mapping[str, Any]) -> list[str]:
    """Say of joints with hysteresis whether their presliding predicts them at rest, and why not."""
    joints: dict[str, list[str]] = {}
    for name, entry in resting['presliding'].items():
        if entry['length'] is None:
            continue
        if entry['used']:
            what = 'presliding narrows their interval of torque'
        elif entry['encoder_step'] is None:
            what = 'presliding is not used: no step of their readings shows (`encoder_step` states it)'
        elif entry['steps'] is None:
            what = 'presliding is not used: recordings are means of periods (`period: 0` keeps these apart)'
        elif entry['steps'] < MIN_STEPS:
            resolved = f'their readings resolve {entry["steps"]:.2g} steps of its length'
            what = f'presliding is not used: {resolved}, {MIN_STEPS:g} are needed'
        else:
            what = 'presliding is not used: their stays in training are too few or do not bear it out'
        joints.setdefault(what, []).append(name)
    return [f'at rest, {", ".join(names)}: {what}' for what, names in joints.items()]
