"""A search process, `python -m joint_dynamics.excitation.worker`, run by `optimise` over standard input and output.

It is a separate program rather than multiprocessing, because the caller then needs no main guard, threads of the caller
(a ROS node's) are not forked, and the linear algebra of the small matrices runs on one thread, which is several times
faster.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
import time
from typing import Any, BinaryIO

from joint_dynamics.excitation.problem import ExcitationProblem
from joint_dynamics.excitation.search import NoMotionFound, search

NICENESS = 10
"""A search takes the time that nobody else wants: the robot's driver may share this machine, with a clock at 500 Hz."""


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message."""
    pickle.dump(message, stream)
    stream.flush()


def main() -> None:
    """Read (model, settings, seconds left, earlier motions), then the numbers of starts to run; write the results.

    When the input ends, as when the caller is killed, the process ends at once.

    Messages out: ('found', Found), ('none', {kind of limit: margin}), ('done', start).
    """
    os.nice(NICENESS)
    out = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)  # what a library prints must not end up among the messages
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    model, settings, seconds, earlier = inbox.get()
    deadline = time.monotonic() + seconds
    problem = ExcitationProblem(model, settings, earlier)
    while True:
        start = inbox.get()
        try:
            search(problem, start, deadline, lambda found: send(out, ('found', found)))
        except NoMotionFound as error:
            send(out, ('none', error.broken))
        send(out, ('done', start))


def _listen(inbox: queue.SimpleQueue[Any]) -> None:
    # Not sys.stdin: its lock, held here, would abort the interpreter's own end.
    with os.fdopen(0, 'rb') as source:
        try:
            while True:
                inbox.put(pickle.load(source))
        except EOFError:
            os._exit(0)


if __name__ == '__main__':
    main()
