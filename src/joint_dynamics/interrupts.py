"""Signals that end a process, turned into exceptions where these do no harm; and a process that ends at once."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold back the signals that Python handles until the block is done, and hand them on then.

    Ctrl-C raises KeyboardInterrupt between any two bytecodes. Where those belong to code that a library of C++ has
    called, as rclpy does while it builds a message, the library reports a failure of its own (`RuntimeError: Unable to
    convert call argument`), or nothing. Signals that nobody has taken end the process at once, as ever; elsewhere than
    in the main thread, where Python handles none, nothing changes. The block should be short.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM] + [signal.SIGHUP] * hasattr(signal, 'SIGHUP')
    before = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in filter(came.__contains__, before):
            signal.raise_signal(number)


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what runs inside as Ctrl-C does, by KeyboardInterrupt, through every `finally`."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM] + [signal.SIGHUP] * hasattr(signal, 'SIGHUP')
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
