"""The report of a test of one joint: the verdict, the values with their deviations, and each map with data and fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from joint_dynamics.control.compensation import JointCheck
from joint_dynamics.identification.joint_tests.result import JointTestResult, Plot
from joint_dynamics.report.figure import CYCLE, Figure, Panel, Series
from joint_dynamics.report.html import Report
from joint_dynamics.robot.limits import column_unit, joint_unit


def plot_figure(plot: Plot) -> Figure:
    """Return one plot of a test as a figure: points (with two deviations where known) and lines."""
    used, series = 0, []
    for part in plot.series:
        # A series without a label goes on with the one before it.
        used += bool(part.label)
        colour = CYCLE[(used - 1) % len(CYCLE)]
        x, y = np.asarray(part.x, dtype=float), np.asarray(part.y, dtype=float)
        whiskers = {}
        if part.std is not None:
            reach = 2 * np.asarray(part.std, dtype=float)
            whiskers = {'low': y - reach, 'high': y + reach}
        kind: Literal['line', 'points'] = 'line' if part.kind == 'line' else 'points'
        series.append(Series(part.label, y, colour, x, kind, **whiskers))
    return Figure([Panel(plot.title, plot.y_label, series)], plot.x_label, height=320)


def joint_report(result: JointTestResult, recordings: list[str]) -> Report:
    """Return the report of one test."""
    report = Report(f'{result.joint}: {result.test}', ', '.join(recordings))
    report.add_section('Is this reliable?')
    for reason in result.reasons:
        report.add_text(str(reason), kind='warning')
    if not result.reasons:
        report.add_text('Nothing in the data speaks against the values below.', kind='good')
    for warning in result.warnings:
        report.add_text(warning)
    report.add_section('Values')
    rows = [
        [name, item.value, item.std, item.relative_std_percent, item.unit] for name, item in result.parameters.items()
    ]
    rows.sort(key=lambda row: np.inf if row[3] is None else row[3])
    report.add_table(
        ['parameter', 'value', 'std', 'std %', 'unit'],
        rows,
        'SI units, joint side, the best known first; standard deviations from the fit',
    )
    plain = []
    for name, value in result.quality.items():
        words = name.replace('_', ' ')
        if isinstance(value, list) and value and isinstance(value[0], dict):
            headers = [key for key in value[0] if not isinstance(value[0][key], (list, dict))]
            report.add_table(headers, [[item.get(key) for key in headers] for item in value], words)
        else:
            plain.append([words, value if np.isscalar(value) else str(value)])
    if plain:
        report.add_table(['quality', 'value'], plain)
    if result.plots:
        report.add_section('Data and fit')
    for plot in result.plots:
        report.add_figure(plot_figure(plot), plot.title)
    return report


def compensation_report(checks: Sequence[JointCheck], applied: str) -> Report:
    """Return the report of a compensation check: excess over speed per joint, with the band of two deviations."""
    report = Report('Friction compensation against identified friction', applied)
    torque, speed = (column_unit(unit, [check.slides for check in checks]) for unit in ('N·m', 'rad/s'))
    report.add_section('Verdicts')
    report.add_table(
        ['joint', 'T [°C]', 'direction', f'load [{torque}]', 'verdict', 'runs away', f'v_a [{speed}]'],
        [
            [
                check.joint,
                side.temperature,
                side.direction,
                side.load,
                side.verdict,
                side.runs_away,
                ', '.join(f'{item.speed:.3g}' for item in side.crossings),
            ]
            for check in checks
            for side in (check.positive, check.negative)
        ],
    )
    report.add_section('Excess of the compensation')
    for check in checks:
        series = []
        for side, colour in ((check.positive, CYCLE[0]), (check.negative, CYCLE[1])):
            low, high = (side.excess + k * side.deviation for k in (-2, 2))
            series.append(Series(f'{side.direction} direction', side.excess, colour, side.speed, low=low, high=high))
        speeds = np.concatenate([check.positive.speed, check.negative.speed])
        ends = np.array([speeds.min(), speeds.max()])
        series.append(Series('', np.zeros(2), 'seventh', ends, dashed=True))
        torque, speed = (joint_unit(unit, check.slides) for unit in ('N·m', 'rad/s'))
        place = '' if check.positive.temperature is None else f' at {check.positive.temperature:g} °C'
        report.add_figure(
            Figure(
                [Panel(f'{check.joint}{place}', f'compensation minus friction [{torque}]', series)],
                f'speed along the motion [{speed}]',
                height=240,
            ),
            f'{check.joint}{place}: above zero the joint speeds up by itself; bands of two deviations',
        )
    return report
