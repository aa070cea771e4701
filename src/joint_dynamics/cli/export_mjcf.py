"""`joint-dynamics export-mjcf`: write identified dynamics as MJCF, MuJoCo's language."""

from __future__ import annotations

import argparse
import sys
from typing import Any

#: m, rad: differences below are those of rounded digits.
TOLD = 1e-5


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
    parser.add_argument('description', metavar='DESCRIPTION', help='dynamics.yaml of an identification')
    parser.add_argument('--into', metavar='FILE', help='an MJCF of the robot to take all else from; needs mujoco')
    parser.add_argument(
        '--payload',
        choices=('merged', 'apart', 'without'),
        default='merged',
        help='a described payload: merged into the last link, apart as a body of its own, or without',
    )
    parser.add_argument('--out', required=True, metavar='FILE', help='the MJCF to write')


def run(args: argparse.Namespace) -> int:
    """Write the MJCF; return 0, or 3 where a link of it is no physical body."""
    from joint_dynamics.description import DynamicsDescription, not_exported
    from joint_dynamics.description.export_mjcf import export_mjcf, held_by

    description = DynamicsDescription.load(args.description)
    unphysical, apart = export_mjcf(description, description.robot_model(), args.out, args.payload, args.into)
    print(f'written: {args.out}')
    if apart > TOLD:
        print(f'note: {args.into} places links up to {apart:.2g} m or rad from where the robot file does')
    for line in not_exported(description, args.payload, held_by(args.into)):
        print(f'not in an MJCF: {line}')
    if unphysical:
        print(
            'joint-dynamics export-mjcf: no body has the inertia of the links behind'
            f' {", ".join(unphysical)}, and MuJoCo refuses it. Identify with physical consistency'
            ' (docs/explanation/robust_and_physical.md) for one that is a body',
            file=sys.stderr,
        )
        return 3
    return 0
