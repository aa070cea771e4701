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

"""Measurement of one run: friction, stiffness and backlash of each joint, and the residual of its reference.

Bodies do not wear, so they are taken from the reference, and only changes of the drives are estimated. The residual
torque of the reference, ρ = τ − τ̂, of a moving joint is

    ρ = ΔF_C sgn q̇ + ΔF_V q̇ + Δo + ε.

A motion of seconds determines these three numbers per joint, whatever the friction laws of the reference.
Deviations count effective samples (`regression.covariance`). Stiffness and backlash follow from
the deformation as in `identify`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.description.export_urdf import joint_friction
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.joint_tests.transmission import identify_transmissions
from joint_dynamics.identification.regression.covariance import correlated_variance
from joint_dynamics.identification.regression.residuals import Fit
from joint_dynamics.identification.validate import validate_description
from joint_dynamics.python_process import NICENESS
from joint_dynamics.recording import Recording, load_recording
from joint_dynamics.recording.recording_settings import RecordingSettings

ROWS = 50  # fewest moving samples of a joint for its friction
QUANTITIES = {'coulomb': 'N·m', 'viscous': 'N·m·s/rad', 'stiffness': 'N·m/rad', 'backlash': 'rad', 'residual': '%'}
"""Quantities followed over time, with their units."""


@dataclass(frozen=True)
class Figure:
    """One number of one joint: value, standard deviation, and the value of the reference (None where unknown)."""

    joint: str
    quantity: str
    value: float
    std: float | None = None
    reference: float | None = None


@dataclass(frozen=True)
class Measurement:
    """The measurement of one run.

    Attributes
    ----------
    figures
        of each joint and quantity that the run determines.
    temperatures
        {joint: mean, °C}, where measured.
    """

    figures: tuple[Figure, ...]
    temperatures: Mapping[str, float]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Measurement:
        """Return the measurement of what `work` returned."""
        return cls(tuple(Figure(**each) for each in document['figures']), document['temperatures'])


def work(task: Mapping[str, Any]) -> dict[str, Any]:
    """Measure one run; return plain data, {error} where it is refused.

    task: path, reference (a description as YAML), recording and identification (sections of a configuration).
    """
    try:
        reference = DynamicsDescription.from_yaml(task['reference'])
        how = RecordingSettings.from_mapping(task['recording'])
        recording = load_recording(task['path'], how, reference.joint_names, reference.robot_model().limits)
        settings = IdentificationSettings.from_config(task['identification'])
        return dataclasses.asdict(measure_recording(recording, reference, settings))
    except JointDynamicsError as error:
        return {'error': one_line(error)}


def measure_recording(
    recording: Recording, reference: DynamicsDescription, settings: IdentificationSettings | None = None
) -> Measurement:
    """Return the measurement of a recording, with bodies taken from the reference.

    Raises
    ------
    JointDynamicsError
        Where recording and reference do not fit together.
    """
    settings = settings or IdentificationSettings()
    (fit,) = validate_description(reference, [recording], settings)
    figures: list[Figure] = []
    percent = fit.residual_percent(moving=True)[0]
    for j, name in enumerate(fit.joint_names):
        if np.isfinite(percent[j]):
            figures.append(Figure(name, 'residual', float(percent[j]), None, _residual_of(reference)))
        changes = friction_change(fit, j)
        if changes is None:
            continue
        viscous, coulomb = joint_friction(reference.joint(name))
        for quantity, known, (change, std) in zip(('coulomb', 'viscous'), (coulomb, viscous), changes, strict=True):
            figures.append(Figure(name, quantity, known + change, std, known))
    arm = Arm.from_description(None, reference)
    documents, _ = identify_transmissions(arm, [recording.select(arm.joint_names)])
    for name, document in documents.items():
        figures += _transmission(name, document, reference.joint(name))
    return Measurement(tuple(figures), _temperatures(recording))


def friction_change(fit: Fit, j: int) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return (ΔF_C, deviation) [N·m] and (ΔF_V, deviation) [N·m·s/rad] of joint j; None where it hardly moves."""
    full = fit.full
    # the filtered motion is less exact at the ends of the recording than between the samples that count
    within = (full.time >= fit.time[0]) & (full.time <= fit.time[-1])
    moving = within & (np.abs(full.dq[:, j]) > fit.moving_speed)
    speed, rest = full.dq[moving, j], (full.tau - full.predicted)[moving, j]
    if len(speed) < ROWS:
        return None
    rows = np.column_stack([np.sign(speed), speed, np.ones_like(speed)])
    if np.linalg.matrix_rank(rows / np.linalg.norm(rows, axis=0), tol=1e-3) < rows.shape[1]:
        return None
    inverse = np.linalg.inv(rows.T @ rows)
    change = inverse @ (rows.T @ rest)
    left = rest - rows @ change
    deviation = np.sqrt(correlated_variance(left, rows.T @ rows, inverse) * np.diag(inverse))
    return (float(change[0]), float(deviation[0])), (float(change[1]), float(deviation[1]))


def _transmission(name: str, part: Mapping[str, Any], reference: Mapping[str, Any]) -> list[Figure]:
    return [
        Figure(name, quantity, *of(part[quantity]), of(reference[quantity])[0] if quantity in reference else None)
        for quantity, of in (('stiffness', _stiffness), ('backlash', _mean))
        if quantity in part
    ]


def _stiffness(document: Mapping[str, Any]) -> tuple[float, float | None]:
    stated = document.get('standard_deviations') or [None]
    return float(document['coefficients'][0]), stated[0]


def _mean(document: Mapping[str, Any]) -> tuple[float, float | None]:
    """Return the mean of a map over the turn, and its deviation where it is one number."""
    if 'values' in document:
        stated = document.get('standard_deviations') or []
        return float(np.mean(document['values'])), float(stated[0]) if len(stated) == 1 else None
    return float(document['mean']), None


def _residual_of(description: DynamicsDescription) -> float | None:
    percent = description.document.get('provenance', {}).get('moving_residual_percent')
    return None if percent is None else float(percent)


def _temperatures(recording: Recording) -> dict[str, float]:
    if recording.temperature is None:
        return {}
    return dict(zip(recording.joint_names, map(float, recording.temperature.mean(axis=0)), strict=True))


def main() -> None:
    """Measure the run whose task stands on standard input; its outcome is the last line of output."""
    os.nice(NICENESS)
    print(json.dumps(work(json.load(sys.stdin))))
