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

"""`joint-dynamics check-compensation`: whether a friction compensation would let a robot run away."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from joint_dynamics.cli.common import show_written, write_report
from joint_dynamics.terminal import Terminal

if TYPE_CHECKING:
    from joint_dynamics.control.compensation import DirectionCheck

WORDS = {
    'under': 'under-compensated: speeds decay',
    'over': 'OVER-COMPENSATED: speeds run away',
    'attracting': 'attracting crossing: settles at v_a',
    'repelling': 'REPELLING crossing: faster than v_a runs away',
    'mixed': 'several crossings',
    'exact': 'exactly compensated: speeds stay',
}
LEAST_LOAD = 1e-3
"""N·m or N, a load below is shown as none."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Compares a friction compensation with the identified friction, per joint and direction'
        ' (docs/reference/commands/check-compensation.md).'
    )
    parser.add_argument('description', metavar='DESCRIPTION', help='dynamics.yaml with the identified friction')
    parser.add_argument(
        '--applied',
        required=True,
        metavar='FILE',
        help='YAML: the compensation per joint, fields as in the page named above',
    )
    parser.add_argument('--out', metavar='DIR', help='folder for summary.json and report.html')


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Check, show and, with --out, write; return 0, or 1 when a joint would run away."""
    from joint_dynamics.arm import Arm
    from joint_dynamics.control.applied import check_compensation
    from joint_dynamics.description import DynamicsDescription, prepare_folder
    from joint_dynamics.robot.limits import column_unit, joint_unit

    description = DynamicsDescription.load(args.description)
    applied = _read(args.applied, description.joint_names)
    folder = prepare_folder(args.out) if args.out else None
    checks = check_compensation(Arm.of_joints(description), applied)
    torque, rate = (column_unit(unit, [check.slides for check in checks]) for unit in ('N·m', 'rad/s'))
    terminal.table(
        'Friction compensation',
        [
            'joint',
            'direction',
            'T [°C]',
            'verdict',
            f'v_a [{rate}]',
            f'largest excess [{torque}]',
            f'at [{rate}]',
            f'load [{torque}]',
        ],
        [_row(side) for check in checks for side in (check.positive, check.negative)],
    )
    for check in checks:
        travel, rate = (joint_unit(unit, check.slides) for unit in ('rad', 'rad/s'))
        for cycle in check.cycles:
            size = '' if cycle.amplitude is None else f', ±{cycle.amplitude:.3g} {travel}, period {cycle.period:.3g} s'
            terminal.say(
                f'{check.joint}: with a spring a {"stable" if cycle.stable else "repelling"} limit cycle of'
                f' ±{cycle.speed:.3g} {rate}{size}'
            )
        for side in (check.positive, check.negative):
            if side.might and not side.runs_away:
                terminal.say(
                    f'{check.joint} {side.direction}: within two deviations of the identified friction it could run'
                    ' away',
                    'bold yellow',
                    label='warning: ',
                )
    skipped = [name for name in description.joint_names if name not in applied]
    if skipped:
        terminal.say(f'not checked (not in {args.applied}): {", ".join(skipped)}')
    runaway = sorted({check.joint for check in checks if check.runs_away})
    if folder:
        from joint_dynamics.report.joint import compensation_report

        summary = {
            'description': args.description,
            'applied': args.applied,
            'runs_away': bool(runaway),
            'checks': [check.summary() for check in checks],
        }
        write_report(folder, summary, compensation_report(checks, args.applied))
        show_written(terminal, folder, ('summary.json', 'report.html'))
    if runaway:
        terminal.problem(f'would run away: {", ".join(runaway)}')
    return 1 if runaway else 0


def _row(side: DirectionCheck) -> list[Any]:
    excess, speed = side.worst
    return [
        side.joint,
        side.direction,
        side.temperature,
        WORDS[side.verdict],
        ', '.join(f'{item.speed:.3g} ({item.kind})' for item in side.crossings) or None,
        excess,
        speed,
        side.load if abs(side.load) > LEAST_LOAD else 0.0,
    ]


def _read(path: str, joint_names: tuple[str, ...]) -> dict[str, Any]:
    from joint_dynamics.documents import parse_yaml, read_text
    from joint_dynamics.settings import check_keys, refusal

    where = f'applied {path}'
    joints = check_keys(parse_yaml(read_text(path, where), where), ('joints',), where).get('joints')
    if not joints:
        raise refusal(f'{where}: joints', 'at least one joint', joints)
    return dict(check_keys(joints, joint_names, f'{where}: joints'))
