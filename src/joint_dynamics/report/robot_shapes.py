"""The bodies of a robot for drawing: its collision geometry or, where there is none, capsules from joint to joint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.geometry import FLOOR, CollisionBodies, coal, has_geometry
from joint_dynamics.excitation.limits import end_effector_frame, parent_joint
from joint_dynamics.robot import RobotModel

THICKNESS = 0.055  # radius of the first capsule, relative to the length of the arm
TIP = 0.55  # radius of the last capsule, relative to the first
DIRECTIONS = 120  # directions in which the farthest corner of a convex body is drawn


@dataclass(frozen=True)
class Shape:
    """A body in the frame of its link (−1: the base).

    Attributes
    ----------
    kind
        sphere {radius}, capsule and cylinder {radius, length} along z, box {size}, mesh {corners, faces}; in m.
    rotation, translation
        (3, 3) and (3,) m.
    tone
        0 link, 1 joint, 2 support of the robot.
    """

    kind: str
    link: int
    rotation: FloatArray
    translation: FloatArray
    size: dict[str, Any] = field(default_factory=dict)
    tone: int = 0

    def document(self) -> dict[str, Any]:
        """Return the shape as plain data for the page."""
        pose = [round(float(value), 5) for value in (*self.rotation.ravel(), *self.translation)]
        return {'kind': self.kind, 'link': self.link, 'pose': pose, **self.size}


def robot_shapes(model: RobotModel, settings: LimitSettings | None = None) -> tuple[list[Shape], str]:
    """Return the bodies of a robot, and a note for the reader on their origin.

    settings: its `package_dirs` are the folders of meshes.
    """
    if has_geometry(model):
        try:
            return collision_shapes(CollisionBodies(model, settings or LimitSettings())), (
                'Bodies as in the collision geometry, meshes as their convex hulls.'
            )
        except JointDynamicsError as error:
            return capsules(model), f'Capsules from joint to joint stand for the links: {error}.'
    return capsules(model), 'Capsules from joint to joint stand for the links: the robot has no collision geometry.'


def collision_shapes(bodies: CollisionBodies) -> list[Shape]:
    """Return collision bodies as shapes."""
    shapes = []
    for body, link, joint in zip(bodies.geometry.geometryObjects, bodies.links, bodies.joints, strict=True):
        if link == FLOOR:
            continue
        kind, size = _size(body.geometry)
        place = body.placement
        tone = 2 if joint < 0 else joint % 2
        shapes.append(Shape(kind, joint, np.array(place.rotation), np.array(place.translation), size, tone))
    return shapes


def _size(shape: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(shape, coal.Sphere):
        return 'sphere', {'radius': float(shape.radius)}
    if isinstance(shape, (coal.Capsule, coal.Cylinder)):
        kind = 'capsule' if isinstance(shape, coal.Capsule) else 'cylinder'
        return kind, {'radius': float(shape.radius), 'length': 2 * float(shape.halfLength)}
    if isinstance(shape, coal.Box):
        return 'box', {'size': [2 * float(half) for half in shape.halfSide]}
    if isinstance(shape, coal.ConvexBase):
        return 'mesh', hull(np.array(shape.points()))
    # A cone or an ellipsoid: its box.
    shape.computeLocalAABB()
    low, high = np.array(shape.aabb_local.min_), np.array(shape.aabb_local.max_)
    return 'mesh', hull(np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T)


def hull(points: FloatArray) -> dict[str, Any]:
    """Return {corners, faces} about points (K, 3) m, corners of each face anticlockwise from outside."""
    points = points.reshape(-1, 3)
    k = np.arange(DIRECTIONS) + 0.5
    height, angle = 1 - 2 * k / DIRECTIONS, np.pi * (1 + 5**0.5) * k
    flat = np.sqrt(1 - height**2)
    directions = np.column_stack([flat * np.cos(angle), flat * np.sin(angle), height])
    corners = points[np.unique((points @ directions.T).argmax(axis=0))]
    hull = ConvexHull(corners, qhull_options='QJ')
    faces = []
    for face, equation in zip(hull.simplices, hull.equations, strict=True):
        a, b, c = corners[face]
        outward = np.cross(b - a, c - a) @ equation[:3] > 0
        faces.append([int(i) for i in (face if outward else face[::-1])])
    return {'corners': np.round(corners, 4).tolist(), 'faces': faces}


def capsules(model: RobotModel) -> list[Shape]:
    """Return a capsule from every joint to those that it carries, and a cylinder about the axis of each joint."""
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
                size, tone = {'radius': radius, 'length': length}, 2 if link < 0 else 0
                shapes.append(Shape('capsule', link, _turned_to(offset), 0.5 * offset, size, tone))
        if link >= 0:
            size = {'radius': 1.25 * radius, 'length': 2.6 * radius}
            shapes.append(Shape('cylinder', link, _turned_to(chain.axis[link]), np.zeros(3), size, 1))
    return shapes


def _turned_to(direction: FloatArray) -> FloatArray:
    """Return a rotation (3, 3) whose z axis points along `direction` (3,)."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
