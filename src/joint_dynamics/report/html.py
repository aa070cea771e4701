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

"""A self-contained HTML report: text, tables and figures in one file that needs nothing from the network.

An interval in a table is drawn as SVG: two deviations either way, relative to the value, from −100 to 100 %.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from joint_dynamics.description import write_atomically
from joint_dynamics.recording import short_name
from joint_dynamics.report.figure import Figure, figure_html

if TYPE_CHECKING:  # most pages show no robot, whose shapes take long to import
    from joint_dynamics.report.robot_view import RobotView

PAGE = Path(__file__).parent / 'page'
# A browser may run the scripts in the page, and load nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
WIDTH = 160  # pixels of the column
HEIGHT = 18  # pixels of a row
HALF = WIDTH / 2 - 5  # pixels of 100 %

UNSCRIPTED = 'Figures are drawn by a script: open this file in a browser that runs scripts.'


@dataclass(frozen=True)
class Marked:
    """A cell of a table with a dot in a colour of the page."""

    text: str
    colour: str


@dataclass(frozen=True)
class Interval:
    """A value and its standard deviation, as a cell of a table.

    Attributes
    ----------
    value, std
        in the same unit; an interval that contains zero reaches the edge.
    marked
        whether it is drawn in the colour of a warning.
    reference
        another value to draw beside it, None for none.
    """

    value: float
    std: float
    marked: bool = False
    reference: float | None = None

    def place(self, value: float) -> float:
        """Return the abscissa of a value in pixels."""
        share = (value - self.value) / abs(self.value) if self.value else 0.0
        return WIDTH / 2 + HALF * min(1.0, max(-1.0, share))

    def svg(self) -> str:
        """Return the interval as SVG."""
        low, high = (self.place(self.value + 2 * side * self.std) for side in (-1, 1))
        colour = 'c-residual' if self.marked else 'c-predicted'
        grid = f'M{WIDTH / 2 - HALF} 0V{HEIGHT}M{WIDTH / 2 + HALF} 0V{HEIGHT}'
        other = ''
        if self.reference is not None:
            other = f'<path class="c-measured wide" d="M{self.place(self.reference):.1f} 2V16"/>'
        words = f'{self.value:.4g} ± {2 * self.std:.2g}'
        return (
            f'<svg class="forest" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
            f'<path d="{grid}"/>{other}'
            f'<path class="{colour} wide" d="M{low:.1f} 9H{max(high, low + 0.5):.1f}"/>'
            f'<path class="{colour} big" d="M{WIDTH / 2} 9h0"/></svg>'
        )


@cache
def _asset(name: str) -> str:
    return (PAGE / name).read_text(encoding='utf-8').strip()


def _uplot() -> str:
    """Return uPlot with its licence instead of its first line, a comment with an address."""
    banner, _, code = _asset('uPlot.iife.min.js').partition('\n')
    assert banner.startswith('/*!') and banner.endswith('*/')
    return f'/* uPlot. {_asset("uPlot.LICENSE")} */\n{code}'


class Report:
    """Collects parts in order and writes them as one HTML file."""

    def __init__(self, title: str, subtitle: str = ''):
        self.title = title
        self.subtitle = subtitle
        self._parts: list[str] = []
        self._sections: list[str] = []
        self._end = ''  # of the section
        self._figures = 0
        self._robots = 0

    def add_section(self, title: str, folded: bool = False) -> None:
        """Begin a section, listed at the top; `folded`: shown after a click on its title, and not listed."""
        words = html.escape(title)
        if folded:
            self._parts.append(f'{self._end}<details><summary><h2>{words}</h2></summary>')
        else:
            self._sections.append(title)
            self._parts.append(f'{self._end}<h2 id="s{len(self._sections)}">{words}</h2>')
        self._end = '</details>' if folded else ''

    def add_text(self, text: str, kind: Literal['', 'warning', 'weak', 'good'] = '') -> None:
        """Add a paragraph of plain text, code in backticks; `kind` gives it its colour."""
        colour = f' class="{kind}"' if kind else ''
        self._parts.append(f'<p{colour}>{_words(text)}</p>')

    def add_list(self, texts: Sequence[str]) -> None:
        """Add a list of plain texts, code in backticks."""
        if texts:
            self._parts.append(f'<ul>{"".join(f"<li>{_words(text)}</li>" for text in texts)}</ul>')

    def add_table(self, headers: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = '') -> None:
        """Add a table; numbers have four digits, None is a dash, text is flush left, `Interval` is drawn."""
        self._parts.append(table_html(headers, rows, caption))

    def add_figure(self, figure: Figure, caption: str = '') -> None:
        """Add a figure."""
        self._figures += 1
        self._parts.append(figure_html(figure, caption, f'f{self._figures}'))

    def add_robot(self, view: RobotView, caption: str, beside: str = '') -> None:
        """Add a robot that moves; figures with its name as `clock` show the same time.

        beside: HTML beside the robot; '': its joints within their limits.
        """
        self._robots += 1
        self._parts.append(view.to_html(caption, beside))

    def to_html(self) -> str:
        """Return the whole page."""
        links = ''.join(f'<a href="#s{k}">{html.escape(title)}</a>' for k, title in enumerate(self._sections, start=1))
        title = html.escape(self.title)
        styles, scripts = [_asset('page.css')], [_asset('page.js')]
        if self._figures or self._robots:
            links += f'<noscript>{UNSCRIPTED}</noscript>'
        if self._figures:
            styles.append(_asset('uPlot.min.css'))
            scripts += [_uplot(), _asset('figures.js')]
        if self._robots:
            scripts.append(_asset('robot.js'))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
            f' content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy"'
            f' content="{POLICY}"><title>{title}</title>{"".join(f"<style>{style}</style>" for style in styles)}</head>'
            f'<body><header><h1>{title}</h1>'
            f'<p class="subtitle">{html.escape(self.subtitle)}</p><nav aria-label="sections">{links}</nav></header>'
            f'<main>{"".join(self._parts)}{self._end}</main>'
            f'{"".join(f"<script>{script}</script>" for script in scripts)}</body></html>\n'
        )

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        write_atomically(path, self.to_html())


def table_html(headers: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = '') -> str:
    """Return a table as `Report.add_table` adds it."""
    # A column is of text when its first value is.
    firsts = [next((row[k] for row in rows if row[k] is not None), None) for k in range(len(headers))]
    head = ''.join(
        f'<th scope="col"{_style(first)}>{_breakable(html.escape(header))}</th>'
        for header, first in zip(headers, firsts, strict=True)
    )
    body = ''.join(f'<tr>{"".join(map(_cell, row, range(len(row))))}</tr>' for row in rows)
    top = f'<caption>{html.escape(caption)}</caption>' if caption else ''
    kind = ' class="words"' if all(map(_is_text, firsts)) else ''
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(caption or "table")}">'
        f'<table{kind}>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(value: Any, column: int) -> str:
    text = _text(value)
    return f'<td{_style(value)}>{text if column else _breakable(text)}</td>'


def number(value: float, digits: int = 4) -> str:
    """Return a number as readable text: `digits` significant digits, without a needless exponent."""
    return f'{value:.{digits}g}'


def _breakable(text: str) -> str:
    """Return HTML text whose long names go on after an underscore, not in the middle of a word."""
    return re.sub(r'\w{13,}', lambda name: name[0].replace('_', '_<wbr>'), text)


def _words(text: str) -> str:
    return re.sub('`([^`]+)`', r'<code>\1</code>', html.escape(text))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or hasattr(value, 'dtype')


def _text(value: Any) -> str:
    if value is None or (_is_number(value) and value != value):
        return '–'
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, (list, tuple)):
        return ', '.join(map(_text, value)) or '–'
    if isinstance(value, dict):
        return ', '.join(f'{html.escape(str(key))}: {_text(item)}' for key, item in value.items())
    if isinstance(value, Interval):
        return value.svg()
    if isinstance(value, Marked):
        return f'<i class="dot c-{value.colour}"></i>{html.escape(value.text)}'
    return number(float(value)) if _is_number(value) else html.escape(str(value))


def _is_text(value: Any) -> bool:
    return isinstance(value, (bool, Interval)) or not (value is None or _is_number(value))


def _style(value: Any) -> str:
    return ' class="text"' if _is_text(value) else ''


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
            add_values(report, value, _plain(key))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            _add_rows(report, value, _plain(key))
        elif isinstance(value, Mapping):
            rows.append({'': short_name(key), **value})
        else:
            plain.append([_plain(key), value])
    if rows:
        _add_rows(report, rows, caption)
    if plain:
        report.add_table(['', 'value'], plain, caption)


def _add_rows(report: Report, rows: list[dict[str, Any]], caption: str = '') -> None:
    headers = list(dict.fromkeys(key for row in rows for key in row))
    report.add_table([*map(_plain, headers)], [[row.get(key) for key in headers] for row in rows], caption)


def _plain(name: str) -> str:
    return short_name(name).replace('_', ' ')
