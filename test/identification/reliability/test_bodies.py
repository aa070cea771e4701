"""Inertias that no body has."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.reliability import bodies
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.robot.standard_parameters import link_columns


def without_a_body(model, robot, seed, size=8.0):
    """A recording of an arm whose third link has the inertia of no body: below zero about all its axes."""
    recording = robot.record(seed, rate=100.0, noise=0.0)
    _, q, dq, ddq = robot.motion(np.random.default_rng(seed), 20.0, 100.0)
    values = np.zeros(len(model.parameter_names))
    values[link_columns(2)][:6] = -size * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    wrong = model.inverse_dynamics(q, dq, ddq, values)
    tau = recording.tau + wrong
    return replace(recording, tau=tau + 0.02 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape))


@pytest.mark.parametrize('solver', ['semidefinite programme', 'mass matrix'])
def test_inertias_no_body_has_are_named_and_those_of_bodies_are_not(model_and_robot, solver, monkeypatch, problem_of):
    """Also where they make little torque: at 1, 2 and 4 the nearest bodies leave 3, 7 and some 20 % more over.

    The prediction of another motion is off by 12 to 47 % there; at 4 the solver is unsure.
    """
    if solver == 'mass matrix':
        monkeypatch.setitem(sys.modules, 'cvxpy', None)
    else:
        pytest.importorskip('cvxpy')
    model, robot = model_and_robot
    for seed, size in ((1, 1.0), (1, 2.0), (1, 4.0), (1, 8.0), (2, 8.0)):
        bad = [without_a_body(model, robot, seed, size)]
        problem = problem_of(model, bad)
        found = bodies.impossible_inertials(problem, Alternatives(model, samples_of(problem)))
        assert [reason.code for reason in found] == ['negative_inertia']
        assert size < 8.0 or check_training(problem, bad).reasons
    for seed in (1, 2):
        problem = problem_of(model, [robot.record(seed, rate=100.0)])
        assert bodies.impossible_inertials(problem, Alternatives(model, samples_of(problem))) == []


def test_no_programme_is_solved_for_what_bodies_explain(model_and_robot, monkeypatch, problem_of):
    def solved(*_):
        raise AssertionError('a semidefinite programme was solved')

    monkeypatch.setattr(bodies, 'physical', solved)
    model, robot = model_and_robot
    good, bad = (problem_of(model, [run]) for run in (robot.record(1, rate=100.0), without_a_body(model, robot, 1)))
    assert bodies.impossible_inertials(good, Alternatives(model, samples_of(good))) == []
    with pytest.raises(AssertionError, match='was solved'):
        bodies.impossible_inertials(bad, Alternatives(model, samples_of(bad)))


def test_inertias_of_rotors_and_of_postures_below_zero_are_seen(model_and_robot, problem_of):
    model, robot = model_and_robot
    problem = problem_of(model, [robot.record(1, rate=100.0, noise=0.0)])
    chi = np.zeros(len(problem.names))
    chi[: problem.base.count] = problem.base.regroup(robot.standard.ravel())
    assert bodies.positive_inertia(problem, chi)
    rotor = next(k for k, name in enumerate(problem.names) if name.startswith('Ia_'))
    first = problem.names.index('ZZR_1')
    for index, value in ((rotor, -1e-6), (first, -100.0), (rotor, np.nan)):
        assert not bodies.positive_inertia(problem, np.where(np.arange(len(chi)) == index, value, chi))
