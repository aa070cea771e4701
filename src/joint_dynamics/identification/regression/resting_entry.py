"""What is said of joints at rest: the entry `resting` of summary.json, and a note on each joint with hysteresis.

The interval of every sample and the prediction are those of `stiction`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.regression.presliding import MIN_STEPS, Encoder, steps_per_length
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import relative_of_squares
from joint_dynamics.identification.regression.stiction import Resting, borne_out, breakaway_ratios, resting_torque


def resting_summary(recordings: Sequence[Resting], joint_names: Sequence[str], mixed: bool = False) -> dict[str, Any]:
    """Return the samples at rest with an interval and those without, the share within, mean half width, ρ, residual.

    mixed: whether some joints slide and others turn, see `relative_of_squares`.
    """
    count = sum(recording.stated.sum(axis=1) for recording in recordings)
    unstated = int(sum((recording.resting & ~recording.stated).sum() for recording in recordings))
    within = sum(recording.within.sum(axis=1) for recording in recordings)
    width = sum(
        np.subtract(recording.upper, recording.lower, out=np.zeros(recording.tau.shape), where=recording.stated).sum(
            axis=1
        )
        / 2
        for recording in recordings
    )
    error = sum(
        (((recording.tau - recording.expected) * recording.stated) ** 2).sum(axis=1) for recording in recordings
    )
    size = sum(((recording.tau * recording.stated) ** 2).sum(axis=1) for recording in recordings)
    if not recordings or not np.sum(count):
        return {'samples': 0, 'unstated': unstated}
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
        'first_breakaway_ratio': recordings[0].first_ratio if np.isfinite(recordings[0].first_ratio) else None,
    }


def resting_entry(
    training: Problem,
    unseen: Problem | None,
    chi: FloatArray,
    covariance: FloatArray,
    sigma: FloatArray,
    encoder: Encoder,
) -> dict[str, Any]:
    """Return the entry `resting` of summary.json: training and, with its ρ, validation recordings, and presliding."""
    names = training.model.joint_names
    given = training, chi, covariance, sigma
    ratio = breakaway_ratios(resting_torque(*given))
    tried = resting_torque(*given, encoder=encoder, ratio=ratio)
    used = np.array([borne_out(tried, j) for j in range(len(names))])
    told = resting_torque(*given, encoder=encoder, joints=used, ratio=ratio)
    found = {'training': resting_summary(told, names, training.model.mixed)}
    if unseen is not None:
        recordings = resting_torque(unseen, *given[1:], encoder=encoder, joints=used, ratio=ratio)
        found['validation'] = resting_summary(recordings, names, training.model.mixed)
    return found | {'presliding': _presliding_summary(training, encoder, used)}


def _presliding_summary(training: Problem, encoder: Encoder, used: BoolArray) -> dict[str, Any]:
    """Return by joint: step of the readings and of what they are off by, presliding length [rad], whether it is used.

    Null where there is none.
    """
    resolution = np.max([encoder.resolution(recording) for recording in training.observations], axis=0)
    steps = steps_per_length(training.state, resolution)
    found = {}
    for j, name in enumerate(training.model.joint_names):
        values = {
            'encoder_step': encoder.step[j],
            'resolution': resolution[j],
            'length': np.nan if np.isnan(steps[j]) or training.state.width is None else training.state.width[j],
            'steps': steps[j] if np.isfinite(resolution[j]) else np.nan,
        }
        found[name] = {key: float(value) if np.isfinite(value) else None for key, value in values.items()}
        found[name]['used'] = bool(used[j])
    return found


def presliding_notes(resting: Mapping[str, Any]) -> list[str]:
    """Say of joints with hysteresis whether their presliding predicts them at rest, and why not."""
    joints: dict[str, list[str]] = {}
    for name, found in resting['presliding'].items():
        if found['length'] is None:
            continue
        if found['used']:
            what = 'presliding narrows their interval of torque'
        elif found['encoder_step'] is None:
            what = 'presliding is not used: no step of their readings shows (`encoder_step` states it)'
        elif found['steps'] is None:
            what = 'presliding is not used: recordings are means of periods (`period: 0` keeps these apart)'
        elif found['steps'] < MIN_STEPS:
            resolved = f'their readings resolve {found["steps"]:.2g} steps of its length'
            what = f'presliding is not used: {resolved}, {MIN_STEPS:g} are needed'
        else:
            what = 'presliding is not used: their stays in training are too few or do not bear it out'
        joints.setdefault(what, []).append(name)
    return [f'at rest, {", ".join(names)}: {what}' for what, names in joints.items()]
