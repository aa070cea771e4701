"""How a problem is solved, by the name of the method: least squares, robust, with the friction fitted apart; and what may follow."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.covariance import covariance as scatter_covariance
from joint_dynamics.identification.regression.fixed_point import settled, without_state
from joint_dynamics.identification.regression.least_squares import Solution, ols, triangulate, wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.selection.candidate_terms import choose, summary_of
from joint_dynamics.identification.selection.doubt import Selected
from joint_dynamics.identification.settings import IdentificationSettings

Progress = Callable[[str], None]
ROBUST = ('irls', 'i-irls')


@dataclass(frozen=True)
class Solved:
    """Problem (with the terms and state of the solution), solution, covariance (b, b), summary entries; standard: (p,) full set or None."""

    problem: Problem
    solution: Solution
    covariance: NDArray
    extras: dict[str, Any] = field(default_factory=dict)
    standard: NDArray | None = None


def least_squares(problem: Problem, method: str) -> Solution:
    """Solve a problem by OLS or WLS; raise JointDynamicsError where it has fewer rows than parameters."""
    triangles = triangulate(problem.blocks())
    if triangles.rows <= problem.columns:
        raise JointDynamicsError(f'identify: expected more rows than the {problem.columns} parameters, found {int(triangles.rows)}')
    return ols(triangles, problem.optional) if method == 'ols' else wls(triangles, problem.optional, problem.selected)


def linear(problem: Problem, settings: IdentificationSettings, f_dyn: float,
           say: Progress) -> tuple[Problem, Solution, Selected]:
    """Return problem and solution by least squares, with the further terms that held-out data ask for."""
    prior = problem.model.parameters

    def solver(trial: Problem) -> Solution:
        return least_squares(trial, settings.method)

    plain = without_state(problem)
    problem, solution = settled(problem, [], solver, solver(plain), prior, plain)
    if not settings.selection or settings.rotor is not None or settings.method in ('ols', 'i-irls'):
        return problem, solution, Selected()
    say('trying further terms on held-out data')
    terms, choice, doubt = choose(problem, solution, f_dyn, prior)
    if terms:
        problem, solution = settled(problem, terms, solver, solution, prior)
    kept = {name for term in problem.terms for name in term.names}
    impossible = [name for term in terms for name in term.names if name not in kept]
    entry = {**summary_of(choice, problem.model.joint_names), 'impossible': impossible}
    return problem, solution, Selected({'selection': entry}, doubt)


def solve_by_method(problem: Problem, settings: IdentificationSettings, f_dyn: float, say: Progress) -> Solved:
    """Solve a problem as the settings ask for."""
    say(f'solving for {problem.columns} parameters by {settings.method}')
    if settings.method in ROBUST:
        from joint_dynamics.identification.regression.robust import robust_estimate
        problem, solution, covariance, extras = robust_estimate(problem, settings, lambda trial: linear(trial, settings, f_dyn, say))
    else:
        problem, solution, selected = linear(problem, settings, f_dyn, say)
        say('estimating deviations')
        covariance = scatter_covariance(problem.blocks(), solution, problem.samples) + selected.spread(problem.names)
        extras = selected.extras
    return _afterwards(Solved(problem, solution, np.asarray(covariance), extras), settings, say)


def _afterwards(solved: Solved, settings: IdentificationSettings, say: Progress) -> Solved:
    """Essential parameters and physical consistency, where asked for."""
    problem, solution, extras = solved.problem, solved.solution, dict(solved.extras)
    standard = None
    if settings.essential:
        from joint_dynamics.identification.physical.essential import essential_parameters
        say('dropping parameters that are not essential')
        rule = settings.essential if isinstance(settings.essential, str) else 'ratio'
        independent, found = np.diag(solution.inverse), np.diag(solved.covariance)
        growth = np.sqrt(np.where(independent > 0, found / np.where(independent > 0, independent, 1.0), 1.0))
        essential = essential_parameters(triangulate(problem.blocks()), solution, problem.names, rule=rule, optional=problem.optional, growth=growth)
        extras['essential'] = essential.summary()
    if settings.physical:
        from joint_dynamics.identification.physical.semidefinite import PhysicalOptions, physical
        say('moving into the set of physical parameters')
        estimate = physical(problem, solution, PhysicalOptions.from_config(settings.physical))
        extras['physical'] = {'price': estimate.price, 'price_per_row': estimate.price / max(solution.rows, 1.0)}
        solution, standard = estimate.solution, estimate.standard
    return replace(solved, solution=solution, extras=extras, standard=standard)
