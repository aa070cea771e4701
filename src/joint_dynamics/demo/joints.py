"""From the recordings of the robot to the physics of its joints, by the same tests `joint-dynamics identify-joint` runs."""
from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import NotBelievableError
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.result import TestResult
from joint_dynamics.identification.joint_tests.run import merged_description, run_test, test_settings
from joint_dynamics.identification.joint_tests.transmission import identify_transmission
from joint_dynamics.recording.load import load_recording

#: Half the lost motion of a strain-wave gear of this size by its data sheet, rad: about two arc minutes. It is not identified here: that takes
#: slow reversals over a whole turn without load (docs/identify-joint.md).
BACKLASH = 5e-4
#: Presliding by the fixed polynomial law [M6 eq 17-18].
MAXWELL_SLIP = {'operators': 4, 'r_Delta': 4.0, 'r_k': 2.0}


def identify_joints(folder: Path, exciting: Path, constant_speeds: Path, progress: Callable[[float, str], None]) -> DynamicsDescription:
    """Add friction, hysteresis, stiffness and kinematic error of every joint to the robot's description in `folder`; return the whole.

    exciting, constant_speeds: recordings (CSV). What a test cannot tell from its data is left out, as its own reasons say.
    """
    description = DynamicsDescription.load(folder / 'dynamics.yaml')
    robot = description.robot_model()
    parameters = description.standard_parameters(robot, friction=False)
    gains = {name: description.joint(name)['drive_gain']['value'] for name in robot.joint_names}
    recordings = [load_recording(str(path), None, robot.joint_names) for path in (exciting, constant_speeds)]
    rough = _without_friction(description)
    for k, name in enumerate(robot.joint_names):
        progress(k / robot.n, name)
        first, second = (joint_data(recording, name, drive_gains=gains, robot=robot, parameters=parameters) for recording in recordings)
        for result in _tests(first, second, rough, name):
            rough = merged_description(robot.joint_names, result, rough)
    document = copy.deepcopy(rough.document)
    for name in robot.joint_names:
        part = document['joints'][name]
        part['friction']['maxwell_slip'] = {**MAXWELL_SLIP, 'presliding': BACKLASH}
        part['backlash'] = {'type': 'table', 'values': [BACKLASH]}
        # Where one joint has no stiffness nobody may use it; the estimator then starts from nothing for all.
    return DynamicsDescription(document)


def _tests(exciting: JointData, constant_speeds: JointData, description: DynamicsDescription, name: str) -> list[TestResult]:
    load = run_test('load', [constant_speeds], test_settings('load', {'load': {'form': 'quadratic'}}), {})
    part = {key: value for key, value in description.joint(name).items() if key != 'friction'}
    if load.believable and load.parameters['F_C1'].value > 0.0:
        part['friction'] = {'parameters': {key: load.parameters[key].value for key in ('F_C0', 'F_C1')}}
    friction = _friction(constant_speeds, part)
    if 'friction' in part:
        friction.document['friction']['parameters']['F_C1'] = load.parameters['F_C1'].value
    results = [friction]
    try:
        transmission = identify_transmission([exciting, constant_speeds])
        if transmission.believable:
            results.append(transmission)
    except NotBelievableError:
        pass  # never under load: the transmission stays unknown
    return results


def _friction(data: JointData, part: dict) -> TestResult:
    """The speed map with the most terms that the data can tell apart."""
    result = run_test('friction', [data], test_settings('friction', {}), part)
    for model in ('cubic', 'viscous'):
        if result.believable:
            break
        result = run_test('friction', [data], test_settings('friction', {'friction': {'model': model}}), part)
    return result


def _without_friction(description: DynamicsDescription) -> DynamicsDescription:
    """The description with the robot's linear friction taken out: the tests of the joints put a better one in its place."""
    document = copy.deepcopy(description.document)
    for part in document['joints'].values():
        part.pop('friction', None)
        part.pop('terms', None)
    return DynamicsDescription(document)
