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

"""Examination of a recording: its defects and oddities, and what can be identified from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.identify import identify
from joint_dynamics.identification.regression.residuals import overall_residual
from joint_dynamics.identification.reliability.signals import faults
from joint_dynamics.identification.reliability.verdict import Reason, without_duplicates
from joint_dynamics.identification.result import IdentificationResult
from joint_dynamics.recording import Recording, with_short_names
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.limits import joint_unit

TEMPERATURE_SPAN = 3.0  # °C, smallest change that shows how friction depends on temperature


@dataclass(frozen=True)
class JointFigures:
    """Figures of one joint's motion; speeds are differences of the positions over one sampling period.

    Attributes
    ----------
    travel
        rad (m), range of the positions.
    fastest
        rad/s (m/s), 99 % quantile of the speed.
    resting
        share of the samples slower than the rest speed.
    effort
        rms of torque [N·m], or of current [A] where no torque was recorded; NaN without both.
    left
        residual of rigid bodies with linear friction, percent of the torque in motion; NaN if not identified.
    """

    name: str
    travel: float
    fastest: float
    resting: float
    effort: float
    left: float


@dataclass(frozen=True)
class Examination:
    """The result of `examine`.

    Attributes
    ----------
    recording
        the joints of the robot in the recording.
    joints
        figures, one per joint.
    reasons
        faults, the most important first.
    odd
        notes on unusual or missing signals.
    able, unable
        models that can and that cannot be identified from the recording.
    result
        identification without further friction terms; None if it failed.
    """

    recording: Recording
    joints: tuple[JointFigures, ...]
    reasons: tuple[Reason, ...]
    odd: tuple[str, ...]
    able: tuple[str, ...]
    unable: tuple[str, ...]
    result: IdentificationResult | None


def examine(model: RobotModel, recording: Recording, settings: IdentificationSettings | None = None) -> Examination:
    """Examine a recording of a robot: check its signals and try an identification without further friction terms.

    Parameters
    ----------
    model
        the robot; its joints must be in the recording.
    recording
        as returned by `Recording.load`. To examine one with implausible values, load it with `implausible` 'note'.
    settings
        of the identification, with `selection` false in any case; None: the defaults.

    Returns
    -------
    Examination

    Raises
    ------
    JointDynamicsError
        Where the recording lacks a joint of the robot.
    """
    recording = recording.select(model.joint_names)
    settings = (settings or IdentificationSettings()).replaced(selection=False)
    result, unable = None, []
    try:
        result = identify(model, [recording], settings=settings)
        reasons = [reason for reason in result.reasons if reason.code != 'excitation']
        unable += [reason.text for reason in result.reasons if reason.code == 'excitation']
    except JointDynamicsError as error:
        reasons = faults(recording)
        unable.append(f'dynamics of the robot: {error}')
    able: list[str] = []
    if result is not None:
        names, poor = result.names, result.poorly_determined
        able.append(
            f'{len(names) - len(poor)} of {len(names)} base parameters of bodies, rotors and friction'
            f' (condition number {result.solution.condition_number:.3g})'
        )
        if poor and not unable:
            unable.append(f'not separated by this motion: {", ".join(poor)}')
    _joint_models(recording, able, unable)
    repeated = {with_short_names(f'{recording.name}: {note}', [recording.name]) for note in recording.notes}
    notes = [] if result is None else [note for note in result.notes if note not in repeated]
    return Examination(
        recording,
        tuple(_figures(recording, settings.rest_speed, result)),
        tuple(without_duplicates(reasons)),
        tuple(dict.fromkeys((*recording.notes, *notes, *_outside(recording, model), *_oddities(recording)))),
        tuple(able),
        tuple(unable),
        result,
    )


def _figures(recording: Recording, rest_speed: float, result: IdentificationResult | None) -> Iterator[JointFigures]:
    speed = np.abs(np.gradient(recording.q, recording.period, axis=0))
    effort = recording.tau if recording.tau is not None else recording.current
    rms = np.full(recording.n, np.nan) if effort is None else np.sqrt(np.mean(effort**2, axis=0))
    rms[np.isin(recording.joint_names, recording.without_torque)] = np.nan
    residual = np.full(recording.n, np.nan) if result is None else overall_residual(result.training, moving=True)[0]
    for j, name in enumerate(recording.joint_names):
        yield JointFigures(
            name,
            travel=float(np.ptp(recording.q[:, j])),
            fastest=float(np.quantile(speed[:, j], 0.99)),
            resting=float(np.mean(speed[:, j] <= rest_speed)),
            effort=float(rms[j]),
            left=float(residual[j]),
        )


def _joint_models(recording: Recording, able: list[str], unable: list[str]) -> None:
    if recording.theta is None:
        unable.append('stiffness, kinematic error, backlash: expected motor positions, found none')
    else:
        able.append('stiffness, kinematic error and backlash of loaded joints (motor positions exist)')
    span = None if recording.temperature is None else np.ptp(recording.temperature, axis=0).max()
    if span is None:
        unable.append('friction over temperature: expected joint temperatures, found none')
    elif span < TEMPERATURE_SPAN:
        unable.append(
            f'friction over temperature: expected a change of {TEMPERATURE_SPAN:g} °C, found {span:.2g} °C at most'
        )
    else:
        able.append(f'friction over temperature (a joint warms by {span:.3g} °C)')


def _outside(recording: Recording, model: RobotModel) -> Iterator[str]:
    """Yield for each joint the sample farthest outside the robot file's position limits."""
    limits = model.limits
    beyond = np.maximum(limits.lower - recording.q, recording.q - limits.upper)
    for j in np.flatnonzero(beyond.max(axis=0) > 0):
        k, unit = int(np.argmax(beyond[:, j])), joint_unit('rad', model.prismatic[j])
        yield (
            f'{recording.joint_names[j]} is at {recording.q[k, j]:.5g} {unit} at {recording.time[k]:.4g} s, outside the'
            f" robot file's limits {limits.lower[j]:.5g} … {limits.upper[j]:.5g} {unit}"
        )


def _oddities(recording: Recording) -> Iterator[str]:
    if recording.dq is None:
        yield 'no measured speeds: a wrong unit of the time stamps is harder to detect'
    if recording.tau is None and recording.current is None:
        yield 'neither torque nor current: nothing can be identified'
