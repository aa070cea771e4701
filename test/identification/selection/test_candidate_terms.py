"""The menu of further terms, the rows they are tried on, and what is told of the choice."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.selection import candidate_terms
from joint_dynamics.identification.selection.candidate_terms import gather, menu, summary_of, temperature_range
from joint_dynamics.identification.selection.stepwise import Choice, SelectionStep

JOINTS = ('a', 'b')
FRICTION = {
    'square root of speed (F_T0)': ('F_T0', True),
    'square of speed (F_V2)': ('F_V2', False),
    'cube of speed (F_V3)': ('F_V3', False),
    'load, linear (F_Cl)': ('F_Cl', True),
    'load, quadratic (F_C1)': ('F_C1', True),
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
        assert group.kind == ('stribeck' if name == stribeck else 'hysteresis' if name in widths else '')
        assert group.physical == (FRICTION.get(name, ('', name != quadrants))[1])
        joints = [term.joint for term in group.terms]
        expected = [positions[name]] if name in positions else ['a', 'a', 'b', 'b'] if name == quadrants else ['a', 'b']
        assert joints == expected
        for term in group.terms:
            if name in FRICTION:
                assert term.document == {'friction': FRICTION[name][0]}
            elif name == stribeck:
                assert term.document == {'stribeck': {'V_S': 0.4, 'mu': 1.0}}
            elif name in widths:
                assert (term.document, term.width) == ({'hysteresis': widths[name]}, widths[name])
            elif name in positions:
                assert term.document == {'fourier': [1, 2]}
    assert [term.document['friction'] for term in found[quadrants].terms] == ['load_gain', 'load_sign'] * 2


def test_temperature_is_tried_where_it_rises_with_its_mean_for_reference():
    plain = [group.name for group in menu(JOINTS, None)]
    assert [group.name for group in menu(JOINTS, np.array([[20.0, 23.0], [30.0, 32.0]]))] == plain
    warm = {group.name: group for group in menu(JOINTS, np.array([[20.0, 23.16], [5.0, 6.0]]))}
    assert set(warm) - set(plain) == {'temperature (F_T1)', 'temperature (F_T2)'}
    for name in ('F_T1', 'F_T2'):
        group = warm[f'temperature ({name})']
        assert (group.kind, group.single, group.physical) == ('', False, True)
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
def test_rows_are_weighted_and_thinned_by_whole_blocks_of_time(problem, two_links, monkeypatch, most):
    """Blocks of 0.8 periods of f_dyn in every recording; of too many samples every so many of all blocks."""
    monkeypatch.setattr(candidate_terms, 'MAX_ROWS', most)
    terms = terms_from_config({two_links.joint_names[1]: [{'fourier': 1}]})
    candidates = problem.with_terms(terms)
    rng = np.random.default_rng(2)
    factors = {}

    def row_factors(block):
        key = block.observation, block.kept.start
        return factors.setdefault(key, rng.uniform(0.5, 2.0, block.tau.shape))

    f_dyn = 0.9
    found = gather(problem, SimpleNamespace(row_factors=row_factors), candidates, f_dyn)
    kept = [len(run.kept) for run in problem.observations]
    every = -(-sum(kept) // most)
    whole = {'base': [], 'further': [], 'tau': [], 'speed': [], 'number': [], 'recording': []}
    first = 0
    counts = []
    for index, run in enumerate(problem.observations):
        period = np.median(np.diff(run.time[run.kept]))
        counts.append(max(1, round(kept[index] / max(4, int(np.ceil(0.8 / f_dyn / period))))))
    assert counts[0] > 2
    for block in candidates.blocks():
        start, count = sum(counts[: block.observation]), counts[block.observation]
        factor = row_factors(block)
        for k in range(block.tau.shape[1]):
            position = block.kept.start + k
            number = start + position * count // kept[block.observation]
            if number % every:
                continue
            rows = block.rows[:, :, k] * factor[:, k, None]
            whole['base'].append(rows[:, : problem.columns])
            whole['further'].append(rows[:, problem.columns :])
            whole['tau'].append(block.tau[:, k] * factor[:, k])
            whole['speed'].append(np.where(block.resting[:, k], 0.0, np.abs(block.dq[:, k])))
            whole['number'].append(number)
            whole['recording'].append(block.observation)
        first += block.tau.shape[1]
    assert first == sum(kept) and (every > 1) == (most < sum(kept))
    np.testing.assert_allclose(found.base, np.transpose(whole['base'], (1, 2, 0)))
    np.testing.assert_allclose(found.candidates, np.transpose(whole['further'], (1, 2, 0)))
    np.testing.assert_allclose(found.tau, np.transpose(whole['tau']))
    np.testing.assert_allclose(found.speeds, np.transpose(whole['speed']))
    np.testing.assert_array_equal(found.recordings, whole['recording'])
    # numbered without gaps
    np.testing.assert_array_equal(found.blocks, np.searchsorted(sorted(set(whole['number'])), whole['number']))


def test_what_comes_before_and_after_repeated_motion_is_no_recording_of_its_own(problem):
    """Its few samples, left out by themselves, would refute laws by chance, each with the voice of a recording."""
    pieces = [
        replace(problem.observations[k], name=name)
        for k, name in ((1, 'a (before)'), (0, 'a (mean of 2 periods)'), (1, 'a (after)'), (0, 'b'), (1, 'b'))
    ]
    whole = Problem(problem.model, pieces, rest_speed=0.4)
    weights = SimpleNamespace(row_factors=lambda block: np.ones_like(block.tau))
    rows = gather(whole, weights, whole.with_terms(terms_from_config({})), 0.9)
    counts = [len(run.kept) for run in pieces]
    assert np.bincount(rows.recordings).tolist() == [sum(counts[:3]), counts[3], counts[4]]


def test_the_choice_is_told_step_by_step():
    steps = [SelectionStep('law', 0.1, 12.5, 4.0, True, (1,)), SelectionStep('other', 0.0, 0.5, 0.4, False)]
    assert summary_of(Choice({}, steps, 3.0, 2.0, []), JOINTS) == {
        'chosen': [{'term': 'law', 'gain_percent': 12.5, 'standard_errors': 4.0, 'ridge': 0.1, 'joints': ['b']}],
        'left_out': [{'term': 'other', 'gain_percent': 0.5, 'standard_errors': 0.4, 'ridge': 0.0}],
        'held_out_loss': {'without': 3.0, 'with': 2.0},
    }
