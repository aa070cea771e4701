"""Run a module as `python -m MODULE …` does, in a process that ends with the one that started it.

`child_process PARENT MODULE …`.

Whatever kills the parent, be it SIGKILL, the kernel then sends SIGTERM here (PR_SET_PDEATHSIG of Linux; elsewhere the
parent's own clean-up has to do), and a node that gets SIGTERM shuts down in good order.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def attach(parent: int) -> None:
    """Ask for SIGTERM when `parent` ends; end at once where it has ended already."""
    if sys.platform.startswith('linux'):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """See the module."""
    parent, module = int(sys.argv[1]), sys.argv[2]
    attach(parent)
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name='__main__', alter_sys=True)


if __name__ == '__main__':
    main()
