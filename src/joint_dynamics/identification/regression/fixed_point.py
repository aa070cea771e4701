"""Fixed-point iteration where some columns depend on the solution.

Friction that depends on load is a product of parameters, and linear for a given load torque. Load torque and share of
hysteresis are therefore taken from the last solution until it converges [L, loop 4].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arm import Term
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.physical.dissipation import impossible_terms
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import standard_set

Solver = Callable[[Problem], Solution]
SWEEPS = 20
TOLERANCE = 1e-3
"""Change of the load torque, relative to its largest, that counts as none."""


def state_from(problem: Problem, solution: Solution, prior: FloatArray | None) -> FrictionState:
    """Return load parameters, load limits and hysteresis shares of a solution.

    Parameters
    ----------
    prior
        standard parameters (p,) [SI] close to which the solution is lifted; None: the URDF's.
    """
    model, chi = problem.model, solution.chi
    links = model.standard(standard_set(problem.base, chi[: problem.base.count], prior)).links
    limit = np.max([np.abs(problem.loads.of(part, links)).max(axis=1) for part in problem.observations], axis=0)
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
