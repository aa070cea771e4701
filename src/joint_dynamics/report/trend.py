"""The report of a trend: alarms first, then the state of every robot, then what changed over time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.report.html import Report, number
from joint_dynamics.trend import QUANTITIES, Series, Trend

FIGURES = 60
"""Figures at most; the table has all series."""
DEVIATIONS = 2.0


def trend_report(found: Trend, folder: str) -> Report:
    """Return the page of a trend over the runs of a folder."""
    dates = [run.date for run in found.runs]
    report = Report(
        'Trend',
        f'{folder}: {len(found.runs)} runs of {len(found.robots)} robot(s),'
        f' {min(dates).date().isoformat()} to {max(dates).date().isoformat()}',
    )
    _alarms(report, found)
    _robots(report, found)
    changed = [series for series in found.series if series.changes]
    if changed:
        report.add_section('What changed')
        if len(changed) > FIGURES:
            report.add_text(f'{FIGURES} of {len(changed)} are shown, those that changed most; the table has all.')
        strongest = sorted(changed, key=lambda each: -max(abs(change.z) for change in each.changes))
        for series in strongest[:FIGURES]:
            report.add_figure(_figure(series), f'{series.robot}, {series.joint}: {series.quantity}')
    if found.left_out or found.notes:
        report.add_section('Left out, and notes')
        report.add_table(['run', 'reason'], [[path, reason] for path, reason in found.left_out.items()])
        for note in found.notes:
            report.add_text(note)
    return report


def _alarms(report: Report, found: Trend) -> None:
    report.add_section('Alarms')
    if found.alarms:
        robots = sorted({alarm.robot for alarm in found.alarms})
        report.add_text(f'{len(found.alarms)} change(s), of {", ".join(robots)}.', 'warning')
    else:
        report.add_text('Nothing changed.', 'good')
    report.add_text(
        f'A robot that does not change raises an alarm within 100 runs with a probability of'
        f' {100 * found.settings.false_alarm_rate:g} %. Levels are means with their standard deviations.'
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
            for alarm in found.alarms
        ],
    )


def _robots(report: Report, found: Trend) -> None:
    report.add_section('Robots')
    for quantity in found.settings.quantities:
        own = [series for series in found.series if series.quantity == quantity]
        joints = list(dict.fromkeys(series.joint for series in own))
        if not own:
            continue
        by_place = {(series.robot, series.joint): series for series in own}
        report.add_table(
            ['robot', 'runs', *joints],
            [
                [
                    robot,
                    str(sum(run.robot == robot for run in found.runs)),
                    *(_now(by_place.get((robot, joint))) for joint in joints),
                ]
                for robot in found.robots
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


def _figure(series: Series) -> Any:
    from matplotlib import pyplot
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    figure, axes = pyplot.subplots(figsize=(9.0, 2.6))
    dates: Sequence[Any] = series.dates
    error = np.where(np.isfinite(series.deviations), DEVIATIONS * series.deviations, 0.0)
    axes.errorbar(dates, series.values, yerr=error, fmt='o', markersize=3, linewidth=0.8, color='#0b6fb8', label='run')
    edges = [0, *(change.first for change in series.changes), len(dates)]
    for first, last in itertools.pairwise(edges):
        level, _ = series.level(first, last)
        axes.plot([dates[first], dates[last - 1]], [level, level], color='#1b2430', linewidth=1.4)
    for change in series.changes:
        axes.axvline(dates[change.first], color='#5b6876', linestyle=':', linewidth=1.0)
        axes.plot(
            dates[change.alarm], series.values[change.alarm], 'o', markersize=8, fillstyle='none', color='#aa3333'
        )
    if series.reference is not None:
        axes.axhline(series.reference, color='#1a7337', linestyle='--', linewidth=0.8)
    axes.set_ylabel(f'{series.quantity}\n[{QUANTITIES[series.quantity]}]')
    locator: Any = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.grid(alpha=0.3)
    return figure
