"""What an identification found, with everything needed to judge it: numbers, verdict, summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.preparation.observations import FilterPlan
from joint_dynamics.identification.regression.least_squares import MethodDetails, Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, band_of_all, overall_in_fixed_band, overall_residual
from joint_dynamics.identification.regression.rotor import RotorSide
from joint_dynamics.identification.regression.torque import standard_set
from joint_dynamics.identification.reliability.coverage import poorly_determined_parameters, relative_deviation_percent
from joint_dynamics.identification.reliability.verdict import Reason, headline, summary_of

ENTRIES = ('drive_gain_deviation', 'drive_gains', 'payload', 'validity', 'resting', 'diagnostics')
"""Fields that are entries of summary.json by the same name."""


@dataclass(frozen=True)
class Findings:
    """The fields of an `IdentificationResult`, where they are explained, and what follows from them alone."""

    problem: Problem
    settings: IdentificationSettings
    plan: FilterPlan
    solution: Solution
    covariance: FloatArray
    training: Sequence[Fit]
    validation: Sequence[Fit]
    reasons: Sequence[Reason]
    seconds: float
    notes: Sequence[str] = ()
    standard: FloatArray | None = None
    rotor: RotorSide | None = None
    details: MethodDetails = field(default_factory=MethodDetails)
    validity: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    resting: dict[str, Any] | None = None
    transmissions: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    drive_gain_deviation: dict[str, Any] | None = None
    drive_gains: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None
    diagnostics: dict[str, Any] | None = None
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
        scatter = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.where(np.isfinite(self.solution.inflation), scatter, np.inf)

    @property
    def poorly_determined(self) -> list[str]:
        """Names of the parameters that this motion does not separate from others."""
        return poorly_determined_parameters(self.names, self.solution)

    @property
    def verdict(self) -> str:
        """The verdict in one line: reliable within so many percent, or not, because ….

        Percent of moving samples below the band of the fit, of the validation where any joint moves in one.
        """
        parts = [(overall_residual(part, moving=True)[1], part) for part in (self.validation, self.training) if part]
        percent, fits = next(((percent, part) for percent, part in parts if np.isfinite(percent)), (None, ()))
        return headline(self.reasons, percent, band_of_all(fits))

    @property
    def samples(self) -> int:
        """Kept samples in training."""
        return int(sum(len(fit.time) for fit in self.training))

    @property
    def standard_parameters(self) -> FloatArray:
        """A full standard set (p,) with the torque of the identified one.

        As near as possible to the URDF's inertials, or to zero.
        """
        if self.standard is not None:
            return self.standard
        return standard_set(
            self.problem.base, self.solution.chi[: self.problem.base.count], self.problem.model.parameters
        )

    def summary(self) -> dict[str, Any]:
        """Return summary.json of `joint-dynamics identify`: plain keys, finite numbers or None."""
        deviation = self.deviation
        relative = relative_deviation_percent(self.solution.chi, deviation)
        training = [fit.summary() for fit in self.training]
        return {
            'method': self.settings.method,
            'samples': self.samples,
            'base_parameters': self.problem.base.count,
            'columns': len(self.names),
            'condition_number': _finite(self.solution.condition_number),
            **summary_of(self.reasons, self.verdict),
            'doubtful_parameters': self.poorly_determined,
            'seconds': self.seconds,
            'filters': {
                name: _finite(getattr(self.plan, name))
                for name in ('f_dyn', 'position_cutoff', 'parallel_cutoff', 'decimation', 'trim')
            },
            'training': training,
            'training_overall_percent': _finite(overall_residual(self.training)[1]),
            'training_moving_overall_percent': _finite(overall_residual(self.training, moving=True)[1]),
            'validation': [fit.summary() for fit in self.validation],
            'validation_overall_percent': _finite(overall_residual(self.validation)[1]) if self.validation else None,
            'validation_moving_overall_percent': (
                _finite(overall_residual(self.validation, moving=True)[1]) if self.validation else None
            ),
            'training_fixed_band': overall_in_fixed_band(self.training),
            'validation_fixed_band': overall_in_fixed_band(self.validation) if self.validation else None,
            'residual_deviation': dict(
                zip(self.problem.model.joint_names, map(float, self.solution.sigma), strict=True)
            ),
            'parameters': [
                {
                    'name': name,
                    'expression': expression,
                    'value': float(value),
                    'std': _finite(std),
                    'relative_std_percent': _finite(percent),
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
        found = own | {'transmissions': self.transmissions or None} | vars(self.details)
        return {name: entry for name, entry in found.items() if entry is not None}


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None
