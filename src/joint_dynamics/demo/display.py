"""What a long command shows of itself: a bar per stage on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

#: Called with the share of the stage that is done, 0 … 1, and, if it likes, a few words.
Step = Callable[..., None]


class Display:
    """Stages one after the other; `seconds` holds how long each took. A context manager."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.seconds: dict[str, float] = {}
        self._console = Console()
        self._live = self._console.is_terminal
        self._progress = Progress(
            TextColumn('{task.description:<24}'),
            BarColumn(24),
            TimeElapsedColumn(),
            TextColumn('{task.fields[words]}'),
            console=self._console,
            disable=not self._live,
        )

    def __enter__(self) -> Display:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, line: str) -> None:
        """Show one line above the bars."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Step]:
        """Run one stage; its value is called as the stage goes on."""
        began = time.monotonic()
        if not self._live:
            print(f'{name} …', flush=True)
        task = self._progress.add_task(name, total=1.0, words='')
        last = ''

        def step(share: float, words: str = '') -> None:
            nonlocal last
            self._progress.update(task, completed=share, words=words)
            last = words or last

        yield step
        self.seconds[name] = time.monotonic() - began
        self._progress.update(task, completed=1.0, words=last)
        self._progress.stop_task(task)
        if not self._live:
            print(f'{name}: {self.seconds[name]:.1f} s{f", {last}" if last else ""}', flush=True)
