"""A node's long work in a thread (`Background`) or a process of its own (`Worker`): the node goes on listening.

For a process the node writes a job into a file without a name, starts a module with the number of its descriptor, and
reads one JSON object per line: whatever the work says on its way, at last `{"done": …}` or `{"failed": text}`. When the
node's end of stdin closes, in whatever way the node dies, the process ends.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.python_process import environment, module_command

T = TypeVar('T')
PATIENCE = 2.0
"""Longest wait [s] for cancelled work to end; what has not ended by then ends with the process."""
NICENESS = 5
"""The robot's driver may share this machine."""


class CancelledError(Exception):
    """Nobody wants the outcome any more."""


class Background(Generic[T]):
    """Calls `work(say)` in a thread.

    `outcome` is None while it lasts, then what it returned or the exception it raised.

    `say(line)` keeps a line on how far it is, in `line`, and raises CancelledError once `cancel` was called.
    """

    def __init__(self, work: Callable[[Callable[[str], None]], T], line: str = ''):
        self.line = line
        self.outcome: T | Exception | None = None
        self._cancelled = False
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self._work(self._say)
        except Exception as error:
            self.outcome = error

    def _say(self, line: str) -> None:
        if self._cancelled:
            raise CancelledError
        self.line = line

    def cancel(self) -> None:
        """Ask it to end, and wait a moment until it has."""
        self._cancelled = True
        self._thread.join(PATIENCE)


class Worker:
    """Runs a module that does `job` by `do_job`; `poll` returns the objects it has sent since the last time.

    Its own session keeps a Ctrl-C of the terminal away from it.

    Raises
    ------
    JointDynamicsError
        Where the job cannot be handed over.
    """

    def __init__(self, module: str, job: Any):
        # One thread, unless told otherwise: the robot's driver may share this machine.
        threads = os.environ.get('OPENBLAS_NUM_THREADS', '1')
        try:
            # Without a name: nothing of it is left, whoever is killed when.
            with tempfile.TemporaryFile() as file:
                pickle.dump(job, file, protocol=pickle.HIGHEST_PROTOCOL)
                file.seek(0)
                self._process = subprocess.Popen(
                    module_command(module, [str(file.fileno())]),
                    pass_fds=(file.fileno(),),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    env=environment({'OPENBLAS_NUM_THREADS': threads}),
                )
        except OSError as error:
            raise JointDynamicsError(
                'worker: expected to hand the work to a process of its own by a file in '
                f'{tempfile.gettempdir()}, found: {error.strerror or error}'
            ) from None
        assert self._process.stdout is not None and self._process.stderr is not None
        self._out, self._err = self._process.stdout.fileno(), self._process.stderr.fileno()
        os.set_blocking(self._out, False)
        os.set_blocking(self._err, False)
        self._rest = b''
        self.errors = ''

    def poll(self) -> list[dict[str, Any]]:
        """Return what was printed since the last call, in order; never waits."""
        *lines, self._rest = (self._rest + _available(self._out)).split(b'\n')
        self.errors += _available(self._err).decode(errors='replace')
        return [json.loads(line) for line in lines]

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status, None while it runs."""
        return self._process.poll()

    def close(self) -> None:
        """End it, if it has not ended by itself."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


def do_job(work: Callable[[Any, Callable[..., None]], Any]) -> int:
    """Do the job of the file whose descriptor is named on the command line; return the exit status.

    Parameters
    ----------
    work
        (job, send) → what is done; send(key=value, …) says one object on the way. A JointDynamicsError of it is sent as
        `failed`.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(NICENESS)

    def send(**line: Any) -> None:
        print(json.dumps(line), flush=True)

    with os.fdopen(int(sys.argv[1]), 'rb') as file:
        job = pickle.load(file)
    try:
        send(done=work(job, send))
    except JointDynamicsError as error:
        send(failed=one_line(error))
    return 0


def _end_with_parent() -> None:
    # Not sys.stdin: its lock, held here, would abort the interpreter's own end.
    while os.read(0, 4096):
        pass
    os._exit(1)


def _available(descriptor: int) -> bytes:
    chunks = []
    while True:
        try:
            chunk = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    return b''.join(chunks)
