"""`joint-dynamics export-urdf`: write identified inertial parameters into a URDF."""
from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command and its arguments."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'export-urdf', help='write identified inertial parameters into a URDF',
        description='Writes a copy of the URDF with mass, centre of mass, inertia tensor and friction of the description.')
    parser.add_argument('description', metavar='DESCRIPTION', help='dynamics.yaml of an identification')
    parser.add_argument('--robot', required=True, metavar='FILE', help='the URDF to start from')
    parser.add_argument('--out', required=True, metavar='FILE', help='the URDF to write')


def run(args: argparse.Namespace) -> int:
    """Write the URDF; return 0, or 3 where a link of it is no physical body."""
    from joint_dynamics.description import DynamicsDescription, export_urdf
    description = DynamicsDescription.load(args.description)
    doubtful = export_urdf(description, args.robot, args.out)
    print(f'written: {args.out}')
    if doubtful:
        print(f'joint-dynamics export-urdf: the torques are right, but no body has the inertia of the links behind {", ".join(doubtful)}; '
              'simulators may refuse it. Identify with physical consistency (docs/identification.md) for one that is a body', file=sys.stderr)
        return 3
    return 0
