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

"""Tables of the benches: printed as they are measured, kept as data, shown on the pages of docs/results.

A bench makes a `Table`, gives it rows and calls `keep`, which writes it into bench/results/BENCH.json with machine,
versions and date. `python bench/tables.py` (part of `make docs`) writes every kept table between its markers

    <!-- table BENCH KEY -->
    <!-- end -->

of a page under docs, on those of docs/results with what it was measured on, and the charts of `CHARTS` into
docs/images. Nothing measured is typed into a page.
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
IMAGES = DOCS / 'images'
LIBRARIES = ('numpy', 'scipy', 'pin', 'numba', 'mujoco')
MARKED = re.compile(r'(<!-- table (\w+) (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)
#: Bar charts: name of the picture, (bench, key) of the table, columns drawn beside each other, axis.
CHARTS = {
    'results_unseen': (('identification_methods', 'unseen'), ('plain', 'default'), 'torque left unexplained, %'),
    'results_friction': (('estimation', 'friction'), ('not adapted', 'adapted'), 'torque error, (N·m)²'),
}
COLOURS = ('#9aa5ab', '#00796b', '#b8621b')


class Table:
    """A table of one bench.

    Parameters
    ----------
    bench, key : file and entry under which it is kept.
    caption : what the rows are, with the unit where all columns have the same.
    columns : name of each column, and the form of its numbers (`''`: words).
    """

    def __init__(self, bench: str, key: str, caption: str, columns: dict[str, str]):
        self.bench, self.key, self.caption, self.columns = bench, key, caption, columns
        self.rows: list[list[Any]] = []

    def row(self, *cells: Any) -> None:
        """Add a row, and print it; a number that does not exist is None or NaN."""
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
    """Return a cell as JSON has it: words, a number of seven digits, or None where there is none."""
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


def markdown(table: dict[str, Any], sourced: bool) -> str:
    """Return a kept table as Markdown, with what it was measured on if that is asked for."""
    names, forms = ([column[part] for column in table['columns']] for part in ('name', 'form'))
    lines = [names, ['---' if form == '' else '---:' for form in forms]]
    lines += [list(written(row, forms)) for row in table['rows']]
    body = '\n'.join('| ' + ' | '.join(cell.replace('|', '\\|') for cell in line) + ' |' for line in lines)
    versions = ', '.join(f'{name} {number}' for name, number in table['versions'].items())
    source = f'`{table["command"]}`, {table["date"]}, {table["machine"]}; {versions}'
    return f'{table["caption"]}:\n\n{body}\n' + (f'\n<small>{source}.</small>\n' if sourced else '')


def filled(page: str, tables: dict[tuple[str, str], dict[str, Any]], sourced: bool) -> str:
    """Return a page with the kept tables between its markers, or the command that measures one that is not kept."""

    def shown(at: re.Match[str]) -> str:
        table = tables.get((at[2], at[3]))
        body = markdown(table, sourced) if table else f'Not measured yet: `python bench/run.py {at[2]}`.\n'
        return f'{at[1]}\n{body}\n{at[4]}'

    return MARKED.sub(shown, page)


def pages() -> Iterator[tuple[Path, str, str]]:
    """Yield every page that shows a table: its path, what it says, and what it should say."""
    tables = kept_tables()
    for path in sorted(DOCS.rglob('*.md')):
        page = path.read_text(encoding='utf-8')
        if MARKED.search(page):
            yield path, page, filled(page, tables, path.parent.name == 'results')


def draw(name: str, table: dict[str, Any], columns: tuple[str, ...], axis: str) -> None:
    """Draw columns of a table as bars, a group for each row; the same table gives the same file."""
    import matplotlib as mpl

    mpl.use('Agg')
    mpl.rcParams.update({'svg.hashsalt': name, 'svg.fonttype': 'none', 'font.family': 'sans-serif'})
    import matplotlib.pyplot as plt

    names = [column['name'] for column in table['columns']]
    rows, places = table['rows'], np.arange(len(table['rows']))
    figure, panel = plt.subplots(figsize=(7.5, 0.45 * len(rows) + 0.9), layout='constrained')
    for k, column in enumerate(columns):
        values = [row[names.index(column)] for row in rows]
        panel.barh(places + (k - (len(columns) - 1) / 2) * 0.38, values, 0.36, color=COLOURS[k], label=column)
    panel.set_yticks(places, [row[0] for row in rows])
    panel.invert_yaxis()
    panel.set_xlabel(axis)
    panel.spines[['top', 'right']].set_visible(False)
    panel.legend(frameon=False)
    figure.savefig(IMAGES / f'{name}.svg', metadata={'Date': None})
    plt.close(figure)


def main() -> None:
    """Write the kept tables into the pages, and the charts."""
    for path, _, page in pages():
        path.write_text(page, encoding='utf-8')
    tables = kept_tables()
    for name, (source, columns, axis) in CHARTS.items():
        if source in tables:
            draw(name, tables[source], columns, axis)


if __name__ == '__main__':
    main()
