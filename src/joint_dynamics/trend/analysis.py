"""From the measurements of runs to series over time, their changes, alarms, and one table of everything."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically
from joint_dynamics.settings import Settings, setting
from joint_dynamics.trend.change import ChangePoint, ChangeTest, change_points, weights_of
from joint_dynamics.trend.measure import Figure, Measurement
from joint_dynamics.trend.runs import Run

QUANTITIES = {'coulomb': 'N·m', 'viscous': 'N·m·s/rad', 'stiffness': 'N·m/rad', 'backlash': 'rad', 'residual': '%'}
"""What is followed over time, with its unit."""


@dataclass(frozen=True)
class TrendSettings(Settings):
    """How runs are compared over time, and when a change is an alarm."""

    SECTION = 'trend'

    reference_runs: int = setting(
        3, 'recordings that a robot without a reference is identified from, its earliest ones', lower=1, upper=100
    )
    before: int = setting(5, 'fewest runs before a change', lower=3, upper=1000)
    after: int = setting(2, 'fewest runs after a change: one run that is odd is none', lower=1, upper=1000)
    window: int = setting(60, 'most runs after a change at which it is looked for', lower=1, upper=1000)
    false_alarm_rate: float = setting(
        0.01,
        'probability that a robot that does not change raises an alarm within 100 runs, all its joints and quantities'
        ' together',
        lower=1e-6,
        upper=0.5,
    )
    least_change: float = setting(
        0.01,
        'changes by less than this share of the value before are no alarm: a neighbour that wears moves others, too',
        lower=0,
    )
    quantities: tuple[str, ...] = setting(tuple(QUANTITIES), 'what is followed', choices=tuple(QUANTITIES))
    processes: int | None = setting(
        None, 'recordings at the same time', lower=1, upper=1024, none='one per core; of a Dask cluster, two per thread'
    )

    def check(self) -> None:
        """Refuse a window in which no change could be confirmed."""
        if not self.window >= self.after:
            raise JointDynamicsError(f'trend.window: expected at least trend.after = {self.after}, found {self.window}')


COLUMNS = {
    'robot': str,
    'date': str,
    'run': str,
    'joint': str,
    'quantity': str,
    'unit': str,
    'value': float,
    'std': float,
    'reference': float,
    'change_percent': float,
    'temperature': float,
    'segment': int,
    'alarm': bool,
}
"""Columns and their types; `segment` counts the changes before a run, `alarm` is true at the run that showed one."""


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
    changes
        of its level, in order of time.
    """

    robot: str
    joint: str
    quantity: str
    runs: tuple[Run, ...]
    values: FloatArray
    deviations: FloatArray
    temperatures: FloatArray
    reference: float | None
    changes: tuple[ChangePoint, ...] = ()

    @property
    def dates(self) -> list[datetime.datetime]:
        """Dates of the runs."""
        return [run.date for run in self.runs]

    def level(self, first: int, last: int) -> tuple[float, float]:
        """Return the weighted mean of the runs first … last − 1 and its deviation by their scatter."""
        y = self.values[first:last]
        w = weights_of(y, self.deviations[first:last])
        mean = float(w @ y / w.sum())
        if len(y) < 2:
            return mean, float(self.deviations[first])
        square = float(w @ (y - mean) ** 2 / (len(y) - 1))
        return mean, float(np.sqrt(square / w.sum()))


@dataclass(frozen=True)
class Alarm:
    """A detected change.

    Attributes
    ----------
    robot, joint, quantity
        names.
    run
        at which it was detected.
    since
        date of the first run after the change.
    before, after
        level and deviation on either side.
    z
        the shift at detection, in standard deviations of a normal variable.
    """

    robot: str
    joint: str
    quantity: str
    run: Run
    since: datetime.datetime
    before: tuple[float, float]
    after: tuple[float, float]
    z: float

    @property
    def date(self) -> datetime.datetime:
        """Date of the run at which it was detected."""
        return self.run.date

    @property
    def change_percent(self) -> float | None:
        """Change in percent of the level before; None where that is zero."""
        return 100.0 * (self.after[0] - self.before[0]) / abs(self.before[0]) if self.before[0] else None

    @property
    def direction(self) -> str:
        """Whether it rose or fell."""
        return 'rose' if self.after[0] > self.before[0] else 'fell'


def series_of(measured: Sequence[tuple[Run, Measurement]], quantities: Sequence[str]) -> list[Series]:
    """Return the series of all robots, joints and quantities, runs in order of time."""
    points: dict[tuple[str, str, str], list[tuple[Run, Figure, float | None]]] = {}
    for run, measurement in sorted(measured, key=lambda item: (item[0].robot, item[0].date, str(item[0].path))):
        for figure in measurement.figures:
            if figure.quantity in quantities:
                points.setdefault((run.robot, figure.joint, figure.quantity), []).append(
                    (run, figure, measurement.temperatures.get(figure.joint))
                )
    series = []
    for names, rows in points.items():
        runs, figures, _ = zip(*rows, strict=True)
        # None becomes NaN
        numbers = np.array([(figure.value, figure.std, warm) for _, figure, warm in rows], dtype=float)
        values, deviations, temperatures = numbers.T
        known = next((figure.reference for figure in figures if figure.reference is not None), None)
        series.append(Series(*names, runs, values, deviations, temperatures, known))
    return series


def find_alarms(series: Sequence[Series], settings: TrendSettings) -> tuple[list[Series], list[Alarm]]:
    """Return the series with their changes, and the alarms in order of time.

    The rate of false alarms of a robot is divided evenly among its series (Bonferroni), so that it holds for any
    dependence between them.
    """
    counts = Counter(each.robot for each in series)
    with_changes, alarms = [], []
    for each in series:
        runs = settings.before, settings.after, settings.window
        test = ChangeTest.at_rate(settings.false_alarm_rate / counts[each.robot], *runs, settings.least_change)
        changes = change_points(each.values, test, each.deviations, each.temperatures)
        edges = [0, *(change.first for change in changes), len(each.values)]
        for k, change in enumerate(changes):
            run, since = each.runs[change.alarm], each.dates[change.first]
            before, after = (each.level(first, last) for first, last in itertools.pairwise(edges[k : k + 3]))
            alarms.append(Alarm(each.robot, each.joint, each.quantity, run, since, before, after, change.z))
        with_changes.append(replace(each, changes=tuple(changes)))
    return with_changes, sorted(alarms, key=lambda alarm: (alarm.date, alarm.robot, alarm.joint, alarm.quantity))


def rows_of(series: Sequence[Series]) -> list[dict[str, Any]]:
    """Return the rows, a mapping of `COLUMNS` each; None where a value is unknown."""
    rows = []
    for each in series:
        alarms = {change.alarm for change in each.changes}
        for k, run in enumerate(each.runs):
            value = float(each.values[k])
            rows.append(
                {
                    'robot': each.robot,
                    'date': run.date.isoformat(timespec='seconds'),
                    'run': str(run.path),
                    'joint': each.joint,
                    'quantity': each.quantity,
                    'unit': QUANTITIES[each.quantity],
                    'value': value,
                    'std': finite(each.deviations[k]),
                    'reference': each.reference,
                    'change_percent': 100.0 * (value / each.reference - 1.0) if each.reference else None,
                    'temperature': finite(each.temperatures[k]),
                    'segment': sum(change.first <= k for change in each.changes),
                    'alarm': k in alarms,
                }
            )
    return rows


def table_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as CSV with a line of names; unknown values are empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(COLUMNS), lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write_parquet(rows: Sequence[dict[str, Any]], path: str | Path) -> None:
    """Write the rows as a Parquet file with typed columns.

    Raises
    ------
    JointDynamicsError
        Where pyarrow is missing or the file cannot be written.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise JointDynamicsError(
            'trend: --parquet: expected the package pyarrow, not found (pip install joint_dynamics[parquet])'
        ) from None
    kinds = {str: pyarrow.string(), float: pyarrow.float64(), int: pyarrow.int64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), stream)
    write_atomically(path, stream.getvalue())
