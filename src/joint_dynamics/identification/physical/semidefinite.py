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

r"""The parameters nearest to an estimate of which every link is a body and all friction dissipates.

A link with mass m, first moment h and second moments Σ = ½ tr(I) 1 − I is a body if its pseudo-inertia
P = [ Σ  h ; hᵀ  m ] is positive definite (Wensing et al. 2018, [L §2.3]). With the estimate χ̂ and its information AᵀA,
the standard parameters x solve the semidefinite programme:

    min ‖A (χ(x) − χ̂)‖² + w Σ_k d(P_k ‖ P0_k);
    P_k ⪰ ε;  Ia, Fv, Fc ≥ 0;  f(ω, τ_J, T) sgn ω ≥ 0;  m_min ≤ Σ m_k ≤ m_max.

d(P‖P0) = tr(P0⁻¹P) − log det(P0⁻¹P) − 4: the entropic divergence, whose second order is the metric of the manifold of
bodies (Lee et al. 2020). It decides the undetermined parameters, and pulls the others to the prior with the weight w.

A payload is moved alike: with its estimate x̂ (10,) and covariance C, the body solves min (x − x̂)ᵀ C⁻¹ (x − x̂) with
P(x) positive semidefinite; known parameters keep their values. The deviations stay those of the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.description import pseudo_inertia
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.payload_runs import PayloadParameters
from joint_dynamics.identification.identification_settings import PhysicalOptions
from joint_dynamics.identification.physical.dissipation import dissipation_rows
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.robot import INERTIAL, BaseParameters, RobotModel
from joint_dynamics.robot.standard_parameters import link_columns

LENGTH = 0.1
"""Lengths [m] in which the pseudo-inertias are scaled, so that their eigenvalues are all masses."""
MARGIN = 1e-4
"""Smallest eigenvalue of a scaled pseudo-inertia [kg]."""
FLOOR = 1e-3
"""A prior link is taken to have at least this share of its mass as second moment over LENGTH², where it states less."""


@dataclass(frozen=True)
class PhysicalEstimate:
    """A physical set of parameters.

    Attributes
    ----------
    solution : Solution
        the estimate, with chi moved into the physical set.
    standard : (p,) array
        all standard parameters.
    price : float
        ‖A (χ − χ̂)‖² in squared deviations.
    """

    solution: Solution
    standard: FloatArray
    price: float


def pseudo_inertias(links: FloatArray) -> FloatArray:
    """Return the pseudo-inertias (N, 4, 4) of ten inertial parameters of each link (N, 10)."""
    return np.einsum('kp,prc->krc', links, _BASIS)


_BASIS = np.array([pseudo_inertia(dict(zip(INERTIAL, unit, strict=True))) for unit in np.eye(len(INERTIAL))])
_SCALE = np.diag([1 / LENGTH, 1 / LENGTH, 1 / LENGTH, 1.0])


def prior_bodies(model: RobotModel, solution_base: FloatArray, prior: FloatArray | None) -> FloatArray:
    """Return the scaled pseudo-inertias (n, 4, 4) [kg] of the prior, made positive definite.

    Without a prior: equal balls of the robot's size, with the total mass that gives the largest identified first moment
    at a quarter of the reach.
    """
    n = len(model.link_names)
    links = np.zeros((n, len(INERTIAL))) if prior is None else model.standard(prior).links
    if np.any(links != 0):
        bodies = _SCALE @ pseudo_inertias(links) @ _SCALE
        masses = np.maximum(bodies[:, 3, 3], 10 * MARGIN)
        matrices = []
        for body, mass in zip(bodies, masses, strict=True):
            values, vectors = np.linalg.eigh(0.5 * (body + body.T))
            matrices.append((vectors * np.maximum(values, max(FLOOR * mass, 10 * MARGIN))) @ vectors.T)
        return np.array(matrices)
    base = model.base_parameters()
    reach = (
        sum(float(np.linalg.norm(placement.translation)) for placement in model.pinocchio.jointPlacements[1:]) or 1.0
    )
    moments = [
        abs(value)
        for value, column in zip(solution_base, base.independent, strict=True)
        if base.standard_names[column].partition('_')[0] in ('MX', 'MY', 'MZ')
    ]
    mass = max(max(moments, default=1.0) / (0.25 * reach), 0.1) / n
    radius = max(0.25 * reach / n, 0.02)
    return np.repeat(np.diag([mass * (radius / LENGTH) ** 2] * 3 + [mass])[None], n, axis=0)


def drive_parameters(model: RobotModel, base: BaseParameters) -> list[int]:
    """Return the indices of the standard parameters that act and belong to no link."""
    inertial = set(model.columns(INERTIAL).tolist())
    return [k for k in range(len(base.standard_names)) if k not in inertial and base.matrix[:, k].any()]


def body_factors(bodies: FloatArray) -> FloatArray:
    """Return F (n, 4, 4) of scaled prior bodies: in Z = F⁻¹ P F⁻ᵀ the prior's pseudo-inertia is the identity."""
    return np.linalg.inv(_SCALE) @ np.linalg.cholesky(bodies)


def body_to_link(factor: FloatArray) -> FloatArray:
    """Return the matrix (10, 16) that maps Z, raveled, to the inertial parameters of F Z Fᵀ; factor: F (4, 4)."""
    return np.linalg.pinv(_BASIS.reshape(len(INERTIAL), 16).T) @ np.kron(factor, factor)


def information_root(solution: Solution) -> FloatArray:
    """Return A (r, b) of rank r with AᵀA the information of the solution's columns.

    It is zero in directions that no sample excites.
    """
    diagonal = np.sqrt(np.maximum(np.diag(solution.inverse), 0.0))
    shown = diagonal > 0
    scale = np.where(shown, diagonal, 1.0)
    values, vectors = np.linalg.eigh(solution.inverse / np.outer(scale, scale))
    good = values > 1e-10 * values[-1]
    return (vectors[:, good] / np.sqrt(values[good])).T / scale


def physical(
    problem: Problem, solution: Solution, options: PhysicalOptions | None = None, prior: FloatArray | None = None
) -> PhysicalEstimate:
    """Move an estimate into the set of physical parameters, as little as its information allows.

    Parameters
    ----------
    problem, solution
        the regression and its estimate.
    options
        weight of the prior, bounds of the mass.
    prior
        (p,) standard parameters of the prior, default the URDF's.

    Raises
    ------
    JointDynamicsError
        Where cvxpy or its solver is missing, or no robot meets the mass bounds.
    """
    cp = _cvxpy()
    options = options or PhysicalOptions()
    model, base = problem.model, problem.base
    n, p = len(model.link_names), len(base.standard_names)
    bodies = prior_bodies(model, solution.chi[: base.count], model.parameters if prior is None else prior)
    factors = body_factors(bodies)
    Z = [cp.Variable((4, 4), symmetric=True) for _ in range(n)]
    others = drive_parameters(model, base)
    drive = cp.Variable(len(others))
    extra = cp.Variable(problem.columns - base.count) if problem.columns > base.count else None
    chi = base.matrix[:, others] @ drive
    for k in range(n):
        columns = link_columns(k)
        chi = chi + base.matrix[:, columns] @ body_to_link(factors[k]) @ cp.vec(Z[k], order='F')
    chi = chi if extra is None else cp.hstack([chi, extra])
    rows = max(solution.rows, 1.0)
    A = information_root(solution) / np.sqrt(rows)
    constraints = []
    for body, factor in zip(Z, factors, strict=True):
        inverse = np.linalg.inv(_SCALE @ factor)
        constraints.append(body >> MARGIN * inverse @ inverse.T)
    positive = nonnegative_columns(problem, others)
    constraints.append(drive[positive] >= 0)
    if extra is not None:  # the rows of dissipation are those of further friction terms
        constraints += [
            part.rows_standard @ drive[[others.index(k) for k in part.standard]] + part.rows_extra @ extra >= 0
            for part in dissipation_rows(problem)
        ]
    drives, hidden = kept_columns(problem, solution, others)
    constraints += [drive[k] == value for k, value in drives.items()]
    if extra is not None and len(hidden):
        constraints.append(extra[hidden] == solution.chi[base.count :][hidden])
    if options.mass is not None:
        total = sum(factor[3] @ body @ factor[3] for factor, body in zip(factors, Z, strict=True))
        constraints += [total >= options.mass[0], total <= options.mass[1]]
    divergence = sum(cp.trace(body) - cp.log_det(body) for body in Z)
    programme = cp.Problem(
        cp.Minimize(cp.sum_squares(A @ chi - A @ solution.chi) + options.pull / rows * divergence), constraints
    )
    bounds = '' if options.mass is None else f' (total mass {options.mass[0]:g} to {options.mass[1]:g} kg)'
    _solve(cp, programme, f'a physical robot{bounds}')
    standard = np.zeros(p)
    for k in range(n):
        standard[link_columns(k)] = body_to_link(factors[k]) @ Z[k].value.ravel()
    values = np.array(drive.value)
    values[positive] = np.maximum(values[positive], 0.0)
    standard[others] = values
    smallest = np.linalg.eigvalsh(_SCALE @ pseudo_inertias(model.standard(standard).links) @ _SCALE)[:, 0]
    if not np.all(smallest > 0):
        raise JointDynamicsError(
            'physical: expected every pseudo-inertia positive definite, found the smallest eigenvalue'
            f' {smallest.min():.3g} kg'
        )
    moved = np.concatenate([base.regroup(standard), np.zeros(0) if extra is None else extra.value])
    return PhysicalEstimate(
        replace(solution, chi=moved), standard, float(rows * np.sum((A @ (moved - solution.chi)) ** 2))
    )


def payload_body(payload: PayloadParameters) -> PayloadParameters:
    """Return the nearest payload that is a body: mass above zero, inertia that goes with mass and centre.

    Raises
    ------
    JointDynamicsError
        Where cvxpy or its solver is missing, or where no body has the known parameters.
    """
    body = np.einsum('p,prc->rc', payload.values, _BASIS)
    if np.linalg.eigvalsh(_SCALE @ body @ _SCALE)[0] >= MARGIN:
        return payload
    cp = _cvxpy()
    x = cp.Variable(len(payload.values))
    P = sum(x[k] * (_SCALE @ _BASIS[k] @ _SCALE) for k in range(len(payload.values)))
    free = np.flatnonzero(~payload.known & np.isfinite(payload.deviation))
    part = payload.covariance[np.ix_(free, free)]
    scale = np.sqrt(np.diag(part))
    values, vectors = np.linalg.eigh(part / np.outer(scale, scale))
    root = (vectors / np.sqrt(np.maximum(values, 1e-9 * values[-1]))).T / scale
    constraints = [P >> MARGIN * np.eye(4)]
    if payload.known.any():
        constraints.append(x[np.flatnonzero(payload.known)] == payload.values[payload.known])
    _solve(cp, cp.Problem(cp.Minimize(cp.sum_squares(root @ (x[free] - payload.values[free]))), constraints), 'payload')
    return replace(payload, values=np.where(payload.known, payload.values, np.array(x.value)), body=True)


def nonnegative_columns(problem: Problem, others: list[int]) -> FloatArray:
    """Return the indices of the drive parameters that may not be negative.

    All but offsets, and but viscous friction in joints with further friction terms, whose sum has to dissipate.
    """
    names = problem.base.standard_names
    complemented = {k for part in dissipation_rows(problem) for k in part.standard if names[k].startswith('Fv_')}
    return np.array(
        [i for i, k in enumerate(others) if not names[k].startswith('off_') and k not in complemented], dtype=int
    )


def kept_columns(problem: Problem, solution: Solution, others: list[int]) -> tuple[dict[int, float], IntArray]:
    """Return the unused entries: {place among `others`: value} of drives, and the indices of further terms.

    They keep their values: another column replaces them, as a fitted power of the speed replaces Fv.
    """
    base = problem.base
    blind = np.diag(solution.inverse) <= 0
    drives = {
        others.index(base.independent[k]): float(solution.chi[k])
        for k in np.flatnonzero(blind[: base.count])
        if base.independent[k] in others and np.count_nonzero(base.matrix[k]) == 1
    }
    return drives, np.flatnonzero(blind[base.count :])


def _solve(cp: Any, programme: Any, what: str) -> None:
    """Solve; raise JointDynamicsError where there is no solution."""
    try:
        programme.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        raise JointDynamicsError(
            f'physical: expected the semidefinite programme to be solved, found: {error}'
        ) from None
    if programme.status not in ('optimal', 'optimal_inaccurate'):
        raise JointDynamicsError(f'physical: expected {what} near the estimate, found the programme {programme.status}')


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise JointDynamicsError(
            'physical: expected cvxpy with the solver Clarabel, found none: install joint_dynamics[sdp]'
        ) from None
    if 'CLARABEL' not in cvxpy.installed_solvers():
        raise JointDynamicsError(
            'physical: expected the solver Clarabel beside cvxpy, found none: install joint_dynamics[sdp]'
        )
    return cvxpy
