"""A process that measures runs: `python -m joint_dynamics.trend.worker`, fed through its standard input.

A recording that kills one process does not affect the others.
"""

from __future__ import annotations

from joint_dynamics.python_process import serve
from joint_dynamics.trend.measure import work


def main() -> None:
    """Read tasks until the input ends; write each one's outcome."""
    receive, send = serve()
    while True:
        send(work(receive()))


if __name__ == '__main__':
    main()
