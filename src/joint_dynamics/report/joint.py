"""The report of a test of one joint.

Whether it is reliable, the values with their deviations, each map with data and fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.control.compensation import JointCheck
from joint_dynamics.identification.joint_tests.result import Plot, TestResult
from joint_dynamics.report.html import Report

COLOURS = ('#0b6fb8', '#c4543a', '#2b8a57', '#8a5aa8', '#9aa7b5')


def plot_figure(plot: Plot) -> Any:
    """Draw one plot of a test: points (with two deviations where there are any) and lines."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9, 4.6))
    used = 0
    for series in plot.series:
        # A series without a label goes on with the one before it.
        used += bool(series.label)
        colour, label = COLOURS[(used - 1) % len(COLOURS)], series.label or None
        if series.kind == 'line':
            axis.plot(series.x, series.y, color=colour, linewidth=1.6, label=label)
        elif series.std is not None:
            axis.errorbar(
                series.x,
                series.y,
                yerr=2 * np.asarray(series.std),
                fmt='o',
                markersize=4,
                color=colour,
                capsize=2,
                label=label,
            )
        else:
            axis.plot(series.x, series.y, '.', markersize=2.5, color=colour, alpha=0.6, label=label)
    axis.set_xlabel(plot.x_label)
    axis.set_ylabel(plot.y_label)
    axis.set_title(plot.title, fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def joint_report(result: TestResult, recordings: list[str]) -> Report:
    """Return the report of one test."""
    report = Report(f'{result.joint}: {result.test}', ', '.join(recordings))
    report.add_section('Is this reliable?')
    for reason in result.reasons:
        report.add_text(str(reason), kind='warning')
    if not result.reasons:
        report.add_text('Nothing in the data speaks against the values below.')
    for warning in result.warnings:
        report.add_text(warning)
    report.add_section('Values')
    rows = [
        [name, item.value, item.std, item.relative_std_percent, item.unit] for name, item in result.parameters.items()
    ]
    report.add_table(
        ['parameter', 'value', 'std', 'std %', 'unit'], rows, 'SI units, joint side; standard deviations from the fit'
    )
    for name, value in result.quality.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            headers = [key for key in value[0] if not isinstance(value[0][key], (list, dict))]
            report.add_table(headers, [[item.get(key) for key in headers] for item in value], name.replace('_', ' '))
    plain = [
        [name.replace('_', ' '), value if np.isscalar(value) else str(value)]
        for name, value in result.quality.items()
        if not (isinstance(value, list) and value and isinstance(value[0], dict))
    ]
    report.add_table(['quality', 'value'], plain)
    if result.plots:
        report.add_section('Data and fit')
    for plot in result.plots:
        report.add_figure(plot_figure(plot), plot.title)
    return report


def compensation_report(checks: Sequence[JointCheck], applied: str) -> Report:
    """Return the report of a compensation check: excess over speed per joint, with the band of two deviations."""
    from matplotlib import pyplot

    report = Report('Friction compensation against identified friction', applied)
    report.add_section('Verdicts')
    report.add_table(
        ['joint', 'T [°C]', 'direction', 'load [N·m]', 'verdict', 'runs away', 'v_a [rad/s]'],
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
        figure, axis = pyplot.subplots(figsize=(9, 3.6))
        for side, colour in ((check.positive, COLOURS[0]), (check.negative, COLOURS[1])):
            axis.plot(side.speed, side.excess, color=colour, label=f'{side.direction} direction')
            axis.fill_between(
                side.speed, side.excess - 2 * side.deviation, side.excess + 2 * side.deviation, color=colour, alpha=0.15
            )
        axis.axhline(0, color='k', linewidth=0.8)
        axis.set_xlabel('speed along the motion [rad/s]')
        axis.set_ylabel('compensation minus friction [N·m]')
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
        place = '' if check.positive.temperature is None else f' at {check.positive.temperature:g} °C'
        report.add_figure(figure, f'{check.joint}{place}: above zero the joint speeds up by itself')
    return report
