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

r"""I-IRLS: robust identification with friction that depends on speed, load and temperature, in four nested loops.

    1  θ = (θ_D, f_c, f_v, f_o) by least squares on rows whitened with Ω^{-1/2},
       from τ' = τ − f_T − f_τ, α known                                             [L eq 7-12];
    2  hard weights from the normalised residuals, Ω from the rows kept             [L eq 13-14];
    3  friction (f_c, f_v, α, f_o, f_L, f_T) of each joint, within bounds,
       fitted to τ − W_D θ_D                                                        [L eq 15-17];
    4  the load torque τ_l of the new θ_D                                           [L eq 18].

The load is the torque of the links through the transmission; at low accelerations that is [L]'s gravity. f_T is fitted
where recordings have varying temperatures, otherwise omitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from joint_dynamics.arm import Term, friction_term, power_term
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.friction_loop import (
    SIGNED,
    PowerColumns,
    fit_friction,
    gather,
    state_from,
)
from joint_dynamics.identification.regression.irls import (
    THRESHOLD,
    WeightedEstimate,
    change_in_deviations,
    cleaned,
    irls,
    reweight,
    solved,
)
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.selection import WARMING, temperature_range
from joint_dynamics.settings import Settings, setting

OUTER = 15  # turns of loop 4 at most
INNER = 15  # turns of loop 3 at most
TOLERANCE = 0.05  # change of an estimate, in its deviations, that ends loops 3 and 4


@dataclass(frozen=True)
class FrictionOptions(Settings):
    """Dependence of the friction in I-IRLS; the threshold also applies to IRLS."""

    SECTION = 'identification.options'
    GONE: ClassVar[Mapping[str, str]] = {
        'decoupled': 'leave it out, the result is the same',
        'exponent': 'leave it out, the exponent follows from the data',
    }

    load: bool = setting(True, 'friction rises with the load, f_L')
    temperature: bool | None = setting(
        None, 'friction falls with the temperature, f_T', none=f'where the recordings warm by more than {WARMING:g} °C'
    )
    threshold: float = setting(THRESHOLD, 'T, normalised residual above which a row is rejected', above=0)


def friction_terms(problem: Problem, options: FrictionOptions) -> list[Term]:
    """Return the terms of load and temperature for all joints."""
    joints = problem.model.joint_names
    terms = [replace(friction_term(joint, 'F_C1'), ridge=0.0) for joint in joints] if options.load else []
    seen = temperature_range(problem.observations)
    warm = (
        seen is not None and bool((seen[:, 1] - seen[:, 0]).max() > WARMING)
        if options.temperature is None
        else options.temperature
    )
    if warm:
        if seen is None:
            raise JointDynamicsError(
                'identification.options.temperature: expected recordings with temperatures, found none'
            )
        middle = np.round(np.clip(seen.mean(axis=1), 10.0, 70.0), 1)
        terms += [
            friction_term(joint, name, T_0=float(middle[j]), ridge=0.01)
            for name in SIGNED
            for j, joint in enumerate(joints)
        ]
    return terms


class _Columns:
    """Which columns of a problem are friction.

    Per joint those of loop 3, the power of speed, and what loop 1 takes as known.
    """

    def __init__(self, problem: Problem, own: list[Term]):
        names, n = problem.names, problem.model.n
        base = {name: k for k, name in enumerate(names[: problem.base.count])}
        self.friction = [
            [base[f'{kind}_{j + 1}'] for kind in ('Fc', 'off') if f'{kind}_{j + 1}' in base] for j in range(n)
        ]
        linear = [k for part in self.friction for k in part]
        self.power = [names.index(f'f_v_{joint}') for joint in problem.model.joint_names]
        further = {
            name: (problem.model.joint_names.index(term.joint), term.document['friction'] in SIGNED)
            for term in own
            for name in term.names
        }
        free = {k for k in linear if names[k].startswith('off_')}
        self.fixed = np.zeros(problem.columns, dtype=bool)
        for k, name in enumerate(names):
            if name in further:
                joint, signed = further[name]
                self.friction[joint].append(k)
                self.fixed[k] = True
                if signed:
                    free.add(k)
        self.lower = [np.array([-np.inf if k in free else 0.0 for k in part]) for part in self.friction]
        self.absent = np.zeros(problem.columns, dtype=bool)
        self.absent[[base[f'Fv_{j + 1}'] for j in range(n) if f'Fv_{j + 1}' in base]] = True
        self.fixed |= self.absent


def iirls(
    problem: Problem, first: Solution, options: FrictionOptions | None = None
) -> tuple[WeightedEstimate, dict[str, Any]]:
    """Identify with friction of speed, load and temperature, from a first solution of `problem`.

    Returns the estimate, whose problem has the friction as terms, and the summary: exponents, and whether the loops
    converged.
    """
    options = options or FrictionOptions()
    model, n = problem.model, problem.model.n
    estimate = irls(problem, first, options.threshold)
    own = friction_terms(problem, options)
    exponents = np.ones(n)

    def terms() -> list[Term]:
        each = zip(model.joint_names, exponents, strict=True)
        return [*problem.terms, *(power_term(joint, exponent, ridge=0.0) for joint, exponent in each), *own]

    state = state_from(estimate.problem, estimate.solution, model.parameters)
    trial = estimate.problem.with_terms(terms(), state)
    columns = _Columns(trial, own)
    chi = np.concatenate([estimate.solution.chi, np.zeros(trial.columns - problem.columns)])
    viscous = [trial.names.index(f'Fv_{j + 1}') for j in range(n)]
    chi[columns.power], chi[viscous] = chi[viscous], 0.0
    table = PowerColumns(problem)
    converged = False
    for outer in range(OUTER):
        before_outer = chi
        for inner in range(INNER):
            before = chi.copy()
            rows = gather(trial, chi, columns.friction, columns.power, estimate.weights)
            chi = chi.copy()
            fit = fit_friction(table, rows, columns.lower, exponents, everywhere=inner == 0)
            for j, values in enumerate(fit):
                chi[columns.friction[j]], chi[columns.power[j]] = values.linear, values.power
            exponents = np.array([values.exponent for values in fit])
            trial = trial.with_terms(terms(), state)
            estimate = reweight(trial, replace(first, chi=chi), options.threshold, columns.fixed, estimate)
            chi = estimate.solution.chi
            change = _change(estimate.solution, before, columns.fixed)
            if change < TOLERANCE:
                break
        if outer and _change(estimate.solution, before_outer, columns.fixed) < TOLERANCE:
            converged = True
            break
        if options.load:
            state = state_from(trial, estimate.solution, model.parameters)
        trial = cleaned(trial.with_terms(terms(), state), chi)[0]
    summary = {'exponents': dict(zip(model.joint_names, map(float, exponents), strict=True)), 'converged': converged}
    # with the information of all columns together, those the loops found in turn included
    full = solved(estimate.problem, estimate.noise, estimate.weights, columns.absent, chi)
    return replace(estimate, solution=replace(full, chi=chi)), summary


def _change(solution: Solution, chi: FloatArray, fixed: BoolArray) -> float:
    """Return the largest change from `chi` in deviations; of what loop 3 finds, in hundredths of its value."""
    before, after = chi[fixed], solution.chi[fixed]
    size = np.maximum(np.abs(before), np.abs(after))
    relative = np.abs(after - before)[size > 0] / size[size > 0]
    return max(change_in_deviations(solution, chi), 100 * float(np.max(relative, initial=0.0)) * TOLERANCE)
