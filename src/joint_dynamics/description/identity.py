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

"""The identity of a robot: kinematics, joints and coupling, to compare a description with the robot it is used for.

Masses are identified and not part of the identity; the nominal mass of the identified robot is stored beside it, so
that a robot with the same kinematics but several times the mass is recognised as different as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from pinocchio import rpy

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel

VERSION = 1
DECIMALS = 4
"""Of lengths [m], axes and rotations: coarser than the rounding of documents."""
TOLERANCE = 2e-3
"""Two numbers this close (2 mm, 2 mrad) are one: rounding, and what a calibration corrects, make no other robot."""
HEAVIER = 3.0
"""Times the nominal mass from which on a robot is another one."""
QUANTITIES = {
    'type': 'type',
    'parent': 'joint before it',
    'offset': 'offset [m]',
    'rotation': 'rotation (roll, pitch, yaw) [rad]',
    'axis': 'axis',
    'coupling': 'coupling of its motor',
    'follows': 'factors of the joints that it follows',
}


def identity_of(model: RobotModel) -> dict[str, Any]:
    """Return the identity.

    {version, hash, joints: {name: {type, parent, offset, rotation, axis[, coupling][, follows]}}[, mass]}.

    offset [m] and rotation (roll, pitch, yaw) [rad]: of the joint's frame in that of the joint before it, at zero
    position. mass [kg]: of all moving links, nominal, where the model has one.
    """
    chain, tree = model.chain, model.chain.tree
    joints: dict[str, Any] = {}
    for name, row in zip(model.link_names, tree.row, strict=True):
        joints[name] = {
            'type': 'prismatic' if chain.prismatic[row] else 'revolute',
            'parent': tree.names[chain.parent[row]] if chain.parent[row] >= 0 else None,
            'offset': _rounded(chain.translation[row]),
            'rotation': _rounded(rpy.matrixToRpy(np.asarray(chain.rotation[row]))),
            'axis': _rounded(chain.axis[row]),
        }
    for name, follows in tree.dependent.items():
        joints[name]['follows'] = {key: round(ratio, DECIMALS) for key, ratio in follows.ratios.items()}
    for k, name in enumerate(model.joint_names):
        if model.coupling is not None and np.count_nonzero(model.coupling.matrix[k]) > 1:
            joints[name]['coupling'] = _rounded(model.coupling.matrix[k])
    identity = {'version': VERSION, 'hash': _hash(joints), 'joints': joints}
    mass = nominal_mass(model)
    return identity if mass is None else {**identity, 'mass': round(mass, 3)}


def nominal_mass(model: RobotModel) -> float | None:
    """Return the mass of all moving links [kg] in the URDF, None where it has none."""
    if model.parameters is None:
        return None
    mass = float(model.standard(model.parameters).links[:, -1].sum())
    return mass if mass > 0 else None


def differences(described: Mapping[str, Any], robot: Mapping[str, Any]) -> list[str]:
    """Return the differences between two identities, joint by joint, as text; joints of only one of them first."""
    if described['hash'] == robot['hash']:
        return []
    ours, theirs = described['joints'], robot['joints']
    lines = [f'joint {name} is in the description only' for name in ours if name not in theirs]
    lines += [f'joint {name} is in the robot only' for name in theirs if name not in ours]
    # A URDF has no place for the coupling of drives: a robot that states none takes that of the description.
    silent = not any('coupling' in joint for joint in theirs.values())
    for name in ours:
        if name not in theirs:
            continue
        for key, words in QUANTITIES.items():
            if key == 'coupling' and silent:
                continue
            before, now = ours[name].get(key), theirs[name].get(key)
            if not _same(key, before, now):
                lines.append(f'{words} of {name} is {_text(before)} in the description, {_text(now)} of the robot')
    return lines


def check_identity(described: Mapping[str, Any], model: RobotModel, identified_mass: float | None = None) -> None:
    """Raise JointDynamicsError, naming joint and quantity, unless `model` is the robot with this identity.

    Parameters
    ----------
    identified_mass
        of the description's own inertial parameters [kg]; a URDF with these is the same robot, too.
    """
    if described.get('version') != VERSION:
        return  # written by a later version, for which this one cannot speak
    differing = differences(described, identity_of(model))
    mass = nominal_mass(model)
    known = [value for value in (described.get('mass'), identified_mass) if value is not None and value > 0]
    if (
        not differing
        and mass is not None
        and 'mass' in described
        and all(not 1 / HEAVIER < mass / value < HEAVIER for value in known)
    ):
        differing = [
            f'the mass of the moving links is {described["mass"]:.4g} kg in the URDF of the description, {mass:.4g} kg'
            ' in that of the robot'
        ]
    if differing:
        more = '' if len(differing) < 4 else f'; and {len(differing) - 3} more'
        raise JointDynamicsError(
            f'dynamics description: expected this robot, found another one: {"; ".join(differing[:3])}{more}'
        )


def _same(key: str, before: Any, now: Any) -> bool:
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        apart = np.abs(np.subtract(before, now))
        if key == 'rotation':
            # by the rotation itself: angles that describe the same one may differ
            apart = np.abs(rpy.rpyToMatrix(*map(float, before)) - rpy.rpyToMatrix(*map(float, now)))
        return bool(np.all(apart <= TOLERANCE))
    if isinstance(before, Mapping) and isinstance(now, Mapping) and set(before) == set(now):
        return all(abs(before[name] - now[name]) <= TOLERANCE for name in before)
    return bool(before == now)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return '[' + ', '.join(f'{number:g}' for number in value) + ']'
    return 'none' if value is None else str(value)


def _rounded(values: Any) -> list[float]:
    return [round(float(value), DECIMALS) + 0.0 for value in values]


def _hash(joints: Mapping[str, Any]) -> str:
    """Return a digest of the rounded numbers, in the order of the joints."""
    return hashlib.sha256(
        json.dumps([[name, joint] for name, joint in joints.items()], sort_keys=True).encode()
    ).hexdigest()[:16]
