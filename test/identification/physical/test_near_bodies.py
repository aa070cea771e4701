"""A robot near an estimate, found without a solver: it is one, and its price bounds that of the nearest one."""

import numpy as np
import pytest

from joint_dynamics.arm import friction_term
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.identification_settings import PhysicalOptions
from joint_dynamics.identification.physical.near_bodies import near_bodies
from joint_dynamics.identification.physical.semidefinite import LENGTH, MARGIN, physical, prior_bodies, pseudo_inertias
from joint_dynamics.robot import StandardParameters

DRIVE = ('Ia', 'Fv', 'Fc')


@pytest.fixture(scope='module', params=['poor', 'good', 'with a term'])
def identified(request, ur, true_robot):
    recording = true_robot.record(5, duration=8.0, noise=0.3) if request.param == 'poor' else true_robot.record(5)
    terms = (friction_term('joint_2', 'F_V2'),) if request.param == 'with a term' else ()
    return identify(ur, [recording], settings=IdentificationSettings(selection=False, terms=terms))


def scaled(standard, n):
    scale = np.diag([1 / LENGTH] * 3 + [1.0])
    return scale @ pseudo_inertias(StandardParameters(standard, n).links) @ scale


def divergence(problem, solution, standard):
    """Σ tr(P0⁻¹P) − log det(P0⁻¹P) − 4, written out."""
    prior = prior_bodies(problem.model, solution.chi[: problem.base.count], problem.model.parameters)
    found = 0.0
    for body, own in zip(scaled(standard, problem.model.n), prior, strict=True):
        relative = np.linalg.solve(own, body)
        found += np.trace(relative) - np.linalg.slogdet(relative)[1] - 4
    return found


def test_it_is_a_robot_and_costs_what_it_says(identified):
    problem, solution = identified.problem, identified.solution
    found = near_bodies(problem, solution)
    assert found is not None
    n, names = problem.model.n, problem.model.parameter_names
    # eigenvalues round by some 1e-16 of the largest mass, which is a few kg
    assert np.linalg.eigvalsh(scaled(found.standard, n)).min() > MARGIN - 1e-12
    held = [value for name, value in zip(names, found.standard, strict=True) if name.partition('_')[0] in DRIVE]
    assert min(held) >= 0 or problem.terms  # what a further term complements is bound together with it
    moved = np.concatenate([problem.base.regroup(found.standard), found.extra]) - solution.chi
    price = moved @ np.linalg.solve(solution.inverse, moved)
    expected = price + PhysicalOptions().pull * divergence(problem, solution, found.standard)
    assert found.price == pytest.approx(expected, rel=1e-6)


def test_its_price_bounds_that_of_the_nearest_robot(identified):
    pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
    problem, solution = identified.problem, identified.solution
    nearest, found = physical(problem, solution), near_bodies(problem, solution)
    pull = PhysicalOptions().pull
    least = nearest.price + pull * divergence(problem, solution, nearest.standard)
    # the solver stops within 1e-8 of the objective, relative to its size and to the rows it is divided by
    assert found.price >= least - 1e-6 * max(least, solution.rows)
    # and it comes near: what it costs more is the divergence, which is not sought, and a deviation per parameter
    assert found.price <= least + pull * divergence(problem, solution, found.standard) + problem.columns


def test_it_ends_with_what_is_enough(identified):
    best = near_bodies(identified.problem, identified.solution)
    first = near_bodies(identified.problem, identified.solution, enough=1e12)
    assert best.price <= first.price < 1e12
