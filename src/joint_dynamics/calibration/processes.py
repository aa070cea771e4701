# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The processes a command starts: watched while they run, and gone when the command is, however it ends.

Run as a module, `processes PARENT MODULE …` runs a module as `python -m MODULE …` does, in a process that ends with the
one that started it. Whatever kills the parent, be it SIGKILL, the kernel then sends SIGTERM here (PR_SET_PDEATHSIG of
Linux; elsewhere the parent's own clean-up has to do), and a node that gets SIGTERM shuts down in good order.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from joint_dynamics import python_process
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.python_process import module_command

#: Seconds from SIGINT to SIGTERM, and from SIGTERM to SIGKILL.
STOP_TIMEOUT = 5.0
PR_SET_PDEATHSIG = 1


class Processes:
    """Python modules run as processes, each in a session of its own, its output in `<logs>/<name>.log`.

    A context manager: leaving it ends them all, first by SIGINT, at last by SIGKILL to the whole session. A Ctrl-C of
    the terminal does not reach them, so that they end in the order this process wants; when this process is killed,
    they get SIGTERM (see the module).
    """

    def __init__(self, logs: Path):
        self.logs = logs
        self._running: dict[str, subprocess.Popen[Any]] = {}

    def __enter__(self) -> Processes:
        atexit.register(self.close)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        atexit.unregister(self.close)

    @property
    def pids(self) -> dict[str, int]:
        """Process number by name, of those that were started and not ended."""
        return {name: process.pid for name, process in self._running.items()}

    def start(
        self, name: str, module: str, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a module as `python -m` does, apart from the working folder.

        Must be called from the main thread, with which the process ends.
        """
        log = self.logs / f'{name}.log'
        try:
            with log.open('wb') as output:
                command = module_command('joint_dynamics.calibration.processes', [str(os.getpid()), module, *arguments])
                self._running[name] = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env=python_process.environment(environment),
                )
        except OSError as error:
            raise JointDynamicsError(f'{name}: expected it to start, found: {error}') from None

    def status(self, name: str) -> int | None:
        """Return the exit status of a process; None while it runs."""
        return self._running[name].poll()

    def check(self) -> None:
        """Raise JointDynamicsError with the end of its log when a process has ended by itself."""
        for name, process in self._running.items():
            status = process.poll()
            if status is not None:
                raise JointDynamicsError(
                    f'{name}: expected it to keep running, found that it ended (status {status}): '
                    f'{self.last_words(name)}; see {self.logs / name}.log'
                )

    def last_words(self, name: str) -> str:
        """Return the last line of a log that says something."""
        with contextlib.suppress(OSError):
            lines = [
                line.strip()
                for line in (self.logs / f'{name}.log').read_text(errors='replace').splitlines()
                if line.strip()
            ]
            if lines:
                return lines[-1]
        return 'nothing in its log'

    def stop(self, name: str) -> int:
        """End one process in good order; return its exit status."""
        process = self._running.pop(name)
        self._end([process])
        return process.returncode

    def close(self) -> None:
        """End all processes; none is left when this returns."""
        processes, self._running = list(self._running.values()), {}
        self._end(processes)

    def _end(self, processes: list[subprocess.Popen[Any]]) -> None:
        # An impatient second Ctrl-C must not leave half of them behind.
        with _uninterrupted():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                alive = [process for process in processes if process.poll() is None]
                for process in alive:
                    process.send_signal(number)
                deadline = time.monotonic() + STOP_TIMEOUT
                for process in alive:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(max(0.0, deadline - time.monotonic()))
            for process in processes:
                # Their own children in the same session, if still there.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    try:
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: no handler of ours to put aside
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def attach(parent: int) -> None:
    """Ask for SIGTERM when `parent` ends; end at once where it has ended already."""
    if sys.platform.startswith('linux'):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """Run the module that the command line names."""
    parent, module = int(sys.argv[1]), sys.argv[2]
    attach(parent)
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name='__main__', alter_sys=True)


if __name__ == '__main__':
    main()
