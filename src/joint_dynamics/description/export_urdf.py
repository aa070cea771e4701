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

"""Write identified inertial parameters into a URDF, for every tool that reads one.

A URDF link has mass, centre of mass and a tensor about it, which has to be physically consistent. Base parameters
determine only combinations; the standard parameters of the description are already close to the URDF's own inertials.
The export names links that are not consistent.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.schema import schema
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically
from joint_dynamics.robot import RobotModel, mounting_rotation
from joint_dynamics.robot.dependent import Follows
from joint_dynamics.robot.standard_parameters import INERTIAL, inertia_of, tensor_of
from joint_dynamics.robot.urdf import parse_urdf, read_source

PAYLOAD = ('merged', 'apart', 'without')
PAYLOAD_LINK = 'payload'
TENSOR = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}
"""Elements of an inertia tensor by their names in a URDF."""


def pseudo_inertia(link: dict[str, float]) -> FloatArray:
    """Return the pseudo-inertia (4, 4) of standard parameters.

    It is positive definite exactly for a body of positive density [A eq 2.9].
    """
    body = np.array([link[name] for name in INERTIAL])
    tensor, moments = tensor_of(body), body[6:9, None]
    sigma = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return np.block([[sigma, moments], [moments.T, body[9:, None]]])


def exported_links(description: DynamicsDescription, payload: str = 'merged') -> dict[str, FloatArray]:
    """Return the ten inertial parameters of every link as `export_urdf` writes them."""
    standard = description.document['inertial']['standard']
    links = {name: np.array([standard[name][parameter] for parameter in INERTIAL]) for name in description.link_names}
    if payload == 'merged' and description.payload_attached:
        links[description.joint_names[-1]] += description.payload()
    return links


def is_body(body: FloatArray) -> bool:
    """Whether ten inertial parameters are those of a body: their pseudo-inertia is positive definite."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(dict(zip(INERTIAL, body, strict=True))))[0] > 0)


def bodies_to_export(
    description: DynamicsDescription, payload: str, model: RobotModel | None = None
) -> list[FloatArray]:
    """Return the ten inertial parameters of every link, in the order of the model's links, or of the description's.

    Parameters
    ----------
    description
        the identified arm.
    payload
        one of `PAYLOAD`.
    model
        the robot, which must be that of the description; None: not checked.

    Raises
    ------
    JointDynamicsError
        Where the description has no inertial part or is of another robot, or a link has no mass.
    """
    if payload not in PAYLOAD:
        raise JointDynamicsError(f'payload: expected {", ".join(PAYLOAD)}, found {payload!r}')
    if 'inertial' not in description.document:
        raise JointDynamicsError('dynamics description: expected one with inertial parameters, found none')
    if model is not None:
        description.check_robot(model, mass=False)
    links = exported_links(description, payload)
    for name, link in links.items():
        if not link[9] > 0:
            also = ', or with the URDF in place of an MDH table' if 'mdh' in description.document['robot'] else ''
            raise JointDynamicsError(
                f'dynamics description: expected a positive mass behind {name}, found {link[9]:.4g} kg; identify with '
                f'`physical: true`, or from a motion that excites more{also}'
            )
    return [links[name] for name in (description if model is None else model).link_names]


def inconsistent_links(description: DynamicsDescription, payload: str = 'merged') -> list[str]:
    """Return the joints whose link is no body: its pseudo-inertia is not positive definite."""
    return [name for name, body in exported_links(description, payload).items() if not is_body(body)]


def not_exported(description: DynamicsDescription, payload: str = 'merged', held: Collection[str] = ()) -> list[str]:
    """Return the parts of a description that a URDF cannot represent, one line per set of joints with its fields.

    Torques computed from the URDF do not include them. held: fields that a format other than URDF does have.
    """
    lacking: dict[str, list[str]] = {}
    friction = {
        'parameters': 'all but F_C0, F_V1 (offset, Stribeck, load and temperature parts)',
        'maxwell_slip': '',
        'quadrants': '',
        'directions': '',
    }
    for name in description.joint_names:
        part = description.joint(name)
        for key in schema()['$defs']['joint']['properties']:
            if key in part and key != 'friction' and key not in held:
                lacking.setdefault(key, []).append(name)
        for key, what in friction.items():
            given = part.get('friction', {}).get(key, {})
            if given and (key != 'parameters' or set(given) - {'F_C0', 'F_V1'}):
                lacking.setdefault(f'friction.{key}{f": {what}" if what else ""}', []).append(name)
    fields: dict[str, list[str]] = {}
    for key, names in lacking.items():
        who = 'all joints' if len(names) == len(description.joint_names) else ', '.join(names)
        fields.setdefault(who, []).append(key)
    parts = [f'{who}: {", ".join(keys)}' for who, keys in fields.items()]
    gravity = description.document.get('inertial', {}).get('gravity')
    if gravity is not None:
        source = 'those of the robot file' if gravity == 'robot_file' else 'unknown, the robot file has none'
        parts.append(
            f'inertial.gravity: masses and centres of mass are {source}: the torques were recorded without gravity'
        )
    mounting = mounting_rotation(description.document.get('mounting'))
    if not np.array_equal(mounting, np.eye(3)) and 'mounting' not in held:
        parts.append('mounting')
    if description.document['robot'].get('coupling') is not None or 'coupling' in description.document['inertial']:
        parts.append('robot.coupling, inertial.coupling')
    for name, entry in description.document['robot'].get('parallelograms', {}).items():
        if len(set(entry) - {'offset'}) > 1 and 'parallelograms' not in held:
            parts.append(f'robot.parallelograms.{name}: follows several joints')
    if np.any(description.payload()) and (payload == 'without' or not description.payload_attached):
        parts.append('payload')
    return parts


def export_urdf(
    description: DynamicsDescription, urdf: str | Path, out: str | Path, payload: str = 'merged'
) -> list[str]:
    """Write a copy of a URDF with the description's inertials and friction [http://wiki.ros.org/urdf/XML].

    Parameters
    ----------
    description
        of n joints.
    urdf
        the URDF to copy, a file or its text: of the same robot, joints by name. Links fixed to a moving one are lumped
        into it (their own inertials are removed), as the identified link holds them all.
    out
        the file to write, whole or not at all.
    payload
        a described payload that is on the arm is `merged` into the last link, kept `apart` as a link of its own that is
        fixed to it, or left out (`without`).

    Returns
    -------
    unphysical
        the joints whose link is no body, which tools may refuse.

    Raises
    ------
    JointDynamicsError
        Where the description has no inertial part, a joint is not in the URDF, or a link has a mass that is not
        positive, which a URDF cannot hold.

    Notes
    -----
    A link's `inertial` is mass [kg], centre of mass [m] in the frame of the link and the tensor [kg·m²] about it, in
    axes parallel to that frame. `dynamics damping` is F_V1 + α2 [N·m·s/rad; N·s/m] and `friction` α1 F_C0 [N·m; N],
    both against the motion. What a URDF has no place for, `not_exported` lists.
    """
    bodies = dict(zip(description.link_names, bodies_to_export(description, payload), strict=True))
    text, name = read_source(urdf)
    root = parse_urdf(text, name)
    joints = {joint.get('name'): joint for joint in root.findall('joint')}
    links = {link.get('name'): link for link in root.findall('link')}
    missing = [joint for joint in description.link_names if joint not in joints]
    if missing:
        raise JointDynamicsError(f'robot {name}: expected joint {missing[0]!r}, found {", ".join(map(str, joints))}')
    robot = description.document['robot']
    options = {key: robot.get(key) for key in ('locked', 'coupling', 'parallelograms')}
    model = RobotModel.from_urdf(text, joints=description.joint_names, **options)
    description.check_robot(model, mass=False)
    moved = {}
    for joint_name in description.link_names:
        child = joints[joint_name].find('child')
        moved[joint_name] = None if child is None else child.get('link')
        _write_inertial(links[moved[joint_name]], bodies[joint_name])
        for fixed in _fixed_below(moved[joint_name], joints, set(description.link_names)):
            remove_children(links[fixed], 'inertial')
    for joint_name in description.joint_names:
        _write_friction(joints[joint_name], description.joint(joint_name))
    for joint_name in robot.get('parallelograms', ()):
        _write_mimic(joints[joint_name], model.chain.tree.dependent[joint_name])
    if payload == 'apart' and description.payload_attached:
        _write_payload(root, moved[description.joint_names[-1]], description.payload())
    ET.indent(root)
    write_atomically(out, '<?xml version="1.0"?>\n' + ET.tostring(root, encoding='unicode') + '\n')
    return inconsistent_links(description, payload)


def _fixed_below(link: str | None, joints: dict[str | None, Any], moving: set[str]) -> list[str]:
    """Return the links that joints outside the description (fixed, or locked) hang on `link`, at any depth."""
    links = []
    for name, joint in joints.items():
        parent, child = joint.find('parent'), joint.find('child')
        if name not in moving and parent is not None and child is not None and parent.get('link') == link:
            links += [child.get('link'), *_fixed_below(child.get('link'), joints, moving)]
    return links


def payload_name(elements: Iterable[ET.Element]) -> str:
    """Return a name for the payload that none of the elements has."""
    taken = {element.get('name') for element in elements}
    names = (PAYLOAD_LINK, *(f'{PAYLOAD_LINK}_{k}' for k in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _write_payload(root: ET.Element, parent: str | None, body: FloatArray) -> None:
    if not body[9] > 0:
        raise JointDynamicsError(f'payload: expected a positive mass to keep it apart, found {body[9]:.4g} kg')
    name = payload_name(root)
    link = ET.SubElement(root, 'link', name=name)
    joint = ET.SubElement(root, 'joint', name=f'{name}_joint', type='fixed')
    ET.SubElement(joint, 'parent', link=str(parent))
    ET.SubElement(joint, 'child', link=name)
    _write_inertial(link, body)


def words(values: ArrayLike) -> str:
    """Return numbers as XML has them, to the last digit."""
    return ' '.join(repr(float(value) + 0.0) for value in np.ravel(values))


def remove_children(element: ET.Element, tag: str) -> None:
    """Remove the children of an element that have this tag."""
    for child in element.findall(tag):
        element.remove(child)


def _write_inertial(link: ET.Element, body: FloatArray) -> None:
    remove_children(link, 'inertial')
    inertia = inertia_of(body)
    inertial = ET.Element('inertial')
    ET.SubElement(inertial, 'origin', xyz=words(inertia.lever), rpy='0 0 0')
    ET.SubElement(inertial, 'mass', value=repr(float(inertia.mass)))
    tensor = {name: repr(float(inertia.inertia[index])) for name, index in TENSOR.items()}
    ET.SubElement(inertial, 'inertia', tensor)
    link.insert(0, inertial)


def _write_mimic(joint: ET.Element, follows: Follows) -> None:
    """Write which joint it follows, where that is one: a URDF has no place for more."""
    remove_children(joint, 'mimic')
    if len(follows.ratios) == 1:
        ((leader, ratio),) = follows.ratios.items()
        ET.SubElement(joint, 'mimic', joint=leader, multiplier=repr(ratio), offset=repr(follows.offset))


def joint_friction(part: dict[str, Any]) -> tuple[float, float]:
    """Return damping [N·m·s/rad] and dry friction [N·m] of a joint's part, at the present scale α; not negative."""
    if 'friction' not in part:
        return 0.0, 0.0
    values, (first, second) = part['friction']['parameters'], part['friction'].get('scale', (1.0, 0.0))
    return max(0.0, float(values.get('F_V1', 0.0)) + second), max(0.0, first * float(values['F_C0']))


def _write_friction(joint: ET.Element, part: dict[str, Any]) -> None:
    if 'friction' not in part:
        return
    remove_children(joint, 'dynamics')
    damping, friction = joint_friction(part)
    ET.SubElement(joint, 'dynamics', damping=repr(damping), friction=repr(friction))
