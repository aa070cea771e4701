r"""Parameters that a robot can have: the set nearest to an estimate in which every link is a body and all friction dissipates.

A link with mass m, first moment h and second moments Σ = ∫ r rᵀ dm is a body of positive density exactly when its pseudo-inertia

    P = [ Σ  h ; hᵀ  m ],   Σ = ½ tr(I) 1 − I,

is positive definite (Wensing et al. 2018, [L §2.3]). With the estimate χ̂ and its information AᵀA (from the triangles: no sample is looked
at again) the standard parameters x solve the semidefinite programme

    min ‖A (χ(x) − χ̂)‖² + w Σ_k d(P_k ‖ P0_k),   P_k ⪰ ε,  Ia, Fv, Fc ≥ 0,  f(ω, τ_J, T) sgn ω ≥ 0,  m_min ≤ Σ m_k ≤ m_max,

d(P‖P0) = tr(P0⁻¹P) − log det(P0⁻¹P) − 4: the entropic divergence, whose second order is the metric of the manifold of bodies (Lee et al. 2020).
It decides what no torque shows, and pulls the rest towards the prior by w (worth w squared deviations).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.dissipation import dissipation_rows
from joint_dynamics.identification.least_squares import Solution
from joint_dynamics.identification.problem import Problem
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel

LENGTH = 0.1
"""Lengths [m] in which the pseudo-inertias are scaled, so that their eigenvalues are all masses."""
MARGIN = 1e-4
"""Smallest eigenvalue of a scaled pseudo-inertia [kg]."""
PULL = 0.1
"""Default weight w of the prior."""
FLOOR = 1e-3
"""A prior link is taken to have at least this share of its mass as second moment over LENGTH², where it states less."""
_SIGMA = {'XX': ((1, 1), (2, 2)), 'YY': ((0, 0), (2, 2)), 'ZZ': ((0, 0), (1, 1))}
_CROSS = {'XY': (0, 1), 'XZ': (0, 2), 'YZ': (1, 2)}
_FIRST = {'MX': 0, 'MY': 1, 'MZ': 2}


@dataclass(frozen=True)
class PhysicalOptions:
    """pull: weight w of the prior, above 0; mass: bounds of the total mass of the moving links [kg], None where unknown."""

    pull: float = PULL
    mass: tuple[float, float] | None = None

    @classmethod
    def from_config(cls, config: Any) -> PhysicalOptions:
        """Read `identification.physical`: true, or a mapping with pull and mass; raise JointDynamicsError naming the entry."""
        if config is True:
            return cls()
        where = 'identification.physical'
        if not isinstance(config, Mapping) or set(config) - {'pull', 'mass'}:
            raise JointDynamicsError(f'{where}: expected true, or pull and mass, found {config!r}')
        pull = config.get('pull', PULL)
        if isinstance(pull, bool) or not isinstance(pull, (int, float)) or not np.isfinite(pull) or pull <= 0:
            raise JointDynamicsError(f'{where}.pull: expected a number above 0, found {pull!r}')
        mass = config.get('mass')
        if mass is None:
            return cls(float(pull))
        try:
            low, high = (float(value) for value in mass)
        except (TypeError, ValueError):
            raise JointDynamicsError(f'{where}.mass: expected [smallest, largest] total mass [kg], found {mass!r}') from None
        if not 0 <= low <= high or high <= 0 or not np.isfinite(high):
            raise JointDynamicsError(f'{where}.mass: expected 0 <= smallest <= largest, found {mass!r}')
        return cls(float(pull), (low, high))


@dataclass(frozen=True)
class PhysicalEstimate:
    """solution: the estimate with chi moved into the physical set; standard: (p,) full set; price: ‖A (χ − χ̂)‖² in squared deviations."""

    solution: Solution
    standard: NDArray
    price: float


def pseudo_inertias(standard: NDArray, n: int) -> NDArray:
    """Return the pseudo-inertias (n, 4, 4) of a standard set (14 n + …,)."""
    return np.einsum('kp,prc->krc', np.asarray(standard)[:PER_JOINT * n].reshape(n, PER_JOINT)[:, :len(INERTIAL)], _BASIS)


def _basis() -> NDArray:
    basis = np.zeros((len(INERTIAL), 4, 4))
    for p, name in enumerate(INERTIAL):
        if name in _SIGMA:
            own = 'XYZ'.index(name[0])
            for axis in range(3):
                basis[p, axis, axis] = -0.5 if axis == own else 0.5
        elif name in _CROSS:
            r, c = _CROSS[name]
            basis[p, r, c] = basis[p, c, r] = -1.0
        elif name in _FIRST:
            basis[p, _FIRST[name], 3] = basis[p, 3, _FIRST[name]] = 1.0
        else:
            basis[p, 3, 3] = 1.0
    return basis


_BASIS = _basis()
_SCALE = np.diag([1 / LENGTH, 1 / LENGTH, 1 / LENGTH, 1.0])


def prior_bodies(model: RobotModel, solution_base: NDArray, prior: NDArray | None) -> NDArray:
    """Return the scaled pseudo-inertias (n, 4, 4) [kg] to pull towards: the prior's, made bodies; without one, balls that suit the robot's size.

    Without a prior the mass of all links together is that whose weight at a quarter of the reach gives the largest first moment found.
    """
    n = model.n
    if prior is not None and np.any(np.asarray(prior)[:PER_JOINT * n] != 0):
        bodies = _SCALE @ pseudo_inertias(prior, n) @ _SCALE
        masses = np.maximum(bodies[:, 3, 3], 10 * MARGIN)
        found = []
        for body, mass in zip(bodies, masses, strict=True):
            values, vectors = np.linalg.eigh(0.5 * (body + body.T))
            found.append((vectors * np.maximum(values, max(FLOOR * mass, 10 * MARGIN))) @ vectors.T)
        return np.array(found)
    base = model.base_parameters()
    reach = sum(float(np.linalg.norm(placement.translation)) for placement in model.pinocchio.jointPlacements[1:]) or 1.0
    moments = [abs(value) for value, column in zip(solution_base, base.independent, strict=True) if base.standard_names[column].partition('_')[0] in _FIRST]
    mass = max(max(moments, default=1.0) / (0.25 * reach), 0.1) / n
    radius = max(0.25 * reach / n, 0.02)
    return np.repeat(np.diag([mass * (radius / LENGTH)**2] * 3 + [mass])[None], n, axis=0)


def information_root(solution: Solution) -> NDArray:
    """Return A (r, b), r the rank, with AᵀA the information of the solution's columns; directions that no sample shows have none."""
    diagonal = np.sqrt(np.maximum(np.diag(solution.inverse), 0.0))
    shown = diagonal > 0
    scale = np.where(shown, diagonal, 1.0)
    values, vectors = np.linalg.eigh(solution.inverse / np.outer(scale, scale))
    good = values > 1e-10 * values[-1]
    return (vectors[:, good] / np.sqrt(values[good])).T / scale


def physical(problem: Problem, solution: Solution, options: PhysicalOptions | None = None, prior: NDArray | None = None) -> PhysicalEstimate:
    """Move an estimate into the set of physical parameters, as little as its information allows.

    prior: (p,) standard set to pull towards, default the URDF's. Raises JointDynamicsError where cvxpy or its solver is missing, or no robot
    meets the mass bounds.
    """
    cp = _cvxpy()
    options = options or PhysicalOptions()
    model, base = problem.model, problem.base
    n, p = model.n, len(base.standard_names)
    prior = model.parameters if prior is None else prior
    bodies = prior_bodies(model, solution.chi[:base.count], prior)
    unscale = np.linalg.inv(_SCALE)
    # each body as a variable in the coordinates of its prior, where it is near 1: P = F Z Fᵀ
    factors = np.linalg.cholesky(bodies)
    Z = [cp.Variable((4, 4), symmetric=True) for _ in range(n)]
    others = [k for k in range(p) if k >= PER_JOINT * n or k % PER_JOINT >= len(INERTIAL)]
    drive = cp.Variable(len(others))
    extra = cp.Variable(problem.columns - base.count) if problem.columns > base.count else None
    # χ as a linear map of what is solved for; vec in column order, the matrices are symmetric
    pieces = []
    read = np.linalg.pinv(_BASIS.reshape(len(INERTIAL), 16).T)
    for k in range(n):
        first = PER_JOINT * k
        to_standard = read @ np.kron(unscale @ factors[k], unscale @ factors[k])
        pieces.append((base.matrix[:, first:first + len(INERTIAL)] @ to_standard) @ cp.vec(Z[k], order='F'))
    chi_base = sum(pieces) + base.matrix[:, others] @ drive
    chi = chi_base if extra is None else cp.hstack([chi_base, extra])
    A = information_root(solution)
    rows = max(solution.rows, 1.0)
    A = A / np.sqrt(rows)
    floor = [MARGIN * np.linalg.inv(factor) @ np.linalg.inv(factor).T for factor in factors]
    divergence = sum(cp.trace(body) - cp.log_det(body) for body in Z)
    constraints = [body >> 0.5 * (low + low.T) for body, low in zip(Z, floor, strict=True)]
    positive = [i for i, k in enumerate(others) if base.standard_names[k].partition('_')[0] != 'off']
    constraints.append(drive[_not_free(problem, others, positive)] >= 0)
    for matrix in dissipation_rows(problem):
        columns = np.array([others.index(k) for k in matrix.standard])
        rest = matrix.rows_standard @ drive[columns] + matrix.rows_extra @ extra
        constraints.append(rest >= 0)
    # what no row speaks of keeps its value: a column that another one stands for, such as Fv beside a fitted power of speed
    blind = np.diag(solution.inverse) <= 0
    for k in np.flatnonzero(blind[:base.count]):
        if base.independent[k] in others and np.count_nonzero(base.matrix[k]) == 1:
            constraints.append(drive[others.index(base.independent[k])] == solution.chi[k])
    if extra is not None and blind[base.count:].any():
        constraints.append(extra[np.flatnonzero(blind[base.count:])] == solution.chi[base.count:][blind[base.count:]])
    if options.mass is not None:
        total = sum((factors[k][3] @ Z[k] @ factors[k][3]) for k in range(n))
        constraints += [total >= options.mass[0], total <= options.mass[1]]
    programme = cp.Problem(cp.Minimize(cp.sum_squares(A @ chi - A @ solution.chi) + options.pull / rows * divergence), constraints)
    try:
        programme.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        raise JointDynamicsError(f'physical: expected the semidefinite programme to be solved, found: {error}') from None
    if programme.status not in ('optimal', 'optimal_inaccurate'):
        bounds = '' if options.mass is None else f' (total mass {options.mass[0]:g} to {options.mass[1]:g} kg)'
        raise JointDynamicsError(f'physical: expected a physical robot near the estimate, found the programme {programme.status}{bounds}')
    standard = np.zeros(p)
    for k in range(n):
        body = unscale @ factors[k] @ Z[k].value @ factors[k].T @ unscale
        standard[PER_JOINT * k:PER_JOINT * k + len(INERTIAL)] = read @ body.ravel()
    standard[others] = drive.value
    sign = np.array([base.standard_names[k].partition('_')[0] != 'off' for k in others])
    clipped = np.array(others)[np.intersect1d(np.flatnonzero(sign), _not_free(problem, others, positive))]
    standard[clipped] = np.maximum(standard[clipped], 0.0)
    moved = base.regroup(standard) if extra is None else np.concatenate([base.regroup(standard), extra.value])
    smallest = np.linalg.eigvalsh(_SCALE @ pseudo_inertias(standard, n) @ _SCALE)[:, 0]
    if np.any(smallest <= 0):
        raise JointDynamicsError(f'physical: expected every pseudo-inertia positive definite, found the smallest eigenvalue {smallest.min():.3g} kg')
    return PhysicalEstimate(replace(solution, chi=moved), standard, float(rows * np.sum((A @ (moved - solution.chi))**2)))


def _not_free(problem: Problem, others: list[int], positive: list[int]) -> NDArray:
    """Return which of the drive parameters have to be 0 or more: all but offsets, and the viscous ones that further terms complement."""
    complemented = {k for rows in dissipation_rows(problem) for k in rows.standard if problem.base.standard_names[k].startswith('Fv_')}
    return np.array([i for i in positive if others[i] not in complemented], dtype=int)


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise JointDynamicsError("physical: expected cvxpy with the solver Clarabel, found none: install joint_dynamics[sdp]") from None
    if 'CLARABEL' not in cvxpy.installed_solvers():
        raise JointDynamicsError('physical: expected the solver Clarabel beside cvxpy, found none: install joint_dynamics[sdp]')
    return cvxpy
