"""The menu of further terms, the rows they are tried on, and what is told of the choice."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import friction_term, terms_from_config
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.selection import candidate_terms
from joint_dynamics.identification.selection.candidate_terms import (
    Selection,
    first_terms,
    gather,
    menu,
    quarters_of,
    temperature_range,
)
from joint_dynamics.identification.selection.weights import Candidate, Choice, Worth

JOINTS = ('a', 'b')
FRICTION = {
    'square root of speed (F_T0)': ('F_T0', 'power of speed'),
    'square of speed (F_V2)': ('F_V2', 'power of speed'),
    'cube of speed (F_V3)': ('F_V3', 'power of speed'),
    'load, linear (F_Cl)': ('F_Cl', ''),
    'load, quadratic (F_C1)': ('F_C1', ''),
}


def test_the_menu_holds_every_law_for_all_joints_and_positions_joint_by_joint():
    found = {group.name: group for group in menu(JOINTS, None)}
    stribeck = 'Stribeck at 0.4 rad/s (F_S)'
    quadrants = 'motor and generator quadrants'
    widths = {f'hysteresis of {width:g} rad (Maxwell-slip)': width for width in (1e-4, 3e-4, 1e-3, 3e-3)}
    positions = {f'position of {joint} (sin, cos of q and 2q)': joint for joint in JOINTS}
    assert set(found) == {*FRICTION, stribeck, quadrants, *widths, *positions}
    for name, group in found.items():
        assert group.single == (name in positions)
        kinds = {name: kind for name, (_, kind) in FRICTION.items()} | dict.fromkeys(widths, 'hysteresis')
        assert group.kind == ('stribeck' if name == stribeck else kinds.get(name, ''))
        joints = [term.joint for term in group.terms]
        assert joints == ([positions[name]] if name in positions else ['a', 'b'])
        for term in group.terms:
            if name in FRICTION:
                assert term.document == {'friction': FRICTION[name][0]}
            elif name == stribeck:
                assert term.document == {'stribeck': {'V_S': 0.4, 'mu': 1.0}}
            elif name in widths:
                assert (term.document, term.width) == ({'hysteresis': widths[name]}, widths[name])
            elif name in positions:
                assert term.document == {'fourier': [1, 2]}
    assert [term.document for term in found[quadrants].terms] == [{'friction': 'load_sign'}] * 2


def test_springs_are_tried_along_joints_that_follow_several_and_no_second_width_where_one_was_given():
    given = terms_from_config({'a': [{'hysteresis': 0.02}, {'fourier': 1}]})
    found = {group.name: group for group in menu(JOINTS, None, ['rod'], given)}
    assert found['position of rod (sin, cos of q and 2q)'].terms[0].joint == 'rod'
    for name, group in found.items():
        if name.startswith('hysteresis'):
            assert [term.joint for term in group.terms] == ['b']
    both = terms_from_config({joint: [{'hysteresis': 0.02}] for joint in JOINTS})
    assert not any(group.kind == 'hysteresis' for group in menu(JOINTS, None, given=both))


def test_friction_of_a_lift_does_not_rise_with_a_load_that_stays():
    found = {group.name: group for group in menu(JOINTS, None, lifts=['a'])}
    for name, group in found.items():
        if name.startswith(('load', 'motor and generator')):
            assert {term.joint for term in group.terms} == {'b'}
        elif not group.single:
            assert {term.joint for term in group.terms} == set(JOINTS)
    assert set(found) - {group.name for group in menu(JOINTS, None, lifts=JOINTS)} == {
        'load, linear (F_Cl)', 'load, quadratic (F_C1)', 'motor and generator quadrants',
    }  # fmt: skip


def test_temperature_is_tried_where_it_rises_with_its_mean_for_reference():
    plain = [group.name for group in menu(JOINTS, None)]
    assert [group.name for group in menu(JOINTS, np.array([[20.0, 23.0], [30.0, 32.0]]))] == plain
    warm = {group.name: group for group in menu(JOINTS, np.array([[20.0, 23.16], [5.0, 6.0]]))}
    assert set(warm) - set(plain) == {'temperature (F_T1)', 'temperature (F_T2)'}
    for name in ('F_T1', 'F_T2'):
        group = warm[f'temperature ({name})']
        assert (group.kind, group.single, group.slow) == ('', False, True)
        # rounded to a tenth, and within what a workshop has
        assert [(term.joint, term.document) for term in group.terms] == [
            ('a', {'friction': name, 'T_0': 21.6}), ('b', {'friction': name, 'T_0': 10.0}),
        ]  # fmt: skip
    hot = {group.name: group for group in menu(JOINTS, np.array([[60.0, 90.0], [20.0, 20.0]]))}
    assert [term.document['T_0'] for term in hot['temperature (F_T1)'].terms] == [70.0, 20.0]


def test_the_range_of_temperature_is_that_of_all_recordings():
    first, second = np.array([[20.0, 30.0], [25.0, 29.0]]), np.array([[19.0, 31.0]])
    runs = [SimpleNamespace(temperature=first), SimpleNamespace(temperature=second)]
    np.testing.assert_array_equal(temperature_range(runs), [[19.0, 25.0], [29.0, 31.0]])
    assert temperature_range([*runs, SimpleNamespace(temperature=None)]) is None


@pytest.fixture
def problem(two_links, observed):
    rng = np.random.default_rng(1)
    runs = [observed(seed, samples, factor=5) for seed, samples in ((1, 700), (2, 400))]
    runs = [replace(run, tau=rng.normal(size=run.q.shape)) for run in runs]
    return Problem(two_links, runs, rest_speed=0.4)


@pytest.mark.parametrize('most', [6000, 130, 60])
def test_rows_are_weighted_and_thinned(problem, two_links, monkeypatch, most):
    """Of too many samples every so many, in the order of time, but none at which all joints rest."""
    monkeypatch.setattr(candidate_terms, 'MAX_ROWS', most)
    candidates = problem.with_terms(terms_from_config({two_links.joint_names[1]: [{'fourier': 1}]}))
    rng = np.random.default_rng(2)
    factors = {}

    def row_factors(block):
        key = block.observation, block.kept.start
        return factors.setdefault(key, rng.uniform(0.5, 2.0, block.tau.shape))

    found = gather(problem, SimpleNamespace(row_factors=row_factors), candidates)
    total = sum(problem.samples)
    every = -(-total // most)
    assert (every > 1) == (most < total)
    rows, tau, recording = [], [], []
    for block in candidates.blocks():
        factor = row_factors(block)
        for k in range(block.tau.shape[1]):
            if (block.kept.start + k) % every == 0 and not block.resting[:, k].all():
                rows.append(block.rows[:, :, k] * factor[:, k, None])
                tau.append(block.tau[:, k] * factor[:, k])
                recording.append(block.observation)
    np.testing.assert_allclose(found.base, np.transpose(rows, (1, 2, 0))[:, : problem.columns])
    np.testing.assert_allclose(found.candidates, np.transpose(rows, (1, 2, 0))[:, problem.columns :])
    np.testing.assert_allclose(found.tau, np.transpose(tau))
    np.testing.assert_array_equal(found.parts, quarters_of(np.array(recording)))
    names = [[problem.names[column] for column in own] for own in found.friction]
    assert names == [['Fv_1', 'Fc_1'], ['Fv_2', 'Fc_2']]


def test_blocks_of_repeated_motion_are_of_its_phase(two_links, observed):
    """What a model misses repeats with the motion: no block is held out in one period and learnt from in others."""
    (run,) = [observed(3, 1600, factor=5)]
    t = run.time - run.time[0]
    q = np.stack([np.sin(np.pi * t) + 0.3 * np.sin(2 * np.pi * t), np.cos(np.pi * t)], axis=1)
    problem = Problem(two_links, [replace(run, q=q, tau=np.stack([t, t], axis=1), decimator=None)], rest_speed=0.0)
    rows = gather(problem, SimpleNamespace(row_factors=lambda block: np.ones_like(block.tau)), problem.with_terms([]))
    time = rows.tau[0]
    phase = np.mod(time - time[0] + 1e-9, 2.0)
    assert np.all(np.diff(phase) > -1e-6) and len(np.unique(rows.parts)) == 4
    np.testing.assert_array_equal(np.sort(time), t)
    order = np.argsort(time)
    np.testing.assert_array_equal(rows.parts[order], quarters_of(np.zeros(len(t), dtype=int)))


def test_quarters_of_recordings():
    np.testing.assert_array_equal(quarters_of(np.repeat([0, 2, 0], [3, 5, 4])), [0, 0, 1, 8, 8, 9, 10, 11, 1, 2, 2, 3])


def test_what_comes_before_and_after_repeated_motion_is_no_recording_of_its_own(problem):
    """Its few samples would have a friction of their own, that explains anything; nor does it mix with the motion."""
    pieces = [
        replace(problem.observations[k], name=name)
        for k, name in ((1, 'a (before)'), (0, 'a (mean of 2 periods)'), (1, 'a (after)'), (0, 'b'), (1, 'b'))
    ]
    whole = Problem(problem.model, pieces, rest_speed=0.0)
    weights = SimpleNamespace(row_factors=lambda block: np.ones_like(block.tau))
    rows = gather(whole, weights, whole.with_terms(terms_from_config({})))
    counts = [len(run.kept) for run in pieces]
    assert np.bincount(rows.parts // 4).tolist() == [sum(counts[:3]), counts[3], counts[4]]
    # each has a time of its own: one after the other, not mixed
    np.testing.assert_array_equal(rows.tau, np.concatenate([block.tau for block in whole.blocks()], axis=1))


def test_what_every_candidate_is_worth_stands_in_the_summary():
    law, other = Candidate('law', (0, 1), (0, 1)), Candidate('other', (2,), (0,))
    chosen = Worth(law, np.zeros(10), 0.125, 4.0, {0: 0.0, 1: 0.9})
    left = Worth(other, np.zeros(10), 0.005, 0.4, {0: 1.0})
    terms = [friction_term('b', name) for name in ('F_Cl', 'F_V2')]
    selection = Selection(terms, Choice([chosen], [left], {1: 0.1}, 3.0, 2.0, np.zeros((0, 0))), [])
    assert selection.summary(JOINTS, terms[:1]) == {
        'chosen': [{'term': 'law', 'gain_percent': 12.5, 'standard_errors': 4.0, 'ridges': {'b': 0.1}}],
        'left_out': [{'term': 'other', 'gain_percent': 0.5, 'standard_errors': 0.4}],
        'held_out_loss': {'without': 3.0, 'with': 2.0},
        'impossible': list(terms[1].names),
    }


def test_the_first_solution_has_one_law_of_each_kind():
    first = first_terms(menu(JOINTS, np.array([[20.0, 30.0], [20.0, 30.0]])))
    assert {term.joint for term in first} == set(JOINTS) and all(term.selected for term in first)
    own = [term.document for term in first if term.joint == 'a']
    friction = [document['friction'] for document in own if 'friction' in document]
    assert sorted(friction) == ['F_C1', 'F_Cl', 'F_T0', 'load_sign']
    assert [document for document in own if 'friction' not in document] == [
        {'hysteresis': 1e-4}, {'stribeck': {'V_S': 0.4, 'mu': 1.0}},
    ]  # fmt: skip
