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

"""`joint-dynamics export`: the identified model, for other tools."""

from __future__ import annotations

import argparse

from joint_dynamics.terminal import Terminal

FORMATS = ('urdf', 'mjcf')
#: m, rad: differences below are those of rounded digits.
ROUNDING = 1e-5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Writes bodies, friction and, where the format has a place for it, rotor inertia of the description: a new'
        ' model without shapes, or into a file of the robot by joint name. Lists the fields that the format cannot '
        'hold.'
    )
    parser.add_argument('description', metavar='DESCRIPTION', help='dynamics.yaml of an identification')
    parser.add_argument(
        '--payload',
        choices=('merged', 'apart', 'without'),
        default='merged',
        help='a described payload: merged into the last link, apart as a body of its own, or without',
    )
    parser.add_argument('--out', required=True, metavar='FILE', help='the file to write')
    parser.add_argument('--to', choices=FORMATS, help='the format; default: as FILE ends (.urdf, .xml)')
    parser.add_argument(
        '--into', metavar='FILE', help='a file of that format into which the values go; for a URDF, also an MDH table'
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Write the file; return 0, or 3 where a link of it is no physical body."""
    from joint_dynamics.description import DynamicsDescription
    from joint_dynamics.description.export import FORMATS as KNOWN
    from joint_dynamics.description.export import export, format_of

    description = DynamicsDescription.load(args.description)
    to = args.to or format_of(args.out)
    done = export(description, args.out, to, args.payload, args.into)
    terminal.say(f'written: {args.out}')
    if done.apart > ROUNDING:
        terminal.say(f'note: link frames of {args.into} differ by up to {done.apart:.2g} m or rad from the robot file')
    for line in done.missing:
        terminal.say(f'not in {KNOWN[done.to].article}: {line}')
    if not done.unphysical:
        return 0
    terminal.problem(
        f'the torques are right, but the links behind {", ".join(done.unphysical)} have impossible inertias, which'
        ' simulators refuse: identify with physical: true (docs/explanation/robust_and_physical.md)'
    )
    return 3
