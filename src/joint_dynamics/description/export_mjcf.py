"""Write an identified robot as MJCF, MuJoCo's language: a new model, or into an existing one.

MuJoCo's rigid bodies with armature and damping obey M(q) q̈ + diag(armature) q̈ + h(q, q̇) + damping q̇ = τ, which is the
motor torque without what `not_exported` lists; dry friction is its constraint `frictionloss`. An existing MJCF is read
by MuJoCo.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export_urdf import (
    bodies_to_export,
    inconsistent_links,
    joint_friction,
    payload_name,
    remove_children,
    words,
)
from joint_dynamics.description.placement import Posture, placements_in
from joint_dynamics.documents import parse_xml, read_text
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.output_files import write_atomically
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.dependent import Follows
from joint_dynamics.robot.standard_parameters import inertia_of


class MjcfKinematics:
    """Kinematics and inertials of an MJCF, by MuJoCo.

    Parameters
    ----------
    path
        of the file.
    joint_names
        the joints, which it has.

    Raises
    ------
    JointDynamicsError
        Where mujoco is missing or refuses the file, or a joint is not there.
    """

    def __init__(self, path: str | Path, joint_names: Sequence[str]):
        try:
            import mujoco
        except ImportError:
            raise JointDynamicsError(
                f'MJCF {path}: expected the package mujoco to read it, found none (pip install joint_dynamics[mujoco])'
            ) from None
        self.source = f'MJCF {path}'
        # What MuJoCo warns of in a file that is only read would end in a log in the working folder.
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: None)
        try:
            self._model: Any = mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise JointDynamicsError(f'MJCF {path}: expected what MuJoCo reads, found: {one_line(error)}') from None
        finally:
            mujoco.set_mju_user_warning(before)
        there = [self._model.joint(k).name for k in range(self._model.njnt)]
        missing = [name for name in joint_names if name not in there]
        if missing:
            raise JointDynamicsError(
                f'MJCF {path}: expected the joints {", ".join(missing)}, found {", ".join(there) or "none"}'
            )
        self._joints = [self._model.joint(name) for name in joint_names]
        self._data: Any = mujoco.MjData(self._model)
        self._run = mujoco.mj_kinematics

    def at(self, q: FloatArray) -> Posture:
        """Return the robot at joint positions q (n,), all others where the file has them."""
        self._data.qpos[:] = self._model.qpos0
        for joint, angle in zip(self._joints, q, strict=True):
            # A joint that is given a reference angle is at 0 there.
            self._data.qpos[joint.qposadr[0]] = angle
        self._run(self._model, self._data)
        bodies = [int(joint.bodyid[0]) for joint in self._joints]
        return Posture(
            [self._place(body) for body in bodies],
            np.array([self._data.xanchor[joint.id] for joint in self._joints]),
            np.array([self._data.xaxis[joint.id] for joint in self._joints]),
            self._place(int(self._model.body_parentid[bodies[0]])),
        )

    def carried(self) -> list[pinocchio.Inertia]:
        """Return per joint the inertia of the body it moves and of all that stands still on it, in that body's frame.

        Joints that were not named stand where the file has them, and what they move is carried.
        """
        self.at(np.zeros(len(self._joints)))
        carriers = {int(joint.bodyid[0]): k for k, joint in enumerate(self._joints)}
        inertias = [pinocchio.Inertia.Zero() for _ in self._joints]
        for body in range(1, self._model.nbody):
            up = body
            while up and up not in carriers:
                up = int(self._model.body_parentid[up])
            if up:
                k = carriers[up]
                inertias[k] += self._place(up).actInv(self._place(body)).act(self._own(body))
        return inertias

    def _place(self, body: int) -> pinocchio.SE3:
        return pinocchio.SE3(np.array(self._data.xmat[body]).reshape(3, 3), np.array(self._data.xpos[body]))

    def _own(self, body: int) -> pinocchio.Inertia:
        w, x, y, z = self._model.body_iquat[body]
        rotation = pinocchio.Quaternion(w, x, y, z).normalized().toRotationMatrix()
        tensor = rotation @ np.diag(self._model.body_inertia[body]) @ rotation.T
        return pinocchio.Inertia(float(self._model.body_mass[body]), np.array(self._model.body_ipos[body]), tensor)


def export_mjcf(
    description: DynamicsDescription,
    model: RobotModel,
    out: str | Path,
    payload: str = 'merged',
    into: str | Path | None = None,
) -> tuple[list[str], float]:
    """Write the description's bodies, rotor inertias and friction as MJCF [MuJoCo's XML reference].

    Parameters
    ----------
    description
        what was identified; of n joints.
    model
        the robot; link k moves with joint k.
    out
        the file to write, whole or not at all.
    payload
        `merged` into the last link, `apart` as a body of its own that is fixed to it, or `without`.
    into
        an MJCF of the same robot: the bodies that carry its joints, by name, get the inertials, in their own frames,
        the joints armature, damping and frictionloss; bodies fixed to them lose their mass, all else stays. Needs the
        package mujoco, which says where the frames are. None: a new model without shapes, with the joints' limits.

    Returns
    -------
    unphysical
        the joints whose link is no body, which MuJoCo refuses (identify with physical consistency).
    apart
        by how much `into` at most places a link elsewhere than the robot file does [m, rad]; 0 for a new model.

    Raises
    ------
    JointDynamicsError
        Where the description has no inertial part or is of another robot, a link has no mass, `into` lacks a joint,
        moves it otherwise, or includes other files, and where mujoco is needed and missing.

    Notes
    -----
    A body's `inertial` is mass [kg], centre of mass [m] in the frame of the body and the tensor [kg·m²] about it, in
    axes parallel to that frame. `armature` is the rotor's inertia on the joint side [kg·m²; kg], `damping` F_V1 + α2
    [N·m·s/rad; N·s/m], `frictionloss` α1 F_C0 [N·m; N], the last two against the motion.
    """
    bodies = bodies_to_export(description, payload, model)
    apart = description.payload() if payload == 'apart' and description.payload_attached else None
    if into is None:
        root, carriers, placements = _new_model(model)
        apart_by = 0.0
    else:
        text = read_text(into, f'MJCF {into}')
        root = parse_xml(text, f'MJCF {into}')
        if root.tag != 'mujoco':
            raise JointDynamicsError(f'MJCF {into}: expected the root element <mujoco>, found <{root.tag}>')
        carriers = _carriers(root, model, str(into))
        placements, apart_by = placements_in(MjcfKinematics(into, model.link_names), model)
        _keep_inertials(root)
        for carrier in carriers:
            _take_masses_off(carrier)
    for carrier, body, placement in zip(carriers, bodies, placements, strict=True):
        _write_inertial(carrier, body, placement)
    for name, carrier in zip(model.joint_names, carriers, strict=False):
        joint = next(joint for joint in carrier.findall('joint') if joint.get('name') == name)
        part = description.joint(name)
        armature, (damping, friction) = part.get('rotor_inertia', {}).get('value', 0.0), joint_friction(part)
        joint.attrib.update(armature=repr(float(armature)), damping=repr(damping), frictionloss=repr(friction))
    if apart is not None:
        last = model.n - 1
        held = ET.SubElement(carriers[last], 'body', name=payload_name(root.iter('body')))
        _write_inertial(held, apart, placements[last])
    ET.indent(root)
    write_atomically(out, ET.tostring(root, encoding='unicode') + '\n')
    return inconsistent_links(description, payload), apart_by


def _new_model(model: RobotModel) -> tuple[ET.Element, list[ET.Element], list[pinocchio.SE3]]:
    """Return the document, the body of each link, and where the joint's frame is in it: the same."""
    root = ET.Element('mujoco', model=model.pinocchio.name or 'robot')
    ET.SubElement(root, 'compiler', angle='radian', autolimits='false')
    ET.SubElement(root, 'option', gravity=words(model.pinocchio.gravity.linear))
    parents, tree = [ET.SubElement(root, 'worldbody')], model.chain.tree
    for row, name in enumerate(tree.names):
        placement = model.pinocchio.jointPlacements[row + 1]
        x, y, z, w = pinocchio.Quaternion(placement.rotation).coeffs()
        body = ET.SubElement(parents[model.pinocchio.parents[row + 1]], 'body', name=f'{name}_link')
        body.attrib.update(pos=words(placement.translation), quat=words([w, x, y, z]))
        parents.append(body)
        prismatic = bool(model.chain.prismatic[row])
        joint = ET.SubElement(body, 'joint', name=name, type='slide' if prismatic else 'hinge')
        joint.set('axis', words(model.chain.axis[row]))
        if not tree.moving[row]:
            continue
        k = model.joint_names.index(name)
        lower, upper = model.limits.lower[k], model.limits.upper[k]
        if np.isfinite(lower) and np.isfinite(upper):
            joint.attrib.update(limited='true', range=words([lower, upper]))
        if np.isfinite(model.limits.effort[k]):
            effort = model.limits.effort[k]
            joint.attrib.update(actuatorfrclimited='true', actuatorfrcrange=words([-effort, effort]))
    _write_equalities(root, tree.dependent)
    return root, [parents[row + 1] for row in tree.row], [pinocchio.SE3.Identity()] * len(tree.row)


def _write_equalities(root: ET.Element, dependent: Mapping[str, Follows]) -> None:
    """Write that joints follow others: one by a polynomial of its position, several by a tendon of constant length."""
    if not dependent:
        return
    tendons, equalities = ET.Element('tendon'), ET.SubElement(root, 'equality')
    for name, follows in dependent.items():
        if len(follows.ratios) == 1:
            ((leader, ratio),) = follows.ratios.items()
            polynomial = words([follows.offset, ratio, 0, 0, 0])
            ET.SubElement(equalities, 'joint', joint1=name, joint2=leader, polycoef=polynomial)
            continue
        tendon = ET.SubElement(tendons, 'fixed', name=f'{name}_follows')
        for key, factor in ((name, 1.0), *((key, -ratio) for key, ratio in follows.ratios.items())):
            ET.SubElement(tendon, 'joint', joint=key, coef=words([factor]))
        length = words([follows.offset, 0, 0, 0, 0])
        ET.SubElement(equalities, 'tendon', tendon1=f'{name}_follows', polycoef=length)
    if len(tendons):
        root.append(tendons)


def _carriers(root: ET.Element, model: RobotModel, source: str) -> list[ET.Element]:
    """Return the body element of each link."""
    elements = {
        joint.get('name'): body for body in root.iter('body') for joint in body.findall('joint') if joint.get('name')
    }
    missing = [name for name in model.link_names if name not in elements]
    if missing:
        there = ', '.join(map(str, elements)) or 'none'
        hint = '; it includes other files: merge them first' if root.find('.//include') is not None else ''
        raise JointDynamicsError(f'MJCF {source}: expected the joints {", ".join(missing)}, found {there}{hint}')
    return [elements[name] for name in model.link_names]


def _keep_inertials(root: ET.Element) -> None:
    """Have MuJoCo take inertials as they are written."""
    for compiler in root.iter('compiler'):
        for changing in ('settotalmass', 'boundmass', 'boundinertia', 'balanceinertia'):
            compiler.attrib.pop(changing, None)
        if compiler.get('inertiafromgeom') == 'true':
            compiler.set('inertiafromgeom', 'auto')


def _take_masses_off(body: ET.Element) -> None:
    """Take the masses of what is fixed to a body away: the identified link holds them all."""
    for child in body.findall('body'):
        if child.find('joint') is not None or child.find('freejoint') is not None:
            continue
        remove_children(child, 'inertial')
        for geom in child.findall('geom'):
            geom.attrib.pop('density', None)
            geom.set('mass', '0')
        _take_masses_off(child)


def _write_inertial(body: ET.Element, link: FloatArray, placement: pinocchio.SE3) -> None:
    """Write ten inertial parameters of a joint's frame; placement: of that frame in the body's."""
    inertia = placement.act(inertia_of(link))
    remove_children(body, 'inertial')
    inertial = ET.Element('inertial', pos=words(inertia.lever), mass=repr(float(inertia.mass)))
    inertial.set('fullinertia', words([inertia.inertia[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]))
    body.insert(0, inertial)
