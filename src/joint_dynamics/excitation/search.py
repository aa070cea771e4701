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

"""One search: from a random motion, through smooth problems of increasing sharpness, to one that keeps the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.assessment import Assessment
from joint_dynamics.excitation.fourier import FourierTrajectory
from joint_dynamics.excitation.problem import ExcitationProblem
from joint_dynamics.python_process import serve

# (sharpness of the criterion, weight of broken limits, iterations). The first problem is smooth enough to see past the
# corners of the last ones. Its minimum predicts the last one's, so that only the best of several goes on.
STAGES = ((4.0, 1e2, 80), (8.0, 1e3, 100), (16.0, 3e3, 120), (32.0, 1e4, 150))
SAMPLE_SLACK = 0.005  # share of a limit kept at the samples, beside the loss between them: the penalty is soft
SLACK_GROWTH = 1.2  # factor of the missing slack by which the slack at the samples grows
CORRECTION = (32.0, 1e4, 40)  # stage after the last, with more slack where limits are broken between samples
CORRECTIONS = 3  # at most
MEMORY = 30  # corrections of L-BFGS
ATTEMPTS = 100  # random motions that are tried
RANDOM_SHARES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25)  # factors of a random motion, tried until one keeps every limit


class NoMotionFound(Exception):
    """No motion keeps every limit; `broken` holds the kinds of limit that were broken, and by what fraction."""

    def __init__(self, broken: dict[str, float]):
        super().__init__(broken)
        self.broken = broken


@dataclass(frozen=True)
class FeasibleMotion:
    """A motion that keeps every limit, its assessment and its origin.

    `start` counts the searches; `stage` −1 is a random motion.

    Attributes
    ----------
    value, merit
        see ExcitationProblem.
    """

    start: int
    stage: int
    trajectory: FourierTrajectory
    assessment: Assessment
    value: float
    merit: float


def random_trajectory(problem: ExcitationProblem, rng: np.random.Generator) -> FourierTrajectory | None:
    """Return a random motion that keeps every limit, None after 100 attempts.

    Every joint uses between 40 and 100 % of its range, speed or acceleration, whichever limits it first; the motion is
    then shrunk about its posture to keep the limits of the whole arm (torque, end-effector, clearance).
    """
    basis, limits = problem.basis, problem.limits
    times = np.linspace(0.0, basis.duration, 10 * basis.harmonics * 10)
    *functions, _ = basis.functions(times)
    for _ in range(ATTEMPTS):
        wave = rng.standard_normal((problem.model.n, basis.count - 1))
        mean = limits.middle + 0.5 * rng.uniform(-1, 1, problem.model.n) * limits.half_range
        share = rng.uniform(0.4, 1.0, problem.model.n)
        peaks = [np.abs(wave @ function[1:]).max(axis=1) for function in functions]
        room = limits.half_range - np.abs(mean - limits.middle)
        wave *= (
            share * np.minimum.reduce([room / peaks[0], limits.velocity / peaks[1], limits.acceleration / peaks[2]])
        )[:, None]
        trajectory = problem.feasible(
            FourierTrajectory(problem.model.joint_names, basis, np.column_stack([mean, wave]), problem.posture),
            RANDOM_SHARES,
        )
        if trajectory is not None:
            return trajectory
    return None


def repaired_trajectory(problem: ExcitationProblem, rng: np.random.Generator) -> FourierTrajectory:
    """Return a motion found by minimising the violation of limits, for robots whose random motions rarely keep them.

    Raises NoMotionFound when five attempts end with a limit broken.
    """
    for _ in range(5):
        x = 0.3 * rng.uniform(-1, 1, problem.size)
        for penalty in (1e2, 1e4):
            x = _minimum(lambda point, penalty=penalty: problem.objective(point, 1.0, penalty, False), x, maxiter=200).x
        trajectory = problem.feasible(problem.trajectory(x))
        if trajectory is not None:
            return trajectory
    margins = problem.assess(problem.trajectory(x)).margins
    raise NoMotionFound({kind: margin for kind, margin in margins.items() if not margin >= 0})


def search(problem: ExcitationProblem, start: int, report: Callable[[FeasibleMotion], None]) -> None:
    """Run one start and report every motion that improves on the last.

    Several random motions are improved a little, the best of them fully. The random numbers depend
    only on the seed and on `start`, not on the process. Raises NoMotionFound when no initial motion keeps the limits.
    """
    rng = np.random.default_rng([problem.settings.seed, start])
    best: tuple[float, FloatArray] | None = None
    for _ in range(problem.settings.candidates):
        trajectory = random_trajectory(problem, rng)
        rare = trajectory is None
        if trajectory is None:
            trajectory = repaired_trajectory(problem, rng)
        report(_assessed(problem, start, -1, trajectory))
        x, value = _descend(problem, problem.unknowns(trajectory), STAGES[0])
        if best is None or value < best[0]:
            best = value, x
            _report_feasible(problem, start, 0, x, report)
        if rare:
            break
    assert best is not None
    x = best[1]
    reserve = {kind: SAMPLE_SLACK + lost for kind, lost in problem.lost_between(x)[0].items()}
    for number, stage in enumerate((*STAGES[1:], *[CORRECTION] * CORRECTIONS), start=1):
        x, _ = _descend(problem, x, stage, reserve)
        _report_feasible(problem, start, number, x, report)
        lost, missing = problem.lost_between(x)
        if number >= len(STAGES) - 1 and not any(missing.values()):
            return
        reserve = {
            kind: max(SAMPLE_SLACK + lost[kind], reserve[kind] + SLACK_GROWTH * short if short else 0.0)
            for kind, short in missing.items()
        }


def _assessed(problem: ExcitationProblem, start: int, stage: int, trajectory: FourierTrajectory) -> FeasibleMotion:
    assessment = problem.evaluate_criterion(trajectory)
    value, merit = problem.value(assessment), problem.merit(assessment)
    return FeasibleMotion(start, stage, trajectory, assessment, value, merit)


def _report_feasible(
    problem: ExcitationProblem, start: int, stage: int, x: FloatArray, report: Callable[[FeasibleMotion], None]
) -> None:
    trajectory = problem.feasible(problem.trajectory(x))
    if trajectory is not None:
        report(_assessed(problem, start, stage, trajectory))


def _minimum(objective: Callable[..., tuple[float, FloatArray]], x: FloatArray, **most: int) -> Any:
    """Minimise `objective`, which returns its gradient too, by a quasi-Newton method; most: evaluations."""
    options = {'maxcor': MEMORY, **most}
    return scipy.optimize.minimize(objective, x, jac=True, method='L-BFGS-B', options=options)


def _descend(
    problem: ExcitationProblem,
    x: FloatArray,
    stage: tuple[float, float, int],
    reserve: Mapping[str, float] | None = None,
) -> tuple[FloatArray, float]:
    """Minimise one stage from x; return the point and its value.

    reserve: slacks to keep at the samples, see ExcitationProblem.objective.
    """
    sharpness, penalty, iterations = stage
    result = _minimum(
        lambda point: problem.objective(point, sharpness, penalty, reserve=reserve),
        x,
        maxiter=iterations,
        maxfun=2 * iterations,
    )
    return result.x, float(result.fun)


def serve_search() -> None:
    """Search in a process of its own, for `optimise`, whose linear algebra runs on one thread: several times faster.

    Read (model, settings, earlier motions), then the numbers of starts to run. Messages out: ('motion', Found),
    ('infeasible', {kind of limit: margin}), ('done', start).
    """
    receive, send = serve()
    model, settings, earlier = receive()
    problem = ExcitationProblem(model, settings, earlier)
    while True:
        start = receive()
        try:
            search(problem, start, lambda better: send(('motion', better)))
        except NoMotionFound as error:
            send(('infeasible', error.broken))
        send(('done', start))
