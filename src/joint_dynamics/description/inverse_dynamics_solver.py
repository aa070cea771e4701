"""An exported URDF as the parameters of an `inverse_dynamics_solver`, which computes torques for C++ controllers.

Its KDL back end (package kdl_inverse_dynamics_solver) takes the chain between two links of a URDF and the gravity in
the frame of the first. It lacks what a URDF cannot represent, such as rotor inertias and friction.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically
from joint_dynamics.robot import gravity_in_base
from joint_dynamics.robot.urdf import parse_urdf, read_source

PLUGIN = 'kdl_inverse_dynamics_solver/InverseDynamicsSolverKDL'
NAMESPACE = 'inverse_dynamics_solver'


def solver_parameters(description: DynamicsDescription, urdf: str | Path) -> dict[str, Any]:
    """Return the parameter file of a node that uses the solver, from an exported URDF.

    Parameters
    ----------
    description
        of the robot: its joints, and its mounting as the direction of gravity.
    urdf
        path or text of what `export_urdf` has written.

    Raises
    ------
    JointDynamicsError
        Where the joints are not one chain, or further joints move in it: the solver would have other joints.
    """
    text, name = read_source(urdf)
    root = parse_urdf(text, name)
    above = {_link(joint, 'child'): joint for joint in root.findall('joint')}
    joints = {joint.get('name'): joint for joint in root.findall('joint')}
    missing = [joint for joint in description.joint_names if joint not in joints]
    if missing:
        raise JointDynamicsError(f'solver: expected the joint {missing[0]} in the URDF, found none')
    tip = _link(joints[description.joint_names[-1]], 'child')
    # Of what is fixed to the last link only a payload that is kept apart has a mass, after an export.
    masses = {link.get('name') for link in root.findall('link') if link.find('inertial') is not None}
    tip = next((link for link, joint in above.items() if link in masses and _link(joint, 'parent') == tip), tip)
    chain, base = [], tip
    while base in above:
        joint = above[base]
        if joint.get('type') != 'fixed':
            chain.append(joint.get('name'))
        base = _link(joint, 'parent')
    if chain[::-1] != list(description.joint_names):
        raise JointDynamicsError(
            f'solver: expected a chain of {", ".join(description.joint_names)} alone, found'
            f' {", ".join(map(str, chain[::-1]))}'
        )
    gravity = gravity_in_base(description.document.get('mounting'))
    solver = {'root': base, 'tip': tip, 'gravity': [float(value) for value in gravity]}
    return {
        '/**': {
            'ros__parameters': {
                'robot_description': text,
                'inverse_dynamics_solver_plugin_name': PLUGIN,
                NAMESPACE: solver,
            }
        }
    }


def write_solver_parameters(description: DynamicsDescription, urdf: str | Path, out: str | Path) -> None:
    """Write `solver_parameters` as YAML to `out`. Raises JointDynamicsError."""
    write_atomically(out, yaml.safe_dump(solver_parameters(description, urdf), sort_keys=False, allow_unicode=True))


def _link(joint: Any, role: str) -> str:
    return str(joint.find(role).get('link'))
