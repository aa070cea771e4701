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

"""Conversation with the user: lines, progress, questions; plain lines where there is no terminal."""

from __future__ import annotations

import contextlib
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from joint_dynamics.errors import JointDynamicsError

LINE_EVERY = 10.0
"""Seconds between two progress lines off a terminal."""


class Terminal:
    """See the module.

    Attributes
    ----------
    yes
        whether every question is answered with yes.
    quiet
        whether only questions and problems are shown.
    """

    def __init__(self, yes: bool = False, quiet: bool = False):
        self.yes, self.quiet = yes, quiet
        self._console = Console(highlight=False, markup=False, soft_wrap=True)

    def say(self, line: str, style: str = '') -> None:
        """Show one line."""
        if not self.quiet or style:
            self._console.print(Text(line, style))

    def step(self, number: int, title: str) -> None:
        """Show the heading of a step."""
        if not self.quiet:
            self._console.print(Text(f'\n{number} {title}', 'bold'))

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table of texts."""
        if self.quiet:
            return
        table = Table(header_style='bold')
        for header in headers:
            table.add_column(header, overflow='fold')
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(table)

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[str], None]]:
        """Give a function that shows how far something is: a live line, or off a terminal one every 10 s."""
        if self.quiet:
            yield lambda line: None
        elif self._console.is_terminal:
            with self._console.status(what) as status:
                yield lambda line: status.update(Text(f'{what}: {line}'))
        else:
            last = [time.monotonic()]

            def show(line: str) -> None:
                if time.monotonic() - last[0] >= LINE_EVERY:
                    last[0] = time.monotonic()
                    self.say(f'{what}: {line}')

            yield show

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
            self._console.print(Text(f'{question} yes (--yes)'))
            return True
        if not sys.stdin.isatty():
            raise JointDynamicsError(f'calibrate: expected a terminal to ask "{question}", found none: give --yes')
        self._console.print(Text(f'{question} [y/N] ', 'bold'), end='')
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
        if not sys.stdin.isatty():
            names = ', '.join(name for name, _ in answers)
            raise JointDynamicsError(f'calibrate: expected an answer to "{question}", found no terminal: {names}')
        self.say(question, 'bold')
        for number, (name, meaning) in enumerate(answers, start=1):
            self.say(f'  {number}  {name}: {meaning}', 'bold')
        while True:
            self._console.print(Text(f'1 … {len(answers)}: ', 'bold'), end='')
            line = sys.stdin.readline()
            if not line:
                raise JointDynamicsError(f'calibrate: expected an answer to "{question}", found the end of the input')
            if line.strip().isdigit() and 1 <= int(line) <= len(answers):
                return answers[int(line) - 1][0]
