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

"""Clearance: a limit on the distances between the robot's own bodies, and to the floor."""

from __future__ import annotations

import os
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.constraint import Constraint, checked_motions
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.limits import MotionLimits, parent_joint
from joint_dynamics.excitation.motion import LinkFrames, RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel

try:
    import coal as coal  # for whoever asks this module for the shapes of its bodies
except ImportError:
    import hppfcl as coal  # the name of the library before 2024

FLOOR = 'floor'  # name of the floor among the links
UNIT = 0.03  # m, distance that counts as much as a whole limit of the other kinds while searching
NEAR_DISTANCE = 0.01  # m beyond the clearance, above which a lower bound of the distance suffices
TOUCHING_DISTANCE = 1e-6  # m, too small to give a direction
POSTURES = 200  # random postures that show which pairs always touch
STRIDE = 16  # samples from one measured distance to the next
RESERVE = 5e-4  # m, half of what two bodies approach in 1 ms at 1 m/s


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


class Clearance(Constraint):
    """Distance of every watched pair of bodies at least `clearance` [m]: slack = (distance − clearance) / 0.03 m.

    Distances are those of the given bodies (GJK and EPA of pinocchio's collision library), negative where they overlap;
    where bounding spheres are far enough apart, their distance is used instead. A pair that is closer than the
    clearance in each of 200 random postures touches by construction and is not watched.

    Attributes
    ----------
    pairs
        names of the two links of every watched pair.
    touching
        pairs left out because they always touch.
    clearance
        in m.
    lever
        (pairs, joints), largest change of a pair's distance per unit of every joint's motion [m/rad, m/m].

    """

    kind = 'clearance'
    reserve = RESERVE / UNIT

    def __init__(self, model: RobotModel, settings: LimitSettings):
        assert settings.clearance is not None
        self.clearance = settings.clearance
        self.scale = UNIT / settings.clearance
        limits = MotionLimits.of(model, settings)
        self._robot = model
        self._bodies = bodies = CollisionBodies(model, settings)
        self._data = model.pinocchio.createData()
        pairs = bodies.pairs(model, settings.ignored_pairs)
        self._watch(pairs)
        rng = np.random.default_rng(1)
        postures = rng.uniform(limits.lower, limits.upper, (POSTURES, model.n)).T
        always = np.all(
            self._distances(RobotMotion(model, postures, postures, postures), -np.inf) < self.clearance, axis=1
        )
        self.touching = [(bodies.links[i], bodies.links[k]) for (i, k), drop in zip(pairs, always, strict=True) if drop]
        self._watch([pair for pair, drop in zip(pairs, always, strict=True) if not drop])
        self.pairs = [(bodies.links[i], bodies.links[k]) for i, k in self._pairs]
        levers = [bodies.levers(model, pair, limits) for pair in self._pairs]
        self.lever = np.array(levers).reshape(len(self._pairs), model.n)

    def _watch(self, pairs: list[tuple[int, int]]) -> None:
        self._pairs = pairs
        geometry = self._bodies.geometry
        geometry.removeAllCollisionPairs()
        for pair in pairs:
            geometry.addCollisionPair(pinocchio.CollisionPair(*pair))
        self._geometry_data = geometry.createData()
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)
            for request in self._geometry_data.distanceRequests:
                # each distance starts anew: from the last one's directions it would depend, in its last digits, on what
                # was asked before
                request.enable_cached_gjk_guess = False
        self._last: tuple[RobotMotion, dict[int, list[tuple[Any, ...]]]] | None = None

    def _distances(self, motion: RobotMotion, beyond: float) -> FloatArray:
        """Return distances (pairs, samples).

        Exact below `beyond` m, bounds from below elsewhere (−inf: exact throughout).
        """
        bound = self._bodies.sphere_distances(motion.frames, self._pairs)
        wanted = bound < beyond if beyond > -np.inf else np.ones(bound.shape, dtype=bool)
        nearest: dict[int, list[tuple[Any, ...]]] = {}
        self._exact(motion, wanted, bound, beyond, nearest)
        self._last = motion, nearest
        return bound

    def _exact(
        self,
        motion: RobotMotion,
        wanted: BoolArray,
        distances: FloatArray,
        beyond: float,
        nearest: dict[int, list[tuple[Any, ...]]],
    ) -> None:
        """Fill in the distances that are wanted.

        Keep (sample, point 1, point 2, normal) of every pair where below `beyond`.
        """
        robot, geometry, data = self._robot.pinocchio, self._bodies.geometry, self._geometry_data
        for sample in np.flatnonzero(wanted.any(axis=0)):
            posture = self._robot.tree_position(motion.q[:, sample].copy())
            pinocchio.updateGeometryPlacements(robot, self._data, geometry, data, posture)
            for k in np.flatnonzero(wanted[:, sample]).tolist():
                result = pinocchio.computeDistance(geometry, data, k)
                distances[k, sample] = distance = result.min_distance
                if distance < beyond:
                    first, second = np.array(
                        [result.getNearestPoint1(), result.getNearestPoint2()]
                    )  # a copy: they are views
                    nearest.setdefault(k, []).append(
                        (sample, first, second, self._normal(distance, second - first, result.normal))
                    )

    @staticmethod
    def _normal(distance: float, gap: FloatArray, given: FloatArray) -> FloatArray:
        """Return the direction from body 1 to body 2 in which their distance grows; 0 where none is known.

        It lies between the nearest points, which the library's release 2 does not tell where bodies overlap, nor always
        the normal.
        """
        if abs(distance) > TOUCHING_DISTANCE and np.linalg.norm(gap) > TOUCHING_DISTANCE:
            return gap / distance
        return np.array(given) if np.all(np.isfinite(given)) else np.zeros(3)

    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (pairs, samples)."""
        return (self._distances(motion, self.clearance + NEAR_DISTANCE) - self.clearance) / UNIT

    def margin(self, model: RobotModel, trajectory: Trajectory) -> float:
        """Return the margin at 1 kHz; a distance beyond the clearance by `NEAR_DISTANCE` or more counts as that much.

        Every `STRIDE`-th sample is measured; in between most distances are bounded by how far the joints have moved.
        """
        least = self.clearance + NEAR_DISTANCE
        for motion in checked_motions(model, trajectory):
            distances = self.sphere_distances(motion)
            anchor = np.arange(motion.samples) // STRIDE * STRIDE
            at_anchor = np.arange(motion.samples) == anchor
            self._exact(motion, (distances < least) & at_anchor, distances, -np.inf, {})
            least = float(distances[:, at_anchor].min(initial=least))
            moved = np.abs(motion.q - motion.q[:, anchor])
            distances = np.maximum(distances, distances[:, anchor] - self.lever @ moved)
            self._exact(motion, (distances < least) & ~at_anchor, distances, -np.inf, {})
            least = float(distances.min(initial=least))
        return self.scale * ((least - self.clearance) / UNIT - self.reserve)

    def sphere_distances(self, motion: RobotMotion) -> FloatArray:
        """Return the distances of every watched pair's bounding spheres [m], (pairs, samples).

        They are lower bounds of the bodies' distances.
        """
        return self._bodies.sphere_distances(motion.frames, self._pairs)

    def distances(self, motion: RobotMotion) -> FloatArray:
        """Return the distances of every watched pair of bodies [m], (pairs, samples)."""
        return self._distances(motion, -np.inf)

    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient of Σ weight · slack: nᵀ(ṗ_2 − ṗ_1) at the nearest points 1 and 2, n from 1 to 2."""
        if self._last is None or self._last[0] is not motion:
            self.slack(motion)
        assert self._last is not None
        for k, entries in self._last[1].items():
            samples = np.array([entry[0] for entry in entries])
            points = [np.array([entry[side] for entry in entries]).T for side in (1, 2)]
            push = np.array([entry[3] for entry in entries]).T * (weight[k, samples] / UNIT)
            for body, sign, point in zip(self._pairs[k], (-1.0, 1.0), points, strict=True):
                for j, gradient in motion.frames.pull_back(
                    self._bodies.joints[body], point, sign * push, samples
                ).items():
                    sensitivity.q[j, samples] += gradient
