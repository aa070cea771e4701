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

"""A node's long work in a thread (`Background`) or a process of its own (`Worker`): the node goes on listening.

A process sends messages of its work, at last `{'done': …}` or `{'failed': text}`. It ends with the node.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from joint_dynamics import python_process
from joint_dynamics.errors import JointDynamicsError, one_line

T = TypeVar('T')
CANCEL_TIMEOUT = 2.0  # s, longest wait for cancelled work to end; later it ends with the process
NICENESS = 5  # of the process: the robot's driver may share this machine


class CancelledError(Exception):
    """The work was cancelled."""


class Background(Generic[T]):
    """Calls `work(say)` in a thread.

    `outcome` is None until the work has ended, then its result or its exception. `say(line)` keeps its progress in
    `line`, and raises CancelledError after `cancel`.
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
            self.outcome = self._work(self._set_line)
        except Exception as error:
            self.outcome = error

    def _set_line(self, line: str) -> None:
        if self._cancelled:
            raise CancelledError
        self.line = line

    def cancel(self) -> None:
        """Ask it to end, and wait a moment until it has."""
        self._cancelled = True
        self._thread.join(CANCEL_TIMEOUT)


class Worker:
    """A process of its own that does `job` by `do_job`; `poll` returns its messages.

    Parameters
    ----------
    target, job
        `module:function` that calls `do_job`; the job is handed over in a thread: a long recording takes the process a
        while to read.
    what
        name of the work, for the line on a defect.
    """

    def __init__(self, target: str, job: Any, what: str):
        self._what = what
        self._sent: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._process = python_process.Worker(target, self._sent.put)
        threading.Thread(target=self._process.send, args=(job,), daemon=True).start()

    def poll(self) -> list[dict[str, Any]]:
        """Return the messages since the last call, in order, without waiting.

        The last of all is {done: …} or {failed: text}, with a `defect` of its own words where it was one.
        """
        messages: list[dict[str, Any]] = []
        while not self._sent.empty():
            message = self._sent.get()
            if message is None or 'defect' in message:
                status = self._process.wait()
                failed = f'a defect ended the {self._what} (status {status}), see the log'
                return [*messages, {'failed': failed, 'defect': (message or {}).get('defect', '')}]
            messages.append(message)
            if 'done' in message or 'failed' in message:
                break
        return messages

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def close(self) -> None:
        """End it, if it has not ended by itself."""
        self._process.close()


def do_job(work: Callable[[Any, Callable[..., None]], Any]) -> int:
    """Do the job of the `Worker` that started this process; return the exit status.

    Parameters
    ----------
    work
        (job, send) → result; send(key=value, …) sends a message on the way. A JointDynamicsError of it is sent as
        `failed`, any other exception as `defect`.
    """
    receive, send = python_process.serve(NICENESS)
    try:
        send({'done': work(receive(), lambda **message: send(message))})
    except JointDynamicsError as error:
        send({'failed': one_line(error)})
    except Exception:
        send({'defect': traceback.format_exc()})
        return 1
    return 0
