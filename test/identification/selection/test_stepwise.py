"""A term has to hold where the data do not reach, and the uncertainty of the choice is in the deviations."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.drive_gains.gain_uncertainty import ASSUMED
from joint_dynamics.identification.physical.dissipation import dissipation_rows
from joint_dynamics.identification.selection.choice_uncertainty import ChoiceUncertainty, choice_uncertainty
from joint_dynamics.identification.selection.held_out import HeldOut, Rows, ranges_of
from joint_dynamics.identification.selection.resampling import AlternativeChoice, Candidate
from joint_dynamics.identification.selection.stepwise import select
from joint_dynamics.recording import Recording

JOINTS, SAMPLES, LENGTH = 3, 600, 6


def friction_rows(rng, laws, noise=0.1, recordings=None):
    """Coulomb friction as base column; a candidate column sgn(ω) ω² per joint; `laws`: friction of each joint."""
    speed = np.cumsum(rng.normal(size=(JOINTS, SAMPLES)), axis=1)
    speed = 2.0 * np.sin(np.linspace(0, 40, SAMPLES) + np.arange(JOINTS)[:, None]) + 0.02 * speed
    base, candidates = np.zeros((JOINTS, JOINTS, SAMPLES)), np.zeros((JOINTS, JOINTS, SAMPLES))
    for j in range(JOINTS):
        base[j, j], candidates[j, j] = np.sign(speed[j]), np.abs(speed[j]) * speed[j]
    tau = np.array([law(speed[j]) for j, law in enumerate(laws)]) + noise * rng.normal(size=speed.shape)
    return Rows(base, candidates / noise, tau / noise, np.arange(SAMPLES) // LENGTH, np.abs(speed), recordings)


def squared(omega):
    return np.sign(omega) + 0.5 * np.abs(omega) * omega


def saturating(omega):
    """Rises at low speeds and then no more: what follows from the slow two thirds is wrong for the fast third."""
    return np.sign(omega) * np.minimum(np.abs(omega), 1.2) ** 2


GROUP = [Candidate('square', tuple(range(JOINTS)), joints=tuple(range(JOINTS)))]


@pytest.mark.parametrize('seed', range(5))
def test_a_law_that_holds_in_all_ranges_is_taken_everywhere(seed):
    choice = select(HeldOut(friction_rows(np.random.default_rng(seed), [squared] * JOINTS)), GROUP)
    assert set(choice.ridges) == {0, 1, 2}


@pytest.mark.parametrize('seed', range(5))
def test_a_joint_whose_fast_rows_refute_it_goes_without(seed):
    choice = select(HeldOut(friction_rows(np.random.default_rng(seed), [squared, saturating, squared])), GROUP)
    assert set(choice.ridges) == {0, 2}
    assert choice.steps[0].joints == (0, 2)


@pytest.mark.parametrize('seed', range(5))
def test_a_law_that_two_joints_of_three_refute_is_none_of_the_arm(seed):
    """Blocks of time alone ask for it: it lowers their loss in every joint."""
    rows = friction_rows(np.random.default_rng(seed), [squared, saturating, saturating])
    assert select(HeldOut(rows), GROUP).ridges == {}
    blind = Rows(rows.base, rows.candidates, rows.tau, rows.blocks)
    assert set(select(HeldOut(blind), GROUP).ridges) == {0, 1, 2}


def test_ranges_are_each_joints_slow_and_fast_thirds_and_the_recordings():
    recordings = np.arange(SAMPLES) // 200
    rows = friction_rows(np.random.default_rng(0), [squared] * JOINTS, recordings=recordings)
    rows.speeds[:, :30] = 0.0
    ranges = ranges_of(rows)
    assert list(ranges) == ['low speed', 'high speed', 'recording 1', 'recording 2', 'recording 3']
    moving = rows.speeds > 0
    for name in ('low speed', 'high speed'):
        assert not (ranges[name] == 0)[~moving].any()
        assert ((ranges[name] == 0).sum(axis=1) / moving.sum(axis=1)) == pytest.approx(1 / 3, abs=0.01)
    assert rows.speeds[ranges['low speed'] == 0].max() < rows.speeds[ranges['high speed'] == 0].min()
    assert np.array_equal(ranges['recording 2'] == 0, np.broadcast_to(recordings == 1, rows.tau.shape))


def test_a_range_that_nothing_predicts_is_not_asked():
    """A base column that one recording alone shows leaves that recording unpredictable from the others."""
    rows = friction_rows(np.random.default_rng(1), [squared] * JOINTS, recordings=np.arange(SAMPLES) // 300)
    own = np.where(np.arange(SAMPLES) >= 300, 100.0, 0.0) * np.ones((JOINTS, 1, 1))
    shown = Rows(
        np.concatenate([rows.base, own], axis=1),
        rows.candidates,
        rows.tau + own[:, 0],
        rows.blocks,
        rows.speeds,
        rows.recordings,
    )
    assert 'recording 2' in HeldOut(rows).ranges
    assert 'recording 2' not in HeldOut(shown).ranges


def test_what_physics_expects_is_tried_first():
    """Two columns, nearly alike: the physical one is taken although the other fits a little better."""
    rows = friction_rows(np.random.default_rng(2), [squared] * JOINTS)
    better = rows.candidates + 0.0
    worse = rows.candidates * (1 + 0.02 * np.random.default_rng(3).normal(size=rows.candidates.shape))
    both = Rows(rows.base, np.concatenate([worse, better], axis=1), rows.tau, rows.blocks)
    first, second = tuple(range(JOINTS)), tuple(range(JOINTS, 2 * JOINTS))
    either = [Candidate('worse', first), Candidate('better', second)]
    assert select(HeldOut(both), either).steps[0].name == 'better'
    prefer = [Candidate('worse', first), Candidate('better', second, physical=False)]
    assert select(HeldOut(both), prefer).steps[0].name == 'worse'


def test_choice_uncertainty_states_the_interval_of_what_other_choices_change():
    rows = friction_rows(np.random.default_rng(4), [squared] * JOINTS)
    names = [*(f'Fc_{j}' for j in range(JOINTS)), *(f'F_V2_{j}' for j in range(JOINTS))]
    others = [AlternativeChoice(dict.fromkeys(range(JOINTS), 0.0), 0.3)]
    uncertainty = choice_uncertainty(rows, {}, others, names)
    estimates = []
    for columns in ((0, 1, 2), (0, 1, 2, 3, 4, 5)):
        A = np.concatenate([np.concatenate([rows.base[j], rows.candidates[j]]).T for j in range(JOINTS)])[:, columns]
        estimates.append(np.linalg.lstsq(A, rows.tau.ravel(), rcond=None)[0])
    change = estimates[1] - np.concatenate([estimates[0], np.zeros(JOINTS)])
    np.testing.assert_allclose(uncertainty.difference, change[None], rtol=1e-6, atol=1e-9)
    names = ['Fc_2', 'other']
    found = uncertainty.widened(np.diag([0.25 * change[2] ** 2, 4.0]), names)
    np.testing.assert_allclose(found[1], [0.0, 4.0], atol=1e-12)
    # of errors that other choices make, 95 % lie within 1.96 stated deviations
    rng = np.random.default_rng(5)
    errors = change[2] * (0.5 * rng.normal(size=200_000) + (rng.random(200_000) < 0.3))
    assert np.mean(np.abs(errors) < 1.96 * np.sqrt(found[0, 0])) == pytest.approx(0.95, abs=0.003)


def test_another_choice_has_the_weights_it_would_be_stated_with():
    """Without its law joint 2 leaves more over, so its rows tell less of the parameter that all joints share."""
    rng = np.random.default_rng(8)
    rows = friction_rows(rng, [squared] * JOINTS)
    shared = rng.normal(size=(JOINTS, 1, SAMPLES)) + 0.05 * rows.candidates.sum(axis=1, keepdims=True)
    rows = replace(rows, base=np.concatenate([rows.base, shared], axis=1), tau=rows.tau + 3.0 * shared[:, 0])
    rows.speeds[:, ::7] = 0.0  # at rest, whose weights stay
    others = [AlternativeChoice({0: 0.0, 2: 0.0}, 0.3)]
    names = [*(f'Fc_{j}' for j in range(JOINTS)), 'shared', *(f'F_V2_{j}' for j in range(JOINTS))]
    columns = np.concatenate([rows.base, rows.candidates], axis=1)

    def stated(use):
        weight = np.ones_like(rows.tau)
        for _ in range(2):
            A = np.concatenate([(columns[j][use] * weight[j]).T for j in range(JOINTS)])
            chi = np.linalg.lstsq(A, (rows.tau * weight).ravel(), rcond=None)[0]
            left = rows.tau - np.einsum('jcs,c->js', columns[:, use], chi)
            moving = rows.speeds > 0
            for j in range(JOINTS):
                weight[j, moving[j]] = 1.0 / np.sqrt(np.mean(left[j, moving[j]] ** 2))
        found = np.zeros(len(names))
        found[use] = chi
        return found

    expected = stated([0, 1, 2, 3, 4, 6]) - stated([0, 1, 2, 3, 4, 5, 6])
    found = choice_uncertainty(rows, dict.fromkeys(range(3), 0.0), others, names).difference[0]
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    assert abs(expected[3]) > 0.1


def test_an_unlikely_choice_far_away_does_not_move_the_interval():
    """A hundredth, ten deviations off: the mean square doubles, 95 % still lie within 2.1 deviations."""
    uncertainty = ChoiceUncertainty(('Fc_1',), np.array([0.01]), np.array([[10.0]]))
    assert 1.0 < np.sqrt(uncertainty.widened(np.eye(1), ['Fc_1'])[0, 0]) < 1.1
    certain = ChoiceUncertainty(('Fc_1',), np.zeros(0), np.zeros((0, 1)))
    np.testing.assert_allclose(certain.widened(np.eye(1), ['Fc_1']), np.eye(1))


def test_chances_follow_the_gain():
    """A group far beyond the threshold is taken for sure, noise is not; what is at the threshold is a toss-up."""
    rows = friction_rows(np.random.default_rng(5), [squared] * JOINTS)
    noise = Rows(
        rows.base,
        np.concatenate([rows.candidates, np.random.default_rng(6).normal(size=rows.candidates.shape)], axis=1),
        rows.tau,
        rows.blocks,
    )
    choice = select(HeldOut(noise), [Candidate('true', (0, 1, 2)), Candidate('noise', (3, 4, 5))])
    chances = [alternative.probability for alternative in choice.alternatives]
    assert set(choice.ridges) == {0, 1, 2}
    assert max(chances, default=0.0) < 0.05


@pytest.mark.parametrize('seed', range(3))
def test_which_joints_a_term_enters_in_is_doubted_where_a_joint_hardly_asks_for_it(seed):
    """Two joints cannot do without the law, the third has a trace of it: draws disagree about the third alone."""

    def trace(omega):
        return np.sign(omega) + 0.003 * np.abs(omega) * omega

    choice = select(HeldOut(friction_rows(np.random.default_rng(seed), [squared, squared, trace])), GROUP)
    own = 1.0 - sum(alternative.probability for alternative in choice.alternatives)
    choices = [(set(alternative.ridges), alternative.probability) for alternative in choice.alternatives]
    taken = {
        joint: sum(p for columns, p in [*choices, (set(choice.ridges), own)] if joint in columns)
        for joint in GROUP[0].columns
    }
    assert taken[0] == taken[1] == pytest.approx(1.0)
    assert 0.02 < taken[2] < 0.98


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
