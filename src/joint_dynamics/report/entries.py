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


def add_values(report: Report, entry: Mapping[str, Any], caption: str = '') -> None:
    """Add tables of an entry: one of its numbers, one with a row for each part, one for each list of parts."""
    rows, plain = [], []
    for key, value in entry.items():
        if isinstance(value, Mapping) and any(isinstance(item, Mapping) for item in value.values()):
            add_values(report, value, _words(key))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            _add_rows(report, value, _words(key))
        elif isinstance(value, Mapping):
            rows.append({'': short_name(key), **value})
        else:
            plain.append([_words(key), value])
    if rows:
        _add_rows(report, rows, caption)
    if plain:
        report.add_table(['', 'value'], plain, caption)


def _add_rows(report: Report, rows: list[dict[str, Any]], caption: str = '') -> None:
    headers = list(dict.fromkeys(key for row in rows for key in row))
    report.add_table([*map(_words, headers)], [[row.get(key) for key in headers] for row in rows], caption)


def _words(name: str) -> str:
    return short_name(name).replace('_', ' ')
