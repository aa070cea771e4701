"""A Python module run as a child process, its lines read without waiting."""

from __future__ import annotations

import json
import os
import subprocess
from typing import IO, Any

from joint_dynamics.python_process import environment, module_command


class Worker:
    """Runs a module with `arguments`; `poll` returns the JSON objects it has printed since the last time.

    file: an open file that it inherits; the number of its descriptor is the last argument.

    Its own session keeps a Ctrl-C of the terminal away from it; it is told to end through its stdin, which also closes
    when this process dies in whatever way.
    """

    def __init__(self, module: str, *arguments: str, file: IO[bytes] | None = None):
        inherited = () if file is None else (file.fileno(),)
        # One thread, unless told otherwise: the robot's driver may share this machine.
        threads = os.environ.get('OPENBLAS_NUM_THREADS', '1')
        self._process = subprocess.Popen(
            module_command(module, [*arguments, *map(str, inherited)]),
            pass_fds=inherited,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment({'OPENBLAS_NUM_THREADS': threads}),
        )
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
