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
operator i. The static map has H = sgn ω. The non-linear regression searches 0 < Δ_1 < … < Δ_M by differential
evolution, then by simplex; the stiffnesses k ≥ 0 follow from least squares at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution, lsq_linear, minimize

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.result import least_squares, nrmse_percent
from joint_dynamics.joint import MaxwellSlip, PeriodicMap, polynomial_limits

UNBOUNDED_COLUMNS = 3  # columns beside the operators: ω, ω̇, 1
LOWEST_LIMIT = 1e-3  # smallest limit Δ of the search, relative to 𝓑
HIGHEST_LIMIT = 1.5  # largest limit Δ of the search, relative to 𝓑
GLOBAL_ROWS = 6_000  # rows of the global search: the path matters, not the number of its samples
LOCAL_ROWS = 30_000  # rows of the local search


@dataclass(frozen=True)
class SlipData:
    """One run: motor angle corrected by θ̃, speed, acceleration, (N,) rad, rad/s, rad/s²; the torque y (N,) N·m.

    Attributes
    ----------
    start
        first row with all operators slipping, in the direction `direction` (±1).
    """

    theta: FloatArray
    omega: FloatArray
    alpha: FloatArray
    y: FloatArray
    start: int
    direction: float

    def part(self, rows: slice, start: int = 0, direction: float | None = None) -> SlipData:
        """Return some rows with their own start; direction None: unchanged."""
        theta, omega, alpha, y = (x[rows] for x in (self.theta, self.omega, self.alpha, self.y))
        return SlipData(theta, omega, alpha, y, start, self.direction if direction is None else direction)


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

    def smooth(self, run: SlipData) -> FloatArray:
        """Return the torque beside the hysteresis, F_V1 ω + J ω̇ + offset, (N,) N·m."""
        return self.F_V1 * run.omega + self.inertia * run.alpha + self.offset


def _columns(runs: Sequence[SlipData], backlash: PeriodicMap, limits: FloatArray | None) -> FloatArray:
    """Columns [δ_i/(𝓑Δ_i) …, ω, ω̇, 1] of the rows of all runs, from their starts on; sgn ω instead for limits None."""
    blocks = []
    for run in runs:
        rows = slice(run.start, None)
        if limits is None:
            slip = np.sign(run.omega[rows])[:, None]
        else:
            model = MaxwellSlip(1, backlash, limits=limits)
            model.reset(run.theta[run.start], run.direction)
            slip = model.relative_deformation(run.theta[rows])[:, 0]
        blocks.append(np.column_stack([slip, run.omega[rows], run.alpha[rows], np.ones(slip.shape[0])]))
    return np.concatenate(blocks)


def _solve(columns: FloatArray, y: FloatArray) -> FloatArray:
    """Least squares with the slip torques >= 0 (the last three columns are free).

    It works on the Cholesky factor of the scaled normal equations: the columns are bounded deformations and slow
    signals, so that squaring their condition number costs nothing that matters here.
    """
    p = columns.shape[1]
    norms = np.maximum(np.linalg.norm(columns, axis=0), 1e-30)
    gram = columns.T @ columns / np.outer(norms, norms)
    L = np.linalg.cholesky(gram + 1e-13 * np.eye(p))
    low = np.r_[np.zeros(p - UNBOUNDED_COLUMNS), np.full(UNBOUNDED_COLUMNS, -np.inf)]
    return lsq_linear(L.T, np.linalg.solve(L, columns.T @ y / norms), bounds=(low, np.inf), method='bvls').x / norms


def _search(runs: Sequence[SlipData], backlash: PeriodicMap, operators: int, seed: int) -> FloatArray:
    """Return Δ (M,), sorted, by differential evolution on thinned data, then by Nelder and Mead's simplex on more."""
    low, high = np.log([LOWEST_LIMIT, HIGHEST_LIMIT])

    def ordered(x: FloatArray) -> FloatArray:
        limits = np.exp(np.sort(np.clip(x, low, high)))
        return np.maximum.accumulate(limits * (1.0 + 1e-9 * np.arange(operators)))

    def cost(x: FloatArray, data: Sequence[SlipData], y: FloatArray) -> float:
        columns = _columns(data, backlash, ordered(x))
        return float(np.mean((y - columns @ _solve(columns, y)) ** 2))

    rows = sum(run.y.size - run.start for run in runs)
    sparse, dense = (
        [run.part(slice(run.start, None, max(1, rows // most))) for run in runs] for most in (GLOBAL_ROWS, LOCAL_ROWS)
    )
    first = differential_evolution(
        cost,
        [(low, high)] * operators,
        args=(sparse, _target(sparse)),
        popsize=6,
        maxiter=25,
        tol=1e-3,
        polish=False,
        seed=seed,
        x0=np.log(polynomial_limits(operators)).clip(low, high),
    )
    last = minimize(
        cost,
        first.x,
        args=(dense, _target(dense)),
        method='Nelder-Mead',
        options={'maxiter': 60 * operators, 'xatol': 1e-2, 'fatol': 1e-9},
    )
    return ordered(last.x)


def _target(runs: Sequence[SlipData]) -> FloatArray:
    return np.concatenate([run.y[run.start :] for run in runs])


def fit_maxwell_slip(
    estimation: Sequence[SlipData],
    validation: Sequence[SlipData],
    backlash: PeriodicMap,
    *,
    operators: int = 4,
    seed: int = 0,
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
    seed
        of the global search.

    Raises
    ------
    NotReliableError
        When the torque has no friction in it.
    """
    limits = _search(estimation, backlash, operators, seed)
    return _fit(estimation, validation, backlash, limits), _fit(estimation, validation, backlash, None)


def _fit(
    estimation: Sequence[SlipData], validation: Sequence[SlipData], backlash: PeriodicMap, limits: FloatArray | None
) -> SlipFit:
    """Fit with given limits Δ (M,), None: the static map."""
    y, y_new = _target(estimation), _target(validation)
    columns, new = _columns(estimation, backlash, limits), _columns(validation, backlash, limits)
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
