"""A process that measures runs: `python -m joint_dynamics.trend.worker`, fed through its standard input.

A separate program for the reasons given in `excitation.worker`; and a recording that kills one process does not affect
the others.
"""

from __future__ import annotations

import os
import pickle
import sys

from joint_dynamics.trend.measure import work

NICENESS = 10
"""Trends are for the night; the robot's driver may share this machine."""


def main() -> None:
    """Read tasks until the input ends; write each one's outcome."""
    os.nice(NICENESS)
    out = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)  # what a library prints must not end up among the outcomes
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(work(task), out)
        out.flush()


if __name__ == '__main__':
    main()
