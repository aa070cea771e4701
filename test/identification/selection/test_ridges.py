"""Ridges are decided by what held-out blocks gain less its error, and the uncertainty of that is in the deviations."""

import numpy as np
import pytest
from scipy.stats import norm

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.drive_gains.gain_uncertainty import ASSUMED
from joint_dynamics.identification.physical.dissipation import dissipation_rows
from joint_dynamics.identification.selection.choice_uncertainty import ChoiceUncertainty, choice_uncertainty
from joint_dynamics.identification.selection.held_out import HeldOut, Rows
from joint_dynamics.identification.selection.ridges import (
    JOINT_ERRORS,
    MIN_ERRORS,
    RIDGES,
    AlternativeChoice,
    Candidate,
    decide,
    select,
)
from joint_dynamics.recording import Recording

JOINTS, SAMPLES, BLOCKS = 3, 600, 10
ALL = tuple(range(JOINTS))
GROUP = Candidate('square', ALL, ALL)
ONCE = np.ones((BLOCKS, 1))


def friction_rows(rng, laws, noise=0.1):
    """Coulomb friction as base column; a candidate column sgn(ω) ω² per joint; `laws`: friction of each joint."""
    speed = 2.0 * np.sin(np.linspace(0, 40, SAMPLES) + np.arange(JOINTS)[:, None])
    speed += 0.02 * np.cumsum(rng.normal(size=(JOINTS, SAMPLES)), axis=1)
    base, candidates = np.zeros((JOINTS, JOINTS, SAMPLES)), np.zeros((JOINTS, JOINTS, SAMPLES))
    for j in range(JOINTS):
        base[j, j], candidates[j, j] = np.sign(speed[j]), np.abs(speed[j]) * speed[j]
    tau = np.array([law(speed[j]) for j, law in enumerate(laws)]) + noise * rng.normal(size=speed.shape)
    return Rows(base / noise, candidates / noise, tau / noise, np.zeros(SAMPLES, dtype=int))


def squared(omega, share=0.5):
    return np.sign(omega) + share * np.abs(omega) * omega


def trace(omega):
    return squared(omega, 0.003)


def plain(omega):
    return squared(omega, 0.0)


@pytest.mark.parametrize('seed', range(5))
def test_a_law_is_taken_in_the_joints_that_have_it(seed):
    rows = friction_rows(np.random.default_rng(seed), [squared, plain, squared])
    choice = select(HeldOut(rows), [GROUP])
    assert {0, 2} <= set(choice.ridges)
    # where it is not, what is taken by chance is held back
    assert choice.ridges.get(0) == choice.ridges.get(2) == min(RIDGES)
    assert choice.ridges.get(1, 1.0) > min(RIDGES)


def gains(mean, deviation, shares=(0.9, 0.7, 0.3, 0.1)):
    """Gains (options, joints, blocks) of a coefficient held back to shares v of it, 2vA − v²; mean and scatter of A."""
    wave = np.sin(np.arange(BLOCKS) * 2.4)
    wave = (wave - wave.mean()) / wave.std(ddof=1)
    A = np.asarray(mean)[:, None] + np.asarray(deviation)[:, None] * wave
    v = np.array([0.0, *shares])[:, None, None]
    return 2 * v * A - v**2


def test_a_joint_takes_the_ridge_whose_gain_less_its_standard_error_is_largest():
    gain = gains([1.0, 0.5, 0.1, -0.5], [0.01, 0.5, 0.3, 0.1])
    candidate = Candidate('law', (0, 1, 2, 3), (0, 1, 2, 3))
    found = decide(candidate, gain, 0.0, ONCE)
    worth = gain.sum(axis=2) - JOINT_ERRORS * gain.std(axis=2, ddof=1) * np.sqrt(BLOCKS)
    np.testing.assert_array_equal(found.best[:, 0], worth.argmax(axis=0))
    # certain, less certain, what may as well harm, and what does
    assert found.best[0, 0] == 1 and 1 < found.best[1, 0] <= 4 and found.best[3, 0] == 0
    own = gain[found.best[:, 0], np.arange(4)].sum(axis=0)
    assert found.gain[0] == pytest.approx(own.sum()) and found.error[0] == pytest.approx(
        np.std(own, ddof=1) * BLOCKS**0.5
    )
    assert found.worth[0] == pytest.approx(own.sum() - MIN_ERRORS * found.error[0])
    assert found.worth[0] > 0
    np.testing.assert_array_equal(decide(candidate, gain, 1.01 * found.worth[0], ONCE).best, 0)
    # of a joint that it has no column in
    assert decide(Candidate('law', (0,), (1,)), gain, 0.0, ONCE).best[0, 0] == 0


def test_a_gain_that_is_not_sure_is_none():
    """A coefficient of 1.6 deviations in one joint of three, nothing in the others: the arm goes without."""
    error = BLOCKS**-0.5 / 1.6
    gain = gains([0.5, 0.0, 0.0], [0.5 * error * BLOCKS] * 3)
    np.testing.assert_array_equal(decide(GROUP, gain, 0.0, ONCE).best, 0)


@pytest.mark.parametrize('scale', [1e-3, 1.0, 1e3])
@pytest.mark.parametrize('least', [0.5, 2.0, 4.0])
def test_blocks_drawn_anew_take_a_term_as_often_as_its_gain_exceeds_its_errors(scale, least):
    """A gain of two standard errors over sixty blocks, of which `least` are asked: as often as a normal variable is.

    In any unit of the loss. 400 draws scatter by 2.5 %; the error of sixty blocks drawn anew by another tenth.
    """
    wave = np.sin(np.arange(60) * 2.4)
    wave = (wave - wave.mean()) / wave.std()
    gain = scale * np.array([0 * wave, 2.0 / np.sqrt(60) + wave])[:, None]
    weights = np.random.default_rng(3).multinomial(60, np.full(60, 1 / 60), 400).T.astype(float)
    sure = MIN_ERRORS * gain[1, 0].std(ddof=1) * np.sqrt(60)
    candidate = Candidate('law', (0,), (0,), errors=least)
    found = decide(candidate, gain, -10 * sure, weights)
    assert np.mean(found.best == 1) == pytest.approx(norm.sf(least - 2.0), abs=0.15)


def test_a_law_nearly_the_same_as_another_is_taken_once():
    """Two columns, nearly alike: one explains what there is, and the other has nothing left to gain."""
    rows = friction_rows(np.random.default_rng(2), [squared] * JOINTS)
    other = rows.candidates * (1 + 0.02 * np.random.default_rng(3).normal(size=rows.candidates.shape))
    both = Rows(rows.base, np.concatenate([other, rows.candidates], axis=1), rows.tau, rows.parts)
    either = [Candidate('worse', ALL, ALL, 'kind'), Candidate('better', (3, 4, 5), ALL, 'kind')]
    choice = select(HeldOut(both), either)
    assert choice.steps[0].name == 'better' and set(choice.ridges) == {3, 4, 5}
    # another of its kind is no alternative by itself
    assert all(set(other.ridges) <= {3, 4, 5} for other in choice.alternatives)


def test_the_mean_square_of_what_other_ridges_change_is_in_the_covariance():
    rows = friction_rows(np.random.default_rng(4), [squared] * JOINTS)
    names = [*(f'Fc_{j}' for j in ALL), *(f'F_V2_{j}' for j in ALL)]
    others = [AlternativeChoice(dict.fromkeys(ALL, 0.0), 0.3), AlternativeChoice({1: 0.1}, 0.1)]
    found = choice_uncertainty(rows, {2: 0.3}, others, names)

    def estimate(ridges):
        columns = [*ALL, *(JOINTS + c for c in ridges)]
        A = np.concatenate([np.concatenate([rows.base[j], rows.candidates[j]]).T for j in ALL])[:, columns]
        ridge = np.diag([0.0] * JOINTS + list(ridges.values())) * np.linalg.norm(A, axis=0)
        chi = np.zeros(2 * JOINTS)
        chi[columns] = np.linalg.lstsq(
            np.vstack([A, ridge]), np.append(rows.tau.ravel(), np.zeros(len(columns))), rcond=None
        )[0]
        return chi

    change = [estimate(ridges) - estimate({2: 0.3}) for ridges in ({2: 0.0, 0: 0.0, 1: 0.0}, {2: 0.3, 1: 0.1})]
    np.testing.assert_allclose(found.difference, change, rtol=1e-6, atol=1e-9)
    covariance = found.widened(np.diag([0.25, 4.0]), ['Fc_2', 'other'])
    own = 0.25 + 0.3 * change[0][2] ** 2 + 0.1 * change[1][2] ** 2
    np.testing.assert_allclose(covariance, [[own, 0.0], [0.0, 4.0]], atol=1e-12)
    certain = ChoiceUncertainty(('Fc_1',), np.zeros(0), np.zeros((0, 1)))
    np.testing.assert_allclose(certain.widened(np.eye(1), ['Fc_1']), np.eye(1))


@pytest.mark.parametrize('seed', range(3))
def test_a_joint_is_doubted_where_it_hardly_asks_for_a_law(seed):
    """Two joints cannot do without the law, the third has a trace of it: draws disagree about the third alone."""
    choice = select(HeldOut(friction_rows(np.random.default_rng(seed), [squared, squared, trace])), [GROUP])
    without = {j: sum(other.probability for other in choice.alternatives if other.ridges == {j: None}) for j in ALL}
    if 2 not in choice.ridges:
        without[2] = 1.0 - sum(other.probability for other in choice.alternatives if 2 in other.ridges)
    assert without[0] == without[1] == 0.0
    assert sum(other.probability for other in choice.alternatives if 2 in other.ridges) > 0.02


def test_chosen_friction_never_drives(true_robot):
    """Friction that seems to fall for good with speed: nothing chosen lets it vanish within twice the speeds seen."""
    rng = np.random.default_rng(7)
    t, q, dq, ddq = true_robot.motion(rng, 20.0, 200.0, frequency=0.07)
    level = true_robot.standard[:, 12]
    tau = true_robot.torque(q, dq, ddq) - level * 0.3 * np.abs(dq) * dq
    recording = Recording(
        true_robot.model.joint_names, t, q, tau=tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
    )
    result = identify(true_robot.model, [recording])
    extra = result.solution.chi[result.problem.base.count :]
    for part in dissipation_rows(result.problem):
        plain = part.rows_standard @ result.standard_parameters[list(part.standard)]
        assert plain.min() <= 0 or (plain + part.rows_extra @ extra).min() > 0
    load = [
        value
        for name, value in zip(result.names, result.solution.chi, strict=True)
        if name.startswith(('F_Cl', 'F_C1'))
    ]
    assert all(value >= 0 for value in load)


def test_uncertainty_of_drive_gains_is_assumed_for_currents_and_said(true_robot):
    run = true_robot.record(5, duration=8.0)
    gains = dict.fromkeys(run.joint_names, 10.0)
    current = Recording(run.joint_names, run.time, run.q, current=run.tau / 10.0)
    plain = IdentificationSettings(selection=False, drive_gains=gains)
    assumed = identify(true_robot.model, [current], settings=plain)
    stated = identify(
        true_robot.model,
        [current],
        settings=IdentificationSettings(selection=False, drive_gains=gains, drive_gain_deviation=ASSUMED),
    )
    none = identify(
        true_robot.model,
        [current],
        settings=IdentificationSettings(selection=False, drive_gains=gains, drive_gain_deviation=0.0),
    )
    torques = identify(true_robot.model, [run], settings=plain)
    shares = {name: 0.01 * k for k, name in enumerate(run.joint_names)}
    own = identify(
        true_robot.model,
        [current],
        settings=IdentificationSettings(selection=False, drive_gains=gains, drive_gain_deviation=shares),
    )
    assert [own.description.joint(name)['drive_gain'].get('std', 0.0) for name in run.joint_names] == pytest.approx(
        [0.1 * k for k in range(len(run.joint_names))]
    )
    # The deviation of a rotor's inertia is that of its parameter, where the motion tells it from the link's.
    for k, name in enumerate(run.joint_names, start=1):
        rotor = torques.description.joint(name)['rotor_inertia']
        known = dict(zip(torques.names, torques.deviation, strict=True)).get(f'Ia_{k}')
        assert rotor.get('std') == (None if known is None else pytest.approx(known))
    assert any('std' in torques.description.joint(name)['rotor_inertia'] for name in run.joint_names)
    assert np.array_equal(assumed.covariance, stated.covariance)
    assert (assumed.deviation > none.deviation).all()
    np.testing.assert_allclose(torques.deviation, none.deviation, rtol=1e-6)
    assert assumed.summary()['drive_gain_deviation'] == {'value': ASSUMED, 'assumed': True}
    assert [any('not stated' in note for note in result.notes) for result in (assumed, stated, none, torques)] == [
        True,
        False,
        False,
        False,
    ]
