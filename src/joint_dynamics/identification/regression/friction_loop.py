r"""Loop 3 of I-IRLS: the friction of each joint, nonlinear in its speed, within bounds [L eq 15-16].

    f(ω, τ_l, T) = (f_c + f_v |ω|^α + f_L τ_l²) sgn ω + f_o + f_T(ω, T)   fitted to   τ − W_D θ_D

For a given α this is linear, so the other parameters are solved exactly and only α is searched: from many starts over
its whole range, then around the best one (variable projection). Both sides are filtered alike; rejected rows and joints
at rest do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arm import Term, function_term
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.problem import Problem

EXPONENTS = (0.2, 2.0)
"""Bounds of α."""
STARTS = 10
REFINEMENTS = 12
NEAR = 1.1
NODES = 16
SIGNED = ('F_T1', 'F_T2')
"""Friction terms whose parameters may have either sign: the change with temperature."""


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


def power_term(joint: str, exponent: float) -> Term:
    """Return f_v sgn(ω)|ω|^α as a term of a description."""
    term = function_term(joint, f'sign(dq) * abs(dq)**{float(exponent)!r}')
    return Term(joint, (f'f_v_{joint}',), term.columns, term.document, ridge=0.0)


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
            tables.append(
                np.array(
                    [
                        (
                            sign * size**node
                            if observation.decimator is None
                            else observation.decimator.apply(sign * size**node)
                        )
                        for node in self.nodes
                    ]
                )
            )
        self._table = np.concatenate(tables, axis=1)

    def at(self, exponents: FloatArray) -> FloatArray:
        """Return the columns (n, K) at exponents (n,) (barycentric interpolation)."""
        out = np.empty(self._table.shape[:0:-1])
        for j, exponent in enumerate(exponents):
            distance = exponent - self.nodes
            if np.any(distance == 0):
                share = (distance == 0).astype(float)
            else:
                share = self._weights / distance
                share /= share.sum()
            out[j] = share @ self._table[:, :, j]
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
    powers: PowerColumns | None,
    rows: list[JointRows],
    lower: list[FloatArray],
    exponents: FloatArray | None,
    search: str,
) -> list[JointFriction]:
    """Fit the friction of all joints.

    Parameters
    ----------
    powers
        of the same samples as `rows`.
    lower
        per joint the bounds of their columns.
    exponents
        (n,) the last α, None where these columns hold the speed.
    search
        for better ones `everywhere`, `near` the last ones, or `nowhere`.
    """
    n = len(rows)
    if exponents is None or powers is None:
        return [
            JointFriction(bounded_fit(part.columns, part.target, bound)[0], 0.0, 1.0)
            for part, bound in zip(rows, lower, strict=True)
        ]
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
    if search == 'nowhere':
        return best
    step = NEAR
    if search == 'everywhere':
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
    for _ in range(REFINEMENTS if search == 'everywhere' else REFINEMENTS // 2):
        smaller = at_left < at_right
        low, high = np.where(smaller, low, left), np.where(smaller, right, high)
        fresh = np.where(smaller, high - ratio * (high - low), low + ratio * (high - low))
        left, right = np.where(smaller, fresh, right), np.where(smaller, left, fresh)
        middle = attempt(fresh)
        at_left, at_right = np.where(smaller, middle, at_right), np.where(smaller, at_left, middle)
    return best
