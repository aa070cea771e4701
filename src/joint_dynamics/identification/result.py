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

"""The result of an identification: numbers, verdict, description, summary, and how it shows itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.observations import FilterPlan
from joint_dynamics.identification.regression.diagnostics import (
    poorly_determined_parameters,
    relative_deviation_percent,
)
from joint_dynamics.identification.regression.least_squares import MethodDetails, Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, band_of_all, overall_in_fixed_band, overall_residual
from joint_dynamics.identification.regression.rotor import RotorSide
from joint_dynamics.identification.reliability.verdict import Reason, headline, summary_of
from joint_dynamics.identification.validate import predict_torque
from joint_dynamics.recording import Recording

ENTRIES = ('drive_gain_deviation', 'drive_gains', 'payload', 'validity', 'resting')
"""Fields that are entries of summary.json by the same name."""


@dataclass(frozen=True)
class IdentificationResult:
    """Identified parameters of a robot.

    Attributes
    ----------
    problem
        the regression problem (columns, their names and expressions).
    settings, plan
        as used, with the cut-offs chosen.
    solution
        chi (b,) and conditioning.
    covariance
        (b, b), robust against correlation in time.
    standard_parameters
        (p,) a full standard set with the torque of the identified one, as near as possible to the URDF's inertials, or
        to zero, where the method has none of its own.
    description
        the document: model of the torque, with its provenance.
    training, validation
        one Fit per recording.
    reasons
        why the result is not reliable (empty where it is).
    seconds
        how long it took.
    notes : list of str
        of the recordings and of the method, for the reader.
    rotor
        compensated before, None: nothing.
    details
        results of the steps of the method.
    validity
        {joint: {speed, load, temperature}} within which the friction was checked.
    resting
        friction of joints at rest, None: rest was not looked at.
    transmissions
        {joint: stiffness, kinematic error, backlash} of those where both sides were recorded.
    drive_gain_deviation
        {value, assumed} of currents.
    drive_gains, payload
        as identified, None: not asked for.
    checks
        delay, torque scales, differences between recordings and the like, entries of summary.json.
    """

    problem: Problem
    settings: IdentificationSettings
    plan: FilterPlan
    solution: Solution
    covariance: FloatArray
    standard_parameters: FloatArray
    description: DynamicsDescription
    training: Sequence[Fit]
    validation: Sequence[Fit]
    reasons: Sequence[Reason]
    seconds: float
    notes: Sequence[str] = ()
    rotor: RotorSide | None = None
    details: MethodDetails = field(default_factory=MethodDetails)
    validity: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    resting: dict[str, Any] | None = None
    transmissions: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    drive_gain_deviation: dict[str, Any] | None = None
    drive_gains: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None
    checks: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the parameters (b,)."""
        return self.problem.names

    @property
    def expressions(self) -> list[str]:
        """What each parameter is made of (b,)."""
        return self.problem.base.expressions + self.problem.names[self.problem.base.count :]

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each parameter (b,), in its SI unit; infinite where only sums of it show."""
        return self.solution.deviation(self.covariance)

    @property
    def poorly_determined(self) -> list[str]:
        """Names of the parameters that this motion does not separate from others."""
        return poorly_determined_parameters(self.names, self.solution)

    @property
    def verdict(self) -> str:
        """The verdict in one line: reliable within so many percent, or not, because ….

        Percent of moving samples below the band of the fit, of the validation where any joint moves in one.
        """
        moves = bool(self.validation) and bool(np.isfinite(overall_residual(self.validation, moving=True)[1]))
        return headline(self.reasons, self.validation if moves else self.training, validated=moves)

    @property
    def samples(self) -> int:
        """Kept samples in training."""
        return int(sum(len(fit.time) for fit in self.training))

    def summary(self) -> dict[str, Any]:
        """Return summary.json of `joint-dynamics identify`: plain keys, finite numbers or None."""
        deviation = self.deviation
        relative = relative_deviation_percent(self.solution.chi, deviation)
        residuals: dict[str, Any] = {}
        for kind, fits in (('training', self.training), ('validation', self.validation)):
            residuals |= {
                kind: [fit.summary() for fit in fits],
                f'{kind}_overall_percent': finite(overall_residual(fits)[1]) if fits else None,
                f'{kind}_moving_overall_percent': finite(overall_residual(fits, moving=True)[1]) if fits else None,
                f'{kind}_fixed_band': overall_in_fixed_band(fits) if fits else None,
            }
        return {
            'method': self.settings.method,
            'samples': self.samples,
            'base_parameters': self.problem.base.count,
            'columns': len(self.names),
            'condition_number': finite(self.solution.condition_number),
            **summary_of(self.reasons, self.verdict),
            'doubtful_parameters': self.poorly_determined,
            'seconds': self.seconds,
            'filters': {name: finite(value) for name, value in vars(self.plan).items()},
            **residuals,
            'residual_deviation': dict(
                zip(self.problem.model.joint_names, map(float, self.solution.sigma), strict=True)
            ),
            'parameters': [
                {
                    'name': name,
                    'expression': expression,
                    'value': float(value),
                    'std': finite(std),
                    'relative_std_percent': finite(percent),
                }
                for name, expression, value, std, percent in zip(
                    self.names, self.expressions, self.solution.chi, deviation, relative, strict=True
                )
            ],
            'notes': list(self.notes),
            **self._entries(),
            **self.checks,
        }

    def _entries(self) -> dict[str, Any]:
        """Return the entries of those steps that were taken."""
        own = {name: getattr(self, name) for name in ENTRIES}
        entries = own | {'transmissions': self.transmissions or None} | vars(self.details)
        return {name: entry for name, entry in entries.items() if entry is not None}

    def predict(self, recording: Recording) -> FloatArray:
        """Return the torque that the description predicts along a recording, (samples, joints) [N·m].

        As `validate` computes it.

        Joints in the order of `description`, every sample of the recording; its own torque or current takes no part.

        Raises
        ------
        JointDynamicsError
            As `predict_torque` does.
        """
        return predict_torque(self.description, recording, self.settings)

    def __repr__(self) -> str:
        """Return method, sizes, residual and verdict in one line."""
        base, count = self.problem.base.count, len(self.reasons)
        further = len(self.names) - base
        size = f'{base} base parameters' + (f' and {further} further' if further else '')
        kind, fits = ('validation', self.validation) if self.validation else ('training', self.training)
        left = residual_text(fits)
        shown = f'{kind} residual {left}' if left else f'{kind} without torque in motion'
        verdict = f'not reliable for {count} reason{"s" * (count > 1)}' if count else 'reliable'
        return f'<IdentificationResult {self.settings.method}: {size} from {self.samples} samples, {shown}, {verdict}>'


def residual_text(fits: Sequence[Fit]) -> str:
    """Return the residual of recordings as the verdict has it, moving joints alone, with its band; '' of none."""
    percent = overall_residual(fits, moving=True)[1] if fits else np.nan
    return f'{percent:.3g} % {band_of_all(fits)}'.rstrip() if np.isfinite(percent) else ''
