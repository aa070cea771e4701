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

"""Essential parameters: the base parameters left after dropping the insignificant ones, one by one [G IV.B, L].

Each step drops the parameter with the largest relative deviation %σ = 100 σ/|χ|, the one whose F-statistic (χ/σ)² is
the smallest, and solves again. It stops by one of two rules: the largest %σ is less than `ratio` (10 … 30) times the
smallest, or the smallest F is above the 5 % level of F(1, ∞), 3.84.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.identification.regression.least_squares import Solution, solve
from joint_dynamics.identification.regression.triangles import Triangles

F_LEVEL = 3.84
RATIO = 30.0


@dataclass(frozen=True)
class EliminationStep:
    """One parameter dropped.

    Attributes
    ----------
    dropped : str
        its name.
    relative_std_percent, f_statistic : float
        its %σ and F.
    ratio : float
        max %σ / min %σ of all parameters, with this one.
    residual_percent : float
        100 ‖ρ‖/‖Y‖ of the weighted system without it.
    price_percent : float
        growth of ‖ρ‖ relative to the full set of parameters.
    """

    dropped: str
    relative_std_percent: float
    f_statistic: float
    ratio: float
    residual_percent: float
    price_percent: float


@dataclass(frozen=True)
class Essential:
    """Result of the elimination.

    Attributes
    ----------
    names : tuple of str
        all b parameters.
    kept : (b,) bool array
        the essential ones.
    solution : Solution
        χ, zero where dropped.
    steps : tuple of EliminationStep
        in their order.
    ratio, smallest_f : float
        max %σ / min %σ and smallest F of the essential parameters.
    residual_percent : float
        100 ‖ρ‖/‖Y‖ of the weighted system with all parameters.
    """

    names: tuple[str, ...]
    kept: FloatArray
    solution: Solution
    steps: tuple[EliminationStep, ...]
    ratio: float
    smallest_f: float
    residual_percent: float

    def summary(self) -> dict[str, Any]:
        """Return the entry of summary.json."""
        return {
            'parameters': [name for name, kept in zip(self.names, self.kept, strict=True) if kept],
            'count': int(self.kept.sum()),
            'ratio': finite(self.ratio),
            'smallest_f': finite(self.smallest_f),
            'residual_percent_before': finite(self.residual_percent),
            'steps': [
                {name: value if isinstance(value, str) else finite(value) for name, value in vars(step).items()}
                for step in self.steps
            ],
        }


def _only(triangles: Triangles, kept: FloatArray) -> Triangles:
    """Return the triangles without the columns that are not kept, which need not be triangular."""
    columns = np.append(np.flatnonzero(kept), triangles.own.shape[1])
    resting = None if triangles.resting is None else _only(triangles.resting, kept)
    return Triangles(triangles.factors[:, :, columns], triangles.counts, triangles.own[:, kept], resting)


def _residual(triangles: Triangles, solution: Solution) -> tuple[float, float]:
    """Return ‖ρ‖ and ‖Y‖ of the weighted system."""
    whole = triangles.stacked(solution.sigma, solution.rest_sigma)
    return float(np.linalg.norm(whole @ np.append(solution.chi, -1.0))), float(np.linalg.norm(whole[:, -1]))


def essential_parameters(
    triangles: Triangles,
    solution: Solution,
    names: Sequence[str],
    *,
    rule: str = 'ratio',
    optional: FloatArray | None = None,
    growth: FloatArray | float = 1.0,
) -> Essential:
    """Drop parameters until the rule holds, rows weighted throughout as in `solution`.

    Parameters
    ----------
    triangles, solution
        of the full system, with b columns `names`.
    rule
        `ratio` or `f`.
    growth
        what deviations of independent rows are multiplied by, a number or (b,), such as √ of the sandwich's variances
        over those of (WᵀW)⁻¹.

    """
    b = len(names)
    growth = np.broadcast_to(np.asarray(growth, dtype=float), (b,))
    kept = np.ones(b, dtype=bool)
    reduced = solution
    first, size = _residual(triangles, solution)
    before = (100 * first / size) if size > 0 else float('nan')
    steps: list[EliminationStep] = []
    while True:
        with np.errstate(divide='ignore', invalid='ignore'):
            seen = np.isfinite(reduced.inflation)
            f = np.where(
                seen & (reduced.chi != 0), (reduced.chi / (growth[kept] * np.sqrt(np.diag(reduced.inverse)))) ** 2, 0.0
            )
            relative = 100 / np.sqrt(f)
        spread = float(relative.max() / relative.min()) if len(f) else 1.0
        smallest = float(f.min()) if len(f) else float('inf')
        if len(f) <= 1 or (spread < RATIO if rule == 'ratio' else smallest > F_LEVEL):
            break
        worst = int(np.argmin(f))
        name = names[int(np.flatnonzero(kept)[worst])]
        kept[np.flatnonzero(kept)[worst]] = False
        smaller = _only(triangles, kept)
        reduced = solve(smaller, solution.sigma, None if optional is None else optional[kept], solution.rest_sigma)
        norm = _residual(smaller, reduced)[0]
        steps.append(
            EliminationStep(
                name,
                float(relative[worst]),
                float(f[worst]),
                spread,
                100 * norm / size if size > 0 else float('nan'),
                100 * (norm / first - 1) if first > 0 else float('inf'),
            )
        )
    chi = np.zeros(b)
    chi[kept] = reduced.chi
    inverse, inflation = np.zeros((b, b)), np.full(b, np.inf)
    inverse[np.ix_(kept, kept)], inflation[kept] = reduced.inverse, reduced.inflation
    whole = Solution(chi, reduced.sigma, inverse, reduced.condition_number, inflation, reduced.rest_sigma)
    return Essential(tuple(names), kept, whole, tuple(steps), spread, smallest, before)
