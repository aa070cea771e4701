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

"""Terms that no friction has: which are named, on two links whose friction can be written down."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import fourier_term, friction_term, power_term
from joint_dynamics.identification.physical.dissipation import checked_speed, dissipation_rows, impossible_terms
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.robot import RobotModel

PLAIN = {'Fc_1': 4.0, 'Fv_1': 1.0, 'Fc_2': 2.0, 'Fv_2': 0.5}


@pytest.fixture
def make(two_links, observed):
    """A function (terms, values, state) -> problem, solution of one recording, friction 4 + ω and 2 + 0.5 ω else."""

    def made(terms, values, state=None, runs=1, temperatures=None):
        parts = [observed(seed) for seed in range(runs)]
        if temperatures is not None:
            spread = [
                np.linspace(*seen, len(part.q))[:, None] * [1.0, 1.0]
                for seen, part in zip(temperatures, parts, strict=True)
            ]
            parts = [replace(part, temperature=one) for part, one in zip(parts, spread, strict=True)]
        problem = Problem(two_links, parts, terms, state)
        chi = np.array([{**PLAIN, **values}.get(name, 0.0) for name in problem.names])
        b = len(chi)
        return problem, Solution(chi, np.ones(2), np.eye(b), 1.0, np.ones(b))

    return made


def chosen(*terms):
    return [replace(term, selected=True) for term in terms]


def top_speed(problem, j):
    """Twice the fastest recorded speed: the joints have no limits here."""
    assert not 0 < problem.model.pinocchio.velocityLimit[j] < 1e3
    return 2 * max(np.abs(part.dtheta[:, j]).max() for part in problem.observations)


@pytest.mark.parametrize(('limit', 'times'), [(0.0, 2.0), (0.1, 1.0), (1.5, 1.5), (1.99, 1.99), (3.0, 2.0), (2e3, 2.0)])
def test_the_limit_of_the_joint_bounds_it_where_there_is_one(two_links, observed, limit, times):
    """Limits in times of the fastest seen, be that fast or slow."""
    for pace in (1.0, 0.1):
        run = observed(1)
        run = replace(run, dtheta=pace * run.dtheta)
        fastest = np.abs(run.dtheta).max(axis=0)
        model = RobotModel.from_mdh(two_links.mdh.document())
        model.pinocchio.velocityLimit[:] = limit * fastest
        problem = Problem(model, [run])
        assert [checked_speed(problem, j) for j in range(2)] == pytest.approx(times * fastest)
    still = Problem(RobotModel.from_mdh(two_links.mdh.document()), [replace(run, dtheta=np.zeros_like(run.dtheta))])
    assert checked_speed(still, 0) == pytest.approx(2e-3)


@pytest.fixture
def terms(two_links):
    first, second = two_links.joint_names
    return [
        fourier_term(first, [1]), friction_term(first, 'F_V2'), friction_term(second, 'F_Cl'),
        friction_term(first, 'F_T1', T_0=30.0), power_term(second, 0.5),
    ]  # fmt: skip


def test_rows_are_friction_on_a_grid(two_links, make, terms):
    first, second = two_links.joint_names
    state = FrictionState(load_limit=np.array([30.0, 8.0]))
    problem, _ = make(terms, {}, state, runs=2, temperatures=[(25.0, 32.0), (28.0, 41.0)])
    one, other = dissipation_rows(problem)
    assert (one.joint, other.joint) == (first, second)
    names = problem.names[problem.base.count :]
    for j, part in enumerate((one, other)):
        speed, plain = part.rows_standard.T
        np.testing.assert_array_equal(plain, 1.0)
        assert speed.min() > 0 and speed.max() == pytest.approx(top_speed(problem, j))
        assert len(np.unique(speed)) >= 10
        assert [two_links.parameter_names[k] for k in part.standard] == [f'Fv_{j + 1}', f'Fc_{j + 1}']
        rest = [k for k, name in enumerate(names) if not name.endswith(part.joint) or 'q_' in name]
        np.testing.assert_array_equal(part.rows_extra[:, rest], 0.0)
    speed = one.rows_standard[:, 0]
    np.testing.assert_allclose(one.rows_extra[:, names.index(f'F_V2_{first}')], speed**2)
    warm = one.rows_extra[:, names.index(f'F_T1_{first}')] / np.sqrt(speed)
    assert (warm.min(), warm.max()) == (pytest.approx(25.0 - 30.0), pytest.approx(41.0 - 30.0))
    loads = np.unique(other.rows_extra[:, names.index(f'F_Cl_{second}')])
    np.testing.assert_allclose(loads, [0.0, 4.0, 8.0])
    root = other.rows_extra[:, names.index(terms[-1].names[0])]
    np.testing.assert_allclose(root, np.sqrt(other.rows_standard[:, 0]))


def test_without_a_known_load_the_grid_ends_at_1_newton_metre(two_links, make, terms):
    problem, _ = make(terms, {})
    column = problem.names[problem.base.count :].index(f'F_Cl_{two_links.joint_names[1]}')
    np.testing.assert_allclose(np.unique(dissipation_rows(problem)[1].rows_extra[:, column]), [0.0, 0.5, 1.0])


def test_joints_without_further_friction_have_no_rows(two_links, make):
    _, second = two_links.joint_names
    problem, _ = make([fourier_term(two_links.joint_names[0], [1]), friction_term(second, 'F_V3')], {})
    assert [part.joint for part in dissipation_rows(problem)] == [second]
    assert dissipation_rows(make([], {})[0]) == []


def test_what_physics_allows_is_left_alone(two_links, make):
    first, second = two_links.joint_names
    terms = chosen(friction_term(first, 'F_V2'), friction_term(second, 'F_Cl'), friction_term(second, 'F_C1'))
    values = {f'F_V2_{first}': -0.01, f'F_Cl_{second}': 0.0, f'F_C1_{second}': 0.3}
    assert impossible_terms(*make(terms, values)) == []


@pytest.mark.parametrize('name', ['F_Cl', 'F_C1'])
def test_friction_grows_with_load(two_links, make, name):
    first, second = two_links.joint_names
    terms = chosen(friction_term(first, name), friction_term(second, name), friction_term(second, 'F_V2'))
    values = {f'{name}_{first}': 1e-6, f'{name}_{second}': -1e-6, f'F_V2_{second}': 1e-3}
    problem, solution = make(terms, values)
    assert impossible_terms(problem, solution) == [terms[1]]


def test_what_was_asked_for_is_not_judged(two_links, make):
    first, second = two_links.joint_names
    terms = [friction_term(first, 'F_Cl'), friction_term(second, 'F_V2')]
    assert impossible_terms(*make(terms, {f'F_Cl_{first}': -1.0, f'F_V2_{second}': -9.0})) == []


@pytest.mark.parametrize(('left', 'named'), [(0.2, False), (0.02, True), (0.0, True), (-0.3, True)])
def test_friction_that_falls_to_nothing_is_named(two_links, make, left, named):
    """Friction of joint 1 at its top speed is the share `left` of that without the term."""
    first, second = two_links.joint_names
    terms = chosen(friction_term(second, 'F_V2'), friction_term(first, 'F_V2'))
    top = top_speed(make([], {})[0], 0)
    plain = 4.0 + top
    problem, solution = make(terms, {f'F_V2_{first}': (left - 1) * plain / top**2, f'F_V2_{second}': 0.1})
    assert impossible_terms(problem, solution) == ([terms[1]] if named else [])


def test_term_that_reduces_friction_most_is_named(two_links, make):
    first, second = two_links.joint_names
    terms = chosen(
        friction_term(first, 'F_T0'),
        friction_term(second, 'F_V2'),
        friction_term(first, 'F_V3'),
        friction_term(first, 'F_V2'),
    )
    top = top_speed(make([], {})[0], 0)
    plain = 4.0 + top
    shares = {'F_T0': -0.3, 'F_V3': -0.9, 'F_V2': 0.2}
    power = {'F_T0': 0.5, 'F_V2': 2.0, 'F_V3': 3.0}
    values = {f'{name}_{first}': share * plain / top ** power[name] for name, share in shares.items()}
    assert impossible_terms(*make(terms, values)) == [terms[2]]
    # coefficients below and above one: the reduction counts
    values = {f'F_V3_{first}': -0.55 * plain / top**3, f'F_V2_{first}': -0.45 * plain / top**2}
    assert impossible_terms(*make(terms, values)) == [terms[2]]
    values = {f'F_V3_{first}': -0.45 * plain / top**3, f'F_V2_{first}': -0.55 * plain / top**2}
    assert impossible_terms(*make(terms, values)) == [terms[3]]
    # where a term takes most of at low speed, that is the one
    values = {f'F_T0_{first}': -5.0, f'F_V3_{first}': 5.0, f'F_V2_{first}': 5.0}
    assert impossible_terms(*make(terms, {**values, 'Fc_1': 0.2, 'Fv_1': 0.1})) == [terms[0]]
