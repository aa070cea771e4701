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

r"""Loops 3 and 4 of Li: the friction of each joint, and the state of its columns [L eq 15-18].

Friction that depends on load is a product of parameters, and linear for a given load torque. Load torque and share of
hysteresis are therefore taken from the last solution until it converges (loop 4), for all methods.

In I-IRLS the friction of each joint is nonlinear in its speed, within bounds (loop 3), and fitted to τ − W_D θ_D:

    f(ω, τ_l, T) = (f_c + f_v |ω|^α + f_L τ_l²) sgn ω + f_o + f_T(ω, T).

For a given α this is linear, so the other parameters are solved exactly and only α is searched: from many starts over
its whole range, then around the best one (variable projection). Both sides are filtered alike; rejected rows and joints
at rest do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from joint_dynamics.arm import Term
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.physical.dissipation import impossible_terms
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import load_torque, standard_set

Solver = Callable[[Problem], Solution]
SWEEPS = 20
TOLERANCE = 1e-3
"""Change of the load torque, relative to its largest, that counts as none."""
EXPONENTS = (0.2, 2.0)
"""Bounds of α."""
STARTS = 10
REFINEMENTS = 12
NEAR = 1.1
NODES = 16
SIGNED = ('F_T1', 'F_T2')
"""Friction terms whose parameters may have either sign: the change with temperature."""


def state_from(problem: Problem, solution: Solution, prior: FloatArray | None) -> FrictionState:
    """Return load parameters, load limits and hysteresis shares of a solution.

    Parameters
    ----------
    prior
        standard parameters (p,) [SI] close to which the solution is lifted; None: the URDF's.
    """
    model, chi = problem.model, solution.chi
    links = model.standard(standard_set(problem.base, chi[: problem.base.count], prior)).links
    limit = np.max([np.abs(load_torque(model, part, links)).max(axis=1) for part in problem.observations], axis=0)
    known = dict(zip(problem.names, chi, strict=True))
    width, share = np.zeros(model.n), np.zeros(model.n)
    for term in problem.terms:
        if term.width is not None:
            j = model.joint_names.index(term.joint)
            level = known.get(f'Fc_{j + 1}', 0.0)
            width[j] = term.width
            share[j] = np.clip(known[term.names[0]] / level, 0.0, 1.0) if level > 0 else 0.0
    return FrictionState(links, limit, width, share)


def _stands(before: FrictionState, after: FrictionState) -> bool:
    if before.links is None or after.links is None or before.load_limit is None or after.load_limit is None:
        return False
    if before.share is None or after.share is None or not np.allclose(before.share, after.share, atol=TOLERANCE):
        return False
    scale = np.abs(after.links).max() * TOLERANCE
    return bool(
        np.allclose(before.links, after.links, atol=scale)
        and np.allclose(before.load_limit, after.load_limit, rtol=TOLERANCE)
    )


def _within_coulomb(problem: Problem, solution: Solution) -> list[Term]:
    """Return the terms with the share of each hysteresis brought to between none and all of Coulomb friction.

    A negative one is left out: friction does not overshoot at a reversal. One above all of it is held back more.
    """
    values = dict(zip(problem.names, solution.chi, strict=True))
    kept = []
    for term in problem.terms:
        if term.width is not None and term.selected:
            level = values.get(f'Fc_{problem.model.joint_names.index(term.joint) + 1}', 0.0)
            if values[term.names[0]] <= 0.0 or level <= 0.0:
                continue
            if values[term.names[0]] > (1.0 + TOLERANCE) * level:
                term = replace(term, ridge=1.5 * term.ridge)
        kept.append(term)
    return kept


def _possible(problem: Problem, terms: list[Term], solution: Solution) -> list[Term]:
    """Return the terms without those that make friction drive or vanish, see `impossible_terms`."""
    names = {term.names for term in impossible_terms(problem, solution)}
    return [term for term in terms if term.names not in names]


def iterate_to_fixed_point(
    problem: Problem,
    terms: Sequence[Term],
    solver: Solver,
    first: Solution,
    prior: FloatArray | None,
    start: Problem | None = None,
    sweeps: int = SWEEPS,
) -> tuple[Problem, Solution]:
    """Return the problem with `terms` added, in the state that its solution has, and that solution.

    Parameters
    ----------
    first
        a solution of `start`, a problem with fewer terms (default: `problem`).
    sweeps
        at most.
    """
    terms = [*problem.terms, *terms]
    if not any(term.selected or 'load' in term.needs or term.width is not None for term in terms):
        extended = problem if len(terms) == len(problem.terms) else problem.with_terms(terms)
        return extended, first if extended is (start or problem) else solver(extended)
    state = state_from(start or problem, first, prior)
    for _ in range(sweeps):
        trial = problem.with_terms(terms, state)
        solution = solver(trial)
        kept = _possible(trial, _within_coulomb(trial, solution), solution)
        after = state_from(trial, solution, prior)
        if kept != terms:
            terms = kept
        elif _stands(state, after):
            break
        state = after
    return trial, solution


@dataclass(frozen=True)
class JointRows:
    """Rows of one joint: columns (c, K) of its friction other than the power of speed, target (K,) τ − W_D θ_D.

    Those left out are not in it.
    """

    columns: FloatArray
    target: FloatArray
    keep: FloatArray


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint: linear (c,) the parameters of the columns given, power f_v, exponent α."""

    linear: FloatArray
    power: float
    exponent: float


class PowerColumns:
    """sgn(ω)|ω|^α of all joints on the kept samples, for any α within `EXPONENTS`.

    |ω|^α is smooth in α, so it is interpolated between filtered columns at Chebyshev nodes (to 1e-6 with 16 nodes), and
    the search needs no filter.
    """

    def __init__(self, problem: Problem):
        low, high = EXPONENTS
        self.nodes = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
        self._weights = (-1.0) ** np.arange(NODES) * np.sin(np.pi * (np.arange(NODES) + 0.5) / NODES)
        tables = []
        for observation in problem.observations:
            sign, size = np.sign(observation.dtheta), np.abs(observation.dtheta)
            tables.append(np.array([observation.at_kept(sign * size**node) for node in self.nodes]))
        self._table = np.concatenate(tables, axis=1)

    def at(self, exponents: FloatArray) -> FloatArray:
        """Return the columns (n, K) at exponents (n,) (barycentric interpolation)."""
        out = np.empty(self._table.shape[:0:-1])
        for j, exponent in enumerate(exponents):
            distance = exponent - self.nodes
            share = self._weights / distance if distance.all() else (distance == 0).astype(float)
            out[j] = share / share.sum() @ self._table[:, :, j]
        return out


def gather(
    problem: Problem, chi: FloatArray, friction: list[list[int]], power: list[int], weights: list[FloatArray]
) -> list[JointRows]:
    """Return the rows of every joint; friction, power: column indices.

    The target is the torque less that of all other columns.
    """
    n = problem.model.n
    rows: list[list[tuple[FloatArray, FloatArray, FloatArray]]] = [[] for _ in range(n)]
    for block, weight in zip(problem.blocks(), weights, strict=True):
        for j in range(n):
            others = chi.copy()
            others[friction[j] + power[j : j + 1]] = 0.0
            moving = np.ones(block.tau.shape[1], dtype=bool) if block.resting is None else ~block.resting[j]
            rows[j].append(
                (block.rows[j, friction[j]], block.tau[j] - others @ block.rows[j], (weight[j] > 0) & moving)
            )
    joints = []
    for entries in rows:
        columns, target, keep = (np.concatenate([entry[k] for entry in entries], axis=-1) for k in range(3))
        joints.append(JointRows(columns[:, keep], target[keep], keep))
    return joints


def bounded_fit(columns: FloatArray, target: FloatArray, lower: FloatArray) -> tuple[FloatArray, float]:
    """Return the least-squares parameters (c,) at or above `lower`, and their sum of squared residuals."""
    # imported here, as few identifications need it: a tenth of a second
    from scipy.optimize import lsq_linear

    both = np.concatenate([columns, target[None]]).T
    R = np.asarray(np.linalg.qr(both, mode='r'))
    scale = np.linalg.norm(R[:, :-1], axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    A, y = R[:, :-1] / scale, R[:, -1]
    # a column without influence stays at zero instead of anywhere
    A = np.concatenate([A, 1e-6 * np.eye(A.shape[1])])
    fit = lsq_linear(A, np.concatenate([y, np.zeros(A.shape[1])]), bounds=(lower * scale, np.inf), method='bvls')
    return fit.x / scale, 2 * float(fit.cost)


def fit_friction(
    powers: PowerColumns, rows: list[JointRows], lower: list[FloatArray], exponents: FloatArray, everywhere: bool
) -> list[JointFriction]:
    """Fit the friction of all joints.

    Parameters
    ----------
    powers
        of the same samples as `rows`.
    lower
        per joint the bounds of their columns.
    exponents
        (n,) the last α.
    everywhere
        search for better ones over the whole range, not only near the last ones.
    """
    n = len(rows)
    cost = np.full(n, np.inf)
    best = [JointFriction(np.zeros(0), 0.0, 1.0)] * n

    def attempt(trial: FloatArray) -> FloatArray:
        power = powers.at(trial)
        costs = np.empty(n)
        for j, part in enumerate(rows):
            values, costs[j] = bounded_fit(
                np.concatenate([part.columns, power[j, part.keep][None]]), part.target, np.append(lower[j], 0.0)
            )
            if costs[j] < cost[j]:
                cost[j] = costs[j]
                best[j] = JointFriction(values[:-1], float(values[-1]), float(trial[j]))
        return costs

    attempt(exponents)
    step = NEAR
    if everywhere:
        starts = np.geomspace(*EXPONENTS, STARTS)
        step = starts[1] / starts[0]
        for start in starts:
            attempt(np.full(n, start))
    # golden sections of the interval around the best start, for all joints side by side
    ratio = (np.sqrt(5) - 1) / 2
    centre = np.array([friction.exponent for friction in best])
    low, high = np.maximum(centre / step, EXPONENTS[0]), np.minimum(centre * step, EXPONENTS[1])
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = attempt(left), attempt(right)
    for _ in range(REFINEMENTS if everywhere else REFINEMENTS // 2):
        smaller = at_left < at_right
        low, high = np.where(smaller, low, left), np.where(smaller, right, high)
        fresh = np.where(smaller, high - ratio * (high - low), low + ratio * (high - low))
        left, right = np.where(smaller, fresh, right), np.where(smaller, left, fresh)
        middle = attempt(fresh)
        at_left, at_right = np.where(smaller, middle, at_right), np.where(smaller, at_left, middle)
    return best
