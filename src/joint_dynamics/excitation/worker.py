"""A search process, `python -m joint_dynamics.excitation.worker`, run by `optimise` over standard input and output.

The linear algebra of the small matrices runs on one thread, which is several times faster.
"""

from __future__ import annotations

import time

from joint_dynamics.excitation.problem import ExcitationProblem
from joint_dynamics.excitation.search import NoMotionFound, search
from joint_dynamics.python_process import serve


def main() -> None:
    """Read (model, settings, seconds left, earlier motions), then the numbers of starts to run; write the results.

    Messages out: ('found', Found), ('none', {kind of limit: margin}), ('done', start).
    """
    receive, send = serve()
    model, settings, seconds, earlier = receive()
    deadline = time.monotonic() + seconds
    problem = ExcitationProblem(model, settings, earlier)
    while True:
        start = receive()
        try:
            search(problem, start, deadline, lambda better: send(('motion', better)))
        except NoMotionFound as error:
            send(('infeasible', error.broken))
        send(('done', start))


if __name__ == '__main__':
    main()
