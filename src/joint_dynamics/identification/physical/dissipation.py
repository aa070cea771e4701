"""What it takes for identified friction to dissipate: f(ω, τ_J, T) sgn ω ≥ 0 wherever the recordings have been, as linear inequalities."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.arm import Motion
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.robot.standard_parameters import column

SPEEDS = 16


@dataclass(frozen=True)
class Dissipation:
    """rows_standard @ standard[standard] + rows_extra @ extra ≥ 0 for one joint; standard: indices of Fv and Fc."""

    standard: tuple[int, ...]
    rows_standard: NDArray
    rows_extra: NDArray


def dissipation_rows(problem: Problem) -> list[Dissipation]:
    """Return the inequalities of every joint with further friction terms, on a grid over the speeds, loads and temperatures seen."""
    model, found = problem.model, []
    columns = problem.columns - problem.base.count
    for j, name in enumerate(model.joint_names):
        first, chosen = 0, []
        for term in problem.terms:
            if term.joint == name and term.opposes_motion:
                chosen.append((first, term))
            first += len(term.names)
        if not chosen:
            continue
        speed, load, temperature = (grid.ravel() for grid in np.meshgrid(*_ranges(problem, j), indexing='ij'))
        rows = np.zeros((len(speed), columns))
        motion = Motion(np.zeros_like(speed), speed, load=load, temperature=temperature)
        for start, term in chosen:
            rows[:, start:start + len(term.names)] = term.of(motion).T
        viscous = column('Fv', j)
        found.append(Dissipation((viscous, column('Fc', j)), np.column_stack([speed, np.ones_like(speed)]), rows))
    return found


def _ranges(problem: Problem, j: int) -> tuple[NDArray, NDArray, NDArray]:
    fastest = max(float(np.abs(part.dtheta[:, j]).max()) for part in problem.observations)
    speeds = max(fastest, 1e-3) * (np.arange(1, SPEEDS + 1) / SPEEDS)**2
    limit = problem.state.load_limit
    loads = np.linspace(0.0, 1.0 if limit is None else float(limit[j]), 3)
    measured = [part.temperature[:, j] for part in problem.observations if part.temperature is not None]
    temperatures = np.array([min(part.min() for part in measured), max(part.max() for part in measured)]) if measured else np.array([25.0])
    return speeds, loads, temperatures
