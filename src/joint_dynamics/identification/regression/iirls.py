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
where recordings have varying temperatures, otherwise omitted. With only the speed term, at the exponent of the plain
regressor, loops 3 and 4 change nothing, and the method is IRLS.
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
    EXPONENTS,
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
from joint_dynamics.identification.selection.candidate_terms import WARMING, temperature_range
from joint_dynamics.settings import Settings, setting

OUTER = 15  # turns of loop 4 at most
INNER = 15  # turns of loop 3 at most
TOLERANCE = 0.05  # change of an estimate, in its deviations, that ends loops 3 and 4


@dataclass(frozen=True)
class FrictionOptions(Settings):
    """Dependence of the friction in I-IRLS; the threshold also applies to IRLS."""

    SECTION = 'identification.options'
    GONE: ClassVar[Mapping[str, str]] = {'decoupled': 'leave it out, the result is the same'}

    load: bool = setting(True, 'friction rises with the load, f_L')
    temperature: bool | None = setting(
        None, 'friction falls with the temperature, f_T', none=f'where the recordings warm by more than {WARMING:g} °C'
    )
    exponent: float | None = setting(
        None,
        'α, power of the speed; 1 is the viscous friction of the other methods',
        lower=EXPONENTS[0],
        upper=EXPONENTS[1],
        none='searched for',
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

    def __init__(self, problem: Problem, own: list[Term], powered: bool):
        names, n = problem.names, problem.model.n
        base = {name: k for k, name in enumerate(names[: problem.base.count])}
        kinds = ('Fc', 'off') if powered else ('Fc', 'Fv', 'off')
        self.friction = [[base[f'{kind}_{j + 1}'] for kind in kinds if f'{kind}_{j + 1}' in base] for j in range(n)]
        linear = [k for part in self.friction for k in part]
        self.power = [names.index(f'f_v_{joint}') for joint in problem.model.joint_names] if powered else []
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
        self.absent[[base[f'Fv_{j + 1}'] for j in range(n) if powered and f'Fv_{j + 1}' in base]] = True
        self.fixed |= self.absent


def iirls(
    problem: Problem, first: Solution, options: FrictionOptions | None = None
) -> tuple[WeightedEstimate, dict[str, Any]]:
    """Identify with friction of speed, load and temperature, from a first solution of `problem`.

    Returns the estimate, whose problem has the friction as terms, and the summary: exponents, whether the loops
    converged and their course.
    """
    options = options or FrictionOptions()
    model, n = problem.model, problem.model.n
    estimate = irls(problem, first, options.threshold)
    own = friction_terms(problem, options)
    search = options.exponent is None
    powered = options.exponent != 1.0
    if not own and not powered:
        return estimate, {
            'exponents': dict.fromkeys(model.joint_names, 1.0),
            'converged': True,
            'loops': estimate.trace,
        }
    exponents = np.full(n, options.exponent or 1.0)

    def terms() -> list[Term]:
        names = model.joint_names if powered else ()
        powers = [power_term(joint, exponent, ridge=0.0) for joint, exponent in zip(names, exponents, strict=False)]
        return [*problem.terms, *powers, *own]

    state = state_from(estimate.problem, estimate.solution, model.parameters)
    trial = estimate.problem.with_terms(terms(), state)
    columns = _Columns(trial, own, powered)
    chi = np.concatenate([estimate.solution.chi, np.zeros(trial.columns - problem.columns)])
    if powered:
        viscous = [trial.names.index(f'Fv_{j + 1}') for j in range(n)]
        chi[columns.power], chi[viscous] = chi[viscous], 0.0
    table = PowerColumns(problem) if powered else None
    trace: list[dict[str, Any]] = []
    converged = False
    for outer in range(OUTER):
        before_outer = chi
        for inner in range(INNER):
            before = chi.copy()
            where = 'nowhere' if not search else 'everywhere' if inner == 0 else 'near'
            rows = gather(trial, chi, columns.friction, columns.power, estimate.weights)
            chi = chi.copy()
            for j, values in enumerate(
                fit := fit_friction(table, rows, columns.lower, exponents if powered else None, where)
            ):
                chi[columns.friction[j]] = values.linear
                if powered:
                    chi[columns.power[j]] = values.power
            exponents = np.array([values.exponent for values in fit])
            if search and table is not None:
                trial = trial.with_columns(
                    terms(),
                    {trial.names[k]: column for k, column in zip(columns.power, table.at(exponents), strict=True)},
                )
            estimate = reweight(trial, replace(first, chi=chi), options.threshold, columns.fixed, estimate)
            chi = estimate.solution.chi
            change = _change(estimate.solution, before, columns.fixed)
            trace.append(
                {
                    'loop4': outer + 1,
                    'change': change,
                    'loop2_sweeps': len(estimate.trace),
                    'rejected_rows_percent': estimate.rejected_percent,
                    'exponents': [round(float(value), 4) for value in exponents],
                }
            )
            if change < TOLERANCE:
                break
        if outer and _change(estimate.solution, before_outer, columns.fixed) < TOLERANCE:
            converged = True
            break
        if options.load:
            state = state_from(trial, estimate.solution, model.parameters)
        trial = cleaned(trial.with_terms(terms(), state), chi)[0]
    summary = {
        'exponents': dict(zip(model.joint_names, map(float, exponents), strict=True)),
        'converged': converged,
        'loops': trace,
    }
    # with the information of all columns together, those the loops found in turn included
    full = solved(estimate.problem, estimate.noise, estimate.weights, columns.absent, chi)
    return replace(estimate, solution=replace(full, chi=chi)), summary


def _change(solution: Solution, chi: FloatArray, fixed: BoolArray) -> float:
    """Return the largest change from `chi` in deviations; of what loop 3 finds, in hundredths of its value."""
    before, after = chi[fixed], solution.chi[fixed]
    size = np.maximum(np.abs(before), np.abs(after))
    relative = np.abs(after - before)[size > 0] / size[size > 0]
    return max(change_in_deviations(solution, chi), 100 * float(np.max(relative, initial=0.0)) * TOLERANCE)
