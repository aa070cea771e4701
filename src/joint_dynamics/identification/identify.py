"""Batch identification of a robot from recordings (IDIM): inverse dynamics, linear in the parameters, least squares [M5, G].

Y = W χ + ρ, the rows of all joints and recordings together; W holds the base parameters' columns and any additional terms, both
sides filtered and decimated alike.
"""
from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.estimate import coupling_matrix, doubtful_gains, identify_drive_gains, with_torque
from joint_dynamics.identification.drive_gains.gain_deviation import GainDoubt, gain_covariance, gain_sensitivity, stated_or_assumed
from joint_dynamics.identification.drive_gains.payload import identify_payload
from joint_dynamics.identification.drive_gains.payload_difference import payload_differences
from joint_dynamics.identification.drive_gains.payload_runs import PayloadParameters
from joint_dynamics.identification.physical.payload_body import payload_body
from joint_dynamics.identification.preparation.averaging import with_mean_periods
from joint_dynamics.identification.preparation.observations import FilterPlan, filter_plan, observe, shortest
from joint_dynamics.identification.regression.methods import Progress, solve_by_method
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import fits
from joint_dynamics.identification.regression.rotor import RotorSide
from joint_dynamics.identification.regression.stiction import resting_entry
from joint_dynamics.identification.reliability.checks import check_recordings
from joint_dynamics.identification.reliability.diagnostics import diagnose
from joint_dynamics.identification.reliability.verdict import once
from joint_dynamics.identification.result import IdentificationResult
from joint_dynamics.identification.selection.validity import validity
from joint_dynamics.identification.settings import IdentificationSettings
from joint_dynamics.recording import Recording
from joint_dynamics.recording.recording import per_joint
from joint_dynamics.robot import RobotModel


def identify(model: RobotModel, recordings: Sequence[Recording], validation: Sequence[Recording] = (),
             settings: IdentificationSettings | None = None, progress: Progress | None = None, *,
             loaded: Sequence[Recording] = ()) -> IdentificationResult:
    """Identify the base parameters of `model` from `recordings`, and predict the torque of the `validation` recordings.

    recordings: joints by name, in any order; torques in N·m, or currents with `settings.drive_gains` (which method `tls` identifies itself).
    loaded: recordings with a payload at the last link: its parameters are identified, those of `settings.payload` known. progress: called
    with a line of text as each step begins.

    The result says by `reasons` whether it can be believed; it is returned in either case. Raises JointDynamicsError where recordings
    and robot do not fit together or a recording is too short for the filters.
    """
    started = time.perf_counter()
    settings = settings or IdentificationSettings()
    say = progress or (lambda line: None)
    if not recordings:
        raise JointDynamicsError('identify: expected at least one recording, found none')
    recordings, validation, loaded = ([recording.select(model.joint_names) for recording in group] for group in (recordings, validation, loaded))
    if any(recording.temperature is None for recording in validation):
        # what is chosen has to be predictable there, too
        recordings = [replace(recording, temperature=None) for recording in recordings]
    plan = filter_plan(recordings, settings)
    measured = recordings
    recordings, loaded = (with_mean_periods(group, settings.period, plan.parallel_cutoff, shortest(plan, group)) for group in (recordings, loaded))
    extras: dict[str, Any] = {}
    remarks: list[str] = []
    # tls finds its gains with deviations of their own
    used = None if settings.method == 'tls' else settings.drive_gains
    stated, assumed = stated_or_assumed(settings.drive_gain_deviation, used, recordings)
    settings = replace(settings, drive_gain_deviation=stated)
    doubt = gain_covariance(stated, model.joint_names) if stated and settings.drive_gains else None
    if settings.method == 'tls':
        say('drive gains by total least squares')
        gains, doubt, extras = _drive_gains(model, recordings, loaded, plan, settings, remarks)
        recordings, validation, loaded = ([_in_torque(model, recording, gains, settings.drive_gains) for recording in group]
                                          for group in (recordings, validation, loaded))
        settings = replace(settings, drive_gains=gains)
    elif model.coupling is not None and settings.drive_gains:
        recordings, validation, loaded = ([recording if recording.current is None else with_torque(model, recording, settings.drive_gains)
                                           for recording in group] for group in (recordings, validation, loaded))
    say(f'filtering {len(recordings)} recording(s) at {plan.position_cutoff:.3g} Hz')
    rotor = RotorSide.load(settings.rotor, model) if settings.rotor is not None else None

    def observed(group: Sequence[Recording]) -> list:
        found = [observe(recording, plan, None if settings.method == 'tls' else settings.drive_gains) for recording in group]
        return found if rotor is None else [rotor.compensate(observation) for observation in found]

    problem = Problem(model, observed(recordings), settings.terms, rest_speed=0.0 if settings.method == 'ols' else settings.rest_speed)
    solved = solve_by_method(problem, settings, plan.f_dyn, say)
    problem, solution = solved.problem, solved.solution
    without, gain_doubt = solved.covariance, None
    if doubt is not None:
        coupling = coupling_matrix(model)
        gain_doubt = GainDoubt(doubt, gain_sensitivity(problem.blocks(), solution, coupling), coupling)
        solved = replace(solved, covariance=solved.covariance + gain_doubt.spread)
    training = fits(problem, solution.chi, settings.moving_speed)
    say('validating')
    unseen = problem.on(observed(validation)) if validation else None
    checked = fits(unseen, solution.chi, settings.moving_speed) if unseen is not None else []
    extras['validity'] = validity(problem, solution.chi, solved.standard)
    if problem.rest_speed > 0:
        extras['resting'] = resting_entry(problem, unseen, solution.chi, solved.covariance, solution.sigma)
    if loaded and 'payload' not in extras:
        say('payload')
        carried = identify_payload(problem, solution.chi, observed(loaded), settings.known_payload, without, gain_doubt)
        extras['payload'] = _as_body(carried, remarks).summary()
    say('checking whether the result holds')
    different = payload_differences(problem, solution.chi, observed(loaded))
    judged = check_recordings(problem, solution, measured, training, checked, unseen, settings, solved.covariance)
    extras |= solved.extras | {'diagnostics': diagnose(problem, solution, training)} | judged.summary
    notes = [*remarks, *judged.notes, *(f'{recording.name}: {note}' for recording in (*recordings, *validation, *loaded) for note in recording.notes)]
    if stated and used:
        value = dict(stated) if isinstance(stated, Mapping) else stated
        extras['drive_gain_deviation'] = {'value': value, 'assumed': assumed is not None}
    if assumed is not None:
        notes.append(assumed)
    if rotor is not None:
        notes += rotor.remarks
        notes.append('residuals are those of the transmission torque: rotor inertia and friction were taken off the motor torque before')
    return IdentificationResult(problem, settings, plan, solution, solved.covariance, training, checked,
                                once([*judged.reasons, *different, *doubtful_gains(extras.get('drive_gains', {}))]), time.perf_counter() - started,
                                notes, extras, solved.standard, rotor)


def _drive_gains(model: RobotModel, recordings: Sequence[Recording], loaded: Sequence[Recording], plan: FilterPlan,
                 settings: IdentificationSettings, remarks: list[str]) -> tuple[dict[str, float], NDArray, dict[str, Any]]:
    """Return identified gains {joint: N·m/A}, the covariance of their relative errors, and the summary entries of gains and payload."""
    if not settings.known_payload:
        raise JointDynamicsError('tls: expected the weighed mass of the payload (--payload-mass, or payload.mass in the configuration), found none')
    found = identify_drive_gains(model, recordings, loaded, settings.known_payload, plan, prior=settings.drive_gains, terms=settings.terms,
                                 rest_speed=settings.rest_speed, **settings.options)
    return found.by_joint, found.relative_covariance, {'drive_gains': found.summary(), 'payload': _as_body(found.payload, remarks).summary()}


def _as_body(payload: PayloadParameters, notes: list[str]) -> PayloadParameters:
    """Return the nearest payload that is a body, or the estimate with a note why not."""
    try:
        return payload_body(payload)
    except JointDynamicsError as error:
        notes.append(f'the payload as estimated is no body: {error}')
        return payload


def _in_torque(model: RobotModel, recording: Recording, gains: Mapping[str, float], prior: Mapping[str, float] | None) -> Recording:
    """Return a recording in N·m by identified gains; one that came in N·m has the prior gains in it, which they replace."""
    if recording.current is None and prior is not None:
        before = per_joint(prior, model.joint_names, 'drive_gains')
        gains = {name: gains[name] / before[j] for j, name in enumerate(model.joint_names)}
    return with_torque(model, recording, gains)
