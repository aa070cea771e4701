"""What is kept from one solution to the next is what would be computed anew: rows, load torques, columns of terms."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Term, fourier_term, friction_term, hysteresis_term, stribeck_term, terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression import columns, rows
from joint_dynamics.identification.regression.columns import FrictionState, spans
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import prior_spread
from joint_dynamics.robot import INERTIAL, RobotModel, StandardParameters
from joint_dynamics.signals.filtering import ParallelDecimator

COUPLING = np.eye(6)
COUPLING[5, 4] = 0.7


@pytest.fixture(params=['6R', 'coupled', 'prismatic'])
def model(request, ur_table, scara_table):
    if request.param == 'prismatic':
        return RobotModel.from_mdh(scara_table)
    return RobotModel.from_mdh(
        ur_table | ({'position_coupling_R': COUPLING.tolist()} if request.param == 'coupled' else {})
    )


def observation(model, samples, seed, factor=7):
    """Other speeds of the motors than of the links."""
    rng = np.random.default_rng(seed)
    q, dq, ddq = model.random_states(samples, rng)
    tau = rng.normal(size=q.shape)
    decimator = None if factor is None else ParallelDecimator(samples, 5.0, 100.0, factor)
    motor = q + 0.1, dq + 0.2 * np.sign(dq), 1.1 * ddq
    return Observation('run', np.arange(samples) * 0.01, q, dq, ddq, *motor, tau, None, decimator)


def problems(model, monkeypatch, **options):
    """The same problem with rows of whole observations kept, and without."""
    runs = [observation(model, 5000, 1), observation(model, 700, 2), observation(model, 300, 3, factor=None)]
    kept = Problem(model, runs, **options)
    list(kept.blocks())
    monkeypatch.setattr(rows, 'ROWS_KEPT', 0)
    return kept, Problem(model, runs, **options)


def test_rows_out_of_those_of_all_parameters_are_those_computed_alone(model, monkeypatch):
    kept, plain = problems(model, monkeypatch)
    for one, other in zip(kept.blocks(), plain.blocks(), strict=True):
        assert one.kept == other.kept
        np.testing.assert_allclose(one.rows, other.rows, rtol=0, atol=1e-13 * np.abs(other.rows).max())


def test_load_torques_out_of_kept_rows_are_those_of_newton_euler(model, monkeypatch):
    kept, plain = problems(model, monkeypatch)
    rng = np.random.default_rng(4)
    for links in rng.normal(size=(2, model.n, 10)):
        for run in kept.observations:
            expected = model.chain.torque(run.q, run.dq, run.ddq, links).T
            bound = 1e-13 * np.abs(expected).max()
            np.testing.assert_allclose(kept.loads.of(run, links), expected, rtol=0, atol=bound)
            np.testing.assert_array_equal(plain.loads.of(run, links), expected)
            np.testing.assert_array_equal(kept.loads.of(run, links, slice(3, 40)), kept.loads.of(run, links)[:, 3:40])


def test_rows_are_kept_as_far_as_there_is_room(model, monkeypatch):
    own = rows.StandardRows(model)
    short, long = observation(model, 100, 1), observation(model, 3000, 2)
    pieces = own.of(short)
    assert own.of(short) is pieces
    size = sum(piece.values.nbytes for piece in pieces)
    monkeypatch.setattr(rows, 'ROWS_KEPT', 2 * size)
    own = rows.StandardRows(model)
    assert own.of(long) is None
    assert own.of(short) is not None and own.of(observation(model, 100, 3)) is not None
    assert own.of(observation(model, 100, 4)) is None


class Watched(Term):
    """A term that notes its name and joint in `asked` when its columns are computed."""

    def of(self, motion):
        self.asked.append((self.names[0].removesuffix(f'_{self.joint}'), self.index))
        return super().of(motion)


def terms_of(model, asked):
    """Of load, hysteresis and speed; asked collects the name and joint of each term whose columns are computed."""

    def watched(term):
        found = Watched(**vars(term))
        object.__setattr__(found, 'asked', asked)
        object.__setattr__(found, 'index', model.joint_names.index(term.joint))
        return found

    first, second = model.joint_names[:2]
    plain = fourier_term(first, [1])
    return [
        watched(friction_term(first, 'F_T0')),
        watched(friction_term(second, 'F_Cl')),
        plain,
        watched(hysteresis_term(first, 1e-3)),
        watched(stribeck_term(second, 0.4)),
    ]


@pytest.mark.parametrize('factor', [None, 5])
def test_columns_of_terms_are_computed_again_only_where_the_state_changes_them(two_links, observed, factor):
    runs = [observed(seed, 400, factor=factor) for seed in (1, 2)]
    asked = []
    terms = terms_of(two_links, asked)
    rng = np.random.default_rng(5)
    links, others = rng.normal(size=(2, 2, 10))
    none, width = np.zeros(2), np.array([0.0, 2e-3])
    limit, lower = np.array([5.0, 4.0]), np.array([5.0, 0.4])
    states = [
        (FrictionState(links, limit, none, none), {('F_T0', 0), ('F_Cl', 1), ('F_H', 0), ('F_S-F_C0', 1)}),
        (FrictionState(links.copy(), limit.copy(), none, none), set()),
        (FrictionState(others, limit, none, none), {('F_Cl', 1)}),
        (FrictionState(others, lower, none, none), {('F_Cl', 1)}),
        (FrictionState(others, 2 * limit * [1, 0.1], none, none), {('F_Cl', 1)}),
        (FrictionState(others, lower, width, 100 * width), {('F_Cl', 1), ('F_S-F_C0', 1)}),
        (FrictionState(others, lower, width, 200 * width), {('F_Cl', 1), ('F_S-F_C0', 1)}),
        (FrictionState(others, lower, 2 * width, 200 * width), {('F_Cl', 1), ('F_S-F_C0', 1)}),
    ]
    problem = Problem(two_links, runs)
    for state, expected in states:
        asked.clear()
        trial = problem.with_terms(terms, state)
        found = [trial.extra(index) for index in range(2)]
        assert set(asked) == expected
        held_back = problem.with_terms([replace(term, ridge=0.7) for term in terms[::-1]], state)
        again = [held_back.extra(index) for index in range(2)]
        assert set(asked) == expected
        fresh = Problem(two_links, runs, terms, state)
        for index, order in ((0, [5, 4, 2, 3, 1, 0]), (1, [5, 4, 2, 3, 1, 0])):
            np.testing.assert_allclose(found[index], fresh.extra(index), rtol=1e-13, atol=1e-15)
            np.testing.assert_array_equal(again[index], found[index][order])


def test_hysteresis_of_each_width_has_columns_of_its_own(two_links, observed):
    run = observed(1, 400, factor=5)
    terms = [hysteresis_term(two_links.joint_names[0], width) for width in (1e-3, 0.1)]
    problem = Problem(two_links, [run])
    problem.with_terms(terms).extra(0)
    for term in terms:
        np.testing.assert_allclose(
            problem.with_terms([term]).extra(0), Problem(two_links, [run], [term]).extra(0), rtol=1e-13, atol=1e-15
        )


def test_columns_computed_last_are_kept_where_there_is_no_room_for_all(two_links, observed, monkeypatch):
    run = observed(1, 400, factor=5)
    monkeypatch.setattr(columns, 'KEPT', 2 * 8 * len(run.kept))
    asked = []
    terms = [term for term in terms_of(two_links, asked) if len(term.names) == 1 and not term.needs]
    problem = Problem(two_links, [run])
    whole = problem.with_terms(terms).extra(0)
    asked.clear()
    np.testing.assert_array_equal(problem.with_terms(terms[1:]).extra(0), whole[1:])
    assert len(whole) == 3 and not asked
    np.testing.assert_allclose(problem.with_terms(terms[:1]).extra(0), whole[:1], rtol=1e-13, atol=1e-15)
    assert set(asked) == {('F_T0', 0)}


def test_terms_of_no_joint_and_spans_without_a_filter_are_refused(two_links, observed):
    terms = terms_from_config({'elbow': [{'fourier': 1}]})
    with pytest.raises(JointDynamicsError, match="expected a joint of joint_1, joint_2, found 'elbow'"):
        Problem(two_links, [observed(1, 20)], terms)
    with pytest.raises(ValueError, match='without a parallel filter has no spans'):
        next(spans(observed(1, 20)))


@pytest.mark.parametrize('mounting', [None, (0.4, 0.0, 0.0)])
def test_the_weight_on_a_sliding_first_joint_is_an_offset(mounting, observed):
    """It is the same in every posture, however the joint leans; a joint that slides behind a turning one is none."""
    turn = {'alpha': np.pi / 2, 'a': 0.0, 'd': 0.0, 'theta': 0.0}
    slide = {**turn, 'type': 'prismatic'}
    lift = RobotModel.from_mdh({'joints': [{**slide, 'alpha': 0.0}, turn]}, mounting=mounting)
    assert Problem(lift, [observed(1, 300)]).lifts == ['joint_1']
    assert Problem(RobotModel.from_mdh({'joints': [turn, slide]}), [observed(1, 300)]).lifts == []


def test_how_far_links_may_be_off_is_a_share_of_mass_gyration_and_inertia():
    rng = np.random.default_rng(4)
    prior = StandardParameters(np.zeros(28), 2)
    prior.links[:] = rng.normal(size=(2, 10))
    prior.links[1] = 0.0
    names = [f'{kind}_{j}' for j in (1, 2) for kind in (*INERTIAL, 'Ia', 'Fv', 'Fc', 'off')]
    found = StandardParameters(prior_spread(SimpleNamespace(standard_names=names), prior.values), 2)
    largest = []
    for link, off in zip(prior.links, found.links, strict=True):
        mass = max(link[9], 1e-3)
        inertia = max(0.5 * (abs(link[0]) + abs(link[3]) + abs(link[5])), 1e-6)
        largest.append(inertia)
        np.testing.assert_allclose(off, [*[0.3 * inertia] * 6, *[0.3 * math.sqrt(mass * inertia)] * 3, 0.3 * mass])
    np.testing.assert_allclose(found.rotor_inertia, 30.0 * max(largest))
