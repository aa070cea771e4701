"""Independent tasks at the same time: in processes here, or unchanged on a Dask cluster.

At most so many tasks are under way, each with one recording in the memory of its process; what comes back are some
hundred numbers. A process that dies costs its own task only.
"""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.python_process import Worker, cores
from joint_dynamics.trend.measure import work

Task = Mapping[str, Any]
Outcome = dict[str, Any]


class Execution(ABC):
    """Executes tasks, `count` of them at the same time; subclasses define where."""

    def __init__(self, count: int):
        self.count = count

    def run(self, tasks: Iterable[tuple[str, Task]]) -> Iterator[tuple[str, Outcome]]:
        """Yield (key, outcome) of (key, task) as they complete; the outcome of a task that failed is {error, lost}."""
        waiting = iter(tasks)
        under_way: dict[Future[Outcome], str] = {}
        try:
            while True:
                while len(under_way) < self.count and (task := next(waiting, None)) is not None:
                    under_way[self.submit(task[1])] = task[0]
                if not under_way:
                    return
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    key, error = under_way.pop(future), future.exception()
                    yield key, future.result() if error is None else {'error': one_line(error), 'lost': True}
        finally:
            self.end_run()

    @abstractmethod
    def submit(self, task: Task) -> Future[Outcome]:
        """Begin a task."""

    def end_run(self) -> None:  # noqa: B027  (not every execution can)
        """Abandon the tasks that are still running."""

    @abstractmethod
    def close(self) -> None:
        """Release processes and connections."""


class Processes(Execution):
    """Processes on this machine, one per core where `count` is None; each is fed by the thread that waits for it."""

    def __init__(self, count: int | None = None):
        super().__init__(count or cores())
        self._threads = ThreadPoolExecutor(self.count)
        self._all: list[tuple[Worker, queue.SimpleQueue[Outcome | None]]] = []
        self._idle = self._all.copy()

    def submit(self, task: Task) -> Future[Outcome]:
        """Begin a task in an idle process, or in a new one."""
        if not self._idle:
            outcomes: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
            self._all.append((Worker('joint_dynamics.trend.measure:serve_measurements', outcomes.put), outcomes))
            self._idle.append(self._all[-1])
        return self._threads.submit(self._measure, task, *self._idle.pop())

    def end_run(self) -> None:
        """End all processes."""
        for process, _ in self._all:
            process.close()
        self._all, self._idle = [], []

    def close(self) -> None:
        """End processes and threads."""
        self.end_run()
        self._threads.shutdown()

    def _measure(self, task: Task, process: Worker, outcomes: queue.SimpleQueue[Outcome | None]) -> Outcome:
        process.send(task)
        outcome = outcomes.get()
        if outcome is None:
            status = process.wait()
            why = f'signal {-status}, as the system does when memory runs out' if status == -9 else f'status {status}'
            raise JointDynamicsError(f'expected its process to end the work, found that it ended with {why}')
        self._idle.append((process, outcomes))
        return outcome


class DaskCluster(Execution):
    """A Dask cluster, whose workers see the same paths; `local`: one within this process, for a trial.

    Raises
    ------
    JointDynamicsError
        Where the package distributed is missing, or no scheduler answers.
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
        super().__init__(count or 2 * threads)
        self._executor = self.client.get_executor(pure=False, retries=1)

    def submit(self, task: Task) -> Future[Outcome]:
        """Begin a task on the cluster."""
        future: Future[Outcome] = self._executor.submit(work, dict(task))
        return future

    def close(self) -> None:
        """Disconnect from the cluster."""
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()
