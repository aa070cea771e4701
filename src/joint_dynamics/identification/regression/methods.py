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

"""Solution of a problem by the named method; then essential parameters and physical consistency, if requested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.import_inertials import import_inertials
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.identification_settings import IdentificationSettings, PhysicalOptions
from joint_dynamics.identification.regression.covariance import LEVEL, sandwich
from joint_dynamics.identification.regression.friction_loop import iterate_to_fixed_point, state_from
from joint_dynamics.identification.regression.least_squares import MethodDetails, Solution, ols, wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import standard_set
from joint_dynamics.identification.regression.triangles import triangulate
from joint_dynamics.identification.selection import Selection, choose, first_terms, menu, temperature_range

Progress = Callable[[str], None]
FIRST_SWEEPS = 2  # of the solution that gives weights and load torque for the choice of terms
ROBUST_METHODS = ('irls', 'i-irls')


@dataclass(frozen=True)
class SolvedProblem:
    """Problem (with the terms and state of the solution), solution, covariance (b, b), results of the steps.

    standard: (p,) full standard set with the torque of the solution, as near as possible to the URDF's inertials, or to
    zero, where the method has none of its own.
    """

    problem: Problem
    solution: Solution
    covariance: FloatArray
    details: MethodDetails
    standard: FloatArray


def least_squares(problem: Problem, method: str) -> Solution:
    """Solve a problem by OLS or WLS; raise JointDynamicsError where it has fewer rows than parameters."""
    triangles = triangulate(problem.blocks())
    if triangles.rows <= problem.columns:
        still = problem.still_joints
        names = f'; {", ".join(still)} never move{"s" if len(still) == 1 else ""}' if still else ''
        raise JointDynamicsError(
            f'identify: expected more rows than the {problem.columns} parameters, found {int(triangles.rows)} '
            f'(a stay at rest counts as one){names}: record a longer motion of all joints'
        )
    return ols(triangles, problem.optional) if method == 'ols' else wls(triangles, problem.optional, problem.selected)


def linear(
    problem: Problem, settings: IdentificationSettings, say: Progress
) -> tuple[Problem, Solution, Selection | None]:
    """Return problem and solution by least squares, with further terms selected on held-out data."""
    prior = problem.model.parameters

    def solver(trial: Problem) -> Solution:
        return least_squares(trial, settings.method)

    plain = problem.without_state()
    problem, solution = iterate_to_fixed_point(problem, [], solver, solver(plain), prior, plain)
    if not settings.selection or settings.rotor is not None or settings.method in ('ols', 'i-irls'):
        return problem, solution, None
    say('testing further friction terms on held-out data')
    candidates = menu(
        [name for name in problem.model.joint_names if name not in problem.model.without_torque],
        temperature_range(problem.observations),
        problem.terms,
        problem.lifts,
    )
    trial, first = iterate_to_fixed_point(
        problem, first_terms(candidates), solver, solution, prior, sweeps=FIRST_SWEEPS
    )
    with_laws = state_from(trial, first, prior)
    state = replace(state_from(problem, solution, prior), links=with_laws.links, load_limit=with_laws.load_limit)
    selection = choose(problem, candidates, state, first)
    if selection.terms:
        problem, solution = iterate_to_fixed_point(problem, selection.terms, solver, first, prior, trial)
    return problem, solution, selection


def solve_by_method(problem: Problem, settings: IdentificationSettings, say: Progress) -> SolvedProblem:
    """Solve a problem by the method of the settings."""
    prior = stated_prior(problem, settings)
    say(f'solving for {problem.columns} parameters by {settings.method}')
    if settings.method in ROBUST_METHODS:
        problem, solution, covariance, selection, details = robust_estimate(
            problem, settings, lambda trial: linear(trial, settings, say)
        )
    else:
        problem, solution, selection = linear(problem, settings, say)
        say('estimating deviations')
        known = dict(zip(problem.names, solution.chi, strict=True))
        coulomb = np.abs([known.get(f'Fc_{j + 1}', 0.0) for j in range(problem.model.n)])
        covariance = sandwich(problem.blocks, solution, coulomb)
        details = MethodDetails()
    if selection is not None:
        details = replace(details, selection=selection.summary(problem.model.link_names, problem.terms))
    return _afterwards(problem, solution, covariance, details, settings, prior, say)


def robust_estimate(
    problem: Problem,
    settings: IdentificationSettings,
    select: Callable[[Problem], tuple[Problem, Solution, Selection | None]],
) -> tuple[Problem, Solution, FloatArray, Selection | None, MethodDetails]:
    """Identify by `settings.method`, irls or i-irls; return problem, solution, covariance, selection, course of loops.

    select: chooses further terms on held-out data, as with WLS; it gets the problem with gross outliers replaced.
    I-IRLS has its own terms.
    """
    from joint_dynamics.identification.regression.iirls import FrictionOptions, iirls
    from joint_dynamics.identification.regression.irls import irls

    options = FrictionOptions.from_mapping(settings.options)
    plain = problem.without_state()
    first = wls(triangulate(plain.blocks()), plain.optional, plain.selected)
    details = MethodDetails()
    selection: Selection | None = None
    if settings.method == 'i-irls':
        if plain is not problem:
            raise JointDynamicsError(
                'terms: expected none of load or hysteresis with i-irls, which has load terms of its own, found some: '
                'leave them out, or take another method'
            )
        estimate, course = iirls(plain, first, options)
        details = MethodDetails(i_irls=course)
    else:
        chosen, solution, selection = select(irls(plain, first, options.threshold).problem.with_terms(problem.terms))
        estimate = irls(chosen, solution, options.threshold)
        details = MethodDetails(irls={'converged': estimate.converged})
    measured = estimate.problem.with_torque([observation.tau for observation in problem.observations])
    details = replace(details, rejected_rows_percent=estimate.rejected_percent)
    return measured, estimate.solution, estimate.covariance(), selection, details


def stated_prior(problem: Problem, settings: IdentificationSettings) -> FloatArray | None:
    """Return the standard parameters (p,) [SI] of the prior named by the settings, None without one.

    It is read before anything is solved, so that an invalid file is refused at once.
    """
    if not settings.physical:
        return None
    options = PhysicalOptions.from_given(settings.physical)
    return None if options.prior is None else import_inertials(options.prior, problem.model)


def _afterwards(
    problem: Problem,
    solution: Solution,
    covariance: FloatArray,
    details: MethodDetails,
    settings: IdentificationSettings,
    prior: FloatArray | None,
    say: Progress,
) -> SolvedProblem:
    """Essential parameters and physical consistency, where asked for."""
    if settings.essential:
        from joint_dynamics.identification.physical.essential import essential_parameters

        say('dropping insignificant parameters')
        rule = settings.essential if isinstance(settings.essential, str) else 'ratio'
        independent, stated = np.diag(solution.inverse), np.diag(covariance)
        growth = np.sqrt(np.where(independent > 0, stated / np.where(independent > 0, independent, 1.0), 1.0))
        essential = essential_parameters(
            triangulate(problem.blocks()), solution, problem.names, rule=rule, optional=problem.optional, growth=growth
        )
        details = replace(details, essential=essential.summary())
    if settings.physical:
        from joint_dynamics.identification.physical.semidefinite import physical

        say('finding the nearest physical parameters')
        options = PhysicalOptions.from_given(settings.physical)
        estimate = physical(problem, solution, options, prior)
        entry = {'price': estimate.price, 'price_per_row': estimate.price / max(solution.rows, 1.0)}
        prior_file = {} if options.prior is None else {'prior': options.prior}
        details = replace(details, physical=entry | prior_file)
        return SolvedProblem(problem, estimate.solution, covariance, details, estimate.standard)
    solution, zero = with_rotors_at_zero(problem.names, solution, covariance)
    details = replace(details, rotors_at_zero=zero)
    standard = standard_set(problem.base, solution.chi[: problem.base.count], problem.model.parameters)
    # as it is, without the rounding of the set
    standard[np.isin(problem.base.standard_names, zero or [])] = 0.0
    return SolvedProblem(problem, solution, covariance, details, standard)


def with_rotors_at_zero(
    names: Sequence[str], solution: Solution, covariance: FloatArray
) -> tuple[Solution, list[str] | None]:
    """Return the solution with rotor inertias of 0 where it has some below, and their names; None: there are none.

    One whose 95 % interval reaches above 0 is not known to be below: the likeliest robot has none there, and as its
    other parameters χ − M_h (M_hh)⁻¹ χ_h, M = (AᵀA)⁻¹, h those held at 0. covariance (b, b): of the parameters, which
    gives the interval.
    """
    rotors = np.array([name.startswith('Ia_') for name in names])
    interval = NormalDist().inv_cdf(LEVEL) * solution.deviation(covariance)
    chi, held, M = solution.chi, np.zeros(len(names), dtype=bool), solution.inverse
    while (doubtful := rotors & (chi < 0) & (-chi < interval) & np.isfinite(interval)).any():
        held |= doubtful
        chi = solution.chi - M[:, held] @ np.linalg.solve(M[np.ix_(held, held)], solution.chi[held])
        chi[held] = 0.0
    return replace(solution, chi=chi), [name for name, zero in zip(names, held, strict=True) if zero] or None
