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

"""Predict the torque of recordings from a dynamics description, and judge whether the prediction is reliable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm, RangeWatch
from joint_dynamics.arrays import FloatArray
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.estimate import with_torque
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.observations import SHARE, Observation, filter_plan, observe, stays
from joint_dynamics.identification.recordings import locked_as_recorded, without_torque_of
from joint_dynamics.identification.regression.residuals import Fit, FullRate, relative
from joint_dynamics.identification.reliability.prediction import judge_prediction
from joint_dynamics.identification.reliability.signals import faults
from joint_dynamics.identification.reliability.verdict import Reason, without_duplicates
from joint_dynamics.recording import Recording, with_short_names


def predicted_torque(arm: Arm, observation: Observation) -> FloatArray:
    """Return the motor torque on the joint side, (samples, n) [N·m], at the full rate of the observation.

    `Arm.motor_torque` predicts it from the motion. Without motor encoders, the motor angle that drives the hysteresis
    is computed from the transmission of the description.
    """
    return arm.motor_torque(observation.q, observation.dq, observation.ddq, **observation.motor)


def torque_with_rest(arm: Arm, observation: Observation, rest_speed: float) -> tuple[FloatArray, FloatArray | None]:
    """Return the predicted torque and the Coulomb level at rest, both (samples, n) [N·m].

    At rest the prediction is the rest torque (`rest_torque`). In motion the level is 0. If no joint rests, it is None.
    """
    predicted = predicted_torque(arm, observation)
    still = stays(observation, rest_speed)
    if not still.any():
        return predicted, None
    resting, level = rest_torque(arm, observation)
    return np.where(still, resting, predicted), np.where(still, level, 0.0)


def rest_torque(arm: Arm, observation: Observation) -> tuple[FloatArray, FloatArray]:
    """Return τ_0 and F (samples, n) [N·m] at the full rate: mean and half difference of the torque at H = ±1."""
    o = observation
    load = arm.link_torque(o.q, o.dq, o.ddq)
    high, low = (
        arm.drive_torque(np.full(load.shape, H), o.q, o.dtheta, o.ddtheta, load, o.temperature) for H in (1.0, -1.0)
    )
    return load + 0.5 * (high + low), 0.5 * np.abs(high - low)


def resting_summary(fits: Sequence[Fit]) -> dict[str, Any]:
    """Return the entry `resting` of summary.json: samples at rest, the share within their band [%], its mean [N·m]."""
    names = fits[0].joint_names
    at_rest = np.concatenate([fit.resting for fit in fits])
    band = np.concatenate([fit.band_of_rest for fit in fits])
    within = at_rest & (np.abs(np.concatenate([fit.residual for fit in fits])) <= band)
    count = at_rest.sum(axis=0)

    def by_joint(sums: FloatArray) -> dict[str, float | None]:
        return {name: float(s / c) if c else None for name, s, c in zip(names, sums, count, strict=True)}

    overall = 100.0 * float(within.sum() / count.sum()) if count.any() else None
    return {
        'samples': int(count.sum()),
        'within_percent': by_joint(100.0 * within.sum(axis=0)) | {'overall': overall},
        'half_width': by_joint(np.where(at_rest, band, 0.0).sum(axis=0)),
    }


def validation_fit(arm: Arm, observation: Observation, settings: IdentificationSettings) -> Fit:
    """Return measured and predicted torque of one observation, filtered and decimated."""
    predicted, band = torque_with_rest(arm, observation, settings.rest_speed)
    predicted = predicted * observation.measured
    kept = observation.kept
    at_rest = None
    if band is not None:
        share = observation.at_kept((band > 0.0).astype(float))
        at_rest = np.where(share > SHARE, observation.at_kept(band) / np.maximum(share, SHARE), np.nan)
    sliding = tuple(map(bool, arm.robot.prismatic))
    moving = np.abs(observation.dq) > settings.moving_speed
    residual, torque = (np.where(moving, x, 0.0) for x in (observation.tau - predicted, observation.tau))
    raw = relative(residual, torque, arm.robot.mixed)
    return Fit(
        observation.name,
        arm.joint_names,
        observation.time[kept],
        observation.at_kept(observation.tau),
        observation.at_kept(predicted),
        observation.dq[kept],
        settings.moving_speed,
        raw,
        FullRate(observation.time, observation.tau, predicted, observation.dq, band, observation.q),
        float(observation.decimator.cutoff),
        sliding,
        at_rest,
        tuple(np.array(arm.joint_names)[~observation.measured].tolist()),
    )


@dataclass(frozen=True)
class Validation:
    """Predictions of all recordings, and the judgement on them."""

    fits: Sequence[Fit]  # one per recording
    reasons: Sequence[Reason]  # why the prediction is unreliable; empty if it is reliable
    notes: Sequence[str]
    summary: dict[str, Any]  # entries for summary.json


def validate_description(
    description: DynamicsDescription, recordings: Sequence[Recording], settings: IdentificationSettings | None = None
) -> list[Fit]:
    """Predict the torque of every recording and return one Fit each; `judge_description` judges them.

    Parameters
    ----------
    description
        with the kinematics of its robot.
    recordings
        with torque, or with current and drive gains.
    settings
        drive gains and filter cut-offs. Missing drive gains come from the description. Missing cut-offs are those of
        the identification, if the description states them; otherwise they are chosen from the recordings.

    Raises
    ------
    JointDynamicsError
        If robot, description and recordings do not match.
    """
    arm = Arm.from_description(None, description)
    return _predicted(description, arm, recordings, settings or IdentificationSettings())[1]


def judge_description(
    description: DynamicsDescription, recordings: Sequence[Recording], settings: IdentificationSettings | None = None
) -> Validation:
    """Predict the torque of every recording as `validate_description` does, and judge whether it is reliable.

    The residual is compared with that of the training recordings, if the description states it (`provenance`).
    Raises JointDynamicsError as `validate_description` does.
    """
    settings = settings or IdentificationSettings()
    arm = Arm.from_description(None, description)
    observations, fits = _predicted(description, arm, recordings, settings)
    notes = [f'{part.name}: {text}' for part in observations for text in beyond_validity(arm, part)]
    if arm.robot.without_torque:
        notes.append(f'not judged, no torque model in the description: {", ".join(arm.robot.without_torque)}')
    provenance = description.document.get('provenance', {})
    percent = provenance.get('moving_residual_percent')
    contradictory = [
        reason for recording in recordings for reason in faults(recording) if reason.code == 'speed_mismatch'
    ]
    predicted = judge_prediction(fits, percent)
    description_reasons = []
    if not provenance.get('believable', True):
        why = provenance.get('reasons') or ['its identification was judged unreliable']
        text = f'the description was not reliable when identified: {"; ".join(map(str, why))}'
        description_reasons = [Reason('description', text)]
    reasons = [*description_reasons, *contradictory, *predicted]
    names = [recording.name for recording in recordings]
    return Validation(
        fits,
        [replace(reason, text=with_short_names(reason.text, names)) for reason in without_duplicates(reasons)],
        [with_short_names(note, names) for note in notes],
        {'resting': resting_summary(fits)},
    )


def _predicted(
    description: DynamicsDescription, arm: Arm, recordings: Sequence[Recording], settings: IdentificationSettings
) -> tuple[list[Observation], list[Fit]]:
    if not recordings:
        raise JointDynamicsError('validate: expected at least one recording, found none')
    for recording in recordings:
        description.check_effort(recording.without_gravity, recording.name)
    model = arm.robot
    recordings = [without_torque_of(model, recording.select(model.joint_names)) for recording in recordings]
    recorded = locked_as_recorded(model, recordings).held
    if recorded != model.held:
        raise JointDynamicsError(
            f'{recordings[0].name}: expected locked joints at the positions of the description '
            f'({_positions(model.held)}), found {_positions(recorded)}'
        )
    gains = settings.drive_gains
    if gains is None and np.all(np.isfinite(arm.drive_gain)):
        gains = dict(zip(model.joint_names, arm.drive_gain, strict=True))
    if model.coupling is not None and gains is not None:
        recordings = [
            recording if recording.current is None else with_torque(model, recording, gains) for recording in recordings
        ]
    plan = filter_plan(recordings, settings, _filters(description))
    observations = [observe(recording, plan, gains) for recording in recordings]
    return observations, [validation_fit(arm, observation, settings) for observation in observations]


def _positions(held: Mapping[str, float]) -> str:
    return ', '.join(f'{name} {position:.4g}' for name, position in held.items())


def _filters(description: DynamicsDescription) -> dict[str, Any]:
    """Return the filters with which the description was identified, {} if it does not state them."""
    filters: dict[str, Any] = description.document.get('provenance', {}).get('filters', {})
    return filters


def beyond_validity(arm: Arm, observation: Observation) -> list[str]:
    """Return one note per joint and quantity whose samples exceed the range in which the friction was validated."""
    watch, kept = RangeWatch(arm.validity, arm.joint_names), observation.kept
    watch.update(
        observation.dtheta[kept], arm.link_torque(observation.q[kept], observation.dq[kept], observation.ddq[kept])
    )
    if observation.temperature is not None:
        watch.update_temperature(observation.temperature[kept])
    return watch.notes()


def predict_torque(
    description: DynamicsDescription, recording: Recording, settings: IdentificationSettings | None = None
) -> FloatArray:
    """Predict the torque of one recording at every sample, (samples, joints) [N·m], joints in the description's order.

    Predicts as `validate_description` does, but up to both ends of the recording. Within 1/position_cutoff [s] of an
    end, the filtered motion is less accurate. Measured torque and current are ignored and may be missing. Raises
    JointDynamicsError if description and recording do not match, or if the recording is too short for the filters.
    """
    arm = Arm.from_description(None, description)
    recording = recording.select(arm.joint_names)
    plan = filter_plan([recording], settings or IdentificationSettings(), _filters(description))
    motion = replace(recording, tau=np.zeros_like(recording.q), current=None)
    rest_speed = (settings or IdentificationSettings()).rest_speed
    return torque_with_rest(arm, observe(motion, replace(plan, trim=0.0)), rest_speed)[0]
