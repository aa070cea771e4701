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

"""`joint-dynamics trend`: what many runs of one or many robots show over time."""

from __future__ import annotations

import argparse

from joint_dynamics.cli.common import add_config_argument, load_config, show_written, write_report
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Measures every recording below a folder against the reference of its robot, and fits a slope over time to'
        ' each quantity. Writes trend.csv, summary.json and report.html'
        ' (docs/reference/commands/trend.md).'
    )
    parser.add_argument('folder', metavar='FOLDER', help='a folder per robot with its runs, or the runs of one robot')
    parser.add_argument(
        '--reference', metavar='DESCRIPTION', help='dynamics.yaml of robots that have no reference.yaml'
    )
    parser.add_argument('--processes', type=int, metavar='N', help='recordings at the same time')
    parser.add_argument('--dask', metavar='ADDRESS', help='a Dask scheduler, as tcp://host:8786 (extra dask)')
    add_config_argument(parser)
    parser.add_argument('--out', required=True, metavar='DIR', help='folder for the results')


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Measure, fit, show, write; return 0, or 1 where a slope is significant."""
    from joint_dynamics.description import prepare_folder
    from joint_dynamics.report.trend import slope_cells, trend_report
    from joint_dynamics.trend import TrendSettings, table_csv, trend
    from joint_dynamics.trend.fleet import on_cluster

    config = load_config(args.config)
    settings = TrendSettings.from_mapping(config.get('trend', {}))
    if args.processes is not None:
        settings = settings.replaced(processes=args.processes)
    folder = prepare_folder(args.out)
    with terminal.progress('measuring runs') as say:
        result = trend(
            args.folder,
            settings,
            reference=args.reference,
            config=config,
            leave_out=folder,
            execute=on_cluster(args.dask) if args.dask else None,
            progress=lambda done, count: say(f'{done} of {count} done'),
        )
    for path, reason in result.left_out.items():
        terminal.say(reason if reason.startswith(path) else f'{path}: {reason}', label='left out: ')
    if not result.runs:
        raise JointDynamicsError(f'trend: expected a run that can be used below {args.folder}, found none')
    terminal.say(f'{len(result.runs)} runs of {len(result.robots)} robot(s)')
    changed = result.significant
    if changed:
        terminal.table(
            'Significant slopes',
            ['robot', 'joint', 'quantity', 'first', 'last', 'change, %', 'slope per day', '±'],
            [[*names, *numbers] for names, *numbers in map(slope_cells, changed)],
        )
    write_report(folder, result.summary(), trend_report(result, args.folder), trend_csv=table_csv(result.rows))
    show_written(terminal, folder, ['trend.csv', 'summary.json', 'report.html'])
    if not changed:
        return 0
    joints = sorted({f'{series.robot} {series.joint}' for series in changed})
    terminal.problem(f'changed: {", ".join(joints)}')
    return 1
