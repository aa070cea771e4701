"""The time for which a node could take messages, by which silence of others is judged."""

from __future__ import annotations

import time

TICK = 0.04
"""Most that listening time goes on between two ticks [s].

While the process could not run, no message could be taken either.
"""


class Listening:
    """Time that goes on while the executor comes round.

    Attributes
    ----------
    time
        for which messages could be taken, s.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self._ticked = time.monotonic()

    def tick(self) -> None:
        """Let it go on; to be called every 20 ms of the wall by the executor that takes the messages."""
        now = time.monotonic()
        self.time += min(now - self._ticked, TICK)
        self._ticked = now
