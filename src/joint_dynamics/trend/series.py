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

"""The runs in a folder tree, their measurements as series over time, and one table of everything.

The slope follows from least squares, with a column for temperature where that varied:

    y = c₀ + c₁ t + c₂ (T − T̄) + ε,    Var c = s² (AᵀA)⁻¹,    s² = εᵀε/(N − p).
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.result import least_squares
from joint_dynamics.trend.measure import QUANTITIES, Figure

REFERENCE = 'reference.yaml'  # name of the description of a robot when new, in the robot's folder
BAGS = ('.mcap', '.db3')
DATE = re.compile(r'(?<!\d)(20\d\d)[-_.]?(\d\d)[-_.]?(\d\d)(?:[-_T ]?(\d\d)[-_.:h]?(\d\d)(?:[-_.:]?(\d\d))?)?(?!\d)')
DAY = 86400.0  # s
TEMPERATURE_SPAN = 3.0  # °C; a smaller range determines no coefficient of temperature
ROUNDING = 1e-9  # relative change from first to last run that may be rounding


@dataclass(frozen=True)
class Run:
    """One recording of a robot.

    Attributes
    ----------
    robot
        the first folder below the root; for runs in the root itself, the root's name.
    path
        of the recording.
    date
        as in its path, taken as UTC.
    """

    robot: str
    path: Path
    date: datetime.datetime


def find_runs(root: str | Path, leave_out: str | Path | None = None) -> tuple[list[Run], dict[str, str]]:
    """Return the runs below a folder, by robot and date, and the paths left out with the reason.

    A run is a rosbag2 folder, or an .mcap, .db3 or .csv file. Its date is the last one in its path (2026-03-01,
    20260301_1430).

    Parameters
    ----------
    root
        the folder.
    leave_out
        a folder below it to ignore, such as that of the results.

    Raises
    ------
    JointDynamicsError
        Where the folder does not exist or contains no run.
    """
    root = Path(root).expanduser()
    if not root.is_dir():
        raise JointDynamicsError(f'trend: expected a folder of runs, found no folder {root}')
    runs: list[Run] = []
    left_out: dict[str, str] = {}
    skipped = None if leave_out is None else Path(leave_out).expanduser().resolve()
    for path in _candidates(root, skipped):
        parts = path.relative_to(root).parts
        try:
            date = _date_of(path, parts)
        except JointDynamicsError as error:
            left_out[str(path)] = str(error)
            continue
        runs.append(Run(parts[0] if len(parts) > 1 else root.resolve().name, path, date))
    if not runs and not left_out:
        raise JointDynamicsError(
            f'trend: expected recordings (rosbag2 folders, .mcap, .db3, .csv) below {root}, found none'
        )
    return sorted(runs, key=lambda run: (run.robot, run.date, str(run.path))), left_out


def _candidates(root: Path, skipped: Path | None) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = sorted(name for name in names if not name.startswith('.') and (here / name).resolve() != skipped)
        bags = [name for name in files if Path(name).suffix in BAGS]
        if here != root and ('metadata.yaml' in files or any(name.startswith(here.name) for name in bags)):
            names[:] = []
            yield here
        else:
            yield from (here / name for name in sorted(files) if name in bags or name.lower().endswith('.csv'))


def _date_of(path: Path, parts: tuple[str, ...]) -> datetime.datetime:
    for match in (match for part in reversed(parts) for match in reversed([*DATE.finditer(part)])):
        with contextlib.suppress(ValueError):  # such as 2026-02-30
            year, month, day, hour, minute, second = (int(number or 0) for number in match.groups())
            return datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.timezone.utc)
    raise JointDynamicsError(f'{path}: expected a date in its path, as 2026-03-01 or 20260301_1430, found none')


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
        columns = {'mean': np.ones_like(days), 'slope': days - days.mean()}
        if np.isfinite(warm).all() and np.ptp(warm) > TEMPERATURE_SPAN:
            columns['warmth'] = warm - warm.mean()
        try:
            fit = least_squares(np.column_stack([*columns.values()]), self.values, [*columns], in_time=False)
        except JointDynamicsError:  # too few runs, or all of one time
            return None
        deviation = max(fit.deviation('slope'), ROUNDING * float(np.abs(self.values).max()) / days[-1])
        start, end = (fit['mean'] + fit['slope'] * float(columns['slope'][k]) for k in (0, -1))
        ratio = abs(fit['slope']) / deviation if deviation else 0.0
        significance = 2.0 * float(student.sf(ratio, len(days) - len(columns)))
        return Slope(fit['slope'], deviation, start, end, significance)


def series_of(measured: Sequence[tuple[Run, Sequence[Figure]]]) -> list[Series]:
    """Return the series of all robots, joints and quantities, runs in order of time."""
    points: dict[tuple[str, str, str], list[tuple[Run, Figure]]] = {}
    for run, found in sorted(measured, key=lambda item: (item[0].robot, item[0].date, str(item[0].path))):
        for figure in found:
            points.setdefault((run.robot, figure.joint, figure.quantity), []).append((run, figure))
    series = []
    for (robot, joint, quantity), rows in points.items():
        runs, figures = zip(*rows, strict=True)
        # None becomes NaN.
        numbers = np.array([(each.value, each.std, each.temperature) for each in figures], dtype=float)
        reference = next((each.reference for each in figures if each.reference is not None), None)
        values, deviations, temperatures = numbers.T
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
