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

"""Export of a description for other tools, by one function: URDF or MJCF.

A robot known by its kinematics only (an MDH table) has a URDF of joints and empty links, for identified inertials.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio

from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export_mjcf import export_mjcf
from joint_dynamics.description.export_urdf import export_urdf, not_exported, words
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.urdf import read_source


@dataclass(frozen=True)
class Format:
    """A format: its name in a sentence, the extensions of its files, and the fields that it has beyond a URDF.

    new: fields that only a new model has, not an existing one.
    """

    article: str
    endings: tuple[str, ...]
    holds: frozenset[str] = frozenset()
    new: frozenset[str] = frozenset()


FORMATS = {
    'urdf': Format('a URDF', ('.urdf',)),
    'mjcf': Format('an MJCF', ('.xml', '.mjcf'), frozenset({'rotor_inertia'}), frozenset({'mounting'})),
}


GONE = ('.sdf', '.world', '.py')
"""Extensions of formats that 0.2 wrote."""


@dataclass(frozen=True)
class Exported:
    """The result of an export.

    Attributes
    ----------
    to
        the format.
    missing
        parts of the description that it cannot represent, one line per field.
    unphysical
        joints whose link is not physically consistent, which tools may refuse.
    apart
        distance [m, rad] between the link frames of the existing file and those of the robot file.
    """

    to: str
    missing: Sequence[str]
    unphysical: Sequence[str]
    apart: float = 0.0


def format_of(path: str | Path) -> str:
    """Return the format of a file by its extension.

    Raises
    ------
    JointDynamicsError
        For an unknown extension.
    """
    for name, known in FORMATS.items():
        if Path(path).suffix.lower() in known.endings:
            return name
    if Path(path).suffix.lower() in GONE:
        raise JointDynamicsError(
            f'{path}: expected a URDF or MJCF, found another format: since 0.3.0 SDF and Python models are not '
            'written; Gazebo reads the URDF, and so does pinocchio (buildModelFromUrdf)'
        )
    endings = ', '.join(ending for known in FORMATS.values() for ending in known.endings)
    raise JointDynamicsError(
        f'{path}: expected a file that ends in {endings}, or --to {", ".join(FORMATS)}, found neither'
    )


def export(
    description: DynamicsDescription,
    out: str | Path,
    to: str | None = None,
    payload: str = 'merged',
    into: str | Path | None = None,
) -> Exported:
    """Write a description in a format of other tools.

    Parameters
    ----------
    description
        with the kinematics of its robot.
    out
        the file to write.
    to
        one of `FORMATS`; None: by the extension of the file.
    payload
        `merged` into the last link, `apart` as a body of its own, or `without`.
    into
        an existing file of the same format (for a URDF also an MDH table) that provides all else, joints by name; None:
        a new model without shapes.

    Returns
    -------
    Exported

    Raises
    ------
    JointDynamicsError
        Where the format cannot represent the description; see the function of each format.
    """
    to = to or format_of(out)
    if to not in FORMATS:
        raise JointDynamicsError(f'format: expected {", ".join(FORMATS)}, found {to!r}')
    unphysical: Sequence[str] = ()
    apart = 0.0
    if to == 'urdf':
        unphysical = export_urdf(description, _urdf_source(description, into), out, payload)
    else:
        apart = export_mjcf(description, description.robot_model(), out, payload, into)
    known = FORMATS[to]
    held = known.holds if into is not None else known.holds | known.new
    return Exported(to, not_exported(description, payload, held), unphysical, apart)


def _urdf_source(description: DynamicsDescription, into: str | Path | None) -> str | Path:
    """Return the URDF to write into; of an MDH table, and where there is none, joints and links without shapes."""
    if into is None:
        model = description.robot_model()
        return model.urdf or urdf_text(model)
    text, _ = read_source(into)
    return into if text.lstrip().startswith('<') else urdf_text(RobotModel.load(into))


UNKNOWN_LIMIT = '1e9'
"""A URDF wants limits of every joint that is not continuous.

Where none are known, this [rad or m, rad/s or m/s, N·m or N].
"""


def urdf_text(model: RobotModel) -> str:
    """Return the URDF of a robot's joints; link k moves with joint k.

    A URDF cannot represent coupling and mounting; they are left out.
    """
    root = ET.Element('robot', name=model.pinocchio.name or 'robot')
    ET.SubElement(root, 'link', name='base_link')
    names = ['base_link', *(f'{joint}_link' for joint in model.joint_names)]
    for k, joint_name in enumerate(model.joint_names, start=1):
        ET.SubElement(root, 'link', name=names[k])
        bounded = np.isfinite(model.limits.lower[k - 1]) and np.isfinite(model.limits.upper[k - 1])
        kind = 'prismatic' if model.chain.prismatic[k - 1] else 'revolute' if bounded else 'continuous'
        joint = ET.SubElement(root, 'joint', name=joint_name, type=kind)
        placement = model.pinocchio.jointPlacements[k]
        ET.SubElement(joint, 'parent', link=names[model.pinocchio.parents[k]])
        ET.SubElement(joint, 'child', link=names[k])
        angles = pinocchio.rpy.matrixToRpy(placement.rotation)
        ET.SubElement(joint, 'origin', xyz=words(placement.translation), rpy=words(angles))
        ET.SubElement(joint, 'axis', xyz=words(model.chain.axis[k - 1]))
        limit = ET.SubElement(joint, 'limit')
        for name in ('lower', 'upper', 'velocity', 'effort'):
            value = float(getattr(model.limits, name)[k - 1])
            limit.set(name, repr(value) if np.isfinite(value) else UNKNOWN_LIMIT if value > 0 else f'-{UNKNOWN_LIMIT}')
    ET.indent(root)
    return ET.tostring(root, encoding='unicode')
