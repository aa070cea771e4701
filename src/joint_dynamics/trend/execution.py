"""Independent tasks at the same time: in processes here, or unchanged on a Dask cluster.

At most so many tasks are under way, each with one recording in the memory of its process; what comes back are some
hundred numbers. A process that dies costs its own task only.
"""

from __future__ import annotations

import concurrent.futures
import os
import pickle
import queue
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.python_process import environment, module_command
from joint_dynamics.trend.measure import work

Task = Mapping[str, Any]
Outcome = dict[str, Any]


class Execution(Protocol):
    """Who does the tasks."""

    def run(self, tasks: Iterable[tuple[str, Task]]) -> Iterator[tuple[str, Outcome]]:
        """Yield (key, outcome) of (key, task), as they are done; an outcome {error, lost} is of one that failed."""

    def close(self) -> None:
        """Let go of processes and connections."""


def cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


class Processes:
    """Processes on this machine, one per core where `count` is None."""

    def __init__(self, count: int | None = None):
        self.count = count or cores()

    def run(self, tasks: Iterable[tuple[str, Task]]) -> Iterator[tuple[str, Outcome]]:
        """Yield (key, outcome), in the order in which they are done."""
        waiting, done = iter(tasks), queue.Queue[tuple[int, str, Outcome, bool]]()
        workers: dict[int, _Worker] = {}
        busy = 0
        try:
            for number in range(self.count):
                if (task := next(waiting, None)) is None:
                    break
                workers[number] = _Worker()
                workers[number].start(task, number, done)
                busy += 1
            while busy:
                number, key, outcome, alive = done.get()
                busy -= 1
                yield key, outcome
                task = next(waiting, None)
                if not alive:
                    workers.pop(number).close()
                    if task is not None:
                        workers[number] = _Worker()
                if task is not None:
                    workers[number].start(task, number, done)
                    busy += 1
        finally:
            for worker in workers.values():
                worker.close()

    def close(self) -> None:
        """Nothing stays."""


class _Worker:
    """One process and the thread that waits for what it says."""

    def __init__(self) -> None:
        one_thread = {f'{library}_NUM_THREADS': '1' for library in ('OPENBLAS', 'OMP', 'MKL', 'VECLIB_MAXIMUM')}
        # in a session of its own: an interrupt from the keyboard is for the caller, who then ends it
        self.process = subprocess.Popen(
            module_command('joint_dynamics.trend.worker'),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(one_thread),
            start_new_session=True,
        )

    def start(self, task: tuple[str, Task], number: int, done: queue.Queue[tuple[int, str, Outcome, bool]]) -> None:
        """Give it a task; its outcome ends up in `done` with the number and whether the process lives."""
        threading.Thread(target=self._wait, args=(task, number, done), daemon=True).start()

    def _wait(self, task: tuple[str, Task], number: int, done: queue.Queue[tuple[int, str, Outcome, bool]]) -> None:
        key, content = task
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump(content, self.process.stdin)
            self.process.stdin.flush()
            outcome = pickle.load(self.process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            status = self.process.wait()
            why = f'signal {-status}, as the system does when memory runs out' if status == -9 else f'status {status}'
            lost = {'error': f'expected its process to end the work, found that it ended with {why}', 'lost': True}
            done.put((number, key, lost, False))
        else:
            done.put((number, key, outcome, True))

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


class DaskCluster:
    """A Dask cluster, whose workers see the same paths; `local`: one within this process, for a trial.

    Raises
    ------
    JointDynamicsError
        Where distributed is missing or nobody answers.
    """

    def __init__(self, address: str, count: int | None = None, timeout: float = 30.0):
        try:
            import distributed
        except ImportError:
            raise JointDynamicsError(
                '--dask: expected the package distributed, not found (pip install joint_dynamics[dask])'
            ) from None
        try:
            self.cluster = (
                distributed.LocalCluster(
                    n_workers=1, threads_per_worker=count or cores(), processes=False, dashboard_address=None
                )
                if address == 'local'
                else None
            )
            self.client = distributed.Client(self.cluster or address, timeout=timeout)
        except (OSError, ValueError, TimeoutError) as error:
            raise JointDynamicsError(
                f'--dask {address}: expected the address of a scheduler, as tcp://host:8786, found: {one_line(error)}'
            ) from None
        threads = sum(self.client.nthreads().values())
        if not threads:
            self.close()
            raise JointDynamicsError(f'--dask {address}: expected a cluster with workers, found none')
        self.count = count or 2 * threads

    def run(self, tasks: Iterable[tuple[str, Task]]) -> Iterator[tuple[str, Outcome]]:
        """Yield (key, outcome), in the order in which they are done."""
        executor = self.client.get_executor(pure=False, retries=1)
        waiting = iter(tasks)
        under_way: dict[concurrent.futures.Future[Outcome], str] = {}
        while True:
            while len(under_way) < self.count and (task := next(waiting, None)) is not None:
                under_way[executor.submit(work, dict(task[1]))] = task[0]
            if not under_way:
                return
            done, _ = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                key = under_way.pop(future)
                try:
                    yield key, future.result()
                except Exception as error:  # a cluster hands on whatever went wrong in a worker; the run is named
                    yield key, {'error': f'the cluster: {type(error).__name__}: {one_line(error)}', 'lost': True}

    def close(self) -> None:
        """Let go of the cluster."""
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()
