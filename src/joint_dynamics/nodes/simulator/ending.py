"""How the simulator ends within the five seconds that launch gives, on a machine with more to do than it can."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

#: Seconds between interrupts after a signal.
AGAIN = 0.2


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGINT and SIGTERM also raise KeyboardInterrupt in the code inside, in addition to their usual effect.

    `run` only records a signal and handles it between callbacks, so that a node can shut down properly; a compilation
    of half a minute is too long for that, since launch waits 5 s. Outside the main thread, and without signal handlers,
    nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}

    def handle(number: int, frame: FrameType | None) -> None:
        noted = before[signal.Signals(number)]
        if callable(noted):
            noted(number, frame)
        # Raised where nobody can pass it on, in a destructor or a call back from C, the interrupt is lost: again, until
        # it is heard.
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise KeyboardInterrupt

    def again(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    taken = [number for number in (signal.SIGINT, signal.SIGTERM) if callable(before[number])]
    try:
        signal.signal(signal.SIGALRM, again)
        for number in taken:
            signal.signal(number, handle)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number in (*taken, signal.SIGALRM):
            signal.signal(number, before[number])


def leave(status: int) -> None:
    """End the process with `status` once everything is done: exit functions called, output written.

    The interpreter's own way takes every module apart, those of compiler and physics among them: seconds on a busy
    machine, in which a second signal finds no handler any more (exit status −15).
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)
