"""`joint-dynamics export-urdf`: `export --to urdf --into FILE` by the name it had first."""

from __future__ import annotations

import argparse
from typing import Any

from joint_dynamics.cli.export import add_arguments, write


def add_parser(subparsers: Any) -> None:
    """Add the command and its arguments."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'export-urdf',
        help='write identified inertial parameters into a URDF',
        description=(
            'Writes a copy of the URDF with mass, centre of mass, inertia tensor and friction of the description.'
        ),
    )
    add_arguments(parser)
    parser.add_argument(
        '--robot', required=True, metavar='FILE', help='the URDF to start from, or the MDH table in YAML'
    )
    parser.add_argument(
        '--solver', metavar='FILE', help='also write the parameters of inverse_dynamics_solver with that URDF (KDL)'
    )


def run(args: argparse.Namespace) -> int:
    """Write the URDF; return 0, or 3 where a link of it is no physical body."""
    code = write(args, 'urdf', args.robot)
    if args.solver:
        from joint_dynamics.description import DynamicsDescription
        from joint_dynamics.description.inverse_dynamics_solver import write_solver_parameters

        write_solver_parameters(DynamicsDescription.load(args.description), args.out, args.solver)
        print(f'written: {args.solver}')
    return code
