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

"""The report of a trend: significant slopes over time."""

from __future__ import annotations

import numpy as np

from joint_dynamics.report.figure import Figure, Panel
from joint_dynamics.report.figure import Series as Drawn
from joint_dynamics.report.html import Report
from joint_dynamics.trend import QUANTITIES, Series, Trend

MAX_FIGURES = 60  # largest number of significant series drawn; the table has all
UNCHANGED_FIGURES = 12  # series drawn if no slope is significant
DEVIATIONS = 2.0  # half length of the whiskers, in standard deviations


def trend_report(result: Trend, folder: str) -> Report:
    """Return the page of a trend over the runs of a folder."""
    dates = [run.date for run in result.runs]
    report = Report(
        'Trend',
        f'{folder}: {len(result.runs)} runs of {len(result.robots)} robot(s),'
        f' {min(dates).date().isoformat()} to {max(dates).date().isoformat()}',
    )
    changed = result.significant
    report.add_section('Slopes')
    robots = ', '.join(sorted({each.robot for each in changed}))
    report.add_text(
        f'Significant: {len(changed)} of {robots}.' if changed else 'None is significant.',
        'warning' if changed else 'good',
    )
    report.add_text(
        f'An unchanged robot has a significant slope with a probability of'
        f' {100 * result.settings.significance:g} %, over all its joints and quantities.'
    )
    for series in changed[:MAX_FIGURES] or result.series[:UNCHANGED_FIGURES]:
        report.add_figure(_figure(series), f'{series.robot}, {series.joint}: {series.quantity}')
    if changed:
        report.add_table(
            ['robot', 'joint', 'quantity', 'unit', 'first', 'last', 'change, %', 'slope per day', '±'],
            [[*names, QUANTITIES[names[2]], *numbers] for names, *numbers in map(slope_cells, changed)],
            'Every significant slope; `trend.csv` has all runs',
        )
    if result.left_out:
        report.add_section('Left out')
        report.add_table(['run', 'reason'], [[path, reason] for path, reason in result.left_out.items()])
    return report


def slope_cells(series: Series) -> tuple[tuple[str, str, str], float, float, float | None, float, float]:
    """Return (robot, joint, quantity), line at first and last run, change in percent, slope per day, its deviation."""
    slope = series.slope
    assert slope is not None
    names = series.robot, series.joint, series.quantity
    return names, slope.start, slope.end, slope.change_percent, slope.per_day, slope.deviation


def _figure(series: Series) -> Figure:
    days, slope = series.days, series.slope
    spread = np.where(np.isfinite(series.deviations), DEVIATIONS * series.deviations, 0.0)
    low, high = series.values - spread, series.values + spread
    drawn = [Drawn('run ± two deviations', series.values, 'measured', kind='points', low=low, high=high)]
    if slope is not None:
        drawn.append(Drawn('slope', np.array([slope.start, slope.end]), 'predicted', x=days[[0, -1]]))
    if series.reference is not None:
        drawn.append(Drawn('reference', np.full(2, series.reference), 'limit', x=days[[0, -1]], dashed=True))
    panel = Panel('', f'{series.quantity} [{QUANTITIES[series.quantity]}]', drawn, x=days)
    return Figure([panel], f'days since {series.dates[0].date().isoformat()}')
