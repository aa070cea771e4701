r"""Upper bound on the cost of moving an estimate into the set of bodies, without a conic solver.

For the programme that `semidefinite.physical` solves,

    min F(x) = ‖A (χ(x) − χ̂)‖² + w Σ_k d(P_k ‖ P0_k)   over the set C of robots,

every robot x' in C bounds the minimum from above, and so ‖A (χ(x*) − χ̂)‖² ≤ F(x') of the solution x*, as d ≥ 0. Such
robots come from the alternating direction method of multipliers (Boyd et al. 2011, §5) on ‖A (χ(x) − χ̂)‖² alone:

    x ← argmin ‖A (M x − χ̂)‖² + ‖x − y + u‖²_ρ,   y ← Π_C(x + u),   u ← u + x − y,

where Π_C clips the eigenvalues of each link's body at a floor, and drive parameters at zero. Where no y is cheap
enough, the bound decides nothing, and the solver has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.identification_settings import PhysicalOptions
from joint_dynamics.identification.physical.dissipation import dissipation_rows
from joint_dynamics.identification.physical.semidefinite import (
    MARGIN,
    body_factors,
    body_to_link,
    drive_parameters,
    information_root,
    kept_columns,
    nonnegative_columns,
    prior_bodies,
)
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.robot.standard_parameters import link_columns

ITERATIONS = 300
CHECKED = 5
"""Iterations between two evaluations of the price."""
STEPS = 0.03
"""Weight ρ of a block of parameters, as a share of the mean information on them."""


@dataclass(frozen=True)
class NearBodies:
    """A physical robot.

    Attributes
    ----------
    standard, extra : (p,) and (e,) array
        standard parameters, and those of further terms.
    price : float
        F, see the module.
    """

    standard: FloatArray
    extra: FloatArray
    price: float


def near_bodies(problem: Problem, solution: Solution, enough: float = 0.0) -> NearBodies | None:
    """Return the cheapest physical robot of the iteration, None where there is none.

    Parameters
    ----------
    problem
        whose columns χ has.
    solution
        the estimate χ̂ (problem.columns,) with its information.
    enough
        price in squared deviations at which the search ends.
    """
    search = _Search(problem, solution)
    best: NearBodies | None = None
    for y in search.robots():
        priced = search.priced(y)
        if priced is not None and (best is None or priced.price < best.price):
            best = priced
        if best is not None and best.price <= enough:
            break
    return best


class _Search:
    """Coordinates: of every link the ten of Z in an orthonormal basis, then drives, then further terms.

    Z = F⁻¹ P F⁻ᵀ is 1 for the prior's body; drives and further terms are counted in deviations.
    """

    def __init__(self, problem: Problem, solution: Solution):
        base, n = problem.base, len(problem.model.link_names)
        self._problem, self._solution, self._n = problem, solution, n
        self._pull = PhysicalOptions().pull
        bodies = prior_bodies(problem.model, solution.chi[: base.count], problem.model.parameters)
        factors = body_factors(bodies)
        # P ⪰ MARGIN in scaled coordinates is met where every eigenvalue of Z is above
        self._floor = MARGIN / np.linalg.eigvalsh(bodies)[:, 0]
        self._others = drive_parameters(problem.model, base)
        self._links = np.array([body_to_link(factor) @ _SYMMETRIC.reshape(10, 16).T for factor in factors])
        count = problem.columns - base.count
        to_chi = scipy.linalg.block_diag(
            np.concatenate(
                [*(base.matrix[:, link_columns(k)] @ self._links[k] for k in range(n)), base.matrix[:, self._others]],
                axis=1,
            ),
            np.eye(count),
        )
        self._root = information_root(solution)
        seen = self._root @ to_chi
        weight = np.einsum('rc,rc->c', seen, seen)
        links = 10 * n
        self._scale = np.ones(to_chi.shape[1])
        self._scale[links:] = 1 / np.sqrt(np.where(weight[links:] > 0, weight[links:], 1.0))
        seen = seen * self._scale
        self._to_chi = to_chi * self._scale
        self._positive = links + nonnegative_columns(problem, self._others)
        self._fixed, self._values = self._held(count)
        per_link = weight[:links].reshape(n, 10).mean(axis=1)
        tiny = np.finfo(float).tiny
        rho = STEPS * np.concatenate([np.repeat(np.maximum(per_link, tiny), 10), np.ones(len(self._scale) - links)])
        self._rho = rho
        self._target = seen.T @ (self._root @ solution.chi)
        self._factor = scipy.linalg.cho_factor(seen.T @ seen + np.diag(rho))

    def _held(self, count: int) -> tuple[BoolArray, FloatArray]:
        """Return which coordinates stay as they are, as no row speaks of them, and their values."""
        held, values = np.zeros(len(self._scale), dtype=bool), np.zeros(len(self._scale))
        first = len(self._scale) - count
        drives, hidden = kept_columns(self._problem, self._solution, self._others)
        for k, value in drives.items():
            at = 10 * self._n + k
            held[at], values[at] = True, value / self._scale[at]
        held[first + hidden] = True
        known = self._solution.chi[self._problem.base.count :]
        values[first + hidden] = known[hidden] / self._scale[first + hidden]
        return held, values

    def robots(self) -> Iterator[FloatArray]:
        """Yield coordinates that lie in C but for the rows of dissipation, every `CHECKED` iterations."""
        y = self._projected(np.zeros(len(self._scale)))
        y[: 10 * self._n] = np.tile(np.einsum('prr->p', _SYMMETRIC), self._n)
        u = np.zeros_like(y)
        for k in range(ITERATIONS):
            x = scipy.linalg.cho_solve(self._factor, self._target + self._rho * (y - u), check_finite=False)
            y = self._projected(x + u)
            u += x - y
            if k % CHECKED == CHECKED - 1:
                yield y

    def _projected(self, x: FloatArray) -> FloatArray:
        y = x.copy()
        y[self._positive] = np.maximum(y[self._positive], 0.0)
        y[self._fixed] = self._values[self._fixed]
        values, vectors = np.linalg.eigh(self._bodies(x))
        cut = (vectors * np.maximum(values, self._floor[:, None])[:, None, :]) @ vectors.transpose(0, 2, 1)
        y[: 10 * self._n] = np.einsum('krc,prc->kp', cut, _SYMMETRIC).ravel()
        return y

    def _bodies(self, x: FloatArray) -> FloatArray:
        return np.einsum('kp,prc->krc', x[: 10 * self._n].reshape(self._n, 10), _SYMMETRIC)

    def priced(self, y: FloatArray) -> NearBodies | None:
        """Return the robot of coordinates, None where its friction drives."""
        links, n = 10 * self._n, self._n
        values = y * self._scale
        standard = np.zeros(len(self._problem.base.standard_names))
        for k in range(n):
            standard[link_columns(k)] = self._links[k] @ values[10 * k : 10 * (k + 1)]
        drives = values[links : links + len(self._others)]
        standard[self._others] = drives
        extra = values[links + len(self._others) :]
        if len(extra) and any(
            (part.rows_standard @ standard[list(part.standard)] + part.rows_extra @ extra < 0).any()
            for part in dissipation_rows(self._problem)
        ):
            return None
        eigenvalues = np.linalg.eigvalsh(self._bodies(y))
        if eigenvalues.min() <= 0:
            return None
        moved = self._root @ (self._to_chi @ y - self._solution.chi)
        divergence = float((eigenvalues - np.log(eigenvalues) - 1).sum())
        return NearBodies(standard, extra, float(moved @ moved) + self._pull * divergence)


def _symmetric_basis() -> FloatArray:
    """Return an orthonormal basis (10, 4, 4) of the symmetric matrices."""
    basis = []
    for r in range(4):
        for c in range(r, 4):
            unit = np.zeros((4, 4))
            unit[r, c] = unit[c, r] = 1.0 if r == c else np.sqrt(0.5)
            basis.append(unit)
    return np.array(basis)


_SYMMETRIC = _symmetric_basis()
