"""Batch identification of a robot from recordings (IDIM): inverse dynamics, linear in the parameters, least squares [M5, G].

Y = W χ + ρ, the rows of all joints and recordings together; W holds the base parameters' columns and any additional terms, both
sides filtered and decimated alike.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.belief import reasons_for_doubt
from joint_dynamics.identification.covariance import correlation_length, sandwich
from joint_dynamics.identification.ingredients import choose, summary_of
from joint_dynamics.identification.least_squares import Solution, ols, triangulate, wls
from joint_dynamics.identification.observations import filter_plan, observe
from joint_dynamics.identification.problem import Problem
from joint_dynamics.identification.residuals import fits, weighted_residuals
from joint_dynamics.identification.result import IdentificationResult
from joint_dynamics.identification.settings import IdentificationSettings
from joint_dynamics.identification.settle import settled, without_state
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

Progress = Callable[[str], None]


def identify(model: RobotModel, recordings: Sequence[Recording], validation: Sequence[Recording] = (),
             settings: IdentificationSettings | None = None, progress: Progress | None = None) -> IdentificationResult:
    """Identify the base parameters of `model` from `recordings`, and predict the torque of the `validation` recordings.

    recordings: joints by name, in any order; torques in N·m, or currents with `settings.drive_gains`. progress: called with a line of
    text as each step begins.

    The result says by `reasons` whether it can be believed; it is returned in either case. Raises JointDynamicsError where recordings
    and robot do not fit together or a recording is too short for the filters.
    """
    started = time.perf_counter()
    settings = settings or IdentificationSettings()
    say = progress or (lambda line: None)
    if not recordings:
        raise JointDynamicsError('identify: expected at least one recording, found none')
    recordings = [recording.select(model.joint_names) for recording in recordings]
    validation = [recording.select(model.joint_names) for recording in validation]
    plan = filter_plan(recordings, settings)
    say(f'filtering {len(recordings)} recording(s) at {plan.position_cutoff:.3g} Hz')
    problem = Problem(model, [observe(recording, plan, settings.drive_gains) for recording in recordings], settings.terms,
                      rest_speed=0.0 if settings.method == 'ols' else settings.rest_speed)
    say(f'solving for {problem.columns} parameters by {settings.method}')
    problem, solution, extras = solve_linear(problem, settings, plan.f_dyn, say)
    training = fits(problem, solution.chi, settings.moving_speed)
    say('estimating deviations')
    lags = correlation_length(weighted_residuals(problem.blocks(), solution))
    covariance = sandwich(problem.blocks(), solution, lags, solution.rows)
    say('validating')
    checked = fits(problem.on([observe(recording, plan, settings.drive_gains) for recording in validation]), solution.chi,
                   settings.moving_speed) if validation else []
    notes = [f'{recording.name}: {note}' for recording in (*recordings, *validation) for note in recording.notes]
    return IdentificationResult(problem, settings, plan, solution, np.asarray(covariance), training, checked,
                                reasons_for_doubt(problem.names, solution, settings.condition_limit), time.perf_counter() - started, notes, extras)


def least_squares(problem: Problem, method: str) -> Solution:
    """Solve a problem by OLS or WLS; raise JointDynamicsError where it has fewer rows than parameters."""
    triangles = triangulate(problem.blocks())
    if triangles.rows <= problem.columns:
        raise JointDynamicsError(f'identify: expected more rows than the {problem.columns} parameters, found {int(triangles.rows)}')
    return ols(triangles, problem.optional) if method == 'ols' else wls(triangles, problem.optional, problem.selected)


def solve_linear(problem: Problem, settings: IdentificationSettings, f_dyn: float, say: Progress) -> tuple[Problem, Solution, dict]:
    """Solve by least squares, with the further terms that held-out data ask for; return problem, solution and summary entries."""
    prior = problem.model.parameters

    def solver(trial: Problem) -> Solution:
        return least_squares(trial, settings.method)

    plain = without_state(problem)
    problem, solution = settled(problem, [], solver, solver(plain), prior)
    if not settings.selection or settings.method == 'ols':
        return problem, solution, {}
    say('trying further terms on held-out data')
    terms, choice = choose(problem, solution, f_dyn, prior)
    if terms:
        problem, solution = settled(problem, terms, solver, solution, prior)
    return problem, solution, {'selection': summary_of(choice)}
