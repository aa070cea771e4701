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

"""`joint-dynamics excite`: from a robot to a trajectory that excites it, within every limit."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joint_dynamics.cli.common import (
    add_config_argument,
    exit_status,
    load_config,
    load_robot,
    show_written,
    write_report,
)
from joint_dynamics.terminal import Terminal

if TYPE_CHECKING:
    from joint_dynamics.excitation import Plan
    from joint_dynamics.robot import RobotModel

PROFILES = ('fourier', 'bang-coast-bang', 'constant-speed', 'slow-reversals', 'load-sweep', 'trapezoids', 'waypoints')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Writes trajectory.csv, trajectory.yaml (ROS JointTrajectory), summary.json and report.html'
        ' (docs/reference/commands/excite.md).'
    )
    parser.add_argument('--robot', required=True, metavar='FILE', help='URDF, or MDH table in YAML')
    parser.add_argument('--profile', choices=PROFILES, help='default: fourier, or what --config says')
    parser.add_argument('--joint', metavar='NAME', help='the joint of a profile that moves one')
    parser.add_argument('--seed', type=int, metavar='N', help='of the random numbers (fourier, bang-coast-bang)')
    add_config_argument(parser)
    parser.add_argument(
        '--out',
        required=True,
        metavar='DIR',
        help='folder for trajectory.csv, trajectory.yaml, summary.json, report.html',
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Plan, show, write; return 0, or 3 where the motion does not show all parameters."""
    from joint_dynamics.description import prepare_folder
    from joint_dynamics.excitation import PlanSettings, plan
    from joint_dynamics.excitation.plan import with_options

    config = load_config(args.config)
    settings = PlanSettings.from_config(config.get('excitation', {}), args.profile)
    settings = with_options(settings, joint=args.joint, seed=args.seed)
    model = load_robot(args.robot, config)
    folder = prepare_folder(args.out)
    with terminal.progress('searching; Ctrl-C ends it with the best motion so far') as show_line:
        planned = plan(model, settings, lambda progress: show_line(str(progress)))
    write(model, planned, folder)
    show(terminal, planned)
    show_written(terminal, folder, ('trajectory.csv', 'trajectory.yaml', 'summary.json', 'report.html'))
    return exit_status(terminal, [planned.poor_excitation] if planned.poor_excitation else [])


def write(model: RobotModel, planned: Plan, folder: Path) -> None:
    """Write the trajectory, the report and the summary, as one set."""
    from joint_dynamics.excitation import to_csv, to_joint_trajectory
    from joint_dynamics.report.excitation import excitation_report

    write_report(
        folder,
        planned.summary(),
        excitation_report(model, planned),
        trajectory_csv=to_csv(planned.trajectory.sample(planned.settings.rate)),
        trajectory_yaml=to_joint_trajectory(planned.trajectory, planned.trajectory.points(planned.settings.rate)),
    )


def show(terminal: Terminal, planned: Plan) -> None:
    """Show quality of excitation and margins."""
    result = planned.result
    headers = ['', 'value']
    rows: list[list[Any]] = [
        ['condition number', planned.assessment.condition_number],
        ['log det', planned.assessment.log_det],
        *([f'margin of {kind}', value] for kind, value in planned.assessment.margins.items()),
    ]
    if result is not None:
        headers = ['', 'best random motion', 'optimised']
        before = [result.before.condition_number, result.before.log_det, *result.before.margins.values()]
        rows = [[name, old, new] for (name, new), old in zip(rows, before, strict=True)]
    terminal.table(
        f'{planned.settings.profile}: {planned.trajectory.duration:.2f} s, {planned.assessment.base_parameters} base'
        ' parameters',
        headers,
        [
            [row[0], *(value if value is None or abs(value) < float('inf') else None for value in row[1:])]
            for row in rows
        ],
    )
    for note in planned.notes:
        terminal.say(note, label='note: ')
