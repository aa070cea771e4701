"""Signals that end a process, turned into exceptions where these do no harm."""

from __future__ import annotations

import contextlib
import signal
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
