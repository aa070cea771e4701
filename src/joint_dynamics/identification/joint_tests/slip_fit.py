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

"""Maxwell-slip by non-linear regression, and the static map that it has to beat [M4 4.4.3-4.4.5].

Both predict y = F_C H + (F_V1 ω + J ω̇ + offset) with H = Σ w_i δ_i/(𝓑Δ_i), Σ w_i = 1; w_i F_C is the slip torque of
operator i. The static map has H = sgn ω. Differential evolution with a final gradient search finds
0 < Δ_1 < … < Δ_M; the stiffnesses k ≥ 0 follow from least squares at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import differential_evolution, lsq_linear

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.result import least_squares, nrmse_percent
from joint_dynamics.joint import MaxwellSlip, PeriodicMap, polynomial_limits

UNBOUNDED_COLUMNS = 3  # columns beside the operators: ω, ω̇, 1
LIMITS = (1e-3, 1.5)  # range of the limits Δ in the search, relative to 𝓑
ROWS = 10_000  # rows of the search: the path matters, not the number of its samples


class SlipData(NamedTuple):
    """One run, (N,) each; all operators slip at its first sample, in the direction of motion."""

    theta: FloatArray  # rad, motor angle corrected by θ̃
    omega: FloatArray  # rad/s
    alpha: FloatArray  # rad/s²
    y: FloatArray  # N·m, torque

    def part(self, rows: slice) -> SlipData:
        """Return some of the rows."""
        return SlipData(*(x[rows] for x in self))


@dataclass(frozen=True)
class SlipFit:
    """Maxwell-slip operators, or the static map.

    Attributes
    ----------
    F_C, F_C_std
        Coulomb level and its deviation, N·m.
    F_V1, inertia, offset
        N·m·s/rad, kg·m², N·m.
    limits, stiffness
        (M,) of the operators; None of the static map.
    estimation_percent, validation_percent
        NRMSE on both parts.
    """

    F_C: float
    F_C_std: float
    F_V1: float
    inertia: float
    offset: float
    limits: FloatArray | None
    stiffness: FloatArray | None
    estimation_percent: float
    validation_percent: float

    def summary(self) -> dict[str, Any]:
        """Return plain numbers for summary.json."""
        names = ('estimation_percent', 'validation_percent', 'F_C', 'limits', 'stiffness')
        return {name: np.array(getattr(self, name)).tolist() for name in names}

    def torque(self, run: SlipData, backlash: PeriodicMap) -> FloatArray:
        """Return the torque of this fit along a run, (N,) N·m."""
        shares = [1.0] if self.limits is None or self.stiffness is None else self.limits * self.stiffness
        columns = _columns([run], backlash, self.limits)
        return columns @ np.r_[self.F_C * np.asarray(shares), self.F_V1, self.inertia, self.offset]


def _columns(runs: Sequence[SlipData], backlash: PeriodicMap, limits: FloatArray | None) -> FloatArray:
    """Return the columns [δ_i/(𝓑Δ_i) …, ω, ω̇, 1] of all runs; sgn ω instead of the operators for limits None."""
    blocks = []
    for run in runs:
        if limits is None:
            slip = np.sign(run.omega)[:, None]
        else:
            model = MaxwellSlip(1, backlash, limits=limits)
            model.reset(run.theta[0], np.sign(run.omega[0]))
            slip = model.relative_deformation(run.theta)[:, 0]
        blocks.append(np.column_stack([slip, run.omega, run.alpha, np.ones(run.y.size)]))
    return np.concatenate(blocks)


def _solve(columns: FloatArray, y: FloatArray) -> FloatArray:
    """Return the least squares with slip torques >= 0 (the last three columns are free).

    It works on the Cholesky factor of the scaled normal equations, which the search solves thousands of times.
    """
    p = columns.shape[1]
    norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-30)
    gram = columns.T @ columns / np.outer(norms, norms)
    L = np.linalg.cholesky(gram + 1e-13 * np.eye(p))
    low = np.r_[np.zeros(p - UNBOUNDED_COLUMNS), np.full(UNBOUNDED_COLUMNS, -np.inf)]
    return lsq_linear(L.T, np.linalg.solve(L, columns.T @ y / norms), bounds=(low, np.inf), method='bvls').x / norms


def _search(runs: Sequence[SlipData], backlash: PeriodicMap, operators: int) -> FloatArray:
    """Return Δ (M,), sorted, of the smallest residual on thinned data."""
    low, high = np.log(LIMITS)
    thin = max(1, sum(run.y.size for run in runs) // ROWS)
    runs = [run.part(slice(None, None, thin)) for run in runs]
    y = np.concatenate([run.y for run in runs])

    def ordered(x: FloatArray) -> FloatArray:
        return np.maximum.accumulate(np.exp(np.sort(x)) * (1.0 + 1e-9 * np.arange(operators)))

    def cost(x: FloatArray) -> float:
        columns = _columns(runs, backlash, ordered(x))
        return float(np.mean((y - columns @ _solve(columns, y)) ** 2))

    start = np.log(polynomial_limits(operators)).clip(low, high)
    found = differential_evolution(cost, [(low, high)] * operators, popsize=6, maxiter=25, tol=1e-3, seed=0, x0=start)
    return ordered(found.x)


def fit_maxwell_slip(
    estimation: Sequence[SlipData], validation: Sequence[SlipData], backlash: PeriodicMap, operators: int = 4
) -> tuple[SlipFit, SlipFit]:
    """Return the Maxwell-slip fit and the static map, both fitted to the estimation runs.

    The validation runs judge both; no fit uses them.

    Parameters
    ----------
    estimation, validation
        runs of one joint.
    backlash
        𝓑(θ) > 0, half the backlash, rad.
    operators
        number of operators.

    Raises
    ------
    NotReliableError
        For a torque without friction.
    """
    limits = _search(estimation, backlash, operators)
    return _fit(estimation, validation, backlash, limits), _fit(estimation, validation, backlash, None)


def _fit(
    estimation: Sequence[SlipData], validation: Sequence[SlipData], backlash: PeriodicMap, limits: FloatArray | None
) -> SlipFit:
    """Fit with given limits Δ (M,), None: the static map."""
    y, y_new = (np.concatenate([run.y for run in runs]) for runs in (estimation, validation))
    columns, new = (_columns(runs, backlash, limits) for runs in (estimation, validation))
    solution = _solve(columns, y)
    slips = solution[:-UNBOUNDED_COLUMNS]
    F_C = float(slips.sum())
    if not F_C > 0:
        raise NotReliableError('hysteresis: expected Coulomb friction in the torque, found none')
    H = columns[:, :-UNBOUNDED_COLUMNS] @ slips / F_C
    level = least_squares(
        np.column_stack([H, columns[:, -UNBOUNDED_COLUMNS:]]), y, ('F_C', 'F_V1', 'inertia', 'offset')
    )
    F_V1, inertia, offset = map(float, solution[-UNBOUNDED_COLUMNS:])
    return SlipFit(
        F_C,
        level.deviation('F_C'),
        F_V1,
        inertia,
        offset,
        limits,
        None if limits is None else slips / F_C / limits,
        nrmse_percent(y, columns @ solution),
        nrmse_percent(y_new, new @ solution),
    )
