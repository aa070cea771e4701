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

"""Forward choice of laws: the menu, the held-out loss written out, drift of friction, gathered rows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import friction_term, terms_from_config
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.selection import (
    BLOCKS,
    RIDGE,
    CandidateGroup,
    Folds,
    Selection,
    Step,
    choose,
    first_terms,
    gather,
    menu,
    quarters_of,
    temperature_range,
)

SAMPLES = 403
BASE = 4
CANDIDATES = 3


@pytest.fixture(scope='module')
def rows():
    """Weighted rows (2, base + candidates + 1, samples) with the torque last."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(2, BASE + CANDIDATES + 1, SAMPLES))
    rows[:, -1] += 2.0 * rows[:, 0] + 0.7 * rows[:, BASE + 1]
    return rows


@pytest.mark.parametrize('columns', [[], [1], [2, 0]])
def test_losses_are_those_of_least_squares_without_a_block(rows, columns):
    """All base columns, the candidates with their ridge, from nine blocks; squares of the tenth's residual."""
    folds = Folds(rows, BASE, np.zeros(SAMPLES, dtype=int), [[], []])
    used = [*range(BASE), *(BASE + column for column in columns)]
    A, y = (np.concatenate(list(part), axis=-1) for part in (rows[:, used], rows[:, -1]))
    block = np.tile(np.arange(SAMPLES) * BLOCKS // SAMPLES, 2)
    ridge = np.diag([*np.zeros(BASE), *(RIDGE * np.linalg.norm(A[BASE:], axis=1))])
    expected, mean = [], []
    for k in range(BLOCKS):
        others = block != k
        chi = np.linalg.lstsq(np.vstack([A[:, others].T, ridge]), np.r_[y[others], np.zeros(len(used))])[0]
        expected.append(np.sum((y - chi @ A)[~others] ** 2))
        mean.append(chi[BASE:])
    losses, coefficients = folds.losses(columns)
    np.testing.assert_allclose(losses * folds.torque, expected, rtol=1e-6)
    scale = np.linalg.norm(A[BASE:], axis=1) / np.linalg.norm(y)
    np.testing.assert_allclose(coefficients, np.mean(mean, axis=0) * scale, rtol=1e-5)


def test_drift_of_friction_between_parts_is_no_law_of_speed():
    """Each quarter has a speed and a level of friction of its own: √ω explains these, and nothing within a quarter."""
    rng = np.random.default_rng(5)
    quarter = np.arange(800) // 200
    speed = np.array([0.2, 0.5, 1.0, 2.0])[quarter] * rng.choice([-1.0, 1.0], 800) * rng.uniform(0.8, 1.2, 800)
    level = np.array([1.0, 1.6, 2.1, 2.7])[quarter]
    tau = level * np.sign(speed) + 0.05 * rng.normal(size=800)
    law = np.sign(speed) * np.sqrt(np.abs(speed))
    order = rng.permutation(800)
    rows = np.array([[speed, np.sign(speed), law, tau]])[:, :, order]
    gains = []
    for friction in ([[]], [[0, 1]]):
        folds = Folds(rows, 2, quarter[order], friction)
        gains.append(float((folds.losses([])[0] - folds.losses([0])[0]).sum()))
    assert gains[0] > 1e-3 > 20 * abs(gains[1])


def test_quarters_of_recordings():
    np.testing.assert_array_equal(quarters_of(np.repeat([0, 2, 0], [3, 5, 4])), [0, 0, 1, 8, 8, 9, 10, 11, 1, 2, 2, 3])


@pytest.fixture(scope='module')
def problem(two_links, observed):
    """Two recordings whose friction has a square of speed at the first joint, and noise."""
    rng = np.random.default_rng(1)
    runs = []
    for seed in (1, 2):
        run = observed(seed, 1500, factor=5)
        tau = 3.0 * np.sign(run.dtheta) + run.dtheta + 0.05 * rng.normal(size=run.q.shape)
        tau[:, 0] += 2.0 * np.abs(run.dtheta[:, 0]) * run.dtheta[:, 0]
        runs.append(replace(run, name=f'run {seed}', tau=tau))
    return Problem(two_links, runs, rest_speed=0.01)


WEIGHTS = SimpleNamespace(row_factors=lambda block: np.ones_like(block.tau))


def group_of(joints, name):
    return CandidateGroup(name, tuple(friction_term(joint, name) for joint in joints), 'power of speed')


def test_the_law_that_is_there_is_chosen_where_it_pays(problem):
    joints = problem.model.joint_names
    found = choose(problem, [group_of(joints, name) for name in ('F_T0', 'F_V2')], FrictionState(), WEIGHTS)
    (step,) = found.steps
    assert step.name == 'F_V2' and 0 in step.joints
    assert 0.9 < step.gain < 1.0
    assert all(term.selected and term.ridge == RIDGE for term in found.terms)
    assert [joints.index(term.joint) for term in found.terms] == list(step.joints)


def test_nothing_is_chosen_without_a_law(problem):
    assert choose(problem, [], FrictionState(), WEIGHTS).steps == []


def test_gathered_rows_leave_out_what_rests(problem):
    still = replace(problem.observations[0], dtheta=0.0 * problem.observations[0].dtheta)
    with_rest = Problem(problem.model, [*problem.observations, still], rest_speed=0.01)
    squares = [gather(each, [], FrictionState(), WEIGHTS).torque for each in (problem, with_rest)]
    assert squares[1] == pytest.approx(squares[0], rel=1e-12)


def test_summary_names_steps_and_terms_without_effect():
    terms = [friction_term('b', name) for name in ('F_Cl', 'F_V2')]
    selection = Selection(terms, [Step('law', 0.125, 4.0, (1,))])
    assert selection.summary(('a', 'b'), terms[:1]) == {
        'chosen': [{'term': 'law', 'gain_percent': 12.5, 'standard_errors': 4.0, 'joints': ['b']}],
        'impossible': list(terms[1].names),
    }


JOINTS = ('a', 'b')
FRICTION = {
    'square root of speed (F_T0)': ('F_T0', 'speed'),
    'square of speed (F_V2)': ('F_V2', 'speed'),
    'cube of speed (F_V3)': ('F_V3', 'speed'),
    'load, linear (F_Cl)': ('F_Cl', ''),
    'load, quadratic (F_C1)': ('F_C1', ''),
}


def test_menu_has_laws_for_all_joints():
    found = {group.name: group for group in menu(JOINTS, None)}
    stribeck = 'Stribeck at 0.4 rad/s (F_S)'
    widths = {f'hysteresis of {width:g} rad (Maxwell-slip)': width for width in (1e-4, 3e-4, 1e-3, 3e-3)}
    assert set(found) == {*FRICTION, stribeck, *widths}
    kinds = {name: kind for name, (_, kind) in FRICTION.items()} | dict.fromkeys(widths, 'hysteresis')
    documents = {name: {'friction': law} for name, (law, _) in FRICTION.items()}
    documents |= {name: {'hysteresis': width} for name, width in widths.items()}
    documents[stribeck] = {'stribeck': {'V_S': 0.4, 'mu': 1.0}}
    for name, group in found.items():
        assert group.kind == kinds.get(name, '')
        assert group.positive == (name.startswith('load') or name == stribeck or name in widths)
        assert [term.joint for term in group.terms] == ['a', 'b']
        assert all(term.document == documents[name] for term in group.terms)


def test_a_joint_has_one_width_of_hysteresis():
    given = terms_from_config({'a': [{'hysteresis': 0.02}, {'fourier': 1}]})
    for group in menu(JOINTS, None, given):
        if group.kind == 'hysteresis':
            assert [term.joint for term in group.terms] == ['b']
    both = terms_from_config({joint: [{'hysteresis': 0.02}] for joint in JOINTS})
    assert not any(group.kind == 'hysteresis' for group in menu(JOINTS, None, given=both))


def test_no_load_friction_for_a_lift():
    found = {group.name: group for group in menu(JOINTS, None, lifts=['a'])}
    for name, group in found.items():
        if name.startswith('load'):
            assert {term.joint for term in group.terms} == {'b'}
        else:
            assert {term.joint for term in group.terms} == set(JOINTS)
    without = {group.name for group in menu(JOINTS, None, lifts=JOINTS)}
    assert set(found) - without == {'load, linear (F_Cl)', 'load, quadratic (F_C1)'}


def test_temperature_is_tried_where_it_rises():
    plain = [group.name for group in menu(JOINTS, None)]
    assert [group.name for group in menu(JOINTS, np.array([[20.0, 23.0], [30.0, 32.0]]))] == plain
    warm = {group.name: group for group in menu(JOINTS, np.array([[20.0, 23.16], [5.0, 6.0]]))}
    assert set(warm) - set(plain) == {'temperature (F_T1)', 'temperature (F_T2)'}
    for name in ('F_T1', 'F_T2'):
        group = warm[f'temperature ({name})']
        assert (group.kind, group.slow) == ('', True)
        # rounded to a tenth, and within what a workshop has
        assert [(term.joint, term.document) for term in group.terms] == [
            ('a', {'friction': name, 'T_0': 21.6}), ('b', {'friction': name, 'T_0': 10.0}),
        ]  # fmt: skip
    hot = {group.name: group for group in menu(JOINTS, np.array([[60.0, 90.0], [20.0, 20.0]]))}
    assert [term.document['T_0'] for term in hot['temperature (F_T1)'].terms] == [70.0, 20.0]


def test_temperature_range_is_that_of_all_recordings():
    first, second = np.array([[20.0, 30.0], [25.0, 29.0]]), np.array([[19.0, 31.0]])
    runs = [SimpleNamespace(temperature=first), SimpleNamespace(temperature=second)]
    np.testing.assert_array_equal(temperature_range(runs), [[19.0, 25.0], [29.0, 31.0]])
    assert temperature_range([*runs, SimpleNamespace(temperature=None)]) is None


def test_the_first_solution_has_one_law_of_each_kind():
    first = first_terms(menu(JOINTS, np.array([[20.0, 30.0], [20.0, 30.0]])))
    assert {term.joint for term in first} == set(JOINTS) and all(term.selected for term in first)
    own = [term.document for term in first if term.joint == 'a']
    friction = [document['friction'] for document in own if 'friction' in document]
    assert sorted(friction) == ['F_C1', 'F_Cl', 'F_T0']
    assert [document for document in own if 'friction' not in document] == [
        {'hysteresis': 1e-4}, {'stribeck': {'V_S': 0.4, 'mu': 1.0}},
    ]  # fmt: skip
