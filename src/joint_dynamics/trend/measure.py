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

A motion of seconds determines these three numbers per joint, whatever the friction laws of the reference. Deviations
count effective samples. Stiffness and backlash follow from the deformation as in `identify`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import finite
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.description.export_urdf import joint_friction
from joint_dynamics.errors import JointDynamicsError, NotReliableError, one_line
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.joint_tests.result import least_squares
from joint_dynamics.identification.joint_tests.transmission import identify_transmissions
from joint_dynamics.identification.regression.residuals import Fit
from joint_dynamics.identification.validate import validate_description
from joint_dynamics.python_process import NICENESS
from joint_dynamics.recording import Recording, load_recording
from joint_dynamics.recording.recording_settings import RecordingSettings

ROWS = 50  # fewest moving samples of a joint for its friction
# Quantities over time and their units.
QUANTITIES = {'coulomb': 'N·m', 'viscous': 'N·m·s/rad', 'stiffness': 'N·m/rad', 'backlash': 'rad', 'residual': '%'}


@dataclass(frozen=True)
class Figure:
    """One number of one joint: value, standard deviation, value of the reference; None where unknown.

    Attributes
    ----------
    temperature
        mean of the joint, °C.
    """

    joint: str
    quantity: str
    value: float
    std: float | None = None
    reference: float | None = None
    temperature: float | None = None


def work(task: Mapping[str, Any]) -> dict[str, Any]:
    """Measure one run; return {figures} as plain data, or {error} for a bad recording.

    task: path, reference (a description as YAML), recording and identification (sections of a configuration).
    """
    try:
        reference = DynamicsDescription.from_yaml(task['reference'])
        how = RecordingSettings.from_mapping(task['recording'])
        recording = load_recording(task['path'], how, reference.joint_names, reference.robot_model().limits)
        settings = IdentificationSettings.from_config(task['identification'])
        return {'figures': [vars(figure) for figure in measure_recording(recording, reference, settings)]}
    except JointDynamicsError as error:
        return {'error': one_line(error)}


def measure_recording(
    recording: Recording, reference: DynamicsDescription, settings: IdentificationSettings | None = None
) -> list[Figure]:
    """Return the figures of each joint and quantity that a recording determines, with bodies taken from the reference.

    Raises
    ------
    JointDynamicsError
        Where recording and reference do not fit together.
    """
    (fit,) = validate_description(reference, [recording], settings or IdentificationSettings())
    arm = Arm.from_description(None, reference)
    transmissions, _ = identify_transmissions(arm, [recording.select(arm.joint_names)])
    percent = fit.residual_percent(moving=True)[0]
    known_percent = reference.document.get('provenance', {}).get('moving_residual_percent')
    figures: list[Figure] = []
    for j, name in enumerate(fit.joint_names):
        warm = None
        if recording.temperature is not None:
            warm = float(recording.temperature[:, recording.joint_names.index(name)].mean())
        part, found = reference.joint(name), transmissions.get(name, {})
        if np.isfinite(percent[j]):
            figures.append(Figure(name, 'residual', float(percent[j]), None, finite(known_percent), warm))
        viscous, coulomb = joint_friction(part)
        changes = zip(('coulomb', 'viscous'), (coulomb, viscous), friction_change(fit, j), strict=False)
        for quantity, known, (change, std) in changes:
            figures.append(Figure(name, quantity, known + change, std, known, warm))
        for quantity in ('stiffness', 'backlash'):
            if quantity in found:
                described = _level(part[quantity])[0] if quantity in part else None
                figures.append(Figure(name, quantity, *_level(found[quantity]), described, warm))
    return figures


def friction_change(fit: Fit, j: int) -> tuple[tuple[float, float], ...]:
    """Return (ΔF_C, deviation) [N·m] and (ΔF_V, deviation) [N·m·s/rad] of joint j; nothing if it hardly moves."""
    full = fit.full
    # The filtered motion is less exact at the ends of the recording than in between.
    within = (full.time >= fit.time[0]) & (full.time <= fit.time[-1])
    moving = within & (np.abs(full.dq[:, j]) > fit.moving_speed)
    speed, residual = full.dq[moving, j], (full.tau - full.predicted)[moving, j]
    if len(speed) < ROWS:
        return ()
    try:
        names = ('coulomb', 'viscous', 'offset')
        change = least_squares(np.column_stack([np.sign(speed), speed, np.ones_like(speed)]), residual, names)
    except NotReliableError:  # one direction, or one speed
        return ()
    return tuple((change[name], change.deviation(name)) for name in names[:2])


def _level(document: Mapping[str, Any]) -> tuple[float, float | None]:
    """Return the stiffness without load, or the mean backlash, and its deviation where it is one number."""
    stated = document.get('standard_deviations') or [None]
    if 'coefficients' in document:
        return float(document['coefficients'][0]), stated[0]
    value = np.mean(document['values']) if 'values' in document else document['mean']
    return float(value), stated[0] if len(stated) == 1 else None


def main() -> None:
    """Measure the run whose task stands on standard input; its outcome is the last line of output."""
    os.nice(NICENESS)
    print(json.dumps(work(json.load(sys.stdin))))
