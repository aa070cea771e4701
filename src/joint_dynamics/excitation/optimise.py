"""Several searches on all cores within a time budget: the one call that returns an exciting trajectory."""
from __future__ import annotations

import os
import pickle
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.assessment import Assessment
from joint_dynamics.excitation.fourier import FourierTrajectory
from joint_dynamics.excitation.problem import ExcitationProblem
from joint_dynamics.excitation.search import Found
from joint_dynamics.excitation.settings import ExcitationSettings
from joint_dynamics.python_process import environment, module_command
from joint_dynamics.robot import RobotModel

RESERVE = 1.0
"""Seconds before the end of the budget at which the searches stop and make feasible what they have."""
GRACE = 1.0
"""Seconds after it at which a search that has not come back is ended."""
TICK = 0.2


@dataclass(frozen=True)
class Progress:
    """How a search stands: seconds since the call, the criterion's figure of the best motion (None: none yet), starts finished, in all."""

    seconds: float
    best: float | None
    finished: int
    starts: int


@dataclass(frozen=True)
class ExcitationResult:
    """An exciting trajectory that keeps every limit.

    trajectory: the motion, with repeats and ramps. assessment: its worth and margins, at ten times the sampling of the search.
    before: those of the best random motion the searches started from. seconds: wall time.
    finished: starts completed; fewer than settings.starts when the time budget ended the search, and then not reproducible.
    history: (seconds, value) each time a better motion was found; the value is the criterion's own figure (ExcitationProblem.value).
    """

    trajectory: FourierTrajectory
    assessment: Assessment
    before: Assessment
    settings: ExcitationSettings
    seconds: float
    finished: int
    history: tuple[tuple[float, float], ...]

    @property
    def condition_number(self) -> float:
        """Condition number of the base regressor with columns of norm one."""
        return self.assessment.condition_number

    @property
    def margins(self) -> dict[str, float]:
        """Per kind of limit the smallest margin as a fraction of the limit."""
        return self.assessment.margins


@dataclass
class _Search:
    """What has come in so far."""

    began: float
    best: Found | None = None
    before: Found | None = None
    history: list[tuple[float, float]] = field(default_factory=list)
    broken: dict[str, float] = field(default_factory=dict)

    def take(self, found: Found) -> None:
        if found.stage < 0 and (self.before is None or _order(found) < _order(self.before)):
            self.before = found
        if self.best is None or _order(found) < _order(self.best):
            self.best = found
            self.history.append((time.monotonic() - self.began, found.value))


def _order(found: Found) -> tuple[float, int, int]:
    return found.merit, found.start, found.stage


def cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def optimise(model: RobotModel, settings: ExcitationSettings | None = None, on_progress: Callable[[Progress], None] | None = None,
             ) -> ExcitationResult:
    """Search the coefficients of a Fourier series that excites all parameters within all limits.

    on_progress: called every 0.2 s in the calling thread; an exception it raises ends the search and passes through.
    The trajectory returned keeps every limit at ten times the sampling of the search; searches that find none do not count.

    Raises JointDynamicsError for settings that do not fit the robot, and when no motion that keeps every limit was found in time.
    """
    settings = settings or ExcitationSettings()
    began = time.monotonic()
    problem = ExcitationProblem(model, settings)  # refuses what does not fit, before any process is started
    state = _Search(began)
    inbox: queue.Queue[tuple[int, Any]] = queue.Queue()
    workers: list[subprocess.Popen] = []
    waiting = iter(range(settings.starts))
    finished = 0
    try:
        for number in range(min(settings.processes or cores(), settings.starts)):
            workers.append(_worker(inbox, number))
            _tell(workers[-1], (model, settings, settings.time_budget - RESERVE - (time.monotonic() - began)))
            _tell(workers[-1], next(waiting))
        busy = len(workers)
        while busy and time.monotonic() - began < settings.time_budget + GRACE:
            if on_progress is not None:
                on_progress(Progress(time.monotonic() - began, None if state.best is None else state.best.value, finished, settings.starts))
            try:
                number, message = inbox.get(timeout=TICK)
            except queue.Empty:
                continue
            if message is None:
                raise JointDynamicsError(f'excitation: a search process ended with status {workers[number].wait()}, see its messages')
            kind, content = message
            if kind == 'found':
                state.take(content)
            elif kind == 'none':
                state.broken = content
            elif kind == 'done':
                in_time = time.monotonic() - began < settings.time_budget - RESERVE
                finished += in_time
                start = next(waiting, None) if in_time else None
                if start is None:
                    busy -= 1
                else:
                    _tell(workers[number], start)
    finally:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.wait()
    return _result(problem, state, finished)


def _worker(inbox: queue.Queue, number: int) -> subprocess.Popen:
    """Start a search process whose messages end up in the inbox, with its number; None when it has ended."""
    one_thread = {f'{library}_NUM_THREADS': '1' for library in ('OPENBLAS', 'OMP', 'MKL', 'VECLIB_MAXIMUM')}
    # in a session of its own: an interrupt from the keyboard is for the caller, who then ends the searches
    worker = subprocess.Popen(module_command('joint_dynamics.excitation.worker'), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment(one_thread), start_new_session=True)

    def listen() -> None:
        assert worker.stdout is not None
        try:
            while True:
                inbox.put((number, pickle.load(worker.stdout)))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            inbox.put((number, None))

    threading.Thread(target=listen, daemon=True).start()
    return worker


def _tell(worker: subprocess.Popen, message: Any) -> None:
    assert worker.stdin is not None
    try:
        pickle.dump(message, worker.stdin)
        worker.stdin.flush()
    except OSError:
        pass  # it has ended, which its listener reports


def _result(problem: ExcitationProblem, state: _Search, finished: int) -> ExcitationResult:
    settings = problem.settings
    if state.best is None or state.before is None:
        reason = ', '.join(f'{kind} ({margin:.3g} of the limit)' for kind, margin in
                           sorted(state.broken.items(), key=lambda item: item[1]))
        raise JointDynamicsError(f'excitation: expected a motion that keeps every limit, found none within {settings.time_budget:g} s'
                                 + (f'; broken to the last: {reason}' if reason else ''))
    trajectory = state.best.trajectory.repeated(settings.repeats)
    return ExcitationResult(trajectory, state.best.assessment, state.before.assessment, settings, time.monotonic() - state.began, finished,
                            tuple(state.history))
