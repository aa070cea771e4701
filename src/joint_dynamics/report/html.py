"""A self-contained HTML report: text, tables and figures in one file that needs nothing from the network."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib

from joint_dynamics.description import write_atomically

matplotlib.use('Agg')

STYLE = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #5b6876; --line: #d8dee6; --paper: #fff;
  --accent: #0b6fb8; --warn: #a33; --good: #1a7337;
  --alt: #f5f7fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #9aa7b5; --line: #344150;
  --paper: #12181f; --alt: #1a222c; --accent: #62b0ea; --warn: #f08a80; --good: #7fd18c; } }
body { margin: 0 auto; max-width: 1240px; padding: 1.5rem; font: 15px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin-bottom: .2rem; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
p.subtitle { color: var(--soft); margin-top: 0; } p.warning { color: var(--warn); font-weight: 600; }
p.good { color: var(--good); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { padding: .22rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child, td.text, th.text { text-align: left; white-space: normal; }
tbody tr:nth-child(even) { background: var(--alt); }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption { color: var(--soft); }
nav a { margin-right: 1rem; color: var(--accent); }
"""


class Report:
    """Collects parts in order and writes them as one HTML file."""

    def __init__(self, title: str, subtitle: str = ''):
        self.title = title
        self.subtitle = subtitle
        self._parts: list[str] = []
        self._sections: list[str] = []

    def add_section(self, title: str) -> None:
        """Begin a section; it is listed at the top."""
        self._sections.append(title)
        self._parts.append(f'<h2 id="s{len(self._sections)}">{html.escape(title)}</h2>')

    def add_text(self, text: str, kind: Literal['', 'warning', 'good'] = '') -> None:
        """Add a paragraph of plain text; `kind` gives it its colour."""
        colour = f' class="{kind}"' if kind else ''
        self._parts.append(f'<p{colour}>{html.escape(text)}</p>')

    def add_table(self, headers: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = '') -> None:
        """Add a table; numbers are written with four digits, None as a dash, text flush left."""
        left = [bool(rows) and isinstance(value, str) for value in (rows[0] if rows else headers)]
        head = ''.join(
            f'<th scope="col"{" class=text" if words else ""}>{html.escape(str(header))}</th>'
            for header, words in zip(headers, left, strict=True)
        )
        body = ''.join('<tr>' + ''.join(_cell(value) for value in row) + '</tr>' for row in rows)
        top = f'<caption>{html.escape(caption)}</caption>' if caption else ''
        self._parts.append(
            f'<div class="wide"><table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def add_figure(self, figure: Any, caption: str = '', folded: str = '') -> None:
        """Add a matplotlib figure (it is closed); `folded`: what to click on to see it."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format='png', dpi=110, bbox_inches='tight')
        from matplotlib import pyplot

        pyplot.close(figure)
        data = base64.b64encode(buffer.getvalue()).decode('ascii')
        text = html.escape(caption)
        drawn = f'<figure><img src="data:image/png;base64,{data}" alt="{text}"><figcaption>{text}</figcaption></figure>'
        self._parts.append(f'<details><summary>{html.escape(folded)}</summary>{drawn}</details>' if folded else drawn)

    def to_html(self) -> str:
        """Return the whole page."""
        links = ''.join(f'<a href="#s{k}">{html.escape(title)}</a>' for k, title in enumerate(self._sections, start=1))
        title = html.escape(self.title)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
            ' content="width=device-width, initial-scale=1">'
            f'<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1><p'
            f' class="subtitle">{html.escape(self.subtitle)}</p>'
            f'<nav>{links}</nav>{"".join(self._parts)}</body></html>\n'
        )

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        write_atomically(path, self.to_html())


def number(value: float, digits: int = 4) -> str:
    """Return a number for reading: `digits` significant ones, no needless exponent."""
    return f'{value:.{digits}g}'


def _cell(value: Any) -> str:
    if value is None:
        return '<td>–</td>'
    if isinstance(value, bool):
        return f'<td class="text">{"yes" if value else "no"}</td>'
    if isinstance(value, (int, float)) or hasattr(value, 'dtype'):
        return f'<td>{number(float(value))}</td>'
    return f'<td class="text">{html.escape(str(value))}</td>'
