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
