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

"""Four ways to identify Maxwell-slip, and the static map they have to beat [M4 4.4.3-4.4.5].

Each predicts y = F_C H + (F_V1 ω + J ω̇ + offset) with H = Σ w_i δ_i/(𝓑Δ_i), Σ w_i = 1; w_i F_C is the slip torque of
operator i.

    static         H = sgn ω
    law            Δ and k by the polynomial laws; only F_C fitted
    lr_linear      Δ equally spaced, k by least squares, k ≥ 0 [Rizos and Fassois]
    lr_polynomial  Δ by the polynomial law, k by least squares, k ≥ 0
    nlr            Δ by global search (differential evolution), then simplex, 0 < Δ_1 < … < Δ_M; k by least squares
                   inside

All with the same data, the same viscous, inertia and offset columns, and starting where every operator slips.
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
from joint_dynamics.joint import MaxwellSlip, PeriodicMap, polynomial_limits, polynomial_stiffness

METHODS = ('static', 'law', 'lr_linear', 'lr_polynomial', 'nlr')
UNBOUNDED_COLUMNS = 3  # columns beside the operators: ω, ω̇, 1
# Smallest and largest limit the nonlinear search looks at, relative to 𝓑.
LIMIT_RANGE = (1e-3, 1.5)
# Rows for the global and for the local search: the path matters, not how often it was sampled.
SEARCH_ROWS = (6000, 30000)


@dataclass(frozen=True)
class SlipData:
    """One run: motor angle corrected by θ̃, speed, acceleration, (N,) rad, rad/s, rad/s²; the torque y (N,) N·m.

    Attributes
    ----------
    start
        first row at which every operator slips, in the direction `direction` (±1).
    """

    theta: FloatArray
    omega: FloatArray
    alpha: FloatArray
    y: FloatArray
    start: int
    direction: float

    def part(self, rows: slice, start: int = 0, direction: float | None = None) -> SlipData:
        """Return some rows, with their own start and, unless that is as here, direction."""
        theta, omega, alpha, y = (x[rows] for x in (self.theta, self.omega, self.alpha, self.y))
        return SlipData(theta, omega, alpha, y, start, self.direction if direction is None else direction)


@dataclass(frozen=True)
class SlipFit:
    """One method's answer.

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

    method: str
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
        names = ('method', 'estimation_percent', 'validation_percent', 'F_C', 'limits', 'stiffness')
        return {name: np.array(getattr(self, name)).tolist() for name in names}

    def smooth(self, run: SlipData) -> FloatArray:
        """Return what is beside the hysteresis, F_V1 ω + J ω̇ + offset, (N,) N·m."""
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
    """Δ by differential evolution on thinned data, then by Nelder and Mead's simplex on more of it; log Δ, sorted."""
    low, high = np.log(LIMIT_RANGE)

    def ordered(x: FloatArray) -> FloatArray:
        limits = np.exp(np.sort(np.clip(x, low, high)))
        return np.maximum.accumulate(limits * (1.0 + 1e-9 * np.arange(operators)))

    def cost(x: FloatArray, data: Sequence[SlipData], y: FloatArray) -> float:
        columns = _columns(data, backlash, ordered(x))
        return float(np.mean((y - columns @ _solve(columns, y)) ** 2))

    rows = sum(run.y.size - run.start for run in runs)
    sparse, dense = ([run.part(slice(run.start, None, max(1, rows // limit))) for run in runs] for limit in SEARCH_ROWS)
    y_sparse, y = _target(sparse), _target(dense)
    first = differential_evolution(
        cost,
        [(low, high)] * operators,
        args=(sparse, y_sparse),
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
        args=(dense, y),
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
    r_Delta: float = 4.0,
    r_k: float = 2.0,
    methods: Sequence[str] = METHODS,
    seed: int = 0,
) -> dict[str, SlipFit]:
    """Fit by every method of `methods` to the estimation runs and judge all on the validation runs, which no fit uses.

    Parameters
    ----------
    estimation, validation
        runs of one joint.
    backlash
        𝓑(θ) > 0, half the backlash, rad.
    operators, r_Delta, r_k
        number of operators, ratios of successive limits and stiffnesses of the polynomial laws.
    methods : sequence of str
        names of `METHODS`.
    seed
        of the global search.

    Raises
    ------
    NotReliableError
        When the torque has no friction in it.
    """
    spacing = {
        'static': None,
        'law': polynomial_limits(operators, r_Delta),
        'lr_linear': polynomial_limits(operators, 1.0),
        'lr_polynomial': polynomial_limits(operators, r_Delta),
    }
    y, y_new = _target(estimation), _target(validation)
    slips, smooth = slice(-UNBOUNDED_COLUMNS), slice(-UNBOUNDED_COLUMNS, None)
    fits = {}
    for method in methods:
        limits = _search(estimation, backlash, operators, seed) if method == 'nlr' else spacing[method]
        columns, new = _columns(estimation, backlash, limits), _columns(validation, backlash, limits)
        if method == 'law':
            assert limits is not None
            share = polynomial_stiffness(limits, r_k) * limits
            columns, new = (np.column_stack([W[:, slips] @ share, W[:, smooth]]) for W in (columns, new))
        solution = _solve(columns, y)
        F_C = float(solution[slips].sum())
        if not F_C > 0:
            raise NotReliableError(f'hysteresis: the {method} fit finds no Coulomb friction in the torque')
        H = columns[:, slips] @ solution[slips] / F_C
        level = least_squares(np.column_stack([H, columns[:, smooth]]), y, ('F_C', 'F_V1', 'inertia', 'offset'))
        F_V1, inertia, offset = map(float, solution[smooth])
        fits[method] = SlipFit(
            method,
            F_C,
            level.deviation('F_C'),
            F_V1,
            inertia,
            offset,
            limits,
            None if limits is None else (share if method == 'law' else solution[slips] / F_C) / limits,
            nrmse_percent(y, columns @ solution),
            nrmse_percent(y_new, new @ solution),
        )
    return fits
