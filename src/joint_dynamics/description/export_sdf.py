"""Write an identified robot as SDF, Gazebo's language: a new model, or into an existing one."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export_urdf import (
    TENSOR,
    bodies_to_export,
    is_body,
    joint_friction,
    payload_name,
    remove_children,
    words,
)
from joint_dynamics.description.placement import placements_in
from joint_dynamics.description.sdf_kinematics import SdfKinematics
from joint_dynamics.documents import parse_xml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically
from joint_dynamics.robot import RobotModel, mounting_rotation
from joint_dynamics.robot.standard_parameters import INERTIAL, body_of, inertia_of

VERSION = '1.9'
MIMIC_VERSION = '1.11'
NEGLIGIBLE_INERTIA = pinocchio.Inertia(1e-6, np.zeros(3), 1e-9 * np.eye(3))
"""What a link that is fixed to an identified one weighs, since SDF has no link without mass; it is taken off that."""
UNLIMITED = '1e16'
"""What SDF takes for no limit."""


def export_sdf(
    description: DynamicsDescription,
    model: RobotModel,
    out: str | Path,
    payload: str = 'merged',
    into: str | Path | None = None,
) -> tuple[list[str], float]:
    """Write the description's bodies and friction as SDF 1.9 [http://sdformat.org/spec].

    Parameters
    ----------
    description
        what was identified; of n joints.
    model
        the robot; link k moves with joint k.
    out
        the file to write, whole or not at all.
    payload
        `merged` into the last link, `apart` as a link of its own that is fixed to it, or `without`.
    into
        an SDF of the same robot: the links that its joints move, by name, get the inertials, in their own frames, the
        joints damping and friction; links fixed to them keep next to no mass, those behind joints that the description
        does not have keep theirs (which is taken off the identified link), all else stays. None: a new model without
        shapes, with the joints' limits, mounted as described.

    Returns
    -------
    unphysical
        the joints whose link is no body, which Gazebo refuses (identify with physical consistency).
    apart
        by how much `into` at most places a link elsewhere than the robot file does [m, rad]; 0 for a new model.

    Raises
    ------
    JointDynamicsError
        Where the description has no inertial part or is of another robot, a link has no mass, or `into` lacks a joint
        or moves it otherwise.

    Notes
    -----
    A link's `inertial` is mass [kg], centre of mass [m] in the frame of the link and the tensor [kg·m²] about it, in
    axes parallel to that frame. `damping` is F_V1 + α2 [N·m·s/rad; N·s/m] and `friction` α1 F_C0 [N·m; N], both against
    the motion. What SDF has no place for, `not_exported` lists.
    """
    bodies = bodies_to_export(description, payload, model)
    apart = description.payload() if payload == 'apart' and description.payload_attached else None
    if into is None:
        root, carriers = _new_model(model)
        joints = {str(joint.get('name')): joint for joint in root.iter('joint')}
        links = len(model.link_names)
        placements, apart_by, held = [pinocchio.SE3.Identity()] * links, 0.0, [np.zeros(len(INERTIAL))] * links
        owner = root.find('model')
    else:
        root = parse_xml(read_text(into, f'SDF {into}'), f'SDF {into}')
        theirs = SdfKinematics(root, model.link_names, str(into))
        placements, apart_by = placements_in(theirs, model)
        joints, owner = theirs.joints, theirs.model
        carriers = [theirs.links[theirs.children[name]] for name in model.link_names]
        held = [_hold(theirs, name) for name in model.link_names]
    unphysical: list[str] = []
    for k, name in enumerate(model.link_names):
        body = body_of(placements[k].act(inertia_of(bodies[k]))) - held[k]
        if not body[-1] > 0:
            raise JointDynamicsError(
                f'SDF {into}: expected what hangs on the link of {name} by joints that the description does not have to'
                f' weigh less than the identified {bodies[k][-1]:.4g} kg, found {held[k][-1]:.4g} kg'
            )
        if not is_body(body):
            unphysical.append(name)
        _write_inertial(carriers[k], inertia_of(body))
    for name in model.joint_names:
        part = description.joint(name)
        if 'friction' in part:
            _write_friction(joints[name], *joint_friction(part))
    if apart is not None and owner is not None:
        name, last = payload_name(owner), str(carriers[model.n - 1].get('name'))
        held_link = ET.SubElement(owner, 'link', name=name)
        ET.SubElement(held_link, 'pose', relative_to=last).text = _pose(pinocchio.SE3.Identity())
        _write_inertial(held_link, placements[model.n - 1].act(inertia_of(apart)))
        _joint(owner, f'{name}_joint', 'fixed', last, name)
    ET.indent(root)
    write_atomically(out, '<?xml version="1.0"?>\n' + ET.tostring(root, encoding='unicode') + '\n')
    return unphysical, apart_by


def _new_model(model: RobotModel) -> tuple[ET.Element, list[ET.Element]]:
    """Return the document and the element of each link, whose frame is its joint's."""
    root = ET.Element('sdf', version=VERSION if model.chain.tree.plain else MIMIC_VERSION)
    robot = ET.SubElement(root, 'model', name=model.pinocchio.name or 'robot')
    ET.SubElement(robot, 'pose').text = _pose(pinocchio.SE3(mounting_rotation(model.mounting), np.zeros(3)))
    tree = model.chain.tree
    names = ['base_link', *(f'{joint}_link' for joint in tree.names)]
    links = [ET.SubElement(robot, 'link', name=name) for name in names]
    _joint(robot, 'base_joint', 'fixed', 'world', names[0])
    for row, name in enumerate(tree.names):
        parent = names[model.pinocchio.parents[row + 1]]
        ET.SubElement(links[row + 1], 'pose', relative_to=name).text = _pose(pinocchio.SE3.Identity())
        prismatic = bool(model.chain.prismatic[row])
        joint = _joint(robot, name, 'prismatic' if prismatic else 'revolute', parent, names[row + 1])
        ET.SubElement(joint, 'pose', relative_to=parent).text = _pose(model.pinocchio.jointPlacements[row + 1])
        axis = ET.SubElement(joint, 'axis')
        ET.SubElement(axis, 'xyz').text = words(model.chain.axis[row])
        limit, follows = ET.SubElement(axis, 'limit'), tree.dependent.get(name)
        if follows is not None and len(follows.ratios) == 1:
            ((leader, ratio),) = follows.ratios.items()
            mimic = ET.SubElement(axis, 'mimic', joint=leader)
            for key, value in (('multiplier', ratio), ('offset', follows.offset), ('reference', 0.0)):
                ET.SubElement(mimic, key).text = repr(value)
        for key in ('lower', 'upper', 'effort', 'velocity'):
            free = tree.moving[row]
            value = float(getattr(model.limits, key)[model.joint_names.index(name)]) if free else np.inf
            unlimited = f'-{UNLIMITED}' if key == 'lower' else UNLIMITED
            ET.SubElement(limit, key).text = repr(value) if np.isfinite(value) else unlimited
    return root, [links[row + 1] for row in tree.row]


def _joint(model: ET.Element, name: str, kind: str, parent: str, child: str) -> ET.Element:
    joint = ET.SubElement(model, 'joint', name=name, type=kind)
    ET.SubElement(joint, 'parent').text, ET.SubElement(joint, 'child').text = parent, child
    return joint


def _hold(theirs: SdfKinematics, name: str) -> FloatArray:
    """Return the ten parameters of what hangs on a joint's link, in that link's frame; what is fixed gets light."""
    held = np.zeros(len(INERTIAL))
    frame = theirs.pose(theirs.children[name])
    for link, loose in theirs.hanging(name).items():
        if not loose:
            _write_inertial(theirs.links[link], NEGLIGIBLE_INERTIA)
        held += body_of(frame.actInv(theirs.pose(link)).act(theirs.inertia(link)))
    return held


def _write_inertial(link: ET.Element, inertia: pinocchio.Inertia) -> None:
    remove_children(link, 'inertial')
    inertial = ET.Element('inertial')
    ET.SubElement(inertial, 'pose').text = words([*inertia.lever, 0.0, 0.0, 0.0])
    ET.SubElement(inertial, 'mass').text = repr(float(inertia.mass))
    tensor = ET.SubElement(inertial, 'inertia')
    for key, index in TENSOR.items():
        ET.SubElement(tensor, key).text = repr(float(inertia.inertia[index]))
    link.insert(0, inertial)


def _write_friction(joint: ET.Element, damping: float, friction: float) -> None:
    dynamics = _child(_child(joint, 'axis'), 'dynamics')
    for key, value in (('damping', damping), ('friction', friction)):
        _child(dynamics, key).text = repr(float(value))


def _child(element: ET.Element, tag: str) -> ET.Element:
    child = element.find(tag)
    return ET.SubElement(element, tag) if child is None else child


def _pose(placement: pinocchio.SE3) -> str:
    return words([*placement.translation, *pinocchio.rpy.matrixToRpy(placement.rotation)])
