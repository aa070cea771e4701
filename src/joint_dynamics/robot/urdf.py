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

"""From a URDF, as a file or as the text of the `robot_description` topic, to a pinocchio model of the chosen joints."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.documents import parse_xml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.dependent import Follows, mimics_of, read_parallelograms, resolved
from joint_dynamics.robot.limits import JointLimits, check_count
from joint_dynamics.robot.urdf_checks import check_numbers, check_tree, plain_number

MOVABLE = ('revolute', 'continuous', 'prismatic')
#: Longest path.
MAX_PATH = 4096
#: Furthest limit of a revolute joint [rad], ten turns: wrists that turn further are continuous, degrees are further.
MAX_TURNS = 20 * np.pi
#: Furthest position [rad or m] at which a joint may be locked.
MAX_POSITION = 1e3
# pinocchio wants finite limits for a revolute joint; ours are kept apart and stay infinite.
UNBOUNDED = '1e9'


def read_source(source: str | Path) -> tuple[str, str]:
    """Return the text of a URDF given as XML text or as a path, and a name for messages."""
    if isinstance(source, str) and source.lstrip().startswith('<'):
        return source, 'robot_description'
    if isinstance(source, str) and source.strip() and ('\n' in source or len(source) > MAX_PATH):
        raise JointDynamicsError(
            f'robot: expected the path of a file, or the text of a URDF, found text that begins with {source[:40]!r}'
        )
    text = read_text(source, f'robot {source}') if str(source).strip() else ''
    if not text.strip():
        raise JointDynamicsError(f'robot {source}: expected a URDF or an MDH table, found one that is empty')
    return text, str(source)


def parse_urdf(text: str, name: str) -> ET.Element:
    """Return the root of a URDF after checks of size, depth, tree structure and plausible numbers.

    Raises JointDynamicsError where a check fails.
    """
    root = parse_xml(text, f'robot {name} (URDF)')
    if root.tag != 'robot':
        raise JointDynamicsError(f'robot {name}: expected the root element <robot>, found <{root.tag}>')
    if any('xacro' in element.tag for element in root.iter()):
        raise JointDynamicsError(f'robot {name}: expected a URDF, found xacro: run `xacro` on it and use its output')
    check_tree(root, name)
    check_numbers(root, name)
    return root


def _number(element: ET.Element | None, attribute: str, default: float, where: str) -> float:
    if element is None or attribute not in element.attrib:
        return default
    return plain_number(element.attrib[attribute], attribute, where)


def _limits(joint: ET.Element, where: str) -> tuple[float, float, float, float]:
    limit = joint.find('limit')
    bounded = joint.get('type') != 'continuous'
    if bounded and (limit is None or not {'effort', 'velocity'} <= set(limit.attrib)):
        raise JointDynamicsError(f'robot {where}: expected <limit> with effort and velocity, found none')
    lower = _number(limit, 'lower', -np.inf, where) if bounded else -np.inf
    upper = _number(limit, 'upper', np.inf, where) if bounded else np.inf
    # Zeros, URDF's defaults and what exporters of CAD write, are no limits: a joint that cannot move is of type fixed.
    if lower == upper:
        lower, upper = -np.inf, np.inf
    if not lower <= upper:
        raise JointDynamicsError(
            f'robot {where}: expected a lower limit below the upper one, found {lower:g} and {upper:g}'
        )
    if joint.get('type') == 'revolute' and not max(-lower, upper) <= MAX_TURNS and np.isfinite(max(-lower, upper)):
        raise JointDynamicsError(
            f'robot {where}: expected limits in rad within ±{MAX_TURNS:.0f} (ten turns), found {lower:g} and '
            f'{upper:g}: are they degrees? A joint that turns further is of type continuous'
        )
    speed, effort = (_number(limit, name, np.inf, where) for name in ('velocity', 'effort'))
    if not (speed >= 0 and effort >= 0):
        raise JointDynamicsError(
            f'robot {where}: expected limits of velocity and effort as magnitudes, found {speed:g} and {effort:g}'
        )
    return lower, upper, speed or np.inf, effort or np.inf


def _make_bounded(root: ET.Element) -> None:
    """Give all joints the same limits, continuous ones as revolute.

    Pinocchio would give those two coordinates (cos, sin) instead of an angle, and urdfdom tells on its own of limits
    that it cannot read.
    """
    for joint in root.iter('joint'):
        for element in [*joint.findall('limit'), *joint.findall('mimic')]:
            joint.remove(element)
        if joint.get('type') in MOVABLE:
            ET.SubElement(joint, 'limit', effort='0', velocity='0', lower=f'-{UNBOUNDED}', upper=UNBOUNDED)
        if joint.get('type') == 'continuous':
            joint.set('type', 'revolute')


def _names(joints: Any) -> list[str]:
    if (
        isinstance(joints, (str, Mapping))
        or not isinstance(joints, Sequence)
        or not all(isinstance(name, str) for name in joints)
    ):
        raise JointDynamicsError(f'robot.joints: expected a list of joint names, found {joints!r}')
    return list(joints)


def _positions(locked: Any) -> Mapping[str, float] | None:
    if locked is None:
        return None
    if not isinstance(locked, Mapping) or not all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_POSITION
        for value in locked.values()
    ):
        raise JointDynamicsError(
            f'robot.locked: expected joint names with a position each (rad or m, at most {MAX_POSITION:g}), found'
            f' {locked!r}'
        )
    return locked


class BuiltRobot(NamedTuple):
    """A robot built from a URDF.

    Attributes
    ----------
    model, limits
        the pinocchio model of the moving joints, and the limits of the independent ones.
    dependent
        the joints of the model that follow others.
    held
        positions [rad or m] of the movable joints that are not in the model.
    has_inertials, text
        whether any link has inertials; the URDF.
    """

    model: pinocchio.Model
    limits: JointLimits
    dependent: dict[str, Follows]
    held: dict[str, float]
    has_inertials: bool
    text: str


def build_from_urdf(
    source: str | Path,
    joints: Sequence[str] | None,
    locked: Mapping[str, float] | None,
    parallelograms: Mapping[str, Any] | None = None,
) -> BuiltRobot:
    """Return the robot of the chosen joints and of all that follow them.

    Parameters
    ----------
    joints
        the joints to keep, in any order; None: every independent movable joint. Joints that follow them move along, all
        others are locked. The model's joint order is that of the chain.
    locked
        {name: rad or m}, positions of the locked joints, 0 if not named.
    parallelograms
        dependent joints in addition to the URDF's mimic joints, see `read_parallelograms`.

    Raises
    ------
    JointDynamicsError
        When the text is not a URDF, a joint is unknown, or nothing movable remains.
    """
    text, name = read_source(source)
    root = parse_urdf(text, name)
    elements = {joint.get('name', ''): joint for joint in root.findall('joint')}
    movable = [key for key, joint in elements.items() if joint.get('type') in MOVABLE]
    passive = read_parallelograms(parallelograms)
    declared = mimics_of(elements, name) | passive
    free = [key for key in movable if key not in declared]
    wanted = free if joints is None else _names(joints)
    given = dict(_positions(locked) or {})
    for key in (*wanted, *given, *passive, *(leader for follows in passive.values() for leader in follows.ratios)):
        if key not in movable:
            raise JointDynamicsError(
                f'robot {name}: expected joint {key!r}, found the movable joints {", ".join(movable) or "none"}'
            )
    unsupported = [
        f'{key} ({joint.get("type")})'
        for key, joint in elements.items()
        if joint.get('type') not in (*MOVABLE, 'fixed')
    ]
    if unsupported:
        raise JointDynamicsError(
            f'robot {name}: expected revolute, continuous, prismatic and fixed joints, found {", ".join(unsupported)}'
        )
    if not wanted:
        raise JointDynamicsError(f'robot {name}: expected at least one movable joint, found none')
    for key in wanted:
        if key in declared:
            raise JointDynamicsError(
                f'robot {name}: expected joints that move by themselves, found {key}, which follows '
                f'{", ".join(declared[key].ratios)}: name that one in robot.joints, {key} moves along'
            )
    follows = resolved(declared, wanted, given)
    dependent = {key: place for key, place in follows.items() if place.ratios}
    stands = {key: follows[key].offset if key in follows else given.get(key, 0.0) for key in movable}
    lock = {key: place for key, place in stands.items() if key not in wanted and key not in dependent}
    check_count(len(wanted) + len(dependent), f'robot {name}')
    limits = {key: _limits(elements[key], f'{name}, joint {key}') for key in wanted}
    has_inertials = any(link.find('inertial') is not None for link in root.findall('link'))
    _keep_dynamics(root)
    _make_bounded(root)
    _read_right_angles(root)
    try:
        model = pinocchio.buildModelFromXML(ET.tostring(root, encoding='unicode'))
    except (ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise JointDynamicsError(f'robot {name}: expected a URDF that pinocchio reads, found: {reason}') from None
    reference = pinocchio.neutral(model)
    for key, position in lock.items():
        reference[model.joints[model.getJointId(key)].idx_q] = position
    if lock:
        model = _locked(model, lock, reference)
    moving = [key in limits for key in model.names[1:]]
    bounds = JointLimits(*np.array([limits[key] for key in model.names[1:] if key in limits]).T)
    bounds.write_to(model, moving)
    return BuiltRobot(model, bounds, dependent, lock, has_inertials, text)


def _read_right_angles(root: ET.Element) -> None:
    """Take an angle for the multiple of π/2 that it is within half a unit of its last digit: 1.57, 3.1416."""
    for origin in root.iter('origin'):
        origin.set('rpy', ' '.join(map(_right_angle, origin.get('rpy', '0 0 0').split())))


def _right_angle(printed: str) -> str:
    unit = 10.0 ** int(Decimal(printed).as_tuple().exponent)
    multiple = round(float(printed) / (np.pi / 2)) * np.pi / 2
    # a single decimal tells nothing: 1.6 may be 1.6
    return repr(float(multiple)) if unit <= 0.01 and abs(float(printed) - multiple) <= unit / 2 else printed


def _locked(model: pinocchio.Model, lock: Mapping[str, float], reference: FloatArray) -> pinocchio.Model:
    """Return the model without locked joints. A link may have a joint's name, which pinocchio cannot tell apart."""
    for frame in model.frames:
        if frame.type == pinocchio.FrameType.BODY:
            frame.name = f'link/{frame.name}'
    model = pinocchio.buildReducedModel(model, [model.getJointId(key) for key in lock], reference)
    for frame in model.frames:
        if frame.type == pinocchio.FrameType.BODY:
            frame.name = frame.name.removeprefix('link/')
    return model


def _keep_dynamics(root: ET.Element) -> None:
    """Take away what dynamics does not need: pictures, plugins, and what only urdfdom would read, and tell of."""
    for element in list(root):
        if element.tag not in ('link', 'joint'):
            root.remove(element)
    for link in root.findall('link'):
        for element in list(link):
            if element.tag != 'inertial':
                link.remove(element)
    for joint in root.findall('joint'):
        for element in list(joint):
            if element.tag not in ('parent', 'child', 'origin', 'axis', 'limit', 'mimic'):
                joint.remove(element)


def stripped_urdf(text: str) -> str:
    """Return the URDF reduced to links, joints and inertials, which dynamics needs."""
    root = ET.fromstring(text)
    _keep_dynamics(root)
    ET.indent(root)
    return ET.tostring(root, encoding='unicode')
