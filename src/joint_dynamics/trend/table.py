"""The trend as one table: a row per run, joint and quantity."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joint_dynamics.description import write_atomically
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.trend.analysis import Series
from joint_dynamics.trend.trend_settings import QUANTITIES

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


def rows_of(series: Sequence[Series]) -> list[dict[str, Any]]:
    """Return the rows, a mapping of `COLUMNS` each; None where something is not known."""
    rows = []
    for each in series:
        seen = {change.alarm for change in each.changes}
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
                    'std': _known(each.deviations[k]),
                    'reference': each.reference,
                    'change_percent': 100.0 * (value / each.reference - 1.0) if each.reference else None,
                    'temperature': _known(each.temperatures[k]),
                    'segment': sum(change.first <= k for change in each.changes),
                    'alarm': k in seen,
                }
            )
    return rows


def table_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as CSV with a line of names; what is not known is empty."""
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


def _known(value: float) -> float | None:
    return float(value) if value == value else None
