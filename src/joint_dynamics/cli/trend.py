"""`joint-dynamics trend`: what many runs of one or many robots show over time."""

from __future__ import annotations

import argparse
import sys

from joint_dynamics.cli.common import (
    add_config_argument,
    load_config,
    progress_display,
    show_table,
    show_written,
    write_report,
)
from joint_dynamics.errors import JointDynamicsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Measures every recording and saved estimate below a folder against the reference of its robot, and tests'
        ' each quantity for changes over time. Writes trend.csv, summary.json and report.html; what is measured is'
        ' kept and not done again. Exit status 1 when something changed (docs/reference/commands/trend.md).'
    )
    parser.add_argument('folder', metavar='FOLDER', help='a folder per robot with its runs, or the runs of one robot')
    parser.add_argument(
        '--robot', metavar='FILE', help='URDF or MDH table: robots without a reference are identified from early runs'
    )
    parser.add_argument(
        '--reference', metavar='DESCRIPTION', help='dynamics.yaml of robots that have no reference.yaml'
    )
    parser.add_argument('--processes', type=int, metavar='N', help='recordings at the same time')
    parser.add_argument(
        '--dask', metavar='ADDRESS', help='scheduler of a Dask cluster, as tcp://host:8786, or local (extra dask)'
    )
    parser.add_argument('--parquet', action='store_true', help='write trend.parquet as well (extra parquet)')
    add_config_argument(parser)
    parser.add_argument('--out', required=True, metavar='DIR', help='folder for the results and what is kept')


def run(args: argparse.Namespace) -> int:
    """Measure, compare, print, write; return 0, or 1 where something changed."""
    from joint_dynamics.description import prepare_folder
    from joint_dynamics.report.trend import trend_report
    from joint_dynamics.trend import TrendSettings, table_csv, trend, write_parquet
    from joint_dynamics.trend.execution import DaskCluster, Processes

    config = load_config(args.config)
    settings = TrendSettings.from_mapping(config.get('trend', {}))
    if args.processes is not None:
        settings = settings.replaced(processes=args.processes)
    folder = prepare_folder(args.out)
    execution = DaskCluster(args.dask, settings.processes) if args.dask else Processes(settings.processes)
    try:
        with progress_display('looking for runs') as say:
            known = {'robot': args.robot, 'reference': args.reference, 'config': config}

            def progress(done: int, count: int) -> None:
                say(f'{done} of {count} done')

            result = trend(args.folder, settings, **known, out=folder, execution=execution, progress=progress)
    finally:
        execution.close()
    for path, reason in result.left_out.items():
        print(f'left out: {path}: {reason}')
    if not result.runs:
        raise JointDynamicsError(f'trend: expected a run that can be used below {args.folder}, found none')
    for note in result.notes:
        print(f'note: {note}')
    print(f'{len(result.runs)} runs of {len(result.robots)} robot(s), {result.anew} measured anew')
    show_table(
        'Alarms',
        ['robot', 'joint', 'quantity', 'seen', 'since', 'before', '±', 'after', '±', '%'],
        [
            [
                alarm.robot,
                alarm.joint,
                alarm.quantity,
                alarm.date.date().isoformat(),
                alarm.since.date().isoformat(),
                *alarm.before,
                *alarm.after,
                alarm.change_percent,
            ]
            for alarm in result.alarms
        ],
    )
    rows = result.rows
    names = ['trend.csv', 'summary.json', 'report.html']
    if args.parquet:
        write_parquet(rows, folder / 'trend.parquet')
        names.append('trend.parquet')
    write_report(folder, result.summary(), trend_report(result, args.folder), trend_csv=table_csv(rows))
    show_written(folder, names)
    if not result.alarms:
        return 0
    changed = sorted({f'{alarm.robot} {alarm.joint}' for alarm in result.alarms})
    print(f'joint-dynamics trend: changed: {", ".join(changed)}', file=sys.stderr)
    return 1
