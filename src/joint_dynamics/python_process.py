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

"""Processes: started as modules of this package, never with code of the working folder, and ended by signals.

Work in other processes goes by `Worker` and `serve`: separate programs rather than multiprocessing. The caller then
needs no main guard, and its threads (a ROS node's) are not forked. A dying process takes no other along, as it would in
a ProcessPoolExecutor, and each can be ended at once.

`python -m` and an empty part of PYTHONPATH put the working folder on the path of modules: a `scipy.py` in it would be
executed. `-P` exists from Python 3.11 on, and `-I` hides PYTHONPATH, by which Python finds a ROS installation.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import importlib.util
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from joint_dynamics.errors import JointDynamicsError

TERMINATION = (signal.SIGTERM, signal.SIGHUP)  # signals that end a process as Ctrl-C does
LONGEST_END = 30.0  # s, from a signal to the forced end; a node that brakes or saves needs a few
NICENESS = 10  # of background processes: the robot's driver may share this machine, at 500 Hz
ONE_THREAD = {f'{library}_NUM_THREADS': '1' for library in ('OPENBLAS', 'OMP', 'MKL', 'VECLIB_MAXIMUM')}
"""Environment of processes that share the cores among themselves."""
# Where the caller has the package, which need not be on the path of the child: a source folder that it was started in.
_HOME = Path(__file__).resolve().parents[1]
# sys is built in, so that nothing is looked for before the working folder is off the path.
_BOOTSTRAP = """
import sys
home, target = sys.argv[1:3]
del sys.argv[1:3]
sys.path[:] = [home, *filter(None, sys.path)]
import joint_dynamics
del sys.path[0]
import importlib, runpy
module, _, function = target.partition(':')
if function:
    sys.exit(getattr(importlib.import_module(module), function)())
runpy.run_module(module, run_name='__main__', alter_sys=True)
"""


def module_command(target: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command line that runs a module as `python -m` does, without the working folder on the path.

    `target` is the module, or `module:function` to call its function. To be used with `environment`.
    """
    return [sys.executable, '-c', _BOOTSTRAP, str(_HOME), target, *arguments]


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment with `changes`.

    PYTHONPATH without the empty parts that stand for the working folder.
    """
    variables = {**os.environ, **(changes or {})}
    folders = [folder for folder in variables.pop('PYTHONPATH', '').split(os.pathsep) if folder]
    return {**variables, 'PYTHONPATH': os.pathsep.join(folders)} if folders else variables


class Worker:
    """A part of this package as a process of one thread that exchanges objects with its caller, see `serve`.

    In a session of its own: an interrupt from the keyboard is for the caller. It ends with its caller, in whatever way
    that ends.

    Parameters
    ----------
    target
        `module`, or `module:function`, that calls `serve`.
    on_message
        called, in a thread, with every object that the process sends, at last with None: it has ended.
    """

    def __init__(self, target: str, on_message: Callable[[Any], None]):
        self._process = subprocess.Popen(
            module_command(target),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(ONE_THREAD),
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        threading.Thread(target=self._listen, args=(on_message,), daemon=True).start()

    def _listen(self, on_message: Callable[[Any], None]) -> None:
        with self._out, contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                on_message(pickle.load(self._out))
        on_message(None)

    def send(self, message: Any) -> None:
        """Send it an object, which may take until it reads; of a process that has ended `on_message` gets None."""
        with contextlib.suppress(OSError, ValueError):
            pickle.dump(message, self._in, protocol=pickle.HIGHEST_PROTOCOL)
            self._in.flush()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def wait(self) -> int:
        """Wait until it has ended; return its status."""
        return self._process.wait()

    def close(self) -> None:
        """End it, if it has not ended by itself."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._in.close()


def serve(niceness: int = NICENESS) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Return two functions of a process started by `Worker`: receive the next object, send an object.

    When the input ends, as when the caller is killed, the process ends at once.

    Parameters
    ----------
    niceness
        of the process.
    """
    os.nice(niceness)
    out = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)  # what a library prints must not end up among the messages
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        # Not sys.stdin: its lock, held here, would abort the interpreter's own end.
        with os.fdopen(0, 'rb') as source:
            try:
                while True:
                    inbox.put(pickle.load(source))
            except EOFError:
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)

    def send(message: Any) -> None:
        pickle.dump(message, out)
        out.flush()

    threading.Thread(target=listen, daemon=True).start()
    return inbox.get, send


def cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def need_ros(command: str) -> None:
    """Raise JointDynamicsError for a command that needs ROS 2, where rclpy is not installed."""
    if importlib.util.find_spec('rclpy') is None:
        raise JointDynamicsError(
            f'{command}: expected ROS 2 with rclpy, found none (pip install joint_dynamics[ros], or source a ROS 2'
            ' installation)'
        )


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], None], numbers: Iterable[int]) -> Iterator[None]:
    """Handle these signals by `handler` until the block is done."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold back the signals that Python handles until the block is done, and hand them on then.

    Ctrl-C raises KeyboardInterrupt between any two bytecodes. Where those belong to code that a library of C++ has
    called, as rclpy does while it builds a message, the library reports a failure of its own (`RuntimeError: Unable to
    convert call argument`), or nothing. Unhandled signals still end the process at once; outside the main thread
    nothing changes. The block should be short.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    numbers = [number for number in (signal.SIGINT, *TERMINATION) if callable(signal.getsignal(number))]
    try:
        with _handled(lambda number, frame: came.append(number), numbers):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what runs inside as Ctrl-C does, by KeyboardInterrupt, through every `finally`."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, TERMINATION):
        yield


class Stop:
    """Remembers that SIGINT or SIGTERM came, so that a node can shut down properly; `interruptible` code it breaks off.

    rclpy's own handler would close the context before a node could send its last torque. A process that has not ended
    `LONGEST_END` s after the signal writes its stacks to stderr and ends with status 1.
    """

    current: Stop | None = None

    def __init__(self) -> None:
        self.requested = self.interrupts = False
        Stop.current = self
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        # A callback or the middleware may wait for good, even with Python's lock: only a thread of C ends that.
        faulthandler.dump_traceback_later(LONGEST_END, exit=True)
        if self.interrupts:
            raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let a signal that `Stop` remembers also raise KeyboardInterrupt in the code inside, one that came before too.

    What waits for a document or compiles is too long for a signal to wait, since launch waits 5 s. Outside the main
    thread, and where nothing remembers signals, nothing changes.
    """
    stop = Stop.current
    if stop is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        stop.interrupts = True
        if stop.requested:
            raise KeyboardInterrupt
        yield
    finally:
        stop.interrupts = False


def leave(status: int) -> None:
    """End the process with `status` once everything is done: exit functions called, output written.

    The interpreter's own way takes every module apart, those of compiler and physics among them: seconds on a busy
    machine, in which a second signal finds no handler any more (exit status −15).
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)
