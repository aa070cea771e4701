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

"""The search for an exciting trajectory: several starts on all cores, limited by their number."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.assessment import Assessment
from joint_dynamics.excitation.excitation_settings import ExcitationSettings
from joint_dynamics.excitation.fourier import FourierTrajectory
from joint_dynamics.excitation.problem import ExcitationProblem
from joint_dynamics.excitation.search import FeasibleMotion
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.python_process import Worker, cores
from joint_dynamics.robot import RobotModel

POLL_PERIOD = 0.2  # s
GAIN = 0.01  # smallest gain of merit that counts, about a share of the condition number
# Reasons for the end of a search.
ALL = 'all starts done'
NOTHING_GAINED = 'nothing gained'
INTERRUPTED = 'interrupted'


@dataclass(frozen=True)
class Progress:
    """The state of a search."""

    best: float | None  # value of the criterion of the best motion, never rising; None: no motion yet
    finished: int  # searches done
    starts: int  # most searches
    trajectory: FourierTrajectory | None = None  # the best motion; it keeps every limit
    condition_number: float | None = None  # of the best motion
    criterion: str = 'condition_number'

    def __str__(self) -> str:
        """Return the line that is shown."""
        found = (
            'no motion yet' if self.best is None else f'{self.criterion.replace("_", " ")} {self.best:.2f}, improving'
        )
        return f'{found}, {self.finished} of at most {self.starts} searches done'


@dataclass(frozen=True)
class ExcitationResult:
    """An exciting trajectory that keeps every limit.

    Attributes
    ----------
    trajectory
        the motion, with repeats and ramps.
    assessment
        its quality, at ten times the sampling of the search, and its margins.
    before
        the same of the best random motion from which the searches started.
    seconds
        wall time.
    finished
        number of completed starts that count.
    ended
        why the search ended: ALL, NOTHING_GAINED or INTERRUPTED; after the last the motion is not reproducible.
    history
        (seconds, value) each time a better motion was found; the value is that of the criterion
        (`ExcitationProblem.value`).
    """

    trajectory: FourierTrajectory
    assessment: Assessment
    before: Assessment
    settings: ExcitationSettings
    seconds: float
    finished: int
    history: tuple[tuple[float, float], ...]
    ended: str = ALL

    @property
    def reproducible(self) -> bool:
        """Whether the same seed gives the same motion on a machine of any speed."""
        return self.ended != INTERRUPTED

    @property
    def condition_number(self) -> float:
        """Condition number of the base regressor with columns of norm one."""
        return self.assessment.condition_number

    @property
    def margins(self) -> dict[str, float]:
        """Per kind of limit the smallest margin as a fraction of the limit."""
        return self.assessment.margins


@dataclass
class Search:
    """Results so far: motions with their times [s], starts that are done, and the limits that prevented motions.

    A start counts unless the starts before it end the search, so that the result does not depend on their speed; all
    count in a search that was `cut` by the user.
    """

    starts: int
    patience: int
    arrivals: list[tuple[float, FeasibleMotion]] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    broken: dict[str, float] = field(default_factory=dict)
    cut: bool = False

    def enough(self) -> int:
        """Number of starts, from the first on, that are certain to count.

        The search ends when the last `patience` of them brought no improvement, or with all `starts`.
        """
        best, idle = np.inf, 0
        for start in range(0 if self.cut else self.starts):
            if idle >= self.patience:
                return start
            if start not in self.done:
                return min(self.starts, start + self.patience - idle)
            merit = min((motion.merit for _, motion in self.arrivals if motion.start == start), default=np.inf)
            idle = 0 if merit < best - GAIN or not np.isfinite(best) else idle + 1
            best = min(best, merit)
        return self.starts

    @property
    def complete(self) -> bool:
        """Whether all starts that count are done."""
        return self.done.issuperset(range(self.enough()))

    def best(self, random: bool = False) -> FeasibleMotion | None:
        """Return the best motion of the starts that count; random: the best of the random motions they began with."""
        enough = self.enough()
        motions = [one for _, one in self.arrivals if one.start < enough and (one.stage < 0 or not random)]
        return min(motions, key=_order, default=None)

    def history(self) -> tuple[tuple[float, float], ...]:
        """Return (seconds, value) of each motion that was better than all earlier ones."""
        kept: list[tuple[float, float]] = []
        enough, least = self.enough(), None
        for seconds, motion in self.arrivals:
            if motion.start < enough and (least is None or _order(motion) < _order(least)):
                least = motion
                kept.append((seconds, motion.value))
        return tuple(kept)


def _order(motion: FeasibleMotion) -> tuple[float, int, int]:
    return motion.merit, motion.start, motion.stage


def optimise(
    model: RobotModel,
    settings: ExcitationSettings | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    earlier: Sequence[Trajectory] = (),
) -> ExcitationResult:
    """Search the coefficients of a Fourier series that excites all parameters within all limits.

    The trajectory returned keeps every limit (`constraint`); a motion that cannot be made to do so is discarded.

    Parameters
    ----------
    model
        the robot, with torque limits where `limits.torque` is set.
    settings
        ExcitationSettings; None: the defaults.
    on_progress
        called every 0.2 s in the calling thread; an exception it raises ends the search and passes through. A
        KeyboardInterrupt (Ctrl-C) ends the search with the best motion so far, and passes through where there is none.
    earlier
        recorded motions of the robot: the new motion adds most to their information, and all figures are those of all
        motions together.

    Raises
    ------
    JointDynamicsError
        For settings that do not fit the robot, and when no motion that keeps every limit was found.
    """
    settings = settings or ExcitationSettings()
    problem = ExcitationProblem(model, settings, earlier)  # refuses what does not fit, before any process is started
    began = time.monotonic()
    state = Search(settings.starts, settings.patience)
    inbox: queue.Queue[tuple[int, Any]] = queue.Queue()
    workers: list[Worker] = []

    def into_inbox(number: int) -> Callable[[Any], None]:
        return lambda message: inbox.put((number, message))

    waiting = iter(range(settings.starts))
    ended = ALL
    try:
        for number in range(min(settings.processes or cores(), settings.starts)):
            workers.append(Worker('joint_dynamics.excitation.search:serve_search', into_inbox(number)))
            workers[-1].send((model, settings, earlier))
            workers[-1].send(next(waiting))
        busy = len(workers)
        while busy and ended == ALL:
            if on_progress is not None:
                on_progress(_progress(state, settings))
            try:
                number, message = inbox.get(timeout=POLL_PERIOD)
            except queue.Empty:
                continue
            if message is None:
                raise JointDynamicsError(
                    f'excitation: expected the search processes to succeed, found status '
                    f'{workers[number].wait()}: see its messages'
                )
            kind, content = message
            if kind == 'motion':
                state.arrivals.append((time.monotonic() - began, content))
            elif kind == 'infeasible':
                state.broken = content
            elif kind == 'done':
                state.done.add(content)
                if state.complete and len(state.done) < settings.starts:
                    ended = NOTHING_GAINED
                start = next(waiting, None)
                if start is None:
                    busy -= 1
                else:
                    workers[number].send(start)
    except KeyboardInterrupt:
        if not state.arrivals:
            raise
        ended = INTERRUPTED
    finally:
        for worker in workers:
            worker.close()
    state.cut = ended == INTERRUPTED
    finished = sum(start < state.enough() for start in state.done)
    return _result(problem, state, finished, ended, began)


def _progress(state: Search, settings: ExcitationSettings) -> Progress:
    best, done = state.best(), len(state.done)
    if best is None:
        return Progress(None, done, settings.starts, criterion=settings.criterion)
    trajectory, condition = best.trajectory.repeated(settings.repeats), best.assessment.condition_number
    return Progress(best.value, done, settings.starts, trajectory, condition, settings.criterion)


def _result(problem: ExcitationProblem, state: Search, finished: int, ended: str, began: float) -> ExcitationResult:
    settings = problem.settings
    best, before = state.best(), state.best(random=True)
    if best is None or before is None:
        worst_first = sorted(state.broken.items(), key=lambda item: item[1])
        reason = ', '.join(f'{kind} ({margin:.3g} of the limit)' for kind, margin in worst_first)
        raise JointDynamicsError(
            f'excitation: expected a motion that keeps every limit, found none in {settings.starts} starts'
            + (f'; still exceeded: {reason}' if reason else '')
        )
    trajectory = best.trajectory.repeated(settings.repeats)
    assessment, was = problem.assess(best.trajectory), problem.assess(before.trajectory)
    seconds = time.monotonic() - began
    return ExcitationResult(trajectory, assessment, was, settings, seconds, finished, state.history(), ended)
