"""The links of the plant in MuJoCo: rigid bodies, a floor to touch, bodies to push (optional extra `mujoco`).

MuJoCo only computes the acceleration of the links; the plant (`engine`) steps the time, so that joints and links are
coupled to fourth order. Its C function is called from the compiled kernels, with the joints' torques τ_J written into
its own memory (`links.ExternalBodies`). Contacts are MuJoCo's: soft constraints between the robot's collision bodies
and the floor. The world frame is that of the base, with gravity according to the mounting.
"""

from __future__ import annotations

import ctypes
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation.links import ExternalBodies, Links


def load_mujoco() -> Any:
    """Return the module `mujoco`; raise JointDynamicsError where it is not installed."""
    try:
        import mujoco
    except ImportError:
        raise JointDynamicsError(
            'simulation: engine mujoco: expected the package mujoco, not found (pip install joint_dynamics[mujoco])'
        ) from None
    return mujoco


class MujocoBodies:
    """The tree `links` of `model` as a MuJoCo model.

    Parameters
    ----------
    model
        the robot.
    links
        its tree with inertials.
    step
        time step [s], which contacts depend on.
    floor
        height of a floor relative to the base's origin along the vertical [m], negative below; None: no floor. The
        first link, which turns on its base, does not touch it.

    Attributes
    ----------
    model, data
        MuJoCo's.
    outside
        the function that the kernels call.

    Raises
    ------
    JointDynamicsError
        Where MuJoCo is missing.

    """

    def __init__(self, model: RobotModel, links: Links, step: float, floor: float | None = None):
        self._mujoco = mujoco = load_mujoco()
        self.model: Any = mujoco.MjModel.from_xml_string(_document(model, links, step, floor))
        self.data: Any = mujoco.MjData(self.model)
        self.load_inertials(links)
        m, d = self.model, self.data
        self._library = _library(mujoco)
        forward = ctypes.cast(self._library.mj_forward, ctypes.c_void_p).value
        assert forward is not None
        arrays = d.qpos, d.qvel, d.qfrc_applied, d.qacc, d.qfrc_smooth, d.qfrc_bias, d.qfrc_constraint
        self.outside = ExternalBodies(forward, m._address, d._address, *arrays)

    def load_inertials(self, links: Links) -> None:
        """Give the bodies the inertials of `links`, payload included; speeds and positions stay."""
        m = self.model
        for k in range(links.mass.size):
            moments, axes = np.linalg.eigh(links.inertia[k])
            if np.linalg.det(axes) < 0.0:
                axes[:, 0] = -axes[:, 0]
            quaternion = np.empty(4)
            self._mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(axes).ravel())
            body = k + 1
            m.body_mass[body], m.body_ipos[body] = links.mass[k], links.com[k]
            m.body_inertia[body], m.body_iquat[body] = moments, quaternion
        position, velocity = self.data.qpos.copy(), self.data.qvel.copy()
        self._mujoco.mj_setConst(m, self.data)
        self.data.qpos[:], self.data.qvel[:] = position, velocity

    def push(self, link: int, force: FloatArray, point: FloatArray) -> None:
        """Push link `link` by `force` (3,) [N], base frame, at `point` (3,) [m] of its joint frame; 0 to stop.

        The push keeps its line of action relative to the link's centre of mass only as long as the link does not turn:
        MuJoCo takes force and torque about that centre, computed where the link stands now.
        """
        d, body = self.data, link + 1
        self._mujoco.mj_kinematics(self.model, d)
        self._mujoco.mj_comPos(self.model, d)
        lever = d.xpos[body] + d.xmat[body].reshape(3, 3) @ point - d.xipos[body]
        d.xfrc_applied[body] = np.concatenate([force, np.cross(lever, force)])

    @property
    def contacts(self) -> int:
        """Number of contacts at the last evaluation."""
        return int(self.data.ncon)


def _library(mujoco: Any) -> ctypes.CDLL:
    folder = Path(mujoco.__file__).parent
    patterns = ('libmujoco*.so*', 'libmujoco*.dylib', 'mujoco*.dll')
    libraries = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    if not libraries:
        raise JointDynamicsError(f'simulation: engine mujoco: expected its library in {folder}, found none')
    return ctypes.CDLL(str(libraries[0]))


def _text(values: Any) -> str:
    return ' '.join(repr(float(value)) for value in np.ravel(values))


def _place(translation: FloatArray, rotation: FloatArray) -> dict[str, str]:
    x, y, z, w = pinocchio.Quaternion(np.ascontiguousarray(rotation)).coeffs()
    return {'pos': _text(translation), 'quat': _text([w, x, y, z])}


def _document(model: RobotModel, links: Links, step: float, floor: float | None) -> str:
    """Return the tree in MuJoCo's language; inertials come later: its compiler refuses nearly physical ones."""
    root = ET.Element('mujoco')
    ET.SubElement(root, 'compiler', angle='radian', autolimits='false')
    option = ET.SubElement(root, 'option', timestep=repr(step), gravity=_text(links.gravity), cone='elliptic')
    # Nothing between our joints but what we put there; the plant's audit keeps the energy.
    unused = ('energy', 'actuation', 'limit', 'frictionloss', 'equality', 'sensor')
    ET.SubElement(option, 'flag', dict.fromkeys(unused, 'disable'))
    world = ET.SubElement(root, 'worldbody')
    bodies: list[ET.Element] = []
    for k in range(links.mass.size):
        parent = world if links.parent[k] < 0 else bodies[links.parent[k]]
        body = ET.SubElement(parent, 'body', _place(links.translation[k], links.rotation[k]), name=f'link_{k}')
        kind = 'slide' if links.prismatic[k] else 'hinge'
        ET.SubElement(body, 'joint', type=kind, axis=_text(links.axis[k]), name=model.joint_names[k])
        ET.SubElement(body, 'inertial', pos='0 0 0', mass='1', diaginertia='1 1 1')
        bodies.append(body)
    if floor is not None:
        up = -links.gravity / np.linalg.norm(links.gravity)
        plane = {'type': 'plane', 'size': '0 0 1', 'contype': '1', 'conaffinity': '0'}
        ET.SubElement(world, 'geom', plane, name='floor', pos=_text(floor * up), zaxis=_text(up))
        for joint, placement, kind, size in _shapes(model):
            if joint > 0:
                shape = {'type': kind, 'size': _text(size), 'contype': '0', 'conaffinity': '1', 'mass': '0'}
                ET.SubElement(bodies[joint], 'geom', shape | _place(placement.translation, placement.rotation))
    return ET.tostring(root, encoding='unicode')


def _shapes(model: RobotModel) -> list[tuple[int, Any, str, list[float]]]:
    """Return joint, placement in its frame, MuJoCo's type and size of every collision body; a mesh becomes a box."""
    if model.urdf is None:
        return []
    full = pinocchio.buildModelFromXML(model.urdf)
    try:
        source = pinocchio.buildGeomFromUrdfString(full, model.urdf, pinocchio.GeometryType.COLLISION)
    except (ValueError, RuntimeError) as error:
        raise JointDynamicsError(
            f'simulation: floor: expected collision geometry that can be read, found: {str(error).splitlines()[0]}'
        ) from None
    shapes = []
    for body in source.geometryObjects:
        link = full.frames[body.parentFrame]
        frame = model.pinocchio.frames[model.pinocchio.getFrameId(link.name, pinocchio.FrameType.BODY)]
        joint = getattr(frame, 'parentJoint', None)
        joint = (frame.parent if joint is None else joint) - 1
        placement, shape = frame.placement * link.placement.actInv(body.placement), body.geometry
        kind = type(shape).__name__
        if kind == 'Cylinder':
            shapes.append((joint, placement, 'cylinder', [shape.radius, shape.halfLength]))
        elif kind == 'Capsule':
            shapes.append((joint, placement, 'capsule', [shape.radius, shape.halfLength]))
        elif kind == 'Sphere':
            shapes.append((joint, placement, 'sphere', [shape.radius]))
        elif kind == 'Box':
            shapes.append((joint, placement, 'box', list(shape.halfSide)))
        else:
            shape.computeLocalAABB()
            half = 0.5 * (np.asarray(shape.aabb_local.max_) - np.asarray(shape.aabb_local.min_))
            centre = pinocchio.SE3(np.eye(3), np.asarray(shape.aabb_center))
            shapes.append((joint, placement * centre, 'box', list(half)))
    return shapes
