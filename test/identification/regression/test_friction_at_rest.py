"""The friction that a joint at rest can hold, and where it has not slipped yet, written out for two links."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import friction_term, hysteresis_term, power_term, stribeck_term
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.presliding import SLIPPED, not_slipped
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.stiction import Resting, breakaway_ratios, friction_level
from joint_dynamics.robot import INERTIAL

LINKS = np.array([[0.1, 0, 0, 0.2, 0, 0.2, 1.0, 0.1, 0.0, 5.0], [0.02, 0, 0, 0.05, 0, 0.05, 0.4, 0.0, 0.0, 2.0]])


def level_of(model, run, terms, values, state=None):
    problem = Problem(model, [run], terms, state)
    chi = np.array([values.get(name, 0.0) for name in problem.names])
    return friction_level(problem, chi, run)


@pytest.fixture(params=[None, 5])
def run(observed, request):
    return observed(1, 400, factor=request.param)


def load_of(model, run):
    """τ_J (n, kept) of the links alone."""
    standard = np.zeros(len(model.parameter_names))
    for j, link in enumerate(LINKS):
        standard[[model.parameter_names.index(f'{name}_{j + 1}') for name in INERTIAL]] = link
    return model.inverse_dynamics(run.q, run.dq, run.ddq, standard)[run.kept].T


def test_coulomb_friction_is_held_and_never_less_than_nothing(two_links, run):
    found = level_of(two_links, run, [], {'Fc_1': 3.0, 'Fc_2': -1.0, 'Fv_1': 50.0, 'off_1': 9.0})
    assert found.shape == (2, len(run.kept))
    np.testing.assert_array_equal(found, np.outer([3.0, 0.0], np.ones(len(run.kept))))


def test_what_vanishes_with_the_speed_holds_nothing_and_what_does_not_adds_up(two_links, run):
    first, second = two_links.joint_names
    terms = [
        friction_term(first, 'F_V2'), stribeck_term(second, 0.1), friction_term(second, 'F_T0'),
        power_term(first, 0.5), hysteresis_term(first, 1e-3),
    ]  # fmt: skip
    values = {name: 10.0 for term in terms for name in term.names}
    found = level_of(two_links, run, terms, {**values, f'F_S-F_C0_{second}': 2.5, 'Fc_1': 3.0, 'Fc_2': 1.0})
    np.testing.assert_allclose(found, np.outer([3.0, 3.5], np.ones(len(run.kept))))


@pytest.mark.parametrize('limited', [False, True])
def test_friction_that_grows_with_load_does_so_at_rest(two_links, run, limited):
    first, second = two_links.joint_names
    load = load_of(two_links, run)
    limit = 0.4 * np.abs(load).max(axis=1) if limited else None
    bounded = np.clip(load, -limit[:, None], limit[:, None]) if limited else load
    terms = [friction_term(first, 'F_Cl'), stribeck_term(first, 0.2), friction_term(second, 'F_C1')]
    values = {'Fc_1': 3.0, 'Fc_2': 0.5, f'F_Cl_{first}': 0.2, f'F_S-F_C0_{first}': 1.5, f'F_C1_{second}': 0.07}
    found = level_of(two_links, run, terms, values, FrictionState(links=LINKS, load_limit=limit))
    expected = np.array([4.5 + 0.2 * np.abs(bounded[0]), 0.5 + 0.07 * bounded[1] ** 2])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # a load term below zero takes off what there is and no more
    less = level_of(two_links, run, terms, {**values, f'F_Cl_{first}': -50.0}, FrictionState(LINKS, limit))
    np.testing.assert_allclose(less[0], np.maximum(4.5 - 50.0 * np.abs(bounded[0]), 0.0), rtol=1e-9)
    np.testing.assert_allclose(less[1], expected[1], rtol=1e-9)
    assert less[0].min() == 0.0


def test_a_joint_has_slipped_once_it_has_moved_far_enough_either_way(observed):
    run = observed(1, 200)
    theta = np.zeros((200, 2))
    theta[50:, 0] = -1.01 * SLIPPED
    theta[100:, 0] = 0.0
    theta[120:, 1] = 0.99 * SLIPPED
    theta[150:, 1] = 1.01 * SLIPPED
    moved = replace(run, theta=theta + np.array([0.7, -2.0]))
    found = not_slipped(moved)
    np.testing.assert_array_equal(found, np.arange(200) < np.array([[50], [150]]))
    thinned = observed(1, 200, factor=4)
    part = not_slipped(replace(thinned, theta=moved.theta))
    np.testing.assert_array_equal(part, found[:, thinned.kept])


def resting(tau, rests, *, level=2.0, half_width=0.1, first=None, base=0.0, **more):
    """Samples at rest of which nothing is known but the level: (n, K) each."""
    tau = np.asarray(tau, dtype=float)
    ones = np.ones_like(tau)
    first = np.zeros(tau.shape, dtype=bool) if first is None else np.asarray(first)
    known = base * ones, base * ones, level * ones, -ones, ones, half_width * ones
    return Resting('run', np.asarray(rests), tau, *known, first, np.zeros_like(first), **more)


def stays(heights, length=41, gap=5):
    """Torques of stays at these heights, one after the other, with pieces in motion between; which rest."""
    pieces = [np.r_[np.full(length, height), np.full(gap, 99.0)] for height in heights]
    still = np.tile(np.r_[np.ones(length, dtype=bool), np.zeros(gap, dtype=bool)], len(heights))
    return np.concatenate(pieces)[None], still[None]


def test_the_ratio_is_what_nearly_all_stays_need():
    heights = 2.0 * np.linspace(0.1, 1.9, 37)
    tau, still = stays(heights)
    needed = np.sort((heights - 0.1) / 2.0)
    late, early = breakaway_ratios([resting(tau, still)])
    # of 37 stays at most one may need more: 2.5 %
    assert late == pytest.approx(np.quantile(needed, 0.975, method='higher'))
    assert early == np.inf
    # friction holds either way, and torques of half the size need no ratio
    assert breakaway_ratios([resting(-tau, still)])[0] == pytest.approx(late)
    assert breakaway_ratios([resting(0.5 * tau, still)]) == (1.0, np.inf)
    # what the prediction without friction says is not held
    assert breakaway_ratios([resting(tau + 7.0, still, base=7.0)])[0] == pytest.approx(late)


def test_a_stay_counts_by_what_most_of_its_samples_need():
    tau, still = stays([3.0] * 5, length=100)
    tau[0, 10] = 60.0
    late, _ = breakaway_ratios([resting(tau, still)])
    assert late == pytest.approx((3.0 - 0.1) / 2.0, rel=1e-6)
    # five in a hundred are those that may need more
    tau[0, 10:24] = 60.0
    assert breakaway_ratios([resting(tau, still)])[0] > 10


def test_stays_before_the_first_slip_have_a_ratio_of_their_own():
    tau, still = stays([8.0, *[3.0] * 6])
    first = np.arange(tau.shape[1])[None] < 44
    late, early = breakaway_ratios([resting(tau, still, first=first)])
    assert early == pytest.approx((8.0 - 0.1) / 2.0)
    assert late == pytest.approx((3.0 - 0.1) / 2.0)
    # with fewer than five after a slip, all stays tell
    tau, still = stays([8.0, *[3.0] * 4])
    late, early = breakaway_ratios([resting(tau, still, first=np.arange(tau.shape[1])[None] < 44)])
    assert late == early == pytest.approx((8.0 - 0.1) / 2.0)
    # the unit of the torque does not matter
    small = resting(1e-3 * tau, still, level=2e-3, half_width=1e-4)
    assert breakaway_ratios([small])[0] == pytest.approx((8.0 - 0.1) / 2.0)
    # a joint without friction holds nothing that a ratio could be of
    assert breakaway_ratios([resting(tau, still, level=0.0)]) == breakaway_ratios([]) == (1.0, np.inf)


def test_the_ends_of_the_interval_belong_to_it():
    part = resting([[2.0, -2.0, 2.0 + 1e-9]], [[True] * 3], half_width=0.0)
    assert part.within.tolist() == [[True, True, False]]
