"""Laws are weighed by what they add to held-out blocks less its error; the doubt of that is in the covariance."""

import numpy as np
import pytest
from scipy.stats import norm

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.drive_gains.conversion import ASSUMED
from joint_dynamics.identification.physical.dissipation import dissipation_rows
from joint_dynamics.identification.selection.candidate_terms import Selection
from joint_dynamics.identification.selection.held_out import HeldOut, Rows
from joint_dynamics.identification.selection.weights import MIN_ERRORS, RIDGE, Candidate, Worth, weigh
from joint_dynamics.recording import Recording

JOINTS, SAMPLES = 3, 600
ALL = tuple(range(JOINTS))
GROUP = Candidate('square', ALL, ALL)


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


def plain(omega):
    return squared(omega, 0.0)


@pytest.mark.parametrize('seed', range(5))
def test_a_law_is_taken_in_the_joints_that_have_it(seed):
    choice = weigh(HeldOut(friction_rows(np.random.default_rng(seed), [squared, plain, squared])), [GROUP])
    (worth,) = choice.chosen
    assert worth.weights[0] > 0.95 and worth.weights[2] > 0.95 and worth.weights[1] < 0.7
    assert choice.ridges[0] == pytest.approx(RIDGE, abs=0.1) and choice.ridges.get(1, 1.0) > 2 * RIDGE
    assert choice.loss_after < 0.1 * choice.loss_before and worth.gain > 0.9


@pytest.mark.parametrize('seed', range(20))
def test_a_gain_that_is_not_sure_is_none(seed):
    """A coefficient of 1.6 deviations in one joint of three, nothing in the others: the arm goes without."""
    rng = np.random.default_rng(seed)
    rows = friction_rows(rng, [plain, plain, plain])
    column = rows.candidates[0, 0] - rows.base[0, 0] * (rows.candidates[0, 0] @ rows.base[0, 0]) / (
        rows.base[0, 0] @ rows.base[0, 0]
    )
    rows.tau[0] += (1.6 - column @ rows.tau[0] / np.sqrt(column @ column)) * column / np.sqrt(column @ column)
    choice = weigh(HeldOut(rows), [GROUP])
    assert not choice.ridges and not choice.chosen
    (left,) = choice.left_out
    assert left.errors < MIN_ERRORS


def test_a_ridge_holds_a_column_back_to_its_weight():
    """The coefficient with the ridge is that with `RIDGE`, times the weight, where no other column is held back."""
    rows = friction_rows(np.random.default_rng(3), [squared, plain, plain], noise=4.0)
    choice = weigh(HeldOut(rows), [Candidate('square', (0,), (0,), errors=0.01)])
    (worth,) = choice.chosen
    assert 0.05 < worth.weights[0] < 0.999
    A = np.concatenate([rows.base[0], rows.candidates[0][:1]]).T

    def coefficient(ridge):
        held_back = np.vstack([A, np.append(np.zeros(JOINTS), ridge * np.linalg.norm(A[:, -1]))])
        return np.linalg.lstsq(held_back, np.append(rows.tau[0], 0.0), rcond=None)[0][-1]

    assert coefficient(choice.ridges[0]) == pytest.approx(worth.weights[0] * coefficient(RIDGE), rel=1e-6)


def test_of_nearly_the_same_the_first_is_taken_unless_another_is_surely_better():
    rows = friction_rows(np.random.default_rng(2), [squared] * JOINTS)
    rng = np.random.default_rng(3)
    for scatter, expected in ((1e-6, 'first'), (2.0, 'second')):
        other = rows.candidates * (1 + scatter * rng.normal(size=rows.candidates.shape))
        both = Rows(rows.base, np.concatenate([other, rows.candidates], axis=1), rows.tau, rows.parts)
        choice = weigh(
            HeldOut(both), [Candidate('first', ALL, ALL, 'kind'), Candidate('second', (3, 4, 5), ALL, 'kind')]
        )
        assert [worth.candidate.name for worth in choice.chosen] == [expected] and not choice.left_out


def test_the_mean_square_of_what_other_decisions_change_is_in_the_covariance():
    rows = friction_rows(np.random.default_rng(4), [squared, lambda omega: squared(omega, 0.002), plain])
    pair = Candidate('pair', (0, 1), (0, 1)), Candidate('other', (2,), (2,))
    choice = weigh(HeldOut(rows), pair)
    (chosen,), (left,) = choice.chosen, choice.left_out

    def estimate(ridges):
        columns = [*ALL, *(JOINTS + c for c in ridges)]
        A = np.concatenate([np.concatenate([rows.base[j], rows.candidates[j]]).T for j in ALL])[:, columns]
        ridge = np.diag([0.0] * JOINTS + list(ridges.values())) * np.linalg.norm(A, axis=0)
        chi = np.zeros(2 * JOINTS)
        chi[columns] = np.linalg.lstsq(
            np.vstack([A, ridge]), np.append(rows.tau.ravel(), np.zeros(len(columns))), rcond=None
        )[0]
        return chi

    expected = np.zeros((2 * JOINTS, 2 * JOINTS))
    for worth, z in ((chosen, MIN_ERRORS), (left, MIN_ERRORS)):
        for j in worth.laws:
            other = dict(choice.ridges)
            if other.pop(j, None) is None:
                other[j] = RIDGE
            change = estimate(other) - estimate(choice.ridges)
            expected += norm.cdf(-abs(worth.errors - z) / np.sqrt(2.0)) * np.outer(change, change)
    np.testing.assert_allclose(choice.doubt, expected, rtol=1e-5, atol=1e-9 * np.abs(expected).max())
    selection = Selection([], choice, [*(f'Fc_{j}' for j in ALL), *(f'F_V2_{j}' for j in ALL)])
    widened = selection.widened(np.diag([0.25, 4.0]), ['Fc_2', 'other'])
    np.testing.assert_allclose(widened, [[0.25 + choice.doubt[2, 2], 0.0], [0.0, 4.0]])


def test_a_decision_is_doubted_where_it_hangs_by_a_standard_error():
    worth = Worth(GROUP, np.zeros(10), 0.1, MIN_ERRORS + 1.0, dict.fromkeys(ALL, 1.0))
    assert worth.doubt == pytest.approx(norm.sf(1.0, scale=np.sqrt(2.0)))


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

    def found(recording, **more):
        settings = IdentificationSettings(selection=False, drive_gains=gains, **more)
        return identify(true_robot.model, [recording], settings=settings)

    assumed, torques = found(current), found(run)
    stated, none = (found(current, drive_gain_deviation=share) for share in (ASSUMED, 0.0))
    shares = {name: 0.01 * k for k, name in enumerate(run.joint_names)}
    own = found(current, drive_gain_deviation=shares)
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
    for result, is_assumed in ((assumed, True), (stated, False)):
        assert result.summary()['drive_gain_deviation'] == {'value': ASSUMED, 'assumed': is_assumed}
    said = [any('not stated' in note for note in result.notes) for result in (assumed, stated, none, torques)]
    assert said == [True, False, False, False]
