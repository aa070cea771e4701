"""Nested plain data, such as entries of summary.json, as tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joint_dynamics.recording import short_name
from joint_dynamics.report.html import Report


def add_entry(report: Report, title: str, entry: Mapping[str, Any] | None) -> None:
    """Add a folded section with an entry; none where there is no entry."""
    if entry:
        report.add_section(title, folded=True)
        add_values(report, entry)


def add_values(report: Report, entry: Mapping[str, Any]) -> None:
    """Add the values of an entry in one table, and each part with rows of its own in a further one."""
    if all(isinstance(value, Mapping) for value in entry.values()):
        _add_rows(report, [{'': name, **value} for name, value in entry.items()])
        return
    plain = []
    for key, value in entry.items():
        words = key.replace('_', ' ')
        if isinstance(value, Mapping) and any(isinstance(item, (Mapping, list)) for item in value.values()):
            _add_rows(report, [{'': name, **item} for name, item in value.items()], words)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            _add_rows(report, value, words)
        else:
            plain.append([short_name(words), value])
    if plain:
        report.add_table(['', 'value'], plain)


def _add_rows(report: Report, rows: list[dict[str, Any]], caption: str = '') -> None:
    headers = list(dict.fromkeys(key for row in rows for key in row))
    words = [header.replace('_', ' ') for header in headers]
    report.add_table(words, [[row.get(key) for key in headers] for row in rows], caption)
