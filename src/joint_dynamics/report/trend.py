"""The report of a trend: alarms first, then the state of every robot, then what changed over time."""

from __future__ import annotations

import itertools

import numpy as np

from joint_dynamics.report.figure import Figure, Panel
from joint_dynamics.report.figure import Series as Drawn
from joint_dynamics.report.html import Report, number
from joint_dynamics.trend import QUANTITIES, Series, Trend

FIGURES = 60
"""Figures at most; the table has all series."""
DEVIATIONS = 2.0
DAY = 86400.0


def trend_report(result: Trend, folder: str) -> Report:
    """Return the page of a trend over the runs of a folder."""
    dates = [run.date for run in result.runs]
    report = Report(
        'Trend',
        f'{folder}: {len(result.runs)} runs of {len(result.robots)} robot(s),'
        f' {min(dates).date().isoformat()} to {max(dates).date().isoformat()}',
    )
    _alarms(report, result)
    _robots(report, result)
    changed = [series for series in result.series if series.changes]
    if changed:
        report.add_section('What changed')
        if len(changed) > FIGURES:
            report.add_text(f'{FIGURES} of {len(changed)} are shown, those that changed most; the table has all.')
        strongest = sorted(changed, key=lambda each: -max(abs(change.z) for change in each.changes))
        for series in strongest[:FIGURES]:
            report.add_figure(_figure(series), f'{series.robot}, {series.joint}: {series.quantity}')
    if result.left_out or result.notes:
        report.add_section('Left out, and notes')
        report.add_table(['run', 'reason'], [[path, reason] for path, reason in result.left_out.items()])
        for note in result.notes:
            report.add_text(note)
    return report


def _alarms(report: Report, result: Trend) -> None:
    report.add_section('Alarms')
    if result.alarms:
        robots = sorted({alarm.robot for alarm in result.alarms})
        report.add_text(f'{len(result.alarms)} change(s), of {", ".join(robots)}.', 'warning')
    else:
        report.add_text('Nothing changed.', 'good')
    report.add_text(
        f'A robot that does not change raises an alarm within 100 runs with a probability of'
        f' {100 * result.settings.false_alarm_rate:g} %. Levels are means with their standard deviations.'
    )
    report.add_table(
        ['robot', 'joint', 'quantity', 'unit', 'seen', 'since', 'before', '±', 'after', '±', 'change, %'],
        [
            [
                alarm.robot,
                alarm.joint,
                f'{alarm.quantity} {alarm.direction}',
                QUANTITIES[alarm.quantity],
                alarm.date.date().isoformat(),
                alarm.since.date().isoformat(),
                *alarm.before,
                *alarm.after,
                alarm.change_percent,
            ]
            for alarm in result.alarms
        ],
    )


def _robots(report: Report, result: Trend) -> None:
    report.add_section('Robots')
    for quantity in result.settings.quantities:
        own = [series for series in result.series if series.quantity == quantity]
        joints = list(dict.fromkeys(series.joint for series in own))
        if not own:
            continue
        by_place = {(series.robot, series.joint): series for series in own}
        report.add_table(
            ['robot', 'runs', *joints],
            [
                [
                    robot,
                    str(sum(run.robot == robot for run in result.runs)),
                    *(_now(by_place.get((robot, joint))) for joint in joints),
                ]
                for robot in result.robots
            ],
            f'{quantity} [{QUANTITIES[quantity]}] at the end ± its deviation; * changed',
        )


def _now(series: Series | None) -> str:
    if series is None:
        return '–'
    first = series.changes[-1].first if series.changes else 0
    value, deviation = series.level(first, len(series.values))
    spread = '' if np.isnan(deviation) else f' ± {number(deviation, 2)}'
    return f'{number(value)}{spread}{" *" if series.changes else ""}'


def _figure(series: Series) -> Figure:
    begin = series.dates[0]
    days = np.array([(date - begin).total_seconds() / DAY for date in series.dates])
    spread = np.where(np.isfinite(series.deviations), DEVIATIONS * series.deviations, 0.0)
    low, high = series.values - spread, series.values + spread
    drawn = [Drawn('run ± two deviations', series.values, 'measured', kind='points', low=low, high=high)]
    edges = [0, *(change.first for change in series.changes), len(days)]
    for k, (first, last) in enumerate(itertools.pairwise(edges)):
        level, _ = series.level(first, last)
        ends = days[[first, last - 1]]
        drawn.append(Drawn('level' if k == 0 else '', np.full(2, level), 'predicted', x=ends))
    alarms = [change.alarm for change in series.changes]
    drawn.append(Drawn('alarm', series.values[alarms], 'residual', x=days[alarms], kind='points'))
    if series.reference is not None:
        drawn.append(Drawn('reference', np.full(2, series.reference), 'limit', x=days[[0, -1]], dashed=True))
    panel = Panel('', f'{series.quantity} [{QUANTITIES[series.quantity]}]', drawn, x=days)
    return Figure([panel], f'days since {begin.date().isoformat()}')
