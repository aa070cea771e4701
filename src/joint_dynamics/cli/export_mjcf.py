"""`joint-dynamics export-mjcf`: `export --to mjcf` by the name it had first."""

from __future__ import annotations

import argparse
from typing import Any

from joint_dynamics.cli.export import add_arguments, write


def add_parser(subparsers: Any) -> None:
    """Add the command and its arguments."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'export-mjcf',
        help="write identified dynamics as MJCF, MuJoCo's language",
        description=(
            'Writes mass, centre of mass, inertia tensor, armature, damping and dry friction of the description: a new'
            ' model without shapes, or into an MJCF of the robot by joint name.'
        ),
    )
    add_arguments(parser)
    parser.add_argument('--into', metavar='FILE', help='an MJCF of the robot to take all else from; needs mujoco')


def run(args: argparse.Namespace) -> int:
    """Write the MJCF; return 0, or 3 where a link of it is no physical body."""
    return write(args, 'mjcf', args.into)
