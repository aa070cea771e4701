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

"""From currents to torques, by known gains or by gains from total least squares [G], with their uncertainty.

A gain with the relative error δ_m scales the torque of its motor: Y → Y + δ_m Y_m. The estimate moves by S_m δ_m with

    S_m = (AᵀA)⁻¹ Aᵀ (Y_m / σ),    ΔC = S R Sᵀ,

R the covariance of δ. The recordings do not show this error, and longer ones do not reduce it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.estimate import coupling_matrix, identify_drive_gains, with_torque
from joint_dynamics.identification.drive_gains.payload_runs import PayloadParameters
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.observations import FilterPlan
from joint_dynamics.identification.physical.semidefinite import payload_body
from joint_dynamics.identification.recordings import PreparedRecordings
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.methods import SolvedProblem
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings.base import per_joint, refusal

# Relative standard deviation of gains without a stated one: those of data sheets are uncertain by about 10 % [G II.E],
# as a uniform distribution.
ASSUMED = 0.10 / 3**0.5


def stated_or_assumed(
    stated: float | Mapping[str, float] | None, gains: Mapping[str, float] | None, recordings: Sequence[Recording]
) -> tuple[float | Mapping[str, float], str | None]:
    """Return the relative standard deviation of drive gains and a note where it is `ASSUMED`.

    It is assumed where none is stated and `gains` turn currents into torques; recorded torques have none.
    """
    if stated is not None:
        return stated, None
    if not gains or all(recording.current is None for recording in recordings):
        return 0.0, None
    note = (
        'drive_gain_deviation is not stated, assumed are '
        f'{100 * ASSUMED:.2g} % (standard deviation; ± 10 % of a data sheet)'
    )
    return ASSUMED, note


def gain_covariance(deviation: float | Mapping[str, float], joint_names: Sequence[str]) -> FloatArray:
    """Return R (n, n) of stated relative standard deviations, one number for all motors or {joint: number}.

    The errors of motors are independent.
    """
    shares = deviation if isinstance(deviation, Mapping) else dict.fromkeys(joint_names, float(deviation))
    return np.diag(per_joint(shares, joint_names, 'drive_gain_deviation', others=True) ** 2)


@dataclass(frozen=True)
class GainUncertainty:
    """Effect of errors of the gains on the robot's parameters; see the module.

    Attributes
    ----------
    relative : (n, n) array
        R, covariance of the gains' relative errors.
    sensitivity : (b, n) array
        S, change of each parameter per relative error of each gain.
    coupling : (n, n) array
        C, motor angles = C · joint angles.
    """

    relative: FloatArray
    sensitivity: FloatArray
    coupling: FloatArray

    @property
    def spread(self) -> FloatArray:
        """ΔC (b, b), added to the covariance of the robot's parameters; positive semidefinite."""
        spread = self.sensitivity @ self.relative @ self.sensitivity.T
        return 0.5 * (spread + spread.T)


def motor_part(tau: FloatArray, coupling: FloatArray) -> FloatArray:
    """Return the part of each motor (joints, motors, samples) in the joint torques `tau` (joints, samples), N·m."""
    return coupling.T[:, :, None] * np.linalg.solve(coupling.T, tau)[None]


def gain_sensitivity(blocks: Iterable[Block], solution: Solution, coupling: FloatArray) -> FloatArray:
    """Return S (b, n), the change of each parameter per relative error of each motor's gain.

    Parameters
    ----------
    blocks
        from which `solution` was computed, `tau` in N·m.
    coupling
        C (n, n), joint torques = Cᵀ · motor torques.
    """
    moment = np.zeros((len(solution.chi), len(coupling)))
    for block in blocks:
        weighted = block.rows * solution.row_factors(block)[:, None] ** 2
        moment += np.einsum('jbs,jms->bm', weighted, motor_part(block.tau, coupling), optimize=True)
    return solution.inverse @ moment


@dataclass(frozen=True)
class ConvertedRecordings:
    """Recordings in N·m, after the conversion.

    Attributes
    ----------
    data : PreparedRecordings
        the recordings, with torques in place of the currents that were converted.
    settings : IdentificationSettings
        with the drive gains in use and their relative standard deviation.
    covariance : (n, n) array or None
        of the gains' relative errors; None where the gains count as exact.
    drive_gain_deviation, drive_gains, payload : dict or None
        entries of the summary: the deviation stated or assumed, the gains and the payload that were identified.
    notes : list of str
        for the reader of the report.
    """

    data: PreparedRecordings
    settings: IdentificationSettings
    covariance: FloatArray | None
    drive_gain_deviation: dict[str, Any] | None = None
    drive_gains: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def uncertainty(self, model: RobotModel, solved: SolvedProblem) -> GainUncertainty | None:
        """Return the effect of uncertain gains on a solution; None: the gains count as exact."""
        if self.covariance is None:
            return None
        coupling = coupling_matrix(model)
        sensitivity = gain_sensitivity(solved.problem.blocks(), solved.solution, coupling)
        return GainUncertainty(self.covariance, sensitivity, coupling)


def to_torques(
    model: RobotModel,
    data: PreparedRecordings,
    plan: FilterPlan,
    settings: IdentificationSettings,
    say: Callable[[str], None],
) -> ConvertedRecordings:
    """Convert currents of coupled drives, or with unknown gains, to torques; with the uncertainty of the gains.

    The method `tls` identifies the gains; known gains of coupled drives turn motor currents into joint torques. All
    other currents are converted by `observe`, with the gains of the settings.

    Raises
    ------
    JointDynamicsError
        For `tls` without the weighed mass of the payload, and gains of some joints only.
    """
    if settings.drive_gains:
        # also where torques were recorded: the description states the gains
        per_joint(settings.drive_gains, model.joint_names, 'drive_gains', others=True)
    # tls identifies its gains with deviations of their own
    used = None if settings.method == 'tls' else settings.drive_gains
    stated, assumed = stated_or_assumed(settings.drive_gain_deviation, used, data.training)
    settings = replace(settings, drive_gain_deviation=stated)
    deviation: dict[str, Any] | None = None
    notes: list[str] = [] if assumed is None else [assumed]
    if stated and used:
        value = dict(stated) if isinstance(stated, Mapping) else stated
        deviation = {'value': value, 'assumed': assumed is not None}
    covariance = gain_covariance(stated, model.joint_names) if stated and settings.drive_gains else None
    if settings.method == 'tls':
        say('drive gains by total least squares')
        gains, covariance, summary, payload = _identified(model, data, plan, settings, notes)
        prior = settings.drive_gains
        data = data.each(lambda recording: _in_torque(model, recording, gains, prior))
        settings = replace(settings, drive_gains=gains)
        return ConvertedRecordings(data, settings, covariance, deviation, summary, payload, notes)
    if model.coupling is not None and settings.drive_gains:
        known = settings.drive_gains
        data = data.each(
            lambda recording: recording if recording.current is None else with_torque(model, recording, known)
        )
    return ConvertedRecordings(data, settings, covariance, deviation, notes=notes)


def _identified(
    model: RobotModel, data: PreparedRecordings, plan: FilterPlan, settings: IdentificationSettings, notes: list[str]
) -> tuple[dict[str, float], FloatArray, dict[str, Any], dict[str, Any]]:
    """Return gains {joint: N·m/A}, the covariance of their relative errors, the summaries of gains and payload."""
    if not settings.known_payload:
        raise JointDynamicsError(
            'tls: expected the weighed mass of the payload (--payload-mass, or payload.mass in the configuration),'
            ' found none'
        )
    if settings.options:
        raise refusal('identification.options', 'none for tls since 0.3.0: its solver is mixed', settings.options)
    gains = identify_drive_gains(
        model,
        data.training,
        data.payload_runs,
        settings.known_payload,
        plan,
        prior=settings.drive_gains,
        terms=settings.terms,
        rest_speed=settings.rest_speed,
    )
    payload = as_body(gains.payload, notes).summary()
    return gains.by_joint, gains.relative_covariance, gains.summary(), payload


def as_body(payload: PayloadParameters, notes: list[str]) -> PayloadParameters:
    """Return the nearest possible body, or the estimate with a note why not."""
    try:
        return payload_body(payload)
    except JointDynamicsError as error:
        notes.append(f'the estimated payload is not a possible body: {error}')
        return payload


def _in_torque(
    model: RobotModel, recording: Recording, gains: Mapping[str, float], prior: Mapping[str, float] | None
) -> Recording:
    """Return a recording in N·m by identified gains.

    Torques as recorded were computed with the prior gains, which the identified ones replace.
    """
    if recording.current is None and prior is not None:
        before = per_joint(prior, model.joint_names, 'drive_gains', others=True)
        gains = {name: gains[name] / before[j] for j, name in enumerate(model.joint_names)}
    return with_torque(model, recording, gains)
