"""Work that takes longer than a callback may: done in a thread, its outcome looked for by the executor."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar('T')
PATIENCE = 2.0
"""Longest wait [s] for cancelled work to end; what has not ended by then ends with the process."""


class CancelledError(Exception):
    """Nobody wants the outcome any more."""


class Background(Generic[T]):
    """Calls `work(say)` in a thread.

    `outcome` is None while it lasts, then what it returned or the exception it raised.

    `say(line)` keeps a line on how far it is, in `line`, and raises CancelledError once `cancel` was called.
    """

    def __init__(self, work: Callable[[Callable[[str], None]], T], line: str = ''):
        self.line = line
        self.outcome: T | Exception | None = None
        self._cancelled = False
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self._work(self._say)
        except Exception as error:
            self.outcome = error

    def _say(self, line: str) -> None:
        if self._cancelled:
            raise CancelledError
        self.line = line

    def cancel(self) -> None:
        """Ask it to end, and wait a moment until it has."""
        self._cancelled = True
        self._thread.join(PATIENCE)
