"""`joint-dynamics export-urdf`: write identified inertial parameters into a URDF."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command and its arguments."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'export-urdf',
        help='write identified inertial parameters into a URDF',
        description=(
            'Writes a copy of the URDF with mass, centre of mass, inertia tensor and friction of the description.'
        ),
    )
    parser.add_argument('description', metavar='DESCRIPTION', help='dynamics.yaml of an identification')
    parser.add_argument(
        '--robot', required=True, metavar='FILE', help='the URDF to start from, or the MDH table in YAML'
    )
    parser.add_argument(
        '--payload',
        choices=('merged', 'apart', 'without'),
        default='merged',
        help='a described payload: merged into the last link, apart as a link of its own, or without',
    )
    parser.add_argument('--out', required=True, metavar='FILE', help='the URDF to write')
    parser.add_argument(
        '--solver', metavar='FILE', help='also write the parameters of inverse_dynamics_solver with that URDF (KDL)'
    )


def run(args: argparse.Namespace) -> int:
    """Write the URDF; return 0, or 3 where a link of it is no physical body."""
    from joint_dynamics.description import DynamicsDescription, export_urdf, not_exported
    from joint_dynamics.description.inverse_dynamics_solver import write_solver_parameters
    from joint_dynamics.robot import RobotModel
    from joint_dynamics.robot.urdf import read_source
    from joint_dynamics.robot.urdf_text import urdf_text

    description = DynamicsDescription.load(args.description)
    text, _ = read_source(args.robot)
    # an MDH table has no inertials to replace: joints and empty links stand in for the URDF
    source = args.robot if text.lstrip().startswith('<') else urdf_text(RobotModel.load(args.robot))
    unphysical = export_urdf(description, source, args.out, args.payload)
    print(f'written: {args.out}')
    if args.solver:
        write_solver_parameters(description, args.out, args.solver)
        print(f'written: {args.solver}')
    for line in not_exported(description, args.payload):
        print(f'not in a URDF: {line}')
    if unphysical:
        print(
            'joint-dynamics export-urdf: the torques are right, but no body has the inertia of the links behind'
            f' {", ".join(unphysical)}; simulators may refuse it. Identify with physical consistency'
            ' (docs/identification.md) for one that is a body',
            file=sys.stderr,
        )
        return 3
    return 0
