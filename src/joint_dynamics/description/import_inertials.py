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

"""Inertials of a robot from a URDF or MJCF of it, in the frames of a robot model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.export_mjcf import MjcfKinematics
from joint_dynamics.description.placement import Posture, placements_in
from joint_dynamics.documents import parse_xml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.standard_parameters import body_of


def import_inertials(path: str | Path, model: RobotModel) -> FloatArray:
    """Return the standard parameters (p,) of `model` with the links of a file of the same robot; drives are zero.

    Joints are matched by name; bodies fixed to a joint's link belong to it. Where the file places its frames elsewhere,
    they are determined from the axes of the joints, as in an export into the file.

    Parameters
    ----------
    path
        a URDF, or an MJCF (which needs the package mujoco), recognised by its root element.
    model
        the robot.

    Raises
    ------
    JointDynamicsError
        Where the file cannot be read, lacks a joint, moves one otherwise, or has no inertials.
    """
    what = f'prior {path}'
    root = parse_xml(read_text(path, what), what)
    theirs: _UrdfKinematics | MjcfKinematics
    if root.tag == 'robot':
        theirs = _UrdfKinematics(path, model)
    elif root.tag == 'mujoco':
        theirs = MjcfKinematics(path, model.link_names)
    else:
        raise JointDynamicsError(
            f'{what}: expected a URDF or MJCF (<robot>, <mujoco>), found the root element <{root.tag}>'
        )
    inertias = theirs.carried()
    placements, _ = placements_in(theirs, model)
    if not any(inertia.mass > 0 for inertia in inertias):
        raise JointDynamicsError(f'{what}: expected inertials, found no link with a mass')
    parameters = model.standard()
    for k, (placement, inertia) in enumerate(zip(placements, inertias, strict=True)):
        parameters.links[k] = body_of(placement.actInv(inertia))
    return parameters.values


class _UrdfKinematics:
    """A URDF as pinocchio reads it, with the joints of a robot; others are locked where that has them."""

    def __init__(self, path: str | Path, model: RobotModel):
        self.source = f'URDF {path}'
        self._robot = RobotModel.from_urdf(
            path, joints=model.joint_names, locked=model.locked or None, parallelograms=model.parallelograms
        )
        self._data = self._robot.pinocchio.createData()
        names = self._robot.chain.tree.names
        missing = [name for name in model.link_names if name not in names]
        if missing:
            raise JointDynamicsError(
                f'{self.source}: expected {missing[0]} to follow other joints as in the robot file, found it fixed'
            )
        self._order = [names.index(name) for name in model.link_names]

    def at(self, q: FloatArray) -> Posture:
        own = np.zeros(self._robot.pinocchio.nq)
        own[self._order] = q
        pinocchio.forwardKinematics(self._robot.pinocchio, self._data, own)
        places = [pinocchio.SE3(self._data.oMi[k + 1]) for k in self._order]
        axes = [place.rotation @ self._robot.chain.axis[k] for place, k in zip(places, self._order, strict=True)]
        parent = int(self._robot.pinocchio.parents[self._order[0] + 1])
        return Posture(
            places,
            np.array([place.translation for place in places]),
            np.array(axes),
            pinocchio.SE3(self._data.oMi[parent]),
        )

    def carried(self) -> list[pinocchio.Inertia]:
        return [self._robot.pinocchio.inertias[k + 1] for k in self._order]
