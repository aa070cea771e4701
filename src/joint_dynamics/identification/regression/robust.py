"""The robust methods within `identify`.

Outliers out first, then the terms that held-out data ask for, then the robust estimate with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.regression.fixed_point import without_state
from joint_dynamics.identification.regression.iirls import FrictionOptions, iirls
from joint_dynamics.identification.regression.irls import irls
from joint_dynamics.identification.regression.least_squares import MethodDetails, Solution, triangulate, wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.selection.candidate_terms import Selection

Select = Callable[[Problem], tuple[Problem, Solution, Selection | None]]


def robust_estimate(
    problem: Problem, settings: IdentificationSettings, select: Select
) -> tuple[Problem, Solution, FloatArray, MethodDetails]:
    """Identify by `settings.method`, irls or i-irls; return problem, solution, covariance and the course of the loops.

    select: chooses further terms on held-out data, as with WLS; it gets the problem with gross outliers replaced.
    I-IRLS has its own terms.
    """
    options = FrictionOptions.from_mapping(settings.options)
    plain = without_state(problem)
    first = wls(triangulate(plain.blocks()), plain.optional, plain.selected)
    details = MethodDetails()
    selection: Selection | None = None
    if settings.method == 'i-irls':
        if plain is not problem:
            raise JointDynamicsError(
                'terms: expected none of load or hysteresis with i-irls, which has load terms of its own, found some: '
                'leave them out, or take another method'
            )
        found, course = iirls(plain, first, options)
        details = MethodDetails(i_irls=course)
    else:
        chosen, solution, selection = select(irls(plain, first, options.threshold).problem.with_terms(problem.terms))
        found = irls(chosen, solution, options.threshold)
        chosen_terms = None if selection is None else selection.summary(chosen.model.link_names, chosen.terms)
        details = MethodDetails(selection=chosen_terms, irls={'loops': found.trace})
    measured = found.problem.with_torque([observation.tau for observation in problem.observations])
    covariance = found.covariance()
    if selection is not None:
        covariance = selection.widened(covariance, measured.names)
    return measured, found.solution, covariance, replace(details, rejected_rows_percent=found.rejected_percent)
