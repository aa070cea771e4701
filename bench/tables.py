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

"""Tables of the benches: printed as they are measured, kept as data, shown on the pages.

A bench makes a `Table`, adds rows and calls `keep`, which writes it into bench/results/BENCH.json with machine, date
and versions. `python bench/tables.py` (part of `make docs`) writes every kept table between its markers

    <!-- table BENCH KEY -->
    <!-- end -->

of a page under docs, with command and date. Nothing measured is typed into a page.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / 'results'
DOCS = ROOT / 'docs'
LIBRARIES = ('numpy', 'scipy', 'pin', 'numba', 'mujoco')
MARKED = re.compile(r'(<!-- table (\w+) (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)


class Table:
    """A table of one bench.

    Parameters
    ----------
    bench, key : file and entry of bench/results.
    caption : of the rows, with the unit where all columns have the same.
    columns : name of each column, and the form of its numbers (`''`: words).
    """

    def __init__(self, bench: str, key: str, caption: str, columns: dict[str, str]):
        self.bench, self.key, self.caption, self.columns = bench, key, caption, columns
        self.rows: list[list[Any]] = []

    def row(self, *cells: Any) -> None:
        """Add a row, and print it; a missing number is None or NaN."""
        if len(cells) != len(self.columns):
            raise ValueError(f'{self.bench} {self.key}: expected {len(self.columns)} cells, found {len(cells)}')
        if not self.rows:
            print(f'\n{self.caption}\n' + ' | '.join(self.columns))
        self.rows.append([plain(cell) for cell in cells])
        print(' | '.join(written(self.rows[-1], list(self.columns.values()))), flush=True)

    def keep(self) -> None:
        """Write the table into the file of its bench, beside the other tables of that file."""
        path = RESULTS / f'{self.bench}.json'
        kept = json.loads(path.read_text(encoding='utf-8')) if path.exists() else {}
        kept[self.key] = {
            'caption': self.caption,
            'columns': [{'name': name, 'form': form} for name, form in self.columns.items()],
            'rows': self.rows,
            # files of this machine by their names alone
            'command': ' '.join(
                [
                    'python',
                    f'bench/{Path(sys.argv[0]).name}',
                    *(Path(each).name if Path(each).is_absolute() else each for each in sys.argv[1:]),
                ]
            ),
            'date': time.strftime('%Y-%m-%d', time.gmtime()),
            'machine': f'{platform.machine()}, {os.cpu_count()} processors',
            'versions': {'python': platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        }
        RESULTS.mkdir(exist_ok=True)
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + '\n', encoding='utf-8')


def plain(cell: Any) -> Any:
    """Return a cell for JSON: words, a number of seven digits, or None."""
    if isinstance(cell, (str, int)) or cell is None:
        return cell
    return float(f'{cell:.7g}') if np.isfinite(cell) else None


def written(cells: list[Any], forms: list[str]) -> Iterator[str]:
    """Yield the cells of a row as text."""
    for cell, form in zip(cells, forms, strict=True):
        if cell is None:
            yield '–'
        else:
            yield cell if isinstance(cell, str) else format(cell, form).replace('-', '−')


def kept_tables() -> dict[tuple[str, str], dict[str, Any]]:
    """Return all kept tables by bench and key."""
    return {
        (path.stem, key): table
        for path in sorted(RESULTS.glob('*.json'))
        for key, table in json.loads(path.read_text(encoding='utf-8')).items()
    }


def markdown(table: dict[str, Any]) -> str:
    """Return a kept table as Markdown, with its command and date."""
    names, forms = ([column[part] for column in table['columns']] for part in ('name', 'form'))
    lines = [names, ['---' if form == '' else '---:' for form in forms]]
    lines += [list(written(row, forms)) for row in table['rows']]
    body = '\n'.join('| ' + ' | '.join(cell.replace('|', '\\|') for cell in line) + ' |' for line in lines)
    return f'{table["caption"]}:\n\n{body}\n\n<small>`{table["command"]}`, {table["date"]}</small>\n'


def filled(page: str, tables: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return a page with the kept tables between its markers, or the command to measure a missing one."""

    def shown(at: re.Match[str]) -> str:
        table = tables.get((at[2], at[3]))
        body = markdown(table) if table else f'Not measured yet: `python bench/run.py {at[2]}`.\n'
        return f'{at[1]}\n{body}\n{at[4]}'

    return MARKED.sub(shown, page)


def pages() -> Iterator[tuple[Path, str, str]]:
    """Yield every page with a table: its path, its text, and the text with the kept tables."""
    tables = kept_tables()
    for path in sorted(DOCS.rglob('*.md')):
        page = path.read_text(encoding='utf-8')
        if MARKED.search(page):
            yield path, page, filled(page, tables)


def main() -> None:
    """Write the kept tables into the pages."""
    for path, _, page in pages():
        path.write_text(page, encoding='utf-8')


if __name__ == '__main__':
    main()
