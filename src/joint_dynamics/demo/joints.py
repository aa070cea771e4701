"""From the recordings of the robot to the physics of its joints, by the same tests `joint-dynamics identify-joint` runs."""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.result import TestResult
from joint_dynamics.identification.joint_tests.run import merged_description, run_test, test_settings
from joint_dynamics.identification.joint_tests.transmission import identify_transmission
from joint_dynamics.recording import Recording


def identify_joints(description: DynamicsDescription, recordings: Sequence[Recording],
                    progress: Callable[[float, str], None] = lambda share, name: None) -> DynamicsDescription:
    """Add friction, stiffness and kinematic error of every joint to the robot's description; return the whole.

    recordings: the exciting motion, constant speeds. What a test cannot tell from its data is left out, as its own
    reasons say; presliding and
    backlash are what the robot's identification has found of them, or nothing. Nothing is put in that was not measured.
    """
    robot = description.robot_model()
    parameters = description.standard_parameters(robot, friction=False)
    gains = {name: description.joint(name)['drive_gain']['value'] for name in robot.joint_names}
    rough = _without_friction(description)
    for k, name in enumerate(robot.joint_names):
        progress(k / robot.n, name)
        first, second = (joint_data(recording, name, drive_gains=gains, robot=robot, parameters=parameters) for recording in recordings)
        for result in _tests(first, second, rough, name):
            rough = merged_description(robot.joint_names, result, rough)
    return rough


def _tests(exciting: JointData, constant_speeds: JointData, description: DynamicsDescription, name: str) -> list[TestResult]:
    load = run_test('load', [constant_speeds], test_settings('load', {'load': {'form': 'quadratic'}}), {})
    part = {key: value for key, value in description.joint(name).items() if key != 'friction'}
    if load.reliable and load.parameters['F_C1'].value > 0.0:
        part['friction'] = {'parameters': {key: load.parameters[key].value for key in ('F_C0', 'F_C1')}}
    friction = _friction(constant_speeds, part)
    if 'friction' in part:
        friction.document['friction']['parameters']['F_C1'] = load.parameters['F_C1'].value
    results = [friction]
    try:
        transmission = identify_transmission([exciting, constant_speeds])
        if transmission.reliable:
            results.append(transmission)
    except NotReliableError:
        pass  # never under load: the transmission stays unknown
    return results


def _friction(data: JointData, part: dict) -> TestResult:
    """The speed map with the most terms that the data can tell apart."""
    result = run_test('friction', [data], test_settings('friction', {}), part)
    for model in ('cubic', 'viscous'):
        if result.reliable:
            break
        result = run_test('friction', [data], test_settings('friction', {'friction': {'model': model}}), part)
    return result


def _without_friction(description: DynamicsDescription) -> DynamicsDescription:
    """The description with the robot's linear friction taken out: the tests of the joints put a better one in its place."""
    document = copy.deepcopy(description.document)
    for part in document['joints'].values():
        presliding = part.pop('friction', {}).get('maxwell_slip')
        part.pop('terms', None)
        if presliding is not None:
            # A Coulomb level follows with the map over speed; the shape of presliding stays as it was found.
            part['friction'] = {'parameters': {'F_C0': 0.0}, 'maxwell_slip': presliding}
    return DynamicsDescription(document)
