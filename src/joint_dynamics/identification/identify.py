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

"""Batch identification of a robot from recordings: inverse dynamics, linear in the parameters, by least squares.

    Y = W χ + ρ

contains the rows of all joints and recordings [M5, G]; W holds the columns of the base parameters and of any additional
terms. Both sides are filtered and decimated alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from joint_dynamics.arm import Arm
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.describe import describe, load_deviation, validity_of, with_provenance
from joint_dynamics.identification.drive_gains.conversion import as_body, to_torques
from joint_dynamics.identification.drive_gains.estimate import poorly_determined_gains
from joint_dynamics.identification.drive_gains.payload import identify_payload, payload_differences
from joint_dynamics.identification.identification_settings import IdentificationSettings, KnownPayload
from joint_dynamics.identification.joint_tests.transmission import identify_transmissions
from joint_dynamics.identification.observations import Observation, filter_plan, observe
from joint_dynamics.identification.recordings import PreparedRecordings, locked_as_recorded, of_torques
from joint_dynamics.identification.regression.methods import Progress, solve_by_method
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rotor import RotorSide
from joint_dynamics.identification.reliability.checks import check_recordings
from joint_dynamics.identification.reliability.signals import with_faults
from joint_dynamics.identification.reliability.verdict import without_duplicates
from joint_dynamics.identification.result import IdentificationResult
from joint_dynamics.identification.validate import resting_summary, validation_fit
from joint_dynamics.recording import Recording, with_short_names
from joint_dynamics.robot import RobotModel


def identify(
    model: RobotModel,
    recordings: Sequence[Recording],
    validation: Sequence[Recording] = (),
    settings: IdentificationSettings | None = None,
    progress: Progress | None = None,
    *,
    loaded: Sequence[Recording] = (),
) -> IdentificationResult:
    """Identify the base parameters of `model` from `recordings`, and predict the torque of the `validation` recordings.

    The result says by `reasons` whether it is reliable; it is returned in either case.

    Parameters
    ----------
    recordings
        joints by name, in any order; torques in N·m, or currents with `settings.drive_gains` (which method `tls`
        identifies itself).
    validation
        recordings for validation only.
    settings
        IdentificationSettings; None: the defaults.
    progress
        called with a line of text at the beginning of each step.
    loaded
        recordings with a payload on the last link, whose parameters are identified, except those known in
        `settings.payload`.

    Raises
    ------
    JointDynamicsError
        Where recordings and robot do not fit together or a recording is too short for the filters.
    """
    started = time.perf_counter()
    settings, say = settings or IdentificationSettings(), progress or (lambda line: None)
    _check_torques([*recordings, *loaded], settings.method, bool(loaded))

    # 1 The data: joints by name, periods averaged, currents as torques
    whole = [run.select(model.joint_names) for run in (*recordings, *validation, *loaded)]
    given, model = model, of_torques(locked_as_recorded(model, whole), whole, len(recordings))
    data = PreparedRecordings.of(model, recordings, validation, loaded)
    plan, measured = filter_plan(data.training, settings), data.training
    data = data.averaged(settings.period, plan).thinned(plan)
    converted = to_torques(model, data, plan, settings, say)
    data, settings = converted.data, converted.settings
    notes = list(converted.notes)
    if model.held != given.held:
        places = ', '.join(f'{name} at {place:.4g}' for name, place in model.held.items())
        notes.append(f'locked where the recordings have them: {places}')

    # 2 The linear system: filtered motion, rotors that are known taken off
    say(f'filtering {len(data.training)} recording(s) at {plan.position_cutoff:.3g} Hz')
    rotor = RotorSide.load(settings.rotor, model) if settings.rotor is not None else None
    gains = None if settings.method == 'tls' else settings.drive_gains

    def observed(group: Sequence[Recording]) -> list[Observation]:
        return [observe(recording, plan, gains) for recording in group]

    def loading(observations: Sequence[Observation]) -> list[Observation]:
        return list(observations) if rotor is None else [rotor.compensate(part) for part in observations]

    rest_speed = 0.0 if settings.method == 'ols' else settings.rest_speed
    try:
        measured_training = observed(data.training)
        stated = Problem(model, loading(measured_training), settings.terms, rest_speed=rest_speed)

        # 3 Its solution, with the terms of friction that the data ask for
        solved = solve_by_method(stated, settings, say)
    except JointDynamicsError as error:
        raise with_faults(error, data.training) from None
    problem, solution = solved.problem, solved.solution

    # 4 How sure it is: the scatter of the data, the selection, the drive gains
    gain_uncertainty = converted.uncertainty(model, solved)
    scatter = solved.covariance
    covariance = scatter + (0.0 if gain_uncertainty is None else gain_uncertainty.spread)
    solved = replace(solved, covariance=covariance)

    # 5 The validation
    say('validating')
    measured_validation = observed(data.validation)
    unseen = problem.on(loading(measured_validation)) if data.validation else None

    # 6 The payload
    payload_runs = loading(observed(data.payload_runs))
    hung = settings.payload or KnownPayload()
    payload = converted.payload
    if payload_runs and payload is None:
        say('payload')
        carried = identify_payload(
            problem,
            solution.chi,
            payload_runs,
            settings.known_payload,
            scatter,
            gain_uncertainty,
            hung.joint,
            hung.position,
        )
        payload = (carried if hung.position is not None else as_body(carried, notes)).summary()

    # 7 What its description predicts, with the transmissions where both their sides were recorded
    validity = validity_of(solved)
    transmissions, unknown = identify_transmissions(
        Arm(model, solved.standard), measured, settings.drive_gain_deviation, load_deviation(solved)
    )
    description = describe(
        solved,
        settings,
        validity=validity,
        transmissions=transmissions,
        rotor=rotor,
        drive_gains=converted.drive_gains,
        payload=payload,
    )
    arm = Arm.from_description(None, description)
    training, validated = (
        [validation_fit(arm, part, settings) for part in group] for group in (measured_training, measured_validation)
    )
    resting = {
        role: resting_summary(fits) for role, fits in (('training', training), ('validation', validated)) if fits
    }

    # 8 Whether it holds
    say('checking the reliability of the result')
    judged = check_recordings(stated, problem, solution, measured, training, validated, unseen, settings, covariance)
    different = payload_differences(problem, solution.chi, payload_runs, hung.joint)
    weak_gains = poorly_determined_gains(converted.drive_gains or {})

    if zero := solved.details.rotors_at_zero:
        notes.append(f'{", ".join(zero)} estimated below 0, within the deviation: set to 0')
    notes += [*judged.notes, *data.notes, *([] if rotor is None else rotor.remarks), *unknown]
    reasons = without_duplicates([*judged.reasons, *different, *weak_gains])

    # Recordings by their short names; summary and description hold the paths
    called = [run.name for group in (measured, data.training, data.validation, data.payload_runs) for run in group]
    result = IdentificationResult(
        problem=problem,
        settings=settings,
        plan=plan,
        solution=solution,
        covariance=covariance,
        standard_parameters=solved.standard,
        description=description,
        training=training,
        validation=validated,
        reasons=[replace(reason, text=with_short_names(reason.text, called)) for reason in reasons],
        seconds=time.perf_counter() - started,
        notes=[with_short_names(note, called) for note in notes],
        rotor=rotor,
        details=solved.details,
        validity=validity,
        resting=resting,
        transmissions=transmissions,
        drive_gain_deviation=converted.drive_gain_deviation,
        drive_gains=converted.drive_gains,
        payload=payload,
        checks=judged.summary,
    )
    return replace(result, description=with_provenance(result))


def _check_torques(recordings: Sequence[Recording], method: str, with_payload: bool) -> None:
    """Raise JointDynamicsError where a torque is missing that the method or the payload needs."""
    silent = next((recording for recording in recordings if recording.without_torque), None)
    if silent is not None and (with_payload or method in ('tls', 'i-irls')):
        what = 'a payload' if with_payload else f'method {method}'
        raise JointDynamicsError(
            f'{silent.name}: expected the torque of every joint for {what}, found none of '
            f'{", ".join(silent.without_torque)}: identify the robot by wls or irls, without --loaded'
        )
