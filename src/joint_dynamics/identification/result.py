"""What an identification found, with everything needed to judge it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.display import as_html, one_line
from joint_dynamics.identification.preparation.observations import FilterPlan
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, together
from joint_dynamics.identification.regression.rotor import RotorSide
from joint_dynamics.identification.regression.torque import standard_set
from joint_dynamics.identification.reliability.excitation import doubtful_parameters, relative_deviation_percent
from joint_dynamics.identification.reliability.verdict import Reason, headline, summary_of
from joint_dynamics.identification.settings import IdentificationSettings
from joint_dynamics.recording import Recording


@dataclass(frozen=True)
class IdentificationResult:
    """Identified parameters of a robot.

    Attributes
    ----------
    problem: the regression problem (columns, their names and expressions). settings, plan: as used, with the cut-offs chosen.
    solution: chi (b,) and conditioning. covariance: (b, b), robust against correlation in time.
    training, validation: one Fit per recording. reasons: why the result cannot be believed (empty where it can).
    seconds: how long it took. notes: of the recordings and of the method, for the reader. extras: summary entries of single methods.
    standard: (p,) full standard set, where the method found one. rotor: what was compensated before, None where nothing was.

    """

    problem: Problem
    settings: IdentificationSettings
    plan: FilterPlan
    solution: Solution
    covariance: NDArray
    training: Sequence[Fit]
    validation: Sequence[Fit]
    reasons: Sequence[Reason]
    seconds: float
    notes: Sequence[str] = ()
    extras: dict[str, Any] = field(default_factory=dict)
    standard: NDArray | None = None
    rotor: RotorSide | None = None

    @property
    def names(self) -> list[str]:
        """Names of the parameters (b,)."""
        return self.problem.names

    @property
    def expressions(self) -> list[str]:
        """What each parameter is made of (b,)."""
        return self.problem.base.expressions + self.problem.names[self.problem.base.count:]

    @property
    def deviation(self) -> NDArray:
        """Standard deviation of each parameter (b,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def doubtful(self) -> list[str]:
        """Names of the parameters that this motion does not separate from others."""
        return doubtful_parameters(self.names, self.solution)

    @property
    def verdict(self) -> str:
        """The verdict in one line: reliable within so many percent (moving samples, of validation where there is one), or not, because …."""
        return headline(self.reasons, together(self.validation or self.training, moving=True)[1])

    @property
    def samples(self) -> int:
        """Kept samples in training."""
        return int(sum(len(fit.time) for fit in self.training))

    @property
    def standard_parameters(self) -> NDArray:
        """A full standard set (p,) with the torque of the identified one, as near as possible to the URDF's inertials, or to zero."""
        if self.standard is not None:
            return self.standard
        return standard_set(self.problem.base, self.solution.chi[:self.problem.base.count], self.problem.model.parameters)

    @cached_property
    def description(self) -> DynamicsDescription:
        """The DynamicsDescription of this result: one document, whose date is that of the first look at it."""
        from joint_dynamics.identification.describe import describe
        return describe(self)

    def predict(self, recording: Recording) -> NDArray:
        """Return the torque that the description predicts along a recording, (samples, joints) [N·m], as `validate` computes it.

        Joints in the order of `description`, every sample of the recording; its own torque or current takes no part. Raises
        JointDynamicsError as `predict_torque` does.
        """
        from joint_dynamics.identification.validate import predict_torque
        return predict_torque(self.description, recording, self.settings)

    def __repr__(self) -> str:
        return f'<IdentificationResult {one_line(self)}>'

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict with its reasons, residuals and parameters."""
        return as_html(self)

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
            'doubtful_parameters': self.doubtful,
            'seconds': self.seconds,
            'filters': {name: _finite(getattr(self.plan, name)) for name in ('f_dyn', 'position_cutoff', 'parallel_cutoff', 'decimation', 'trim')},
            'training': training,
            'training_overall_percent': _finite(together(self.training)[1]),
            'training_moving_overall_percent': _finite(together(self.training, moving=True)[1]),
            'validation': [fit.summary() for fit in self.validation],
            'validation_overall_percent': _finite(together(self.validation)[1]) if self.validation else None,
            'validation_moving_overall_percent': _finite(together(self.validation, moving=True)[1]) if self.validation else None,
            'residual_deviation': dict(zip(self.problem.model.joint_names, map(float, self.solution.sigma), strict=True)),
            'parameters': [
                {'name': name, 'expression': expression, 'value': float(value), 'std': _finite(std), 'relative_std_percent': _finite(percent)}
                for name, expression, value, std, percent in zip(self.names, self.expressions, self.solution.chi, deviation, relative, strict=True)],
            'notes': list(self.notes),
            **self.extras,
        }


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None
