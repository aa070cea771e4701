# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Identification end to end: known truth comes back within its stated deviations.

Real recordings meet their figures.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from joint_dynamics.arm import terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import FilterPlan, observe
from joint_dynamics.recording import Recording
from joint_dynamics.robot import StandardParameters

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


def test_stated_deviations_hold_with_correlated_noise(true_robot):
    assert coverage(true_robot, SEEDS[:4], correlated=True) >= 0.95


def test_noise_free_data_give_the_truth_back(true_robot):
    rng = np.random.default_rng(5)
    t, q, dq, ddq = true_robot.motion(rng, 10.0, 500.0)
    recording = Recording(true_robot.model.joint_names, t, q, tau=true_robot.torque(q, dq, ddq))
    result = identify(
        true_robot.model,
        [recording],
        settings=IdentificationSettings(position_cutoff=240.0, parallel_cutoff=20.0, rest_speed=0.0),
    )
    scale = np.abs(true_robot.base).max()
    # Errors of differentiation may choose further terms, of hardly any size.
    truth = np.append(true_robot.base, np.zeros(len(result.solution.chi) - len(true_robot.base)))
    assert np.abs(result.solution.chi - truth).max() < 1e-3 * scale
    assert result.training[0].residual_percent()[1] < 0.1


def test_joint_order_does_not_matter(true_robot):
    recording = true_robot.record(1, duration=8.0)
    shuffled = recording.select(recording.joint_names[::-1])
    first, second = (identify(true_robot.model, [item]) for item in (recording, shuffled))
    np.testing.assert_array_equal(first.solution.chi, second.solution.chi)


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
    # of torques, too, gains have to be of the robot's joints: the description states them
    last = recording.joint_names[-1]
    mistyped = {name if name != last else 'jiont_6': gain for name, gain in gains.items()}
    with pytest.raises(
        JointDynamicsError, match=f'drive_gains: expected a number for each of .*{last}, found .*jiont_6'
    ):
        identify(true_robot.model, [recording], settings=IdentificationSettings(drive_gains=mistyped))


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


def test_no_recording_is_refused(true_robot):
    with pytest.raises(JointDynamicsError, match='at least one recording'):
        identify(true_robot.model, [])


@pytest.mark.parametrize(('config', 'message'), [
    ({'methd': 'wls'}, 'identification: expected the keys method, .*; meant method?'),
    ({'method': 'best'}, "found 'best'"),
    ({'f_dyn': 0}, 'identification.f_dyn: .* found 0'),
    ({'decimation': 2.5}, 'whole number'), ({'trim': -1}, 'trim'),
    ({'payload': {'weight': 1}}, "payload: expected the keys mass, joint, position, known, found 'weight'"),
    ({'essential': 'best'}, 'essential: expected'), ({'selection': 1}, 'selection: expected'),
    ({'rest_speed': -1}, 'rest_speed'),
    *(
        ({'drive_gain_deviation': bad}, 'drive_gain_deviation')
        for bad in (-0.1, 1.0, float('nan'), True, {'shoulder': 'much'})
    ),
])  # fmt: skip
def test_bad_settings_are_named(config, message):
    with pytest.raises(JointDynamicsError, match=message):
        IdentificationSettings.from_config(config)


def test_one_direction_does_not_separate_coulomb_and_offset(true_robot):
    """Only their sum is determined: both have no deviation in summary and description; the sum is right."""
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


PLAIN = IdentificationSettings(selection=False)


def test_rigid_torque_is_that_of_the_regressor(ur):
    rng = np.random.default_rng(2)
    q, dq, ddq = ur.random_states(5000, rng)
    standard = StandardParameters.zeros(ur.n)
    standard.links[:] = rng.normal(size=(ur.n, 10))
    expected = ur.inverse_dynamics(q, dq, ddq, standard.values)
    assert np.allclose(ur.chain.torque(q, dq, ddq, standard.links), expected, atol=1e-11)


@pytest.mark.parametrize('position', [0.3, -1.2345, 2.7])
def test_still_joint_has_no_speed_by_rounding(ur, position):
    """Speeds of 1e-14 rad/s would be scaled to columns like others.

    The parameter they belong to would seem well excited.
    """
    t = np.arange(0, 6, 0.002)
    q = np.tile(np.sin(t)[:, None], ur.n)
    q[:, 5] = position
    observed = observe(
        Recording(ur.joint_names, t, q, tau=np.zeros_like(q), theta=q), FilterPlan(2.0, 10.0, 4.0, None, 0.1)
    )
    for name in ('dq', 'ddq', 'dtheta', 'ddtheta'):
        assert not getattr(observed, name)[:, 5].any()
    assert np.all(observed.q[:, 5] == position)
    inner = slice(500, -500)
    np.testing.assert_allclose(observed.dq[inner, 0], np.cos(observed.time[inner]), atol=1e-3)


def stop_and_go(true_robot, seed, duration=24.0, rate=200.0):
    """Motion with long rests of every joint, at any torque within Coulomb friction."""
    rng = np.random.default_rng(seed)
    t, *course = true_robot.motion(rng, duration, rate)
    wave = np.clip(np.sin(2 * np.pi * t / 3.0), 0.0, None)
    pace = 2.0 * wave**3
    change = 6.0 * wave**2 * np.cos(2 * np.pi * t / 3.0) * 2 * np.pi / 3.0
    along = CubicSpline(t, pace).antiderivative()(t)
    q, dq, ddq = (CubicSpline(t, signal)(along) for signal in course)
    ddq = ddq * pace[:, None] ** 2 + dq * change[:, None]
    dq = dq * pace[:, None]
    pace = pace > 0
    tau = true_robot.torque(q, dq, ddq)
    stay = np.cumsum(np.diff(pace.astype(int), prepend=1) != 0)
    Fc = true_robot.standard[:, 12]
    stiction = rng.uniform(-1, 1, (stay.max() + 1, len(Fc))) * Fc
    tau = np.where(pace[:, None], tau, tau + stiction[stay]) + rng.normal(scale=0.05, size=q.shape)
    return Recording(true_robot.model.joint_names, t, q, tau=tau)


def test_rest_does_not_pull_the_parameters(true_robot):
    errors = {}
    for speed in (0.0, 0.01):
        settings = IdentificationSettings(selection=False, rest_speed=speed)
        found = [identify(true_robot.model, [stop_and_go(true_robot, seed)], settings=settings) for seed in range(3)]
        errors[speed] = np.mean([np.linalg.norm((item.solution.chi - true_robot.base)[:20]) for item in found])
    assert errors[0.01] < 0.5 * errors[0.0]


def test_a_term_of_temperature_needs_temperatures(true_robot):
    terms = terms_from_config({true_robot.model.joint_names[0]: [{'friction': 'F_T1'}]})
    with pytest.raises(JointDynamicsError, match='temperature'):
        identify(true_robot.model, [true_robot.record(1, duration=6.0)], settings=replace(PLAIN, terms=terms))


def test_rotor_compensation_leaves_the_links(true_robot):
    """With the joints' own description subtracted, only the links remain.

    The description holds both again.
    """
    recording = true_robot.record(7, duration=20.0, rate=200.0)
    first = identify(true_robot.model, [recording], settings=PLAIN)
    again = identify(true_robot.model, [recording], settings=replace(PLAIN, rotor=first.description))
    left = dict(zip(again.names, again.solution.chi, strict=True))
    assert max(abs(left[f'Fc_{k}']) for k in range(1, 7)) < 0.3
    links = [k for k, name in enumerate(again.names) if name[:2] in ('XX', 'MX', 'MY')]
    before, after = (one.solution.chi[links] for one in (first, again))
    assert np.allclose(after, before, atol=0.05 * np.abs(before).max())
    for name in true_robot.model.joint_names:
        before, after = (item.description.joint(name)['friction']['parameters'] for item in (first, again))
        assert after['F_C0'] == pytest.approx(before['F_C0'], abs=0.1)
        assert after['F_V1'] == pytest.approx(before['F_V1'], abs=0.1)
