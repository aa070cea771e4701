"""Write identified inertial parameters into a URDF, for every tool that reads one.

A URDF link holds mass, centre of mass and a tensor about it, which has to be that of a body. A base set fixes only combinations; the
standard set of the description already lies near the URDF's own inertials. Where a link of it is no body, the export says so.
"""
from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.files import write_atomically
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.robot.urdf import parse_urdf, read_source


def pseudo_inertia(link: dict[str, float]) -> NDArray:
    """Return the pseudo-inertia (4, 4) of standard parameters; positive definite exactly for a body of positive density [A eq 2.9]."""
    xx, xy, xz, yy, yz, zz, mx, my, mz, mass = (link[name] for name in INERTIAL)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    sigma = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    moments = np.array([[mx], [my], [mz]])
    return np.block([[sigma, moments], [moments.T, np.array([[mass]])]])


def inconsistent_links(description: DynamicsDescription) -> list[str]:
    """Return the joints whose link is no body: its pseudo-inertia is not positive definite."""
    return [name for name, link in description.document['inertial']['standard'].items() if np.linalg.eigvalsh(pseudo_inertia(link))[0] <= 0]


def export_urdf(description: DynamicsDescription, urdf: str | Path, out: str | Path) -> list[str]:
    """Write `urdf` with the description's inertials to `out`; return the joints whose link is no body (tools may refuse those).

    Links fixed to a moving one are lumped into it (their own inertials are removed), as the identified link holds them all. Rotor
    inertia goes to no place of the URDF; friction becomes <dynamics damping friction>. Raises JointDynamicsError where the description
    has no
    inertial part, a joint is not in the URDF, or a link has a mass that is not positive, which a URDF cannot hold.
    """
    if 'inertial' not in description.document:
        raise JointDynamicsError('export-urdf: expected a description with inertial parameters, found none')
    text, name = read_source(urdf)
    root = parse_urdf(text, name)
    joints = {joint.get('name'): joint for joint in root.findall('joint')}
    links = {link.get('name'): link for link in root.findall('link')}
    for joint_name in description.joint_names:
        if joint_name not in joints:
            raise JointDynamicsError(f'export-urdf: expected joint {joint_name!r} in {name}, found {", ".join(map(str, joints))}')
        standard = description.document['inertial']['standard'][joint_name]
        if standard['M'] <= 0:
            raise JointDynamicsError(f'export-urdf: expected a positive mass behind {joint_name}, found {standard["M"]:.4g} kg; '
                                     'identify with the URDF (not an MDH table) or with physical consistency')
    robot = description.document['robot']
    description.check_robot(RobotModel.from_urdf(text, joints=description.joint_names, locked=robot.get('locked'),
                                                 coupling=robot.get('coupling')), mass=False)
    for joint_name in description.joint_names:
        element = joints[joint_name]
        child = element.find('child')
        link_name = None if child is None else child.get('link')
        _write_inertial(links[link_name], description.document['inertial']['standard'][joint_name])
        for fixed in _fixed_below(link_name, joints, set(description.joint_names)):
            for inertial in links[fixed].findall('inertial'):
                links[fixed].remove(inertial)
        _write_friction(element, description.joint(joint_name))
    ET.indent(root)
    write_atomically(out, '<?xml version="1.0"?>\n' + ET.tostring(root, encoding='unicode') + '\n')
    return inconsistent_links(description)


def _fixed_below(link: str | None, joints: dict, moving: set[str]) -> list[str]:
    """Return the links that joints outside the description (fixed, or locked) hang on `link`, at any depth."""
    found = []
    for name, joint in joints.items():
        parent, child = joint.find('parent'), joint.find('child')
        if name not in moving and parent is not None and child is not None and parent.get('link') == link:
            found += [child.get('link'), *_fixed_below(child.get('link'), joints, moving)]
    return found


def _write_inertial(link: ET.Element, standard: dict[str, float]) -> None:
    for old in link.findall('inertial'):
        link.remove(old)
    mass = standard['M']
    centre = np.array([standard['MX'], standard['MY'], standard['MZ']]) / mass
    about_origin = np.array([[standard['XX'], standard['XY'], standard['XZ']], [standard['XY'], standard['YY'], standard['YZ']],
                             [standard['XZ'], standard['YZ'], standard['ZZ']]])
    tensor = about_origin - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    inertial = ET.Element('inertial')
    ET.SubElement(inertial, 'origin', xyz=' '.join(repr(float(value)) for value in centre), rpy='0 0 0')
    ET.SubElement(inertial, 'mass', value=repr(float(mass)))
    names = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}
    ET.SubElement(inertial, 'inertia', {name: repr(float(tensor[index])) for name, index in names.items()})
    link.insert(0, inertial)


def _write_friction(joint: ET.Element, part: dict) -> None:
    if 'friction' not in part:
        return
    values = part['friction']['parameters']
    for old in joint.findall('dynamics'):
        joint.remove(old)
    ET.SubElement(joint, 'dynamics', damping=repr(max(0.0, float(values.get('F_V1', 0.0)))), friction=repr(max(0.0, float(values['F_C0']))))
