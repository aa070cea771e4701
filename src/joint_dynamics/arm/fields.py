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

"""The fields of an `Arm` by name: their checks and defaults, and the constants that compiled functions take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arm.sample import ArmConstants, CoupledMotor
from joint_dynamics.arm.validity import Validity
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.joint.constants import Tables, blank
from joint_dynamics.joint.stiffness import LOAD_LAG, LOAD_SHARES
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all fields of an arm from those given, by name: checked, as arrays of their own, with their defaults.

    Raises JointDynamicsError for shapes that do not fit and numbers that are not finite.
    """
    robot: RobotModel = given['robot']
    n, standard = robot.n, robot.standard(_parameters(robot, given['parameters']))
    defaults = {
        'rotor_inertia': standard.rotor_inertia,
        'damping': np.zeros(n),
        'backlash_deviation': np.zeros(n),
        'load_shares': np.tile(LOAD_SHARES, (n, 1)),
        'load_lag': np.full(n, LOAD_LAG),
        'friction_scale': np.tile([1.0, 0.0], (n, 1)),
        'payload': np.zeros(len(INERTIAL)),
        'drive_gain': np.full(n, np.nan),
    }
    arm = {**given, 'parameters': standard.values}
    arm |= {name: _array(name, given[name], default) for name, default in defaults.items()}
    for name, known in (
        ('rotor_identifiable', True),
        ('friction_described', arm['friction'] is not None),
        ('stiffness_described', arm['stiffness'] is not None),
    ):
        arm[name] = np.full(n, known) if given[name] is None else np.array(given[name], dtype=bool)
    if not np.all(arm['damping'] >= 0) or np.any(arm['drive_gain'] == 0):
        raise JointDynamicsError(
            'arm: expected damping >= 0 and drive gains other than 0, found '
            f'{arm["damping"].tolist()} and {arm["drive_gain"].tolist()}'
        )
    for name in ('friction', 'kinematic_error', 'kinematic_error_deviation', 'backlash'):
        if arm[name] is not None and arm[name].joints not in (n, None):
            raise JointDynamicsError(f'arm: expected {name} of {n} joints, found {arm[name].joints}')
    if arm['stiffness'] is not None:
        arm['stiffness'] = _of_all_joints(arm['stiffness'], n)
    if arm['validity'] is not None:
        arm |= _within(arm['validity'], n, arm)
    if arm['friction'] is not None and np.any(robot.limits.effort < arm['friction'].parameters['tau_max']):
        # A load above the joint's limit is a defect of the motion; friction must not grow with it.
        bounds = np.minimum(arm['friction'].parameters['tau_max'], robot.limits.effort)
        arm['friction'] = arm['friction'].bounded(bounds)
    arm['coupled'] = standard.coupled if robot.coupling is not None and np.any(standard.coupled) else None
    return arm


def _parameters(robot: RobotModel, given: Any) -> FloatArray:
    """Return standard parameters (p,), those of coupled motors zero where only those of links are given."""
    p, links = len(robot.parameter_names), PER_JOINT * len(robot.link_names)
    values = robot.parameters if given is None else np.array(given, dtype=float)
    if values is None or values.shape not in ((links,), (p,)) or not np.all(np.isfinite(values)):
        raise JointDynamicsError(
            f'arm: expected {p} finite standard parameters, found '
            f'{"none" if values is None else values.shape[0]}: the URDF has no inertials and no others are given'
        )
    return np.concatenate([values, np.zeros(p - len(values))])


def _array(name: str, given: Any, default: FloatArray) -> FloatArray:
    array = default.copy() if given is None else np.array(given, dtype=float)
    finite = name != 'drive_gain'
    if array.shape != default.shape or (finite and not np.all(np.isfinite(array))):
        raise JointDynamicsError(
            f'arm: expected {"finite " if finite else ""}{name} of shape {default.shape}, found {array.tolist()}'
        )
    return array


def _within(validity: Validity, n: int, arm: Mapping[str, Any]) -> dict[str, Any]:
    """Return validity, and terms and friction bounded to it."""
    friction, terms = arm['friction'], arm['terms']
    loaded, warm = np.zeros((2, n), dtype=bool)
    if friction is not None:
        loaded |= friction.depends_on_load
        warm |= friction.depends_on_temperature
    for j, term, _ in terms.friction.entries:
        loaded[j] |= 'load' in term.needs
        warm[j] |= 'temperature' in term.needs
    if validity.speed.shape != (n,):
        raise JointDynamicsError(f'arm: expected validity of {n} joints, found {len(validity.speed)}')
    validity = validity.only_where_dependent(loaded, warm)
    if friction is not None:
        bounds = np.minimum(friction.parameters['tau_max'], validity.load)
        friction = friction.bounded(bounds, (validity.low, validity.high))
    return {'validity': validity, 'terms': replace(terms, validity=validity), 'friction': friction}


def _of_all_joints(stiffness: TorsionalStiffness, n: int) -> TorsionalStiffness:
    coefficients = np.atleast_2d(stiffness.coefficients)
    if len(coefficients) not in (1, n):
        raise JointDynamicsError(f'arm: expected stiffness of {n} joints, found {len(coefficients)}')
    return TorsionalStiffness(np.broadcast_to(coefficients, (n, coefficients.shape[1])), stiffness.reach)


def constants_of(arm: Mapping[str, Any], bodies: FloatArray) -> ArmConstants:
    """Return the constants that compiled functions take; arm: all its fields by name; bodies (N, 10): of its links."""
    robot: RobotModel = arm['robot']
    joints, tables = blank(robot.n), Tables()
    joints['rotor_inertia'], joints['damping'] = arm['rotor_inertia'], arm['damping']
    if arm['kinematic_error'] is not None:
        joints['error'] = arm['kinematic_error'].records(tables)
    if arm['friction'] is not None:
        arm['friction'].write_constants(joints)
        if arm['friction'].maxwell_slip is not None:
            arm['friction'].maxwell_slip.write_constants(joints, tables)
    if arm['stiffness'] is not None:
        arm['stiffness'].write_constants(joints, tables)
    if arm['validity'] is not None:
        joints['speed_limit'], joints['load_limit'] = arm['validity'].speed, arm['validity'].load
    terms = arm['terms'].records
    ratios, motors = np.zeros((0, robot.n)), np.zeros(0, CoupledMotor.dtype)
    if arm['coupled'] is not None and robot.coupling is not None:
        ratios = robot.coupling.ratios
        motors = CoupledMotor.filled(len(ratios))
        for k, name in enumerate(CoupledMotor.dtype.names or ()):
            motors[name] = arm['coupled'][k::3]
    links = robot.chain.links(bodies)
    return ArmConstants(joints, tables.array(), links, terms, ratios, motors)
