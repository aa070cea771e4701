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

"""Measurements of runs as series over time, their slopes, and one table of everything.

The slope follows from least squares, with a column for temperature where that varied:

    y = c₀ + c₁ t + c₂ (T − T̄) + ε,    Var c = s² (AᵀA)⁻¹,    s² = εᵀε/(N − p).
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.trend.measure import QUANTITIES, Measurement
from joint_dynamics.trend.runs import Run

DAY = 86400.0  # s
TEMPERATURE_SPAN = 3.0  # °C; a smaller range determines no coefficient of temperature
ROUNDING = 1e-9  # relative scatter of runs below which only rounding is left


@dataclass(frozen=True)
class Slope:
    """Straight line through a series.

    Attributes
    ----------
    per_day, deviation
        slope and its standard deviation, in units of the quantity per day.
    start, end
        values of the line at the first and last run, at the mean temperature.
    significance
        two-sided probability of a slope this large where nothing changes.
    """

    per_day: float
    deviation: float
    start: float
    end: float
    significance: float

    @property
    def change_percent(self) -> float | None:
        """Change from the first to the last run, percent; None where the line starts at zero."""
        return 100.0 * (self.end - self.start) / abs(self.start) if self.start else None


@dataclass(frozen=True)
class Series:
    """One quantity of one joint of one robot over its runs, in order of time.

    Attributes
    ----------
    robot, joint, quantity
        names.
    runs
        the N runs that contain it.
    values, deviations, temperatures
        (N,) each, NaN where unknown.
    reference
        value of the reference, None where it has none.
    """

    robot: str
    joint: str
    quantity: str
    runs: tuple[Run, ...]
    values: FloatArray
    deviations: FloatArray
    temperatures: FloatArray
    reference: float | None

    @property
    def dates(self) -> list[datetime.datetime]:
        """Dates of the runs."""
        return [run.date for run in self.runs]

    @property
    def days(self) -> FloatArray:
        """Times of the runs (N,) from the first one, days."""
        return np.array([(date - self.dates[0]).total_seconds() / DAY for date in self.dates])

    @property
    def slope(self) -> Slope | None:
        """Slope over time; None where the runs do not determine it."""
        days, warm = self.days, self.temperatures
        columns = [np.ones_like(days), days - days.mean()]
        if np.isfinite(warm).all() and np.ptp(warm) > TEMPERATURE_SPAN:
            columns.append(warm - warm.mean())
        a = np.column_stack(columns)
        freedom = len(days) - a.shape[1]
        if freedom < 1 or np.linalg.matrix_rank(a) < a.shape[1]:
            return None
        inverse = np.linalg.inv(a.T @ a)
        coefficients = inverse @ (a.T @ self.values)
        residual = self.values - a @ coefficients
        scatter = max(float(residual @ residual) / freedom, (ROUNDING * np.abs(self.values).max()) ** 2)
        deviation = float(np.sqrt(scatter * inverse[1, 1]))
        mean, per_day = map(float, coefficients[:2])
        start, end = (mean + per_day * float(columns[1][k]) for k in (0, -1))
        ratio = abs(per_day) / deviation if deviation else 0.0
        return Slope(per_day, deviation, start, end, 2.0 * float(student.sf(ratio, freedom)))


def series_of(measured: Sequence[tuple[Run, Measurement]]) -> list[Series]:
    """Return the series of all robots, joints and quantities, runs in order of time."""
    points: dict[tuple[str, str, str], list[tuple[Run, Any, float | None]]] = {}
    for run, measurement in sorted(measured, key=lambda item: (item[0].robot, item[0].date, str(item[0].path))):
        for figure in measurement.figures:
            point = run, figure, measurement.temperatures.get(figure.joint)
            points.setdefault((run.robot, figure.joint, figure.quantity), []).append(point)
    series = []
    for (robot, joint, quantity), rows in points.items():
        runs, figures, warm = zip(*rows, strict=True)
        numbers = [(figure.value, figure.std, each) for figure, each in zip(figures, warm, strict=True)]
        values, deviations, temperatures = np.array(numbers, dtype=float).T  # None is NaN
        reference = next((figure.reference for figure in figures if figure.reference is not None), None)
        series.append(Series(robot, joint, quantity, runs, values, deviations, temperatures, reference))
    return series


def rows_of(series: Sequence[Series]) -> list[dict[str, Any]]:
    """Return one row per run, joint and quantity; None where a value is unknown."""
    return [
        {
            'robot': each.robot,
            'date': run.date.isoformat(timespec='seconds'),
            'run': str(run.path),
            'joint': each.joint,
            'quantity': each.quantity,
            'unit': QUANTITIES[each.quantity],
            'value': float(value),
            'std': finite(deviation),
            'reference': each.reference,
            'change_percent': 100.0 * (float(value) / each.reference - 1.0) if each.reference else None,
            'temperature': finite(warm),
        }
        for each in series
        for run, value, deviation, warm in zip(each.runs, each.values, each.deviations, each.temperatures, strict=True)
    ]


def table_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows (at least one) as CSV with a line of names; unknown values are empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
