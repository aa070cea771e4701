"""Measurement of one run: friction, stiffness and backlash of each joint, and the residual of its reference.

Bodies do not wear, so they are taken from the reference, and only changes of the drives are estimated. The residual
torque of the reference, ρ = τ − τ̂, of a moving joint is

    ρ = ΔF_C sgn q̇ + ΔF_V q̇ + Δo + ε,

with three numbers per joint that a motion of seconds determines, whatever the friction laws of the reference.
Deviations follow from the scatter between blocks of time (`regression.covariance`). Stiffness and backlash follow from
the deformation as in `identify`. A saved estimate states all of them directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.description.export_urdf import joint_friction
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.identify import identify
from joint_dynamics.identification.joint_tests.transmission import identify_transmissions
from joint_dynamics.identification.regression.covariance import correlated_variance
from joint_dynamics.identification.regression.residuals import Fit
from joint_dynamics.identification.validate import validate_description
from joint_dynamics.python_process import serve
from joint_dynamics.recording import Recording, load_recording
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.robot import RobotModel

ROWS = 50
"""Moving samples of a joint below which its friction is not looked for."""
FORMAT = 1
"""Of what is kept of a run: results of another one are computed anew."""


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
    notes : list of str
        on quantities that it does not determine, with the reason.
    """

    figures: tuple[Figure, ...]
    temperatures: Mapping[str, float]
    notes: tuple[str, ...] = ()

    def to_document(self) -> dict[str, Any]:
        """Return plain keys and values."""
        return {
            'figures': [vars(figure) for figure in self.figures],
            'temperatures': dict(self.temperatures),
            'notes': list(self.notes),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Measurement:
        """Return the measurement of `to_document`."""
        return cls(
            tuple(Figure(**figure) for figure in document['figures']),
            document['temperatures'],
            tuple(document['notes']),
        )


def work(task: Mapping[str, Any]) -> dict[str, Any]:
    """Execute one task and return its document, or {error}; task and result are plain data for use between processes.

    task: kind (`reference`: a description from the first `count` readable recordings; `recording`: measured against a
    description; `estimate`), paths, recording and identification (sections of a configuration), and robot (file) or
    reference (description as YAML).
    """
    try:
        return _WORK[task['kind']](task)
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
    notes: list[str] = []
    percent = fit.residual_percent(moving=True)[0]
    for j, name in enumerate(fit.joint_names):
        if np.isfinite(percent[j]):
            figures.append(Figure(name, 'residual', float(percent[j]), None, _residual_of(reference)))
        changes = friction_change(fit, j)
        if changes is None:
            notes.append(f'{name} hardly moves: its friction is not known')
            continue
        viscous, coulomb = joint_friction(reference.joint(name))
        for quantity, known, (change, std) in zip(('coulomb', 'viscous'), (coulomb, viscous), changes, strict=True):
            figures.append(Figure(name, quantity, known + change, std, known))
    arm = Arm.from_description(None, reference)
    documents, unknown = identify_transmissions(arm, [recording.select(arm.joint_names)])
    for name, document in documents.items():
        figures += _transmission(name, document, reference.joint(name))
    return Measurement(tuple(figures), _temperatures(recording), (*notes, *unknown))


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


def measure_estimate(description: DynamicsDescription) -> Measurement:
    """Return the measurement stated by a saved estimate, a dynamics description."""
    figures: list[Figure] = []
    for name in description.joint_names:
        part = description.joint(name)
        if 'friction' in part:
            viscous, coulomb = joint_friction(part)
            stated = part['friction'].get('standard_deviations', {})
            figures.append(Figure(name, 'coulomb', coulomb, stated.get('F_C0')))
            figures.append(Figure(name, 'viscous', viscous, stated.get('F_V1')))
        figures += _transmission(name, part, {})
        if (percent := _residual_of(description)) is not None:
            figures.append(Figure(name, 'residual', percent))
    return Measurement(tuple(figures), {})


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


def _identify_reference(task: Mapping[str, Any]) -> dict[str, Any]:
    model = RobotModel.load(task['robot'], **task['robot_options'])
    settings = IdentificationSettings.from_config(task['identification'])
    how = RecordingSettings.from_mapping(task['recording'])
    recordings: list[Recording] = []
    refused: list[str] = []
    for path in task['paths']:
        try:
            recordings.append(load_recording(path, how, model.joint_names, model.limits))
        except JointDynamicsError as error:
            refused.append(str(error))
        if len(recordings) == task['count']:
            break
    if not recordings:
        raise JointDynamicsError(refused[0])
    result = identify(model, recordings, settings=settings)
    return {'description': result.description.to_yaml(), 'reasons': [reason.text for reason in result.reasons]}


def _measure_recording(task: Mapping[str, Any]) -> dict[str, Any]:
    reference = DynamicsDescription.from_yaml(task['reference'])
    settings = IdentificationSettings.from_config(task['identification'])
    how = RecordingSettings.from_mapping(task['recording'])
    recording = load_recording(task['paths'][0], how, reference.joint_names, reference.robot_model().limits)
    return measure_recording(recording, reference, settings).to_document()


_WORK: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    'reference': _identify_reference,
    'recording': _measure_recording,
    'estimate': lambda task: measure_estimate(DynamicsDescription.load(task['paths'][0])).to_document(),
}


def serve_measurements() -> None:
    """Measure runs in a process of its own, for `Processes`: a recording that kills one does not affect the others."""
    receive, send = serve()
    while True:
        send(work(receive()))
