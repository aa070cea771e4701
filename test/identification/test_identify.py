"""Identification end to end: known truth comes back within its stated deviations.

Real recordings meet their figures.
"""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording

SEEDS = range(20)


def coverage(true_robot, seeds=SEEDS, **recording):
    inside = total = 0
    for seed in seeds:
        run = true_robot.record(seed, rate=200.0, **recording)
        result = identify(true_robot.model, [run], settings=IdentificationSettings(method='wls'))
        b = result.problem.base.count
        inside += np.count_nonzero(np.abs(result.solution.chi[:b] - true_robot.base) <= 3 * result.deviation[:b])
        total += b
    return inside / total


@pytest.mark.slow
@pytest.mark.parametrize('correlated', [False, True], ids=['white noise', 'correlated noise'])
def test_stated_deviations_are_right(true_robot, correlated):
    assert coverage(true_robot, correlated=correlated) >= 0.95


def test_stated_deviations_hold_in_a_few_recordings_with_correlated_noise(true_robot):
    assert coverage(true_robot, SEEDS[:4], correlated=True) >= 0.95


def test_noise_free_data_give_the_truth_back(true_robot):
    rng = np.random.default_rng(5)
    t, q, dq, ddq = true_robot.motion(rng, 10.0, 500.0)
    recording = Recording(true_robot.model.joint_names, t, q, tau=true_robot.torque(q, dq, ddq))
    result = identify(
        true_robot.model, [recording], settings=IdentificationSettings(position_cutoff=240.0, parallel_cutoff=20.0)
    )
    scale = np.abs(true_robot.base).max()
    # What differentiation leaves over may be taken for further terms, which are next to nothing then.
    truth = np.append(true_robot.base, np.zeros(len(result.solution.chi) - len(true_robot.base)))
    assert np.abs(result.solution.chi - truth).max() < 1e-3 * scale
    assert result.training[0].residual_percent()[1] < 0.1


def test_joint_order_does_not_matter(true_robot):
    recording = true_robot.record(1, duration=8.0)
    shuffled = recording.select(recording.joint_names[::-1])
    first, second = (identify(true_robot.model, [item]) for item in (recording, shuffled))
    np.testing.assert_array_equal(first.solution.chi, second.solution.chi)


def test_a_result_has_one_description(true_robot):
    """Its date is that of the result, whenever it is looked at."""
    run = true_robot.record(1, duration=6.0, rate=200.0)
    result = identify(true_robot.model, [run], settings=IdentificationSettings(method='ols', selection=False))
    assert result.description is result.description


def test_currents_with_gains_are_torques(true_robot):
    recording = true_robot.record(2, duration=8.0)
    gains = dict(zip(recording.joint_names, (9.0, 9.0, 9.0, 4.0, 4.0, 4.0), strict=True))
    currents = Recording(
        recording.joint_names, recording.time, recording.q, current=recording.tau / np.array(list(gains.values()))
    )
    expected = identify(true_robot.model, [recording])
    found = identify(true_robot.model, [currents], settings=IdentificationSettings(drive_gains=gains))
    assert np.allclose(found.solution.chi, expected.solution.chi, rtol=1e-9, atol=1e-12)
    assert found.description.values('drive_gain').tolist() == list(gains.values())
    with pytest.raises(JointDynamicsError, match='drive gains'):
        identify(true_robot.model, [currents])


def test_the_motor_side_is_used_where_it_was_measured(true_robot):
    """Friction acts where the motor turns.

    With a motor side that runs ahead of the link, only θ explains the torque.
    """
    rng = np.random.default_rng(8)
    t, q, dq, ddq = true_robot.motion(rng, 10.0, 500.0)
    # of joints 1 and 2 the rotor inertia is part of ZZR_1 and ZZR_2, which multiply the link's acceleration
    flexible, omega = np.array([0, 0, 1, 1, 1, 1]), 2 * np.pi * 2.0
    swing, rate, accel = (
        factor * np.outer(wave(omega * t), flexible)
        for factor, wave in ((0.05, np.sin), (0.05 * omega, np.cos), (-0.05 * omega**2, np.sin))
    )
    Ia, Fv, Fc, _ = true_robot.standard[:, 10:].T
    rigid = true_robot.torque(q, dq, ddq) - Ia * ddq - Fv * dq - Fc * np.sign(dq)
    tau = rigid + Ia * (ddq + accel) + Fv * (dq + rate) + Fc * np.sign(dq + rate)
    names = true_robot.model.joint_names
    settings = IdentificationSettings(f_dyn=8.0)
    with_motor = identify(true_robot.model, [Recording(names, t, q, tau=tau, theta=q + swing)], settings=settings)
    without = identify(true_robot.model, [Recording(names, t, q, tau=tau)], settings=settings)
    assert with_motor.training[0].residual_percent()[1] < 0.25 * without.training[0].residual_percent()[1]


def test_validation_predicts_an_unseen_run(true_robot):
    result = identify(true_robot.model, [true_robot.record(3)], [true_robot.record(4)])
    assert result.validation[0].residual_percent()[1] < 1.5 * result.training[0].residual_percent()[1] + 0.5


def test_a_motion_that_does_not_excite_is_said_and_named(true_robot):
    """One joint at rest: what only its motion shows is not well determined, and is named."""
    rng = np.random.default_rng(6)
    t, q, dq, ddq = true_robot.motion(rng, 10.0, 500.0)
    for signal in (dq, ddq):
        signal[:, 5] = 0.0
    q[:, 5] = 0.3
    recording = Recording(
        true_robot.model.joint_names, t, q, tau=true_robot.torque(q, dq, ddq) + rng.normal(scale=0.05, size=q.shape)
    )
    result = identify(true_robot.model, [recording])
    assert result.reasons
    assert result.reasons[0].code == 'excitation'
    assert 'do not excite' in str(result.reasons[0])
    assert {'Fv_6', 'Ia_6'} <= set(result.poorly_determined)
    assert not set(result.poorly_determined) & {'Fv_1', 'Fc_1', 'Fv_2'}
    assert result.summary()['condition_number'] is None or result.summary()['condition_number'] > 300


@pytest.mark.parametrize(
    ('cut', 'message'), [(0.3, 'expected at least .* s at these filter settings'), (0.02, 'expected at least')]
)
def test_too_short_a_recording_is_refused(true_robot, cut, message):
    recording = true_robot.record(1, duration=5.0).window(0.0, cut)
    with pytest.raises(JointDynamicsError, match=message):
        identify(true_robot.model, [recording], settings=IdentificationSettings(f_dyn=2.0))


def test_no_recording_is_refused(true_robot):
    with pytest.raises(JointDynamicsError, match='at least one recording'):
        identify(true_robot.model, [])


@pytest.mark.parametrize(('config', 'message'), [
    ({'methd': 'wls'}, 'identification: expected the keys method, .*; meant method?'),
    ({'method': 'best'}, "found 'best'"),
    ({'f_dyn': 0}, 'identification.f_dyn: expected a number, > 0 and ≤ 1000 Hz .null: from the data., found 0'),
    ({'decimation': 2.5}, 'whole number'), ({'trim': -1}, 'trim'),
])  # fmt: skip
def test_bad_settings_are_named(config, message):
    with pytest.raises(JointDynamicsError, match=message):
        IdentificationSettings.from_config(config)


def test_a_joint_that_turns_one_way_only_tells_no_coulomb_friction_from_an_offset(true_robot):
    """Only their sum shows: neither has a deviation, in the summary or the description, and the sum is right."""
    rng = np.random.default_rng(3)
    t, q, dq, ddq = true_robot.motion(rng, 12.0, 200.0)
    dq[:, 5], q[:, 5], ddq[:, 5] = 0.8 + 0.5 * np.sin(t), 0.8 * t - 0.5 * np.cos(t), 0.5 * np.cos(t)
    tau = true_robot.torque(q, dq, ddq)
    tau += 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    result = identify(true_robot.model, [Recording(true_robot.model.joint_names, t, q, tau=tau)])
    parameters = {entry['name']: entry for entry in result.summary()['parameters']}
    apart = parameters['Fc_6']['std'], parameters['off_6']['std']
    assert apart == (None, None) and {'Fc_6', 'off_6'} <= set(result.poorly_determined)
    assert all(parameters[name]['std'] > 0 for name in ('Fc_5', 'off_5', 'Fv_6'))
    friction = result.description.joint(true_robot.model.joint_names[5])['friction']
    assert not {'F_C0', 'offset'} & set(friction['standard_deviations']) and friction['standard_deviations']['F_V1'] > 0
    both = friction['parameters']['F_C0'] + friction['parameters']['offset']
    assert both == pytest.approx(true_robot.standard[5, 12:].sum(), rel=0.05)
