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

"""Collision bodies of a URDF, placed in the joints of a model, and the pairs whose distance has to be watched."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.limits import MotionLimits, parent_joint
from joint_dynamics.excitation.motion import LinkFrames
from joint_dynamics.robot import RobotModel

try:
    import coal as coal  # for whoever asks this module for the shapes of its bodies
except ImportError:
    import hppfcl as coal  # the name of the library before 2024

FLOOR = 'floor'
"""Name of the floor among the links."""


def package_dirs(given: Sequence[str]) -> list[str]:
    """Return the folders of `package://`: the given ones, then the share folders of the ROS installation."""
    shares = [
        str(Path(prefix) / 'share') for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if prefix
    ]
    return [*given, *shares, *[path for path in os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep) if path]]


def has_geometry(model: RobotModel) -> bool:
    """Whether the robot's URDF has any collision element."""
    return model.urdf is not None and next(ET.fromstring(model.urdf).iter('collision'), None) is not None


class CollisionBodies:
    """The collision bodies of a robot; meshes are replaced by their convex hulls, which is conservative.

    Attributes
    ----------
    geometry
        pinocchio geometry model without pairs.
    links
        name of every body's link, the last one `floor` where there is a floor.
    joints
        per body the joint that moves it, −1 for fixed bodies.

    Raises
    ------
    JointDynamicsError
        When the geometry cannot be read, as when a mesh file is missing.

    """

    def __init__(self, model: RobotModel, settings: LimitSettings):
        assert model.urdf is not None
        full = pinocchio.buildModelFromXML(model.urdf)
        try:
            source = pinocchio.buildGeomFromUrdfString(
                full, model.urdf, pinocchio.GeometryType.COLLISION, package_dirs=package_dirs(settings.package_dirs)
            )
        except (ValueError, RuntimeError) as error:
            raise JointDynamicsError(
                f'limits.clearance: expected collision geometry that can be read, found: {str(error).splitlines()[0]} '
                '(give limits.package_dirs, or clearance: null)'
            ) from None
        self.geometry = pinocchio.GeometryModel()
        self.links: list[str] = []
        self.joints: list[int] = []
        self._centre: list[FloatArray] = []
        self._radius: list[float] = []
        self._floor = settings.floor
        for body in source.geometryObjects:
            # the joints kept in `model` may be fewer: a body keeps its place in its link's frame, which both models
            # have
            link = full.frames[body.parentFrame]
            frame = model.pinocchio.frames[model.pinocchio.getFrameId(link.name, pinocchio.FrameType.BODY)]
            self._add(
                link.name,
                parent_joint(frame),
                frame.placement * link.placement.actInv(body.placement),
                _convex(body.geometry),
            )
        if settings.floor is not None:
            half_space = coal.Halfspace(np.array([0.0, 0.0, 1.0]), float(settings.floor))
            self._add(FLOOR, 0, pinocchio.SE3.Identity(), half_space)

    def _add(self, link: str, joint: int, placement: pinocchio.SE3, shape: Any) -> None:
        # by keyword: the order changed with pinocchio 3
        self.geometry.addGeometryObject(
            pinocchio.GeometryObject(
                name=f'{len(self.links)} {link}', parent_joint=joint, placement=placement, collision_geometry=shape
            )
        )
        self.links.append(link)
        self.joints.append(joint - 1)
        shape.computeLocalAABB()
        self._centre.append(placement.act(np.asarray(shape.aabb_center)) if link != FLOOR else placement.translation)
        self._radius.append(shape.aabb_radius if link != FLOOR else 0.0)

    def sphere_distances(self, frames: LinkFrames, pairs: Sequence[tuple[int, int]]) -> FloatArray:
        """Return the distances of the bounding spheres [m], (pairs, samples).

        They are lower bounds of the bodies' distances.
        """
        centres = [frames.point(joint, centre) for joint, centre in zip(self.joints, self._centre, strict=True)]
        distances = np.empty((len(pairs), frames.origin[0].shape[1]))
        for row, (i, k) in zip(distances, pairs, strict=True):
            apart = (
                centres[i][2] - self._floor
                if self.links[k] == FLOOR
                else np.sqrt(((centres[i] - centres[k]) ** 2).sum(axis=0))
            )
            np.subtract(apart, self._radius[i] + self._radius[k], out=row)
        return distances

    def levers(self, model: RobotModel, pair: tuple[int, int], limits: MotionLimits) -> FloatArray:
        """Return bounds (n,) of the change of a pair's distance per unit of every joint's motion [m/rad, m/m]."""
        chain, share = model.chain, np.abs(model.chain.tree.matrix)
        reach = share @ np.maximum(np.abs(limits.lower), np.abs(limits.upper)) + np.abs(chain.tree.offset)
        slide = np.where(chain.prismatic, reach, 0.0)
        paths = []
        for body in pair:
            path, length = {}, float(np.linalg.norm(self._centre[body])) + self._radius[body]
            joint = self.joints[body]
            while joint >= 0:
                path[joint] = 1.0 if chain.prismatic[joint] else length
                length += float(np.linalg.norm(chain.translation[joint])) + slide[joint]
                joint = chain.parent[joint]
            paths.append(path)
        lever = np.zeros(len(chain.parent))
        for own, other in (paths, paths[::-1]):
            for joint, length in own.items():
                if joint not in other:  # what both stand on moves them together
                    lever[joint] += length
        return share.T @ lever

    def pairs(self, model: RobotModel, ignored: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
        """Return the pairs of bodies that can move against each other, without neighbours and without `ignored` links.

        Raises
        ------
        JointDynamicsError
            For an unknown link in `ignored`.
        """
        unknown = sorted({name for pair in ignored for name in pair} - set(self.links), key=str)
        if unknown:
            raise JointDynamicsError(
                'limits.ignored_pairs: expected links with collision geometry'
                f' ({", ".join(dict.fromkeys(self.links))}), found {", ".join(unknown)}'
            )
        skip = {frozenset(pair) for pair in ignored}
        pairs = []
        for i in range(len(self.links)):
            for k in range(i + 1, len(self.links)):
                a, b = self.joints[i], self.joints[k]
                neighbours = (
                    a == b or (a >= 0 and model.chain.parent[a] == b) or (b >= 0 and model.chain.parent[b] == a)
                )
                # the first link turns on its base, but a floor is not its base
                if FLOOR in (self.links[i], self.links[k]):
                    neighbours = a == b
                if not neighbours and frozenset((self.links[i], self.links[k])) not in skip:
                    pairs.append((i, k))
        return pairs


def _convex(shape: Any) -> Any:
    if not isinstance(shape, coal.BVHModelBase):
        return shape
    shape.buildConvexRepresentation(False)
    return shape.convex
