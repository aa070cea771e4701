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

"""Conditions for identified friction to dissipate, f(ω, τ_J, T) sgn ω ≥ 0, as linear inequalities.

They hold at every load and temperature of the recordings, and at every speed up to the smaller of the joint's limit and
`REACH` times the fastest recorded; beyond, users of a description keep friction constant (`joints.<name>.validity`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arm import Motion, Term
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import standard_set
from joint_dynamics.robot.standard_parameters import column

SPEEDS = 16
REACH = 2.0
UNLIMITED = 1e3
"""rad/s; a speed limit above it counts as none."""
ZERO_FRICTION_SHARE = 0.05
"""Share of its mean over the range below which friction counts as zero."""
GROWING = ('F_Cl', 'F_C1')
"""Terms whose parameter is positive: friction grows with load."""


@dataclass(frozen=True)
class Dissipation:
    """Inequalities rows_standard @ x[standard] + rows_extra @ extra ≥ 0 of one joint.

    Attributes
    ----------
    joint : str
        its name.
    standard : tuple of int
        indices of Fv and Fc among the standard parameters x.
    rows_standard, rows_extra : (k, 2) and (k, e) array
        one row per speed, load and temperature; e parameters of further terms.
    """

    joint: str
    standard: tuple[int, ...]
    rows_standard: FloatArray
    rows_extra: FloatArray


def dissipation_rows(problem: Problem) -> list[Dissipation]:
    """Return the inequalities of every joint with further friction terms, on a grid of speeds, loads, temperatures."""
    model, inequalities = problem.model, []
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
            rows[:, start : start + len(term.names)] = term.of(motion).T
        viscous = column('Fv', j)
        inequalities.append(
            Dissipation(name, (viscous, column('Fc', j)), np.column_stack([speed, np.ones_like(speed)]), rows)
        )
    return inequalities


def impossible_terms(problem: Problem, solution: Solution) -> list[Term]:
    """Return the chosen terms that no friction can have.

    These are load terms below zero, and a load gain beyond ±1: it doubles or reverses the load. If the friction of a
    joint drives or vanishes somewhere, the term that reduces it most there is one, too.
    """
    extra = solution.chi[problem.base.count :]
    values = dict(zip(problem.names, solution.chi, strict=True))
    chosen = [term for term in problem.terms if term.selected]
    impossible = [
        term
        for term in chosen
        if ((kind := term.document.get('friction')) in GROWING and values[term.names[0]] < 0)
        or (kind == 'load_gain' and abs(values[term.names[0]]) > 1)
    ]
    standard = standard_set(problem.base, solution.chi[: problem.base.count], None)
    for dissipation in dissipation_rows(problem):
        plain = dissipation.rows_standard @ standard[list(dissipation.standard)]
        friction = plain + dissipation.rows_extra @ extra
        worst = int(np.argmin(friction))
        own = [
            term
            for term in chosen
            if term.joint == dissipation.joint and term.opposes_motion and term not in impossible
        ]
        if not own or plain.min() <= 0 or friction[worst] > ZERO_FRICTION_SHARE * friction.mean():
            continue
        first = problem.base.count
        share = [
            dissipation.rows_extra[worst, problem.names.index(term.names[0]) - first] * values[term.names[0]]
            for term in own
        ]
        impossible.append(own[int(np.argmin(share))])
    return impossible


def checked_speed(problem: Problem, j: int) -> float:
    """Return the speed of joint j [rad/s] up to which friction has to dissipate."""
    fastest = max(1e-3, *(float(np.abs(part.dtheta[:, j]).max()) for part in problem.observations))
    model = problem.model
    allowed = float(model.pinocchio.velocityLimit[model.chain.tree.row[j]])
    return max(fastest, min(allowed, REACH * fastest) if 0 < allowed < UNLIMITED else REACH * fastest)


def _ranges(problem: Problem, j: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    top = checked_speed(problem, j)
    speeds = top * (np.arange(1, SPEEDS + 1) / SPEEDS) ** 2
    limit = problem.state.load_limit
    loads = np.linspace(0.0, 1.0 if limit is None else float(limit[j]), 3)
    measured = [part.temperature[:, j] for part in problem.observations if part.temperature is not None]
    temperatures = (
        np.array([min(part.min() for part in measured), max(part.max() for part in measured)])
        if measured
        else np.array([25.0])
    )
    return speeds, loads, temperatures
