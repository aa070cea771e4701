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

"""What each field of a dynamics description means for the arm.

Each field is used, refused, or named with its joint in a remark. Fields without effect on a torque (provenance,
deviations, ranges covered by data) are listed in `DOCUMENTATION`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.arm.described_terms import DescribedTerms
from joint_dynamics.arm.terms import check_place, terms_from_config
from joint_dynamics.arm.validity import Validity
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import NO_PRESLIDING, FrictionModel, TorsionalStiffness
from joint_dynamics.robot import RobotModel, mounting_rotation

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription

#: N·m/rad of a joint whose transmission is not known: its deformation vanishes against every other quantity.
RIGID = 1e15
#: Fields that say where a number comes from or how good it is, or that others read: no torque depends on them.
DOCUMENTATION = frozenset(
    {
        'format',
        'version',
        'provenance',
        'robot.name',
        'inertial.base',
        'payload.std',
        'joints.friction.standard_deviations',
        'joints.friction.directions',
        'joints.friction.range',
        'joints.friction.method',
        'joints.stiffness.standard_deviations',
        'joints.stiffness.method',
        'joints.terms.std',
        'joints.gear_ratio',
        'joints.temperature_range',
    }
)


def read(robot: RobotModel | None, description: DynamicsDescription) -> dict[str, Any]:
    """Return the fields of an `Arm` by name; see `Arm.from_description`."""
    remarks: list[str] = []
    robot = _standing(robot, description, remarks)
    if description.without_torque:
        remarks.append(
            f'inertial.without_torque: {", ".join(description.without_torque)}: torque not recorded, friction unknown'
        )
    names = robot.joint_names
    parts = {name: description.joint(name) for name in names}
    parameters = _parameters(robot, description)
    default = np.zeros(robot.n) if parameters is None else robot.standard(parameters).rotor_inertia
    rotors = description.values('rotor_inertia', names, np.nan)
    stiff = np.array(['stiffness' in part for part in parts.values()])
    friction, rubs = _friction(description, names, remarks)
    shares, lag = description.backlash_load(names)
    return {
        'robot': robot,
        'parameters': parameters,
        'rotor_inertia': np.where(np.isnan(rotors), default, rotors),
        'drive_gain': description.values('drive_gain', names, np.nan),
        'friction': friction,
        'friction_scale': description.scale(names),
        'friction_described': rubs,
        'friction_details': tuple(part.get('friction', {}) for part in parts.values()),
        'stiffness': _stiffness(description, names, stiff, remarks),
        'stiffness_described': stiff,
        'damping': description.values('damping', names, 0.0),
        'kinematic_error': description.kinematic_error(names) if _any(description, names, 'kinematic_error') else None,
        'kinematic_error_deviation': description.kinematic_error_deviation(names),
        'backlash': description.backlash(names) if _any(description, names, 'backlash') else None,
        'backlash_deviation': description.backlash_deviation(names),
        'load_shares': shares,
        'load_lag': lag,
        'terms': _terms(description, robot),
        'validity': Validity.of([part.get('validity') for part in parts.values()]),
        'payload': _payload(description, names, remarks),
        'rotor_identifiable': [part.get('rotor_inertia', {}).get('identifiable', True) for part in parts.values()],
        'remarks': tuple(remarks),
    }


def read_joints(description: DynamicsDescription) -> dict[str, Any]:
    """Return the fields of an `Arm` by name, from a description without kinematics; see `Arm.of_joints`."""
    document, names = description.document, description.joint_names
    coupling = document['robot'].get('coupling')
    table = {'joints': [{'name': name, 'alpha': 0.0, 'a': 0.0, 'd': 0.0, 'theta': 0.0} for name in names]}
    robot = RobotModel.from_mdh(table, coupling=coupling)
    joints = {name: document['joints'][name] for name in names}
    bare = type(description)({'robot': {'joint_names': list(names)}, 'joints': joints})
    parameters = robot.standard()
    given = document.get('inertial', {}).get('coupling', {})
    if robot.coupling is not None:
        parameters.coupled[:] = [given.get(name, 0.0) for name in robot.coupling.parameter_names]
    return {**read(robot, bare), 'parameters': parameters.values}


def _any(description: DynamicsDescription, names: tuple[str, ...], key: str) -> bool:
    return any(key in description.joint(name) for name in names)


def _standing(robot: RobotModel | None, description: DynamicsDescription, remarks: list[str]) -> RobotModel:
    """Return the robot as it is mounted and its drives are coupled.

    Raise JointDynamicsError where it is not the description's robot.
    """
    document = description.document
    if robot is None:
        return _weighed(description.robot_model(), description)
    extra = [name for name in description.joint_names if name not in robot.joint_names]
    if extra:
        remarks.append(f'robot.joint_names: {", ".join(extra)} not used, the robot has no such joint')
    if {'urdf', 'mdh'} & set(document['robot']) and 'inertial' in document:
        description.check_robot(robot)
    mounting, coupling = document.get('mounting'), document['robot'].get('coupling')
    if robot.mounting is not None and mounting is not None:
        if not np.allclose(mounting_rotation(robot.mounting), mounting_rotation(mounting), atol=1e-9):
            remarks.append('mounting: not used, the robot states another one')
        mounting = None
    if coupling is not None:
        if extra or list(description.joint_names) != list(robot.joint_names):
            raise JointDynamicsError(
                'arm: robot.coupling: expected the joints in the order of the description '
                f'({", ".join(description.joint_names)}), found {", ".join(robot.joint_names)}'
            )
        own = robot.coupling.matrix if robot.coupling is not None and robot.coupling.coupled else None
        if own is not None and not np.allclose(own, np.asarray(coupling) / np.diag(coupling)[:, None], atol=1e-9):
            raise JointDynamicsError(
                "arm: robot.coupling: expected the robot's coupling of its drives, found another one in the description"
            )
        coupling = None if own is not None else coupling
    turned = mounting is not None and not np.allclose(
        mounting_rotation(mounting), mounting_rotation(robot.mounting), atol=1e-12
    )
    if turned or coupling is not None:
        robot = robot.standing(mounting if turned else None, coupling)
    return _weighed(robot, description)


def _weighed(robot: RobotModel, description: DynamicsDescription) -> RobotModel:
    """Return the robot, with gravity and joints as the described torques have them."""
    if description.weightless == robot.weightless and description.without_torque == robot.without_torque:
        return robot
    weightless = description.weightless or robot.weightless
    return robot.standing(weightless=weightless, without_torque=description.without_torque)


def _parameters(robot: RobotModel, description: DynamicsDescription) -> FloatArray | None:
    if 'inertial' not in description.document:
        return robot.parameters
    values = description.standard_parameters(robot)
    given = description.document['inertial'].get('coupling', {})
    known = [] if robot.coupling is None else robot.coupling.parameter_names
    unknown = sorted(set(given) - set(known), key=str)
    if unknown:
        raise JointDynamicsError(
            f'arm: inertial.coupling.{unknown[0]}: expected a coupled motor of robot.coupling '
            f'({", ".join(known) or "there is none"}), found another one'
        )
    return values


def _friction(
    description: DynamicsDescription, names: tuple[str, ...], remarks: list[str]
) -> tuple[FrictionModel | None, FloatArray]:
    frictions = [description.joint(name).get('friction') for name in names]
    rubs = np.array([part is not None for part in frictions])
    if not rubs.any():
        return None, rubs
    slip = next((part['maxwell_slip'] for part in frictions if part is not None and 'maxwell_slip' in part), None)
    documents = []
    for name, part in zip(names, frictions, strict=True):
        if part is None:
            remarks.append(f'joints.{name}.friction: none described, assumed 0')
        document = {'parameters': {'F_C0': 0.0}} if part is None else dict(part)
        if slip is not None and 'maxwell_slip' not in document:
            document['maxwell_slip'] = {**slip, 'presliding': NO_PRESLIDING}
        documents.append(document)
    maps = None
    if _any(description, names, 'kinematic_error'):
        error = description.kinematic_error(names)
        maps = [error.for_joint(j) for j in range(len(names))]
    return FrictionModel.from_dicts(documents, maps), rubs


def _stiffness(
    description: DynamicsDescription, names: tuple[str, ...], stiff: FloatArray, remarks: list[str]
) -> TorsionalStiffness | None:
    if not stiff.any():
        return None
    for name, known in zip(names, stiff, strict=True):
        if not known:
            remarks.append(f'joints.{name}.stiffness: none described, assumed rigid')
    documents = [description.joint(name).get('stiffness', {'coefficients': [RIGID]}) for name in names]
    return TorsionalStiffness.stack([TorsionalStiffness.from_dict(document) for document in documents])


def _terms(description: DynamicsDescription, robot: RobotModel) -> DescribedTerms:
    entries, deviations = [], []
    for j, name in enumerate(robot.link_names):
        for index, entry in enumerate(description.document['joints'].get(name, {}).get('terms', ())):
            where = f'joints.{name}.terms[{index}]'
            if 'hysteresis' in entry['document']:
                raise JointDynamicsError(
                    f'arm: {where}: expected a hysteresis as friction.maxwell_slip, found it among the terms'
                )
            (term,) = terms_from_config({name: [entry['document']]})
            check_place(term, robot)
            values = np.array(entry['values'], dtype=float)
            if values.shape != (len(term.names),):
                raise JointDynamicsError(f'arm: {where}.values: expected {len(term.names)}, found {len(values)}')
            entries.append((j, term, values))
            std = np.array([0.0 if item is None else item for item in entry.get('std', np.zeros(len(values)))])
            if std.shape != values.shape:
                raise JointDynamicsError(f'arm: {where}.std: expected {len(values)}, found {len(std)}')
            deviations.append(std)
    return DescribedTerms(tuple(entries), deviations=tuple(deviations), tree=robot.chain.tree)


def _payload(description: DynamicsDescription, names: tuple[str, ...], remarks: list[str]) -> FloatArray:
    attached, body = description.payload_attached, description.payload()
    if attached and names[-1] != description.joint_names[-1] and np.any(body):
        raise JointDynamicsError(
            f'arm: payload: expected {description.joint_names[-1]} as the last joint, which carries it, found'
            f' {names[-1]}'
        )
    if not attached and np.any(body):
        remarks.append(f'payload: {body[-1]:.3g} kg described, but not attached')
    return body if attached else np.zeros_like(body)
