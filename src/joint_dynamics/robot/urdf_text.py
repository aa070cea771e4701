"""A robot known by its kinematics only (an MDH table) as URDF text.

It has joints and empty links, for identified inertials.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio

from joint_dynamics.robot.model import RobotModel

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
        prismatic = bool(model.chain.prismatic[k - 1])
        joint = ET.SubElement(
            root, 'joint', name=joint_name, type='prismatic' if prismatic else 'revolute' if bounded else 'continuous'
        )
        placement = model.pinocchio.jointPlacements[k]
        ET.SubElement(joint, 'parent', link=names[model.pinocchio.parents[k]])
        ET.SubElement(joint, 'child', link=names[k])
        ET.SubElement(
            joint, 'origin', xyz=_text(placement.translation), rpy=_text(pinocchio.rpy.matrixToRpy(placement.rotation))
        )
        ET.SubElement(joint, 'axis', xyz=_text(model.chain.axis[k - 1]))
        limits = {name: getattr(model.limits, name)[k - 1] for name in ('lower', 'upper', 'velocity', 'effort')}
        ET.SubElement(
            joint,
            'limit',
            {
                name: repr(float(value)) if np.isfinite(value) else UNKNOWN_LIMIT if value > 0 else f'-{UNKNOWN_LIMIT}'
                for name, value in limits.items()
            },
        )
    ET.indent(root)
    return ET.tostring(root, encoding='unicode')


def _text(values: np.ndarray) -> str:
    return ' '.join(repr(float(value)) for value in values)
