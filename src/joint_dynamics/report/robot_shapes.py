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

"""Bodies for drawing a robot: its collision geometry or, without one, capsules between the joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.collision import FLOOR, CollisionBodies, coal, has_geometry
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.limits import end_effector_frame, parent_joint
from joint_dynamics.robot import RobotModel

THICKNESS = 0.055  # radius of the first capsule over the length of the arm, before the factor 0.6 in `capsules`
TIP = 0.55  # radius of the last capsule, relative to the first
SIDES = 14  # corners around a cylinder
DIRECTIONS = 120  # directions sampled over the sphere; a drawn hull keeps the farthest point in each


@dataclass(frozen=True)
class Shape:
    """A convex body in the frame of its link (−1: the base).

    Attributes
    ----------
    rotation, translation
        (3, 3) and (3,) m.
    corners
        (K, 3) m.
    faces
        (F, 3) indices of corners, anticlockwise from outside.
    tone
        colour: 0 link, 1 joint, 2 fixed base. Collision bodies alternate 0 and 1 from joint to joint.
    """

    link: int
    rotation: FloatArray
    translation: FloatArray
    corners: FloatArray
    faces: IntArray
    tone: int = 0

    @classmethod
    def around(cls, points: FloatArray, link: int, rotation: FloatArray, translation: FloatArray, tone: int) -> Shape:
        """Return the convex hull of points (K, 3) m."""
        return cls(link, rotation, translation, *hull(points), tone)

    def document(self) -> dict[str, Any]:
        """Return the shape as plain data for the page."""
        return {
            'link': self.link,
            'pose': np.round([*self.rotation.ravel(), *self.translation], 5).tolist(),
            'corners': np.round(self.corners, 4).tolist(),
            'faces': self.faces.tolist(),
        }


def robot_shapes(model: RobotModel, settings: LimitSettings | None = None) -> tuple[list[Shape], str]:
    """Return the bodies of a robot, and a sentence for the report on their origin.

    Meshes are searched in `settings.package_dirs`.
    """
    if has_geometry(model):
        try:
            return collision_shapes(CollisionBodies(model, settings or LimitSettings())), (
                'The bodies are the collision geometry. Meshes are drawn as their convex hulls.'
            )
        except JointDynamicsError as error:
            return capsules(model), f'The links are drawn as capsules between the joints: {error}.'
    return capsules(model), 'The links are drawn as capsules between the joints: the robot has no collision geometry.'


def collision_shapes(bodies: CollisionBodies) -> list[Shape]:
    """Return collision bodies as shapes."""
    shapes = []
    for body, link, joint in zip(bodies.geometry.geometryObjects, bodies.links, bodies.joints, strict=True):
        if link == FLOOR:
            continue
        place = body.placement
        points, tone = _points(body.geometry), 2 if joint < 0 else joint % 2
        shapes.append(Shape.around(points, joint, np.array(place.rotation), np.array(place.translation), tone))
    return shapes


def _points(shape: Any) -> FloatArray:
    """Return points (K, 3) m whose convex hull is the shape; a cone or an ellipsoid is drawn as its box."""
    if isinstance(shape, coal.Sphere):
        return round_points(shape.radius, 0.0, rounded=True)
    if isinstance(shape, (coal.Capsule, coal.Cylinder)):
        return round_points(shape.radius, 2 * shape.halfLength, rounded=isinstance(shape, coal.Capsule))
    if isinstance(shape, coal.ConvexBase):
        return np.array(shape.points())
    shape.computeLocalAABB()
    low, high = np.array(shape.aabb_local.min_), np.array(shape.aabb_local.max_)
    return np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T


def round_points(radius: float, length: float, rounded: bool) -> FloatArray:
    """Return points (K, 3) m on a cylinder along z; if `rounded`, with a hemisphere on each end."""
    around = 2 * np.pi * np.arange(SIDES) / SIDES
    tilt = np.linspace(0.0, np.pi / 2, 5) if rounded else np.zeros(1)
    rings = [
        np.column_stack([r * np.cos(around), r * np.sin(around), np.full(SIDES, sign * (0.5 * length + z))])
        for sign in (-1, 1)
        for r, z in zip(radius * np.cos(tilt), radius * np.sin(tilt), strict=True)
    ]
    return np.concatenate(rings)


def hull(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return corners (K, 3) m and faces (F, 3) of the approximate convex hull of points.

    Only the farthest point in each of `DIRECTIONS` directions is a corner. Faces are anticlockwise from outside.
    """
    k = np.arange(DIRECTIONS) + 0.5
    height, angle = 1 - 2 * k / DIRECTIONS, np.pi * (1 + 5**0.5) * k
    flat = np.sqrt(1 - height**2)
    directions = np.column_stack([flat * np.cos(angle), flat * np.sin(angle), height])
    corners = points[np.unique((points @ directions.T).argmax(axis=0))]
    found = ConvexHull(corners, qhull_options='QJ')
    a, b, c = np.moveaxis(corners[found.simplices], 1, 0)
    inward = np.einsum('fi,fi->f', np.cross(b - a, c - a), found.equations[:, :3]) < 0
    return corners, np.where(inward[:, None], found.simplices[:, ::-1], found.simplices)


def capsules(model: RobotModel) -> list[Shape]:
    """Return a capsule from every joint to each of its child joints, and a cylinder about the axis of each joint."""
    chain, n = model.chain, model.n
    children: list[list[FloatArray]] = [[] for _ in range(n + 1)]
    for j, parent in enumerate(chain.parent):
        children[parent + 1].append(chain.translation[j])
    frame = end_effector_frame(model, None)
    if np.linalg.norm(frame.placement.translation) > 0:
        children[parent_joint(frame)].append(np.array(frame.placement.translation))
    total = sum(float(np.linalg.norm(offset)) for offsets in children for offset in offsets) or 1.0
    shapes: list[Shape] = []
    for link, offsets in enumerate(children, start=-1):
        radius = THICKNESS * total * (1 + (TIP - 1) * max(link, 0) / max(n - 1, 1)) * 0.6
        for offset in offsets:
            length = float(np.linalg.norm(offset))
            if length >= 1e-6:
                points, tone = round_points(radius, length, rounded=True), 2 if link < 0 else 0
                shapes.append(Shape.around(points, link, _rotation_to(offset), 0.5 * offset, tone))
        if link >= 0:
            points = round_points(1.25 * radius, 2.6 * radius, rounded=False)
            shapes.append(Shape.around(points, link, _rotation_to(chain.axis[link]), np.zeros(3), 1))
    return shapes


def _rotation_to(direction: FloatArray) -> FloatArray:
    """Return a rotation (3, 3) whose z axis points along `direction` (3,)."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
