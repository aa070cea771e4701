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

"""Checks of a URDF before a robot is built from it: its joints form one tree, and its numbers are plausible."""

from __future__ import annotations

import logging
import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from functools import cache

import numpy as np

from joint_dynamics.documents import check_name, number
from joint_dynamics.errors import JointDynamicsError

MAX_LENGTH = 1e3  # m, also rad of angles; no arm comes near it
MAX_MASS = 1e6  # kg; no arm comes near it
MAX_GYRATION = 30.0  # m, radius of gyration of a link; the longest arms are of 20 m, g·mm² for kg·m² gives 3000 m
LIGHT_LINK = 1.0  # kg; the inertia of a lighter link is held to this mass: files have links of inertia without mass
MAX_PARTS = 500  # most links and most joints: recursive readers survive them, and humanoids have half as many
ROUNDING = 0.01  # excess of a principal moment over half the sum of the three, relative to it: numbers of two digits
SMALL_INERTIA = 1e-5  # kg·m², excess of a principal moment; at 100 rad/s² a mN·m
_INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def plain_number(text: str, what: str, where: str) -> float:
    """Return a number that is not NaN (infinity is accepted, as for no limit); raises JointDynamicsError otherwise."""
    try:
        value = number(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise JointDynamicsError(f'robot {where}: expected a number for {what}, found {text[:40]!r}')
    return value


def check_tree(root: ET.Element, name: str) -> None:
    """Raise JointDynamicsError unless links and joints have unique names and form one tree.

    A tree has no loop, one root and no separate parts.
    """
    links = _named(root, 'link', name)
    joints = _named(root, 'joint', name)
    parent_of: dict[str, tuple[str, str]] = {}
    for key, joint in joints.items():
        ends = []
        for role in ('parent', 'child'):
            element = joint.find(role)
            link = None if element is None else element.get('link')
            if link not in links:
                raise JointDynamicsError(f'robot {name}, joint {key}: expected a {role} that is a link, found {link!r}')
            ends.append(link)
        if ends[1] in parent_of:
            raise JointDynamicsError(
                f'robot {name}: expected a tree, found link {ends[1]} as the child of {parent_of[ends[1]][0]} and of'
                f' {key}'
            )
        parent_of[ends[1]] = key, ends[0]
    roots = [link for link in links if link not in parent_of]
    if len(roots) > 1:
        raise JointDynamicsError(f'robot {name}: expected one root link, found {", ".join(roots[:6])}')
    children: dict[str, list[str]] = {}
    for child, (_, parent) in parent_of.items():
        children.setdefault(parent, []).append(child)
    reached, waiting = 0, roots
    while waiting:
        reached += len(waiting)
        waiting = [child for link in waiting for child in children.get(link, ())]
    if reached < len(links):
        raise JointDynamicsError(
            f'robot {name}: expected a tree, found joints that make a loop: {_loop(links, parent_of)}'
        )


def _loop(links: dict[str, ET.Element], parent_of: dict[str, tuple[str, str]]) -> str:
    """Return the joints of one loop, of which there is one: every link of it has a parent in it."""
    done: set[str] = set()
    for start in links:
        link, path = start, {}
        while link in parent_of and link not in done and link not in path:
            path[link] = parent_of[link][0]
            link = parent_of[link][1]
        if link in path:
            return ', '.join(list(path.values())[list(path).index(link) :][:6])
        done.update(path)
    raise AssertionError('no loop')


def _named(root: ET.Element, tag: str, name: str) -> dict[str, ET.Element]:
    by_name: dict[str, ET.Element] = {}
    elements = root.findall(tag)
    if len(elements) > MAX_PARTS:
        raise JointDynamicsError(f'robot {name}: expected at most {MAX_PARTS} elements <{tag}>, found {len(elements)}')
    for element in elements:
        key = element.get('name')
        if key is None or key in by_name:
            raise JointDynamicsError(f'robot {name}: expected a name for every {tag}, each once, found {key!r}')
        check_name(key, f'robot {name}, <{tag}>')
        by_name[key] = element
    return by_name


def check_numbers(root: ET.Element, name: str) -> None:
    """Raise JointDynamicsError for an offset, axis, mass or inertia that is not a plausible number for a robot.

    A physically inconsistent inertia is only logged: published and identified robot files contain some.
    """
    for joint in root.findall('joint'):
        where = f'{name}, joint {joint.get("name")}'
        _origin(joint, where)
        for key, value in getattr(joint.find('mimic'), 'attrib', {}).items():
            if key in ('multiplier', 'offset'):
                _bounded(value, f'{key} of <mimic>', where, math.inf)
        axis = joint.find('axis')
        if axis is not None and joint.get('type') != 'fixed':
            values = _vector(axis.get('xyz', '1 0 0'), 'axis', where, math.inf)
            length = math.hypot(*values)
            if not 1e-6 < length < 1e6:
                raise JointDynamicsError(f'robot {where}: expected an axis with a direction, found {axis.get("xyz")!r}')
    no_body = []
    for link in root.findall('link'):
        inertial = link.find('inertial')
        if inertial is None:
            continue
        where = f'{name}, link {link.get("name")}'
        _origin(inertial, f'{where}, inertial')
        mass = plain_number(_part(inertial, 'mass', 'value', where), 'mass', where)
        xx, xy, xz, yy, yz, zz = (
            _bounded(_part(inertial, 'inertia', key, where), key, where, math.inf) for key in _INERTIA
        )
        check_inertial(mass, [xx, xy, xz, yy, yz, zz], f'robot {where}')
        total = xx + yy + zz
        largest = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[-1]
        if not largest <= (0.5 + ROUNDING) * total + SMALL_INERTIA:
            no_body.append(str(link.get('name')))
    if no_body:
        _warn_once(
            'robot: expected inertias that a body can have (no principal moment above the sum of the others), '
            f'found none such in {", ".join(no_body[:6])}{", …" * (len(no_body) > 6)}: they are used as they stand'
        )


def check_inertial(mass: float, moments: Sequence[float], where: str) -> None:
    """Raise JointDynamicsError for a mass [kg] or moments of inertia [kg·m²] that no link of an arm has.

    An inertia above the bound of its mass is in another unit.
    """
    if not 0 <= mass <= MAX_MASS:
        raise JointDynamicsError(f'{where}: expected a mass from 0 to {MAX_MASS:g} kg, found {mass:g}')
    most = max(mass, LIGHT_LINK) * MAX_GYRATION**2
    for moment in moments:
        if not abs(moment) <= most:
            raise JointDynamicsError(
                f'{where}: expected moments of inertia of at most {most:g} kg·m² for a mass of {mass:g} kg, found '
                f'{moment:g}: is it in another unit?'
            )


@cache
def _warn_once(line: str) -> None:
    """Say something once per process: a robot is read again from its description, under another name."""
    logging.getLogger(__name__).warning(line)


def _part(inertial: ET.Element, tag: str, key: str, where: str) -> str:
    """Return an attribute of mass or inertia; the parser would leave out the whole part of what lacks one."""
    text = getattr(inertial.find(tag), 'attrib', {}).get(key)
    if text is None:
        raise JointDynamicsError(
            f'robot {where}: expected {key} in <{tag}> of its inertial, found none: give it, or leave <inertial> out'
        )
    return str(text)


def _origin(element: ET.Element, where: str) -> None:
    origin = element.find('origin')
    if origin is not None:
        for key in ('xyz', 'rpy'):
            if key in origin.attrib:
                _vector(origin.attrib[key], f'origin {key}', where, MAX_LENGTH)


def _vector(text: str, what: str, where: str, limit: float) -> list[float]:
    numbers = text.split()
    if len(numbers) != 3:
        raise JointDynamicsError(f'robot {where}: expected three numbers for {what}, found {text[:60]!r}')
    return [_bounded(number, what, where, limit) for number in numbers]


def _bounded(text: str, what: str, where: str, limit: float) -> float:
    value = plain_number(text, what, where)
    if not math.isfinite(value) or abs(value) > limit:
        most = '' if limit == math.inf else f' of at most {limit:g}'
        raise JointDynamicsError(f'robot {where}: expected a finite number{most} for {what}, found {text[:40]}')
    return value
