"""From the recordings of the robot to the physics of its joints.

By the same tests `joint-dynamics identify-joint` runs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.friction import FrictionSettings
from joint_dynamics.identification.joint_tests.identify_joint import merged_description, run_test
from joint_dynamics.identification.joint_tests.load import LoadSettings
from joint_dynamics.identification.joint_tests.result import JointTestResult
from joint_dynamics.recording import Recording


def identify_joints(
    description: DynamicsDescription,
    recordings: Sequence[Recording],
    progress: Callable[[float, str], None] = lambda share, name: None,
) -> DynamicsDescription:
    """Put the friction of every joint over speed and load into the robot's description; return the whole.

    recordings: the exciting motion, constant speeds, of which the latter show the friction. What a test cannot tell
    from its data is left out, as its own reasons say; presliding, stiffness, kinematic error and backlash are what the
    robot's identification has of them, or nothing. Nothing is put in that was not measured.
    """
    robot = description.robot_model()
    arm = Arm.from_description(robot, description)
    gains = {name: description.joint(name)['drive_gain']['value'] for name in robot.joint_names}
    rough = _without_friction(description)
    for k, name in enumerate(robot.joint_names):
        progress(k / robot.n, name)
        data = joint_data(recordings[1], name, drive_gains=gains, arm=arm)
        rough, _ = merged_description(robot.joint_names, _loaded_friction(data, rough, name), rough)
    return rough


def _loaded_friction(constant_speeds: JointData, description: DynamicsDescription, name: str) -> JointTestResult:
    load = run_test('load', [constant_speeds], LoadSettings(form='quadratic'), {})
    part = {key: value for key, value in description.joint(name).items() if key != 'friction'}
    if load.reliable and load.parameters['F_C1'].value > 0.0:
        part['friction'] = {'parameters': {key: load.parameters[key].value for key in ('F_C0', 'F_C1')}}
    friction = _friction(constant_speeds, part)
    if 'friction' in part:
        friction.document['friction']['parameters']['F_C1'] = load.parameters['F_C1'].value
    return friction


def _friction(data: JointData, part: dict[str, Any]) -> JointTestResult:
    """The speed map with the most terms that the data determine."""
    result = run_test('friction', [data], FrictionSettings(), part)
    for model in ('cubic', 'viscous'):
        if result.reliable:
            break
        result = run_test('friction', [data], FrictionSettings(model=model), part)
    return result


def _without_friction(description: DynamicsDescription) -> DynamicsDescription:
    """The description with the robot's linear friction taken out.

    The tests of the joints put a better one in its place.
    """
    document = copy.deepcopy(description.document)
    for part in document['joints'].values():
        presliding = part.pop('friction', {}).get('maxwell_slip')
        part.pop('terms', None)
        if presliding is not None:
            # A Coulomb level follows with the map over speed; the shape of presliding stays as it was identified.
            part['friction'] = {'parameters': {'F_C0': 0.0}, 'maxwell_slip': presliding}
    return DynamicsDescription(document)
