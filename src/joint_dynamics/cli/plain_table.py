"""Tables for a pipe or a file, drawn as `rich` draws them there.

To load and lay out, that takes a thirtieth of `identify`. On a terminal, with its width and colours, it is rich.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from typing import TextIO


def on_terminal(stream: TextIO) -> bool:
    """Whether what is written there is shown on a terminal, or is to look as if: as rich decides it."""
    compatible, color = os.environ.get('TTY_COMPATIBLE'), os.environ.get('FORCE_COLOR')
    if compatible in ('0', '1'):
        return compatible == '1'
    return color != '' if color is not None else stream.isatty()


def is_plain(text: str) -> bool:
    """Whether every character of a text takes one column."""
    return text.isprintable() and (
        text.isascii()
        or all(unicodedata.east_asian_width(c) not in 'WF' and not unicodedata.combining(c) for c in text)
    )


def plain_table(title: str, cells: Sequence[Sequence[str]]) -> str:
    """Return a table as text, the first row of cells its headers; the first column to the left, the rest to the right.

    title, cells: all of them plain, see `is_plain`.
    """
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

    def ruled(left: str, between: str, right: str, line: str) -> str:
        return left + between.join(line * (width + 2) for width in widths) + right

    def written(row: Sequence[str], edge: str) -> str:
        others = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        return f'{edge} ' + f' {edge} '.join([row[0].ljust(widths[0]), *others]) + f' {edge}'

    return '\n'.join(
        [
            title,
            ruled('┏', '┳', '┓', '━'),
            written(cells[0], '┃'),
            ruled('┡', '╇', '┩', '━'),
            *(written(row, '│') for row in cells[1:]),
            ruled('└', '┴', '┘', '─'),
        ]
    )
