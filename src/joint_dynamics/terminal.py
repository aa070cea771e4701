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

"""Conversation of a command with its user: lines, tables, progress, questions, and the JSON file of all of it."""

from __future__ import annotations

import contextlib
import functools
import json
import select
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically

if TYPE_CHECKING:  # rich takes longer to import than `--help` to print
    from rich.console import Console

LINE_EVERY = 10.0  # s between two progress lines off a terminal
PIPE_WIDTH = 160  # characters, least width of a table off a terminal
UNBROKEN_LENGTH = 24  # characters from which on a name without spaces goes below a table without room for it


class Terminal:
    """See the module.

    Attributes
    ----------
    command
        name of the subcommand, which begins each line on stderr.
    yes
        whether every question is answered with yes.
    quiet
        whether only questions and problems are shown.
    json_file
        path of a JSON file of all lines, tables and further facts; '' : none. `record` and `close` write it; the exit
        status is null until `close`.
    """

    def __init__(self, command: str = '', yes: bool = False, quiet: bool = False, json_file: str = ''):
        self.command, self.yes, self.quiet, self.json_file = command, yes, quiet, json_file
        self._document: dict[str, Any] = {'command': command, 'status': None, 'lines': [], 'tables': []}

    @functools.cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)

    @functools.cached_property
    def _errors(self) -> Console:
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=True)

    def record(self, **facts: Any) -> None:
        """Keep facts in the JSON file."""
        self._document |= facts
        if self.json_file:
            write_atomically(
                self.json_file, json.dumps(self._document, indent=2, ensure_ascii=False, allow_nan=False) + '\n'
            )

    def close(self, status: int) -> int:
        """Complete the JSON file with the exit status, and return it."""
        self.record(status=status)
        return status

    def say(self, line: str, style: str = '', label: str = '') -> None:
        """Show one line; the style colours its label, or the whole line where it has none."""
        self._document['lines'].append(label + line)
        if not self.quiet:
            from rich.text import Text

            self._console.print(Text.assemble((label, style), (line, '' if label else style)))

    def step(self, number: int, title: str) -> None:
        """Show the heading of a step."""
        self.say(f'\n{number} {title}', 'bold')

    def problem(self, line: str) -> None:
        """Show a line on stderr, quiet or not."""
        self._document.setdefault('problems', []).append(line)
        # A line of a function with the same name says so itself.
        command = '' if line.startswith(self.command) else f'{self.command}: '
        print(f'joint-dynamics {command}{line}', file=sys.stderr, flush=True)

    def table(self, title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Show a table of which no number is cut and no path broken.

        A few rows too wide for the terminal are shown as columns; paths without room stand below, by number.
        """
        values = [list(row) for row in rows]
        kept = [list(map(_plain, row)) for row in values]
        self._document['tables'].append({'title': title, 'headers': list(headers), 'rows': kept})
        if self.quiet:
            return
        from rich.table import Table
        from rich.text import Text

        console, cells = self._console, [list(headers), *(list(map(_text, row)) for row in values)]
        if not console.is_terminal:
            console.width = max(PIPE_WIDTH, _width(cells))
        width = console.width
        if _width(cells) > width and len(cells) <= len(headers):
            cells = [list(row) for row in zip(*cells, strict=True)]
        below: list[str] = []
        if _width(cells) > width:
            cells = [[_moved(cell, below) for cell in row] for row in cells]
        if title:
            console.print(Text(title, 'table.title'))
        table = Table(header_style='bold')
        for k, header in enumerate(cells[0]):
            table.add_column(Text(header), justify='right' if _is_number(kept, k) else 'left', overflow='fold')
        for row in cells[1:]:
            table.add_row(*map(Text, row))
        console.print(table, soft_wrap=False)
        for number, text in enumerate(below, start=1):
            console.print(Text(f'({number}) {text}'))

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[str], None]]:
        """Give a function that shows how far something is: a live line, or off a terminal one every 10 s."""
        from rich.text import Text

        if self.quiet:
            yield lambda line: None
            return
        if self._errors.is_terminal:
            with self._errors.status(Text(what)) as status:
                yield lambda line: status.update(Text(f'{what}: {line}'))
            return
        began, ended, latest = time.monotonic(), threading.Event(), ['']

        def report() -> None:
            while not ended.wait(LINE_EVERY):
                line = ': '.join(filter(None, (what, latest[-1])))
                print(f'{time.monotonic() - began:.0f} s: {line}', file=sys.stderr, flush=True)

        thread = threading.Thread(target=report, daemon=True)
        thread.start()
        try:
            yield lambda line: latest.__setitem__(0, line)
        finally:
            ended.set()
            thread.join()

    def ask(self, question: str, until: Callable[[Callable[[], bool]], None] | None = None) -> bool:
        """Return whether the user agrees; without a terminal `--yes` has to be given.

        Parameters
        ----------
        until
            called with a condition that is true when an answer can be read; returns when it is.

        Raises
        ------
        JointDynamicsError
            Where there is nobody to ask.
        """
        if self.yes:
            self._question(f'{question} yes (--yes)\n')
            return True
        if not sys.stdin.isatty():
            raise JointDynamicsError(f'{self.command}: expected a terminal to ask "{question}", found none: give --yes')
        self._question(f'{question} [y/N] ')
        if until is not None:
            until(lambda: bool(select.select([sys.stdin], [], [], 0.0)[0]))
        return sys.stdin.readline().strip().lower() in ('y', 'yes')

    def choose(self, question: str, answers: Sequence[tuple[str, str]]) -> str:
        """Return the name that the user picks of (name, meaning) rows.

        Raises
        ------
        JointDynamicsError
            Where there is nobody to ask.
        """
        expected = f'{self.command}: expected an answer to "{question}"'
        if not sys.stdin.isatty():
            raise JointDynamicsError(f'{expected}, found no terminal: {", ".join(name for name, _ in answers)}')
        lines = [f'  {number}  {name}: {meaning}' for number, (name, meaning) in enumerate(answers, start=1)]
        self._question('\n'.join([question, *lines, '']))
        while True:
            self._question(f'1 … {len(answers)}: ')
            line = sys.stdin.readline()
            if not line:
                raise JointDynamicsError(f'{expected}, found the end of the input')
            if line.strip().isdigit() and 1 <= int(line) <= len(answers):
                return answers[int(line) - 1][0]

    def _question(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(text, 'bold'), end='')


def _plain(value: Any) -> Any:
    """Return a cell as JSON has it: a text, a boolean, or a finite number, else null."""
    if value is None or isinstance(value, (str, bool)):
        return value
    number = float(value)
    return number if abs(number) < float('inf') else None


def _text(value: Any) -> str:
    if value is None or isinstance(value, (str, bool)):
        return '–' if value is None else str(value)
    return '–' if value != value else f'{float(value):.4g}'


def _is_number(rows: Sequence[Sequence[Any]], column: int) -> bool:
    """Return whether a column, other than the first, holds numbers."""
    return column > 0 and not any(isinstance(row[column], str) and row[column] for row in rows if column < len(row))


def _width(cells: Sequence[Sequence[str]]) -> int:
    """Return the characters that a table needs, its lines included."""
    return sum(max(map(len, column)) + 3 for column in zip(*cells, strict=True)) + 1


def _moved(cell: str, below: list[str]) -> str:
    """Return a cell, or the number under which it stands below where it is the long name of a file or recording."""
    if len(cell) <= UNBROKEN_LENGTH or ' ' in cell or not ('/' in cell or '@' in cell or '_' in cell):
        return cell
    if cell not in below:
        below.append(cell)
    return f'({below.index(cell) + 1})'
