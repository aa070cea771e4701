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

"""The report of a test of one joint: the verdict, each map with data and fit, then the values with deviations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from joint_dynamics.control.compensation import JointCheck
from joint_dynamics.identification.joint_tests.result import JointTestResult, Plot
from joint_dynamics.report.figure import CYCLE, Figure, Panel, Series
from joint_dynamics.report.html import Interval, Report, add_values, number
from joint_dynamics.robot.limits import column_unit, joint_unit


def plot_figure(plot: Plot) -> Figure:
    """Return one plot of a test as a figure: points (with two deviations where known) and lines."""
    used, series = 0, []
    for part in plot.series:
        # A series without a label continues the one before it.
        used += bool(part.label)
        colour = CYCLE[(used - 1) % len(CYCLE)]
        x, y = np.asarray(part.x, dtype=float), np.asarray(part.y, dtype=float)
        whiskers = {}
        if part.std is not None:
            reach = 2 * np.asarray(part.std, dtype=float)
            whiskers = {'low': y - reach, 'high': y + reach}
        kind: Literal['line', 'points'] = 'line' if part.kind == 'line' else 'points'
        series.append(Series(part.label, y, colour, x, kind, **whiskers))
    return Figure([Panel('', plot.y_label, series)], plot.x_label, height=320)


def joint_report(result: JointTestResult, recordings: list[str]) -> Report:
    """Return the report of one test."""
    report = Report(f'{result.test.capitalize()} of {result.joint}', ', '.join(recordings))
    report.add_section('Verdict')
    if result.reasons:
        report.add_text(f'Not reliable: {result.reasons[0]}', kind='warning')
    else:
        report.add_text('Reliable: nothing in the data contradicts the values below.', kind='good')
    report.add_list([*map(str, result.reasons[1:]), *result.warnings])
    if result.plots:
        report.add_section('Data and fit')
    for plot in result.plots:
        report.add_figure(plot_figure(plot), plot.title)
    report.add_section('Values')
    rows: list[list[Any]] = [
        [
            name,
            item.value,
            item.unit or '1',
            None if item.std is None else Interval(item.value, item.std, marked=abs(item.value) < 2 * item.std),
            item.std,
            item.relative_std_percent,
        ]
        for name, item in result.parameters.items()
    ]
    rows.sort(key=lambda row: np.inf if row[5] is None else row[5])
    report.add_table(
        ['parameter', 'value', 'unit', '± two deviations (−100 … 100 %)', 'std', 'std %'],
        rows,
        'SI units, joint side, the most certain first; standard deviations from the fit. Red: not distinguishable '
        'from zero',
    )
    if result.quality:
        report.add_section('Details', folded=True)
        report.add_text('SI units: N·m, rad, rad/s, s; temperature in °C; shares as named.')
        add_values(report, result.quality)
    return report


def compensation_report(checks: Sequence[JointCheck], applied: str) -> Report:
    """Return the report of a compensation check: excess over speed per joint, with the band of two deviations."""
    report = Report('Friction compensation against identified friction', applied)
    report.add_section('Verdict')
    wrong = [check.joint for check in checks if check.positive.runs_away or check.negative.runs_away]
    if wrong:
        report.add_text(f'Runs away by itself: {", ".join(dict.fromkeys(wrong))}.', kind='warning')
    else:
        report.add_text('No joint runs away by itself.', kind='good')
    report.add_section('Excess of the compensation')
    sliding = [check.slides for check in checks]
    torque, speed = (column_unit(unit, sliding) for unit in ('N·m', 'rad/s'))
    report.add_figure(
        Figure(list(map(_excess, checks)), f'speed along the motion [{speed}]', columns=2, height=240),
        'Compensation minus friction: above zero the joint speeds up by itself; bands of two deviations',
    )
    report.add_section('Each direction')
    report.add_table(
        ['joint', 'direction', 'verdict', 'runs away', f'v_a [{speed}]', f'load [{torque}]', 'T [°C]'],
        [
            [
                check.joint,
                side.direction,
                side.verdict,
                side.runs_away,
                ', '.join(number(item.speed) for item in side.crossings) or None,
                side.load,
                side.temperature,
            ]
            for check in checks
            for side in (check.positive, check.negative)
        ],
    )
    return report


def _excess(check: JointCheck) -> Panel:
    series = []
    for side, colour in ((check.positive, CYCLE[0]), (check.negative, CYCLE[1])):
        low, high = (side.excess + k * side.deviation for k in (-2, 2))
        series.append(Series(f'{side.direction} direction', side.excess, colour, side.speed, low=low, high=high))
    speeds = np.concatenate([check.positive.speed, check.negative.speed])
    ends = np.array([speeds.min(), speeds.max()])
    series.append(Series('', np.zeros(2), 'seventh', ends, dashed=True))
    place = '' if check.positive.temperature is None else f' at {check.positive.temperature:g} °C'
    return Panel(f'{check.joint}{place}', f'[{joint_unit("N·m", check.slides)}]', series)
