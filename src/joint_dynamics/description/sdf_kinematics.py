"""A robot as an SDF has it: frames by name, joints, links and inertials, in the semantics of SDFormat 1.5 to 1.11.

A pose stands in the frame that `relative_to` names; without it a link's in the model's, a joint's in its child's, a
frame's in that it is attached to. An axis stands in the joint's frame, or in that which `expressed_in` names; before
1.7 `use_parent_model_frame` made it the model's.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.export_urdf import TENSOR
from joint_dynamics.description.placement import Posture
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.urdf_checks import MAX_PARTS

MODEL = '__model__'
ONE_AXIS = ('revolute', 'continuous', 'prismatic')


class SdfKinematics:
    """The model of an SDF that has all of these joints.

    Parameters
    ----------
    root
        the document.
    joint_names
        the joints, each with one axis.
    source
        what the file is called in messages.

    Attributes
    ----------
    model, links, joints
        elements, the latter by name. parents: name of the link that each joint hangs on, `world` for the world.
        children: of the link it moves.

    Raises
    ------
    JointDynamicsError
        Where there is no such model, a joint is of another type, or a frame is not there.
    """

    def __init__(self, root: ET.Element, joint_names: Sequence[str], source: str):
        self.source = f'SDF {source}'
        if root.tag != 'sdf':
            raise JointDynamicsError(f'{self.source}: expected the root element <sdf>, found <{root.tag}>')
        self._modern = _version(root.get('version', '1.7')) >= (1, 7)
        self.model = self._model_with(root, joint_names)
        self.links = {str(link.get('name')): link for link in self.model.findall('link')}
        self.joints = {str(joint.get('name')): joint for joint in self.model.findall('joint')}
        self._frames = {str(frame.get('name')): frame for frame in self.model.findall('frame')}
        for what in (self.links, self.joints, self._frames):
            if len(what) > MAX_PARTS:
                raise JointDynamicsError(
                    f'{self.source}: expected at most {MAX_PARTS} links, joints and frames each, found {len(what)}'
                )
        self._poses: dict[str, pinocchio.SE3] = {MODEL: pinocchio.SE3.Identity()}
        self.joint_names = tuple(joint_names)
        for name in joint_names:
            if self.joints[name].get('type') not in ONE_AXIS:
                raise JointDynamicsError(
                    f'{self.source}: expected {name} to be one of {", ".join(ONE_AXIS)}, found'
                    f' {self.joints[name].get("type")}'
                )
        self.parents = {name: self._end(joint, 'parent') for name, joint in self.joints.items()}
        self.children = {name: self._end(joint, 'child') for name, joint in self.joints.items()}
        self._by_child = {child: name for name, child in self.children.items()}

    def at(self, q: FloatArray) -> Posture:
        """Return the robot at joint positions q (n,), all others at zero, in the model's frame."""
        where = self._forward(dict(zip(self.joint_names, map(float, q), strict=True)))
        anchors, axes, bodies = [], [], []
        for name in self.joint_names:
            child = self.children[name]
            frame = where[child] * self.pose(child).actInv(self.pose(name))
            bodies.append(where[child])
            anchors.append(frame.translation)
            axes.append(frame.rotation @ self.axis(name))
        first = self.parents[self.joint_names[0]]
        return Posture(bodies, np.array(anchors), np.array(axes), where.get(first, pinocchio.SE3.Identity()))

    def hanging(self, name: str) -> dict[str, bool]:
        """Return the links that hang on the link of joint `name` by joints other than the named ones.

        Of each, whether there is a joint that moves on the way.
        """
        links: dict[str, bool] = {}
        ahead = [(self.children[name], False)]
        while ahead:
            link, moves = ahead.pop()
            for joint, parent in self.parents.items():
                if parent == link and joint not in self.joint_names and self.children[joint] not in links:
                    loose = moves or self.joints[joint].get('type') != 'fixed'
                    links[self.children[joint]] = loose
                    ahead.append((self.children[joint], loose))
        return links

    def inertia(self, link: str) -> pinocchio.Inertia:
        """Return the inertia of a link in its frame; SDF's default where it states none: 1 kg, 1 kg·m²."""
        inertial = self.links[link].find('inertial')
        if inertial is None:
            return pinocchio.Inertia(1.0, np.zeros(3), np.eye(3))
        mass = self._number(inertial.findtext('mass', '1'), f'the mass of {link}')
        tensor = np.eye(3)
        if (element := inertial.find('inertia')) is not None:
            for key, (row, column) in TENSOR.items():
                value = self._number(element.findtext(key, '1' if row == column else '0'), f'{key} of {link}')
                tensor[row, column] = tensor[column, row] = value
        pose = inertial.find('pose')
        placement = self._raw_pose(pose, f'the inertial of {link}')
        if pose is not None and pose.get('relative_to'):
            placement = self.pose(link).actInv(self.pose(str(pose.get('relative_to'))) * placement)
        return placement.act(pinocchio.Inertia(mass, np.zeros(3), tensor))

    def carried(self) -> list[pinocchio.Inertia]:
        """Return per joint the inertia of its link and of all that hangs on it, in that link's frame."""
        inertias = []
        for name in self.joint_names:
            frame = self.pose(self.children[name])
            total = self.inertia(self.children[name])
            for link in self.hanging(name):
                total = total + frame.actInv(self.pose(link)).act(self.inertia(link))
            inertias.append(total)
        return inertias

    def pose(self, name: str) -> pinocchio.SE3:
        """Return the pose of a link, joint or frame in the model's frame, all joints at zero."""
        if name not in self._poses:
            self._poses[name] = self._resolve(name, ())
        return self._poses[name]

    def axis(self, name: str) -> FloatArray:
        """Return the axis (3,) of a joint in the joint's frame, length 1."""
        axis = self.joints[name].find('axis')
        element = None if axis is None else axis.find('xyz')
        values = self._numbers('0 0 1' if element is None else element.text, 3, f'the axis of {name}')
        frame = None if element is None else element.get('expressed_in')
        old = axis is not None and (axis.findtext('use_parent_model_frame') or '').strip() in ('1', 'true')
        if old and not self._modern:
            frame = MODEL
        if frame:
            values = self.pose(name).rotation.T @ self.pose(frame).rotation @ values
        length = float(np.linalg.norm(values))
        if not length > 0:
            raise JointDynamicsError(f'{self.source}: expected an axis of {name} with a direction, found zeros')
        return values / length

    def _model_with(self, root: ET.Element, joint_names: Sequence[str]) -> ET.Element:
        models = [*root.findall('model'), *root.findall('world/model')]
        for model in models:
            if set(joint_names) <= {joint.get('name') for joint in model.findall('joint')}:
                return model
        there = ', '.join(str(joint.get('name')) for model in models for joint in model.findall('joint')) or 'none'
        hint = (
            '; it includes or nests other models: merge them first'
            if root.find('.//include') is not None or root.find('.//model/model') is not None
            else ''
        )
        raise JointDynamicsError(
            f'{self.source}: expected one model with the joints {", ".join(joint_names)}, found {there}{hint}'
        )

    def _forward(self, q: dict[str, float]) -> dict[str, pinocchio.SE3]:
        poses: dict[str, pinocchio.SE3] = {}

        def place(link: str, below: tuple[str, ...]) -> pinocchio.SE3:
            if link in poses:
                return poses[link]
            joint = self._by_child.get(link)
            if joint is None or self.parents[joint] == 'world' or link in below:
                poses[link] = self.pose(link)
                return poses[link]
            parent = self.parents[joint]
            motion = pinocchio.SE3.Identity()
            if q.get(joint):
                axis = self.axis(joint)
                motion = (
                    pinocchio.SE3(np.eye(3), axis * q[joint])
                    if self.joints[joint].get('type') == 'prismatic'
                    else pinocchio.SE3(pinocchio.exp3(axis * q[joint]), np.zeros(3))
                )
            here = self.pose(joint)
            poses[link] = (
                place(parent, (*below, link)) * self.pose(parent).actInv(here) * motion * here.actInv(self.pose(link))
            )
            return poses[link]

        for name in self.links:
            place(name, ())
        return poses

    def _end(self, joint: ET.Element, which: str) -> str:
        """Return the link that a joint's parent or child is, which may be named by a frame on it."""
        name = (joint.findtext(which) or '').strip()
        for _ in range(len(self._frames) + 2):
            if name == 'world' or name in self.links:
                return name
            if name in self._frames:
                name = self._frames[name].get('attached_to', '')
            elif name in self.joints:
                name = (self.joints[name].findtext('child') or '').strip()
            else:
                break
        raise JointDynamicsError(
            f'{self.source}: expected a link as {which} of {joint.get("name")}, found {joint.findtext(which)!r}'
        )

    def _resolve(self, name: str, below: tuple[str, ...]) -> pinocchio.SE3:
        if name in self._poses:
            return self._poses[name]
        if name in below:
            raise JointDynamicsError(f'{self.source}: expected poses that end at the model, found a circle at {name}')
        if name == 'world':
            raise JointDynamicsError(f'{self.source}: expected poses within the model, found one relative to the world')
        if name in self.links:
            element, default = self.links[name], MODEL
        elif name in self.joints:
            element, default = self.joints[name], (self.joints[name].findtext('child') or '').strip()
        elif name in self._frames:
            element = self._frames[name]
            default = element.get('attached_to') or MODEL
        else:
            raise JointDynamicsError(f'{self.source}: expected a link, joint or frame, found {name!r}')
        pose = element.find('pose')
        base = (pose.get('relative_to') if pose is not None else None) or default
        return self._resolve(base, (*below, name)) * self._raw_pose(pose, name)

    def _raw_pose(self, pose: ET.Element | None, where: str) -> pinocchio.SE3:
        if pose is None or not (pose.text or '').strip():
            return pinocchio.SE3.Identity()
        if pose.get('rotation_format') == 'quat_xyzw':
            values = self._numbers(pose.text, 7, f'the pose of {where}')
            x, y, z, w = values[3:]
            return pinocchio.SE3(pinocchio.Quaternion(w, x, y, z).normalized().toRotationMatrix(), values[:3])
        values = self._numbers(pose.text, 6, f'the pose of {where}')
        angles = np.deg2rad(values[3:]) if pose.get('degrees') in ('1', 'true') else values[3:]
        return pinocchio.SE3(pinocchio.rpy.rpyToMatrix(*angles), values[:3])

    def _numbers(self, text: str | None, count: int, what: str) -> FloatArray:
        parts = (text or '').split()
        if len(parts) != count:
            raise JointDynamicsError(f'{self.source}: expected {count} numbers as {what}, found {(text or "")[:60]!r}')
        return np.array([self._number(part, what) for part in parts])

    def _number(self, text: str, what: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise JointDynamicsError(f'{self.source}: expected a finite number as {what}, found {text[:60]!r}')
        return value


def _version(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split('.'))
    except ValueError:
        return (1, 7)
