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

"""Drive gains of a simulated TX40-like robot from an unloaded and a loaded run.

Motion, torque and drives are pinocchio's and this file's.
"""

from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.drive_gains.estimate import (
    DriveGains,
    identify_drive_gains,
    motor_currents,
    poorly_determined_gains,
    with_torque,
)
from joint_dynamics.identification.drive_gains.payload import identify_payload
from joint_dynamics.identification.observations import FilterPlan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.validate import validate_description
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, RobotModel

HALF = np.pi / 2
TX40 = [
    (0, 0, 0, 0), (-HALF, 0, 0, 0), (0, 0.225, 0.035, 0), (HALF, 0, 0.225, 0), (-HALF, 0, 0, 0), (HALF, 0, 0, np.pi),
]  # fmt: skip
GEARS = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
GEARS[5, 4] = 32.0
GAINS = np.array([33.9, 32.4, 24.2, -9.21, 16.3, 6.79])
PRIOR = GAINS * (0.95, 1.05, 1.1, 1.3, 1.15, 0.75)
HEAVY = np.array([0.0959, -0.0143, 0.0246, 0.0929, 0.0373, 0.0603, -0.275, -0.284, 0.448, 4.59])
LIGHT = np.array([0.02, -0.002, 0.004, 0.02, 0.006, 0.012, -0.06, -0.05, 0.13, 1.686])
WEIGHED = {'M': 4.59}
PLAN = FilterPlan(10.0, 50.0, 20.0, 3, 0.1)
NOISE = 0.02
RUNS = 20


class TX40Like:
    def __init__(self):
        rng = np.random.default_rng(40)
        names = ('alpha', 'a', 'd', 'theta')
        self.model = RobotModel.from_mdh(
            {'joints': [dict(zip(names, row, strict=True)) for row in TX40], 'position_coupling_R': GEARS.tolist()}
        )
        self.coupling = np.eye(6)
        self.coupling[5, 4] = 1.0
        self.links = np.zeros((6, 10))
        for k, (mass, size) in enumerate(
            zip((7.0, 6.0, 4.5, 1.5, 1.0, 0.3), (0.1, 0.13, 0.12, 0.06, 0.05, 0.03), strict=True)
        ):
            centre = rng.normal(scale=0.4 * size, size=3) + np.array([0.1 * (k == 1), 0, 0])
            tensor = mass * (
                size**2 * np.diag((0.6, 0.8, 0.7)) + centre @ centre * np.eye(3) - np.outer(centre, centre)
            )
            self.links[k] = (*tensor[np.triu_indices(3)], *(mass * centre), mass)
        self.drives = np.array([
            [0.35, 7.0, 5.5, 0.3], [0.35, 4.5, 7.7, 0.1], [0.083, 1.57, 6.3, -0.2], [0.027, 0.73, 1.9, 0.05],
            [0.04, 0.9, 1.4, 0.02], [0.0097, 0.5, 1.77, 0.09],
        ])  # fmt: skip

    def motor_torque(self, q, dq, ddq, payload):
        links = self.links.copy()
        links[5] += payload
        model = self.model.pinocchio.copy()
        for k, (xx, xy, xz, yy, yz, zz, mx, my, mz, mass) in enumerate(links):
            model.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(
                np.array([mass, mx, my, mz, xx, xy, yy, xz, yz, zz])
            )
        data = model.createData()
        rigid = np.array([pinocchio.rnea(model, data, *state) for state in zip(q, dq, ddq, strict=True)])
        Ia, Fv, Fc, off = self.drives.T
        speed, acceleration = dq @ self.coupling.T, ddq @ self.coupling.T
        return rigid @ np.linalg.inv(self.coupling) + Ia * acceleration + Fv * speed + Fc * np.sign(speed) + off

    def record(self, seed, payload=0.0, noise=NOISE, counts=2**17, rate=125.0):
        """16 s of a random series; currents with noise of `noise` times their rms below 20 Hz.

        Encoders with `counts` steps per turn.
        """
        rng = np.random.default_rng(seed)
        t = np.arange(0, 16.0, 1 / rate)
        k = 2 * np.pi * 0.125 * np.arange(1, 6)
        sine, cosine = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
        a, b = 0.7 * rng.normal(size=(2, 5, 6)) * np.array([1.0, 0.9, 1.1, 1.3, 1.3, 1.6])
        k = k[:, None]
        q, dq, ddq = (
            sine @ (a / k) + cosine @ (b / k) + rng.uniform(-0.5, 0.5, 6),
            cosine @ a - sine @ b,
            -sine @ (a * k) - cosine @ (b * k),
        )
        current = self.motor_torque(q, dq, ddq, payload) / GAINS
        white = (
            np.fft.rfft(rng.normal(size=current.shape), axis=0) * (np.fft.rfftfreq(len(t), 1 / rate) < 20.0)[:, None]
        )
        white = np.fft.irfft(white, n=len(t), axis=0)
        current = current + noise * np.sqrt((current**2).mean(axis=0)) * white / white.std(axis=0)
        step = 2 * np.pi / counts
        return Recording(self.model.joint_names, t, np.round(q / step) * step, current=current, name=f'run {seed}')


@pytest.fixture(scope='module')
def robot():
    return TX40Like()


@pytest.fixture(scope='module')
def clean(robot):
    return robot.record(1, noise=0.0, counts=2**26), robot.record(2, HEAVY, noise=0.0, counts=2**26)


def prior(robot):
    return dict(zip(robot.model.joint_names, PRIOR, strict=True))


def mass_of(robot, recording, found):
    problem = Problem(robot.model, [observe(with_torque(robot.model, recording, found.by_joint), PLAN)])
    return identify_payload(problem, found.chi, problem.observations).mass


@pytest.fixture(scope='module')
def runs(robot):
    """Twenty noisy pairs of runs.

    Errors of the gains by every solver [%], z-scores, errors of the masses of two other recordings [%].
    """
    by_solver, scores, masses = {'wls': [], 'tls': [], 'mixed': []}, [], []
    for seed in range(100, 100 + 4 * RUNS, 4):
        found = identify_drive_gains(
            robot.model, [robot.record(seed)], [robot.record(seed + 1, HEAVY)], WEIGHED, PLAN, prior=prior(robot)
        )
        for solver, gains in found.by_solver.items():
            by_solver[solver].append(100 * (gains / GAINS - 1))
        scores.append((found.gains - GAINS) / found.deviation)
        others = [(robot.record(seed + 2 + k, body), body[-1]) for k, body in enumerate((HEAVY, LIGHT))]
        masses.append([100 * (mass_of(robot, recording, found) / mass - 1) for recording, mass in others])
    return {solver: np.array(errors) for solver, errors in by_solver.items()}, np.array(scores), np.array(masses)


def test_gains_from_the_weighed_mass(runs):
    errors = np.abs(runs[0]['mixed'])
    assert errors[:, 1:].max() < 3.0
    assert errors[:, 0].max() < 5.0
    assert np.abs(runs[0]['mixed'].mean(axis=0)).max() < 0.3


def test_least_squares_attenuates_the_gains(runs):
    by_solver = runs[0]
    mean, uncertainty = (
        {solver: function(errors) for solver, errors in by_solver.items()}
        for function in (lambda errors: errors.mean(axis=0), lambda errors: errors.std(axis=0) / np.sqrt(RUNS))
    )
    assert (mean['wls'] + 5 * uncertainty['wls'] < 0.0).all()
    assert (mean['wls'] < -2.0).all()
    for solver in ('tls', 'mixed'):
        assert (np.abs(mean[solver]) < 0.1 * np.abs(mean['wls'])).all()


def test_stated_deviations_are_those_of_twenty_runs(runs):
    scores = runs[1]
    assert np.mean(np.abs(scores) < 2.0) > 0.9
    assert 0.5 < np.sqrt((scores**2).mean()) < 1.3


def test_payload_masses_of_other_recordings(runs):
    errors = np.abs(runs[2])
    assert errors.max() < 1.0


def test_without_noise_all_solvers_find_the_gains(robot, clean):
    unloaded, loaded = clean
    for known in (WEIGHED, dict(zip(INERTIAL, HEAVY.tolist(), strict=True))):
        found = identify_drive_gains(robot.model, [unloaded], [loaded], known, PLAN)
        for solver in ('mixed', 'tls'):
            assert np.allclose(found.by_solver[solver], GAINS, rtol=4e-3), (solver, known)
        assert np.allclose(found.payload.values, HEAVY, atol=6e-3)
        assert found.payload.known.sum() == len(known)
        assert (found.payload.deviation[found.payload.known] == 0).all()


def test_robot_and_payload_follow_the_scale_of_the_known_mass(robot, clean):
    """All torques are proportional to the only thing that has a scale."""
    unloaded, loaded = clean
    once = identify_drive_gains(robot.model, [unloaded], [loaded], WEIGHED, PLAN)
    twice = identify_drive_gains(robot.model, [unloaded], [loaded], {'M': 2 * 4.59}, PLAN)
    assert np.allclose(twice.gains, 2 * once.gains, rtol=1e-6)
    assert np.allclose(twice.chi, 2 * once.chi, rtol=1e-6, atol=1e-9)


def test_torques_by_prior_gains_equal_currents(robot):
    unloaded, loaded = robot.record(7), robot.record(8, HEAVY)
    before = prior(robot)
    direct = identify_drive_gains(robot.model, [unloaded], [loaded], WEIGHED, PLAN)
    scaled = [with_torque(robot.model, recording, before) for recording in (unloaded, loaded)]
    assert scaled[0].current is None
    again = identify_drive_gains(robot.model, scaled[:1], scaled[1:], WEIGHED, PLAN, prior=before)
    assert np.allclose(again.gains, direct.gains, rtol=1e-6)
    factors = identify_drive_gains(robot.model, scaled[:1], scaled[1:], WEIGHED, PLAN)
    assert np.allclose(factors.gains * PRIOR, direct.gains, rtol=1e-6)
    entry = again.summary()['joint_4']
    assert entry['prior'] == pytest.approx(PRIOR[3])
    assert entry['change_percent'] == pytest.approx(100 * (entry['value'] / PRIOR[3] - 1))


def test_torque_of_coupled_drives_takes_the_power_of_the_motors(robot):
    """τᵀ q̇ of the joints is τ_mᵀ θ̇ of the motors."""
    recording = robot.record(3, noise=0.0)
    dq = np.random.default_rng(0).normal(size=recording.q.shape)
    tau = with_torque(robot.model, recording, dict(zip(robot.model.joint_names, GAINS, strict=True))).tau
    motor = motor_currents(robot.model, recording, None) * GAINS
    assert np.allclose((tau * dq).sum(axis=1), (motor * (dq @ robot.coupling.T)).sum(axis=1))


def test_currents_of_coupled_drives_are_validated(robot):
    """identify by `tls` and validate from its description read the same currents as the same joint torques."""
    unloaded, loaded, other = robot.record(41), robot.record(42, HEAVY), robot.record(43)
    settings = IdentificationSettings(method='tls', f_dyn=10.0, payload={'mass': 4.59}, selection=False)
    result = identify(robot.model, [unloaded], [other], settings, loaded=[loaded])
    assert np.allclose([result.settings.drive_gains[name] for name in robot.model.joint_names], GAINS, rtol=0.03)
    again = validate_description(result.description, [other])[0]
    assert result.validation[0].residual_percent()[1] < 4.0
    assert again.residual_percent()[1] == pytest.approx(result.validation[0].residual_percent()[1], rel=0.05)


def test_two_payloads_are_named_with_their_masses(robot):
    """Gains of `tls`, with one weighed mass stated for both: the reason is the payloads, not the gains."""
    runs = [robot.record(44, HEAVY), robot.record(45, HEAVY), robot.record(46, LIGHT)]
    settings = IdentificationSettings(method='tls', f_dyn=10.0, payload={'mass': 4.59}, selection=False)
    mixed = identify(robot.model, [robot.record(47)], settings=settings, loaded=runs)
    (reason,) = [reason for reason in mixed.reasons if reason.code == 'payload_mixed']
    assert 'run 46' in reason.text
    same = identify(robot.model, [robot.record(47)], settings=settings, loaded=runs[:2])
    assert 'payload_mixed' not in [reason.code for reason in same.reasons]


@pytest.mark.parametrize(('share', 'poor'), [(1.0, 0), (0.003, 6)])
def test_a_payload_too_light_to_calibrate_with_is_said_to_be(robot, share, poor):
    found = identify_drive_gains(
        robot.model, [robot.record(31)], [robot.record(32, share * HEAVY)], {'M': share * 4.59}, PLAN
    )
    reasons = poorly_determined_gains(found.summary())
    assert len(reasons) == poor
    assert all('joint_' in reason.text and 'expected at most 10 %' in reason.text for reason in reasons)


@pytest.mark.parametrize(
    ('known', 'message'),
    [({}, 'weighed mass'), ({'MX': 0.0}, 'weighed mass'), ({'M': -1.0}, 'mass above 0 kg'), ({'mass': 1.0}, 'XX, XY')],
)
def test_what_is_known_must_set_the_scale(robot, clean, known, message):
    with pytest.raises(JointDynamicsError, match=message):
        identify_drive_gains(robot.model, [clean[0]], [clean[1]], known, PLAN)


def test_bad_recordings(robot, clean):
    unloaded, loaded = clean
    with pytest.raises(JointDynamicsError, match='loaded robot'):
        identify_drive_gains(robot.model, [unloaded], [], WEIGHED, PLAN)
    mixed_kinds = with_torque(robot.model, loaded, prior(robot))
    with pytest.raises(JointDynamicsError, match='found both'):
        identify_drive_gains(robot.model, [unloaded], [mixed_kinds], WEIGHED, PLAN)


def test_drive_gains_are_told_beside_what_was_stated():
    gains, deviation, prior = np.array([12.0, 8.0]), np.array([0.3, np.inf]), np.array([10.0, 0.0])
    ways = {'ls': gains - 1.0, 'tls': gains + 0.5}
    solution = SimpleNamespace(covariance=np.diag([0.09, 4.0, 7.0]))

    def found(prior):
        return DriveGains(('a', 'b'), gains, deviation, prior, None, None, None, solution, ways)

    assert found(prior).summary() == {
        'a': {'value': 12.0, 'std': 0.3, 'prior': 10.0, 'change_percent': pytest.approx(20.0), 'ls': 11.0, 'tls': 12.5},
        'b': {'value': 8.0, 'std': None, 'prior': 0.0, 'change_percent': None, 'ls': 7.0, 'tls': 8.5},
    }
    assert [row['prior'] for row in found(None).summary().values()] == [None, None]
    assert [row['change_percent'] for row in found(None).summary().values()] == [None, None]
    assert found(prior).by_joint == {'a': 12.0, 'b': 8.0}
    # An undetermined gain has a relative deviation of 1.
    np.testing.assert_allclose(found(prior).relative_covariance, [[0.09 / 144.0, 0.0], [0.0, 1.0]])


def test_a_gain_that_the_loaded_recordings_do_not_show():
    gains = {
        'a': {'value': 10.0, 'std': 0.9}, 'b': {'value': 10.0, 'std': None}, 'c': {'value': -10.0, 'std': 1.1},
    }  # fmt: skip
    for reason, name, deviation in zip(poorly_determined_gains(gains), 'bc', ('infinite', '11 %'), strict=True):
        assert reason.code == 'drive_gain_deviation'
        assert f'drive gain of {name}: deviation {deviation}, expected at most 10 %' in reason.text
    assert poorly_determined_gains({'a': gains['a']}) == []
