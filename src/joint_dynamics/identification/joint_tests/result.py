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

"""Result of a test of one joint: values with deviations, quality, reliability and plots.

Values come from linear least squares; their deviations count effective samples, since residuals are correlated in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.regression.covariance import correlated_variance

RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LinearFit:
    """Solution of W χ ≈ y.

    Attributes
    ----------
    names, values
        of the p parameters, χ (p,).
    covariance
        (p, p).
    residual
        y − W χ (N,), without weights.
    condition
        condition number of W with weighted rows and columns scaled to norm 1.
    """

    names: tuple[str, ...]
    values: FloatArray
    covariance: FloatArray
    residual: FloatArray
    condition: float

    @property
    def std(self) -> FloatArray:
        """Standard deviations (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def get(self, name: str) -> float:
        """Return the value of one parameter, zero where it was not fitted."""
        return self[name] if name in self.names else 0.0

    def deviation(self, name: str) -> float:
        """Return the standard deviation of one parameter."""
        return float(self.std[self.names.index(name)])


def least_squares(
    W: ArrayLike, y: ArrayLike, names: Sequence[str], *, weights: ArrayLike | None = None, in_time: bool = True
) -> LinearFit:
    """Least squares W (N, p) χ = y (N,) by QR.

    Parameters
    ----------
    weights
        (N,), 1/σ per row.
    in_time
        the rows are samples in time order: deviations count effective samples (`regression.covariance`).

    Raises
    ------
    JointDynamicsError
        For too few rows.
    NotReliableError
        Naming the columns that are collinear.
    """
    W, y = np.asarray(W, dtype=float), np.asarray(y, dtype=float)
    rows, columns = W.shape
    if rows <= columns:
        raise JointDynamicsError(
            f'least squares: expected more than {columns} rows for {columns} parameters ({", ".join(names)}), found'
            f' {rows}'
        )
    scale_rows = np.ones(rows) if weights is None else np.asarray(weights, dtype=float)
    A, b = W * scale_rows[:, None], y * scale_rows
    norms = np.linalg.norm(A, axis=0)
    if np.any(norms == 0):
        raise NotReliableError(f'no sample excites {names[int(np.argmin(norms))]}')
    U, s, Vt = np.linalg.svd(A / norms, full_matrices=False)
    if not s[-1] >= RANK_TOLERANCE * s[0]:
        mixed = [name for name, share in zip(names, Vt[-1], strict=True) if abs(share) > 0.1]
        raise NotReliableError(f'the data do not distinguish {", ".join(mixed)}')
    values = Vt.T @ ((U.T @ b) / s) / norms
    residual = b - A @ values
    inverse = (Vt.T / s**2) @ Vt / np.outer(norms, norms)
    variance = float(residual @ residual) / (rows - columns)
    if in_time:
        variance = max(variance, correlated_variance(residual, A.T @ A, inverse))
    return LinearFit(tuple(names), values, variance * inverse, y - W @ values, float(s[0] / s[-1]))


def nrmse_percent(y: FloatArray, prediction: FloatArray) -> float:
    """Return NRMSE = 100 (1 − ‖y − ŷ‖/‖y − ȳ‖) [%] of a prediction ŷ of y, (N,) each [M3 eq 15].

    100 is perfect, 0 no better than the mean, −∞ what `y` that does not change gives.
    """
    spread = float(np.linalg.norm(y - np.mean(y)))
    return float('-inf') if spread == 0 else 100.0 * (1.0 - float(np.linalg.norm(y - prediction)) / spread)


@dataclass(frozen=True)
class Value:
    """One identified number.

    Attributes
    ----------
    value, std
        and its standard deviation, None where none can be stated.
    unit
        of both; '' without.
    """

    value: float
    std: float | None
    unit: str

    @property
    def relative_std_percent(self) -> float | None:
        """Standard deviation in percent of the value's size, None without one."""
        return None if self.std is None or self.value == 0 else 100.0 * self.std / abs(self.value)


@dataclass(frozen=True)
class Series:
    """One set of points or one line of a plot.

    Attributes
    ----------
    label
        '' continues the series before.
    x, y
        (N,) in the units of the axes.
    kind
        `points` or `line`.
    std
        (N,) standard deviations of y, drawn as bars of two; None: none.
    """

    label: str
    x: FloatArray
    y: FloatArray
    kind: str = 'points'
    std: FloatArray | None = None


@dataclass(frozen=True)
class Plot:
    """One figure, as data: title, labels of the axes with their units, and series; the report draws it."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]


@dataclass
class JointTestResult:
    """Result of one test on one joint.

    Attributes
    ----------
    parameters : mapping
        by name, with deviations and units.
    quality
        plain numbers (fit in percent, residuals, spans, counts).
    warnings : list of texts
        for the user.
    reasons
        against the reliability of the result; empty: it is reliable.
    document
        the joint's part of the dynamics description (docs/reference/joint_models.md).
    plots
        each map with data and fit.
    merged
        the robot's description with the result added to it; None: not from `identify_joint`.
    """

    test: str
    joint: str
    parameters: dict[str, Value] = field(default_factory=dict)
    quality: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)
    plots: list[Plot] = field(default_factory=list)
    merged: DynamicsDescription | None = None

    @property
    def description(self) -> DynamicsDescription:
        """The robot's description with the result added to it. Raises JointDynamicsError where there is none."""
        if self.merged is None:
            raise JointDynamicsError(f'{self.test}: expected a result of identify_joint, found one without description')
        return self.merged

    @property
    def reliable(self) -> bool:
        """Whether no reason speaks against the result."""
        return not self.reasons

    def take(self, fit: LinearFit, units: Mapping[str, str]) -> None:
        """Add the fitted parameters named by `units`."""
        for name, unit in units.items():
            if name in fit.names:
                self.parameters[name] = Value(fit[name], fit.deviation(name), unit)

    def judge_fit(self, y: FloatArray, residual: FloatArray) -> None:
        """Add fit and residual of `y` (N,), with `residual` (N,), both [N·m] or [rad]."""
        self.quality['fit_percent'] = nrmse_percent(y, y - residual)
        self.quality['residual_rms'] = float(np.sqrt(np.mean(residual**2)))

    def plot(self, title: str, x_label: str, y_label: str, *series: Series) -> None:
        """Add a figure of `series`: `title` after the name of the joint, `x_label` and `y_label` of its axes."""
        self.plots.append(Plot(f'{self.joint}: {title}', x_label, y_label, series))

    def flag_insignificant(self, names: Sequence[str], why: str) -> None:
        """Note a reason, with its cause `why`, for each of `names` within two standard deviations of zero."""
        for name in names:
            item = self.parameters[name]
            if item.std is not None and abs(item.value) < 2.0 * item.std:
                self.reasons.append(f'{name} = {item.value:.4g} ± {item.std:.2g} {item.unit} is not significant: {why}')

    def summary(self) -> dict[str, Any]:
        """All numbers under plain keys, for summary.json."""
        return {
            'test': self.test,
            'joint': self.joint,
            'verdict': 'reliable' if self.reliable else 'not reliable',
            'believable': self.reliable,
            'warnings': self.warnings,
            'reasons': self.reasons,
            'parameters': [
                {'name': name, **vars(item), 'relative_std_percent': item.relative_std_percent}
                for name, item in self.parameters.items()
            ],
            **self.quality,
        }


def friction_document(values: dict[str, Value], **more: Any) -> dict[str, Any]:
    """Return {friction: …} of the description.

    Parameters
    ----------
    values
        identified values by the names of `FrictionModel`, in their SI units; deviations that are None are left out.
    more
        further fields of the part, such as `range`.
    """
    deviations = {name: float(item.std) for name, item in values.items() if item.std is not None}
    return {
        'friction': {
            'parameters': {name: float(item.value) for name, item in values.items()},
            'standard_deviations': deviations,
            **more,
        }
    }
