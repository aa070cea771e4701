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

"""Further terms are chosen where the robot has them, left out where it has not, and end up in the description."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, slip_of
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.describe import add_hysteresis
from joint_dynamics.identification.regression import methods
from joint_dynamics.identification.regression.rows import load_torque
from joint_dynamics.identification.selection import WIDTHS, choose
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.recording import Recording
from joint_dynamics.robot import StandardParameters

PLAIN = IdentificationSettings(selection=False)
RATE = 200.0


def rigid_part(robot, q, dq, ddq):
    Ia, Fv, Fc, offset = robot.standard[:, 10:].T
    return robot.torque(q, dq, ddq) - Ia * ddq - Fv * dq - Fc * np.sign(dq) - offset


def slipping(q, width):
    """One Maxwell-slip operator per joint, sample by sample."""
    H, delta = np.zeros_like(q), np.zeros(q.shape[1])
    for k in range(1, len(q)):
        delta = np.clip(delta + q[k] - q[k - 1], -width, width)
        H[k] = delta / width
    return H


LEVEL = np.array([9.0, 9.0, 7.0, 2.0, 2.0, 2.0])
EXTRA = {
    'nothing': lambda q, dq, load: 0.0 * q,
    'load, linear': lambda q, dq, load: 0.15 * np.abs(load) * np.sign(dq),
    'load, quadratic': lambda q, dq, load: np.array([0.004, 0.004, 0.006, 0.04, 0.04, 0.04]) * load**2 * np.sign(dq),
    'root': lambda q, dq, load: LEVEL * np.sign(dq) * np.sqrt(np.abs(dq)),
    'stribeck': lambda q, dq, load: LEVEL * np.sign(dq) * np.exp(-np.abs(dq) / 0.4),
    'hysteresis': lambda q, dq, load: 1.5 * LEVEL * (slipping(q, 3e-3) - np.sign(dq)) + 1.5 * LEVEL * np.sign(dq),
}
WORD = {'root': 'square root', 'stribeck': 'Stribeck', 'hysteresis': 'hysteresis'}


@pytest.fixture(scope='module')
def record(true_robot):
    def run(seed, extra, duration=20.0, noise=0.03, frequency=0.1):
        rng = np.random.default_rng(seed)
        frequency = 0.4 if extra == 'hysteresis' else frequency
        t, q, dq, ddq = true_robot.motion(rng, duration, RATE, frequency=frequency)
        if extra == 'hysteresis':
            q, dq, ddq = 0.05 * q, 0.05 * dq, 0.05 * ddq
        tau = true_robot.torque(q, dq, ddq) + EXTRA[extra](q, dq, rigid_part(true_robot, q, dq, ddq))
        tau += rng.normal(size=tau.shape) * noise * np.sqrt((tau**2).mean(axis=0))
        return Recording(true_robot.model.joint_names, t, q, tau=tau, name=f'{extra} {seed}')

    return run


def chosen(result):
    return [step['term'] for step in result.summary()['selection']['chosen']]


def overall(result):
    return np.sqrt(np.mean([fit.residual_percent()[1] ** 2 for fit in result.validation]))


@pytest.mark.parametrize('seed', range(6))
def test_no_false_gain(record, true_robot, seed):
    """The usual model is the truth: nothing is chosen, and the result is the plain one."""
    recording = record(seed, 'nothing', frequency=0.07)  # 20 s without a repetition
    result = identify(true_robot.model, [recording])
    assert chosen(result) == []
    assert np.array_equal(result.solution.chi, identify(true_robot.model, [recording], settings=PLAIN).solution.chi)


@pytest.mark.parametrize('extra', ['load, linear', 'load, quadratic', 'root', 'stribeck'])
def test_what_is_there_is_found_and_pays(record, true_robot, extra):
    noise = 0.005 if extra == 'root' else 0.03
    runs = [record(seed, extra, noise=noise) for seed in (11, 12)]
    unseen = [record(seed, extra, noise=noise) for seed in (13, 14)]
    result = identify(true_robot.model, runs, unseen)
    plain = identify(true_robot.model, runs, unseen, PLAIN)
    assert any(WORD.get(extra, 'load') in name for name in chosen(result))
    assert overall(result) < {'load, linear': 0.7, 'load, quadratic': 0.7}.get(extra, 0.97) * overall(plain)
    assert not result.reasons


def test_laws_are_weighed_by_a_model_that_has_them(record, true_robot, monkeypatch):
    """Load torque and weights of a model without load friction are wrong, and favour another law."""
    asked = []
    monkeypatch.setattr(methods, 'choose', lambda *given: asked.append(given) or choose(*given))
    recording = record(60, 'load, linear', noise=0.01, frequency=0.07)
    result = identify(true_robot.model, [recording])
    without = identify(true_robot.model, [recording], settings=PLAIN)
    assert chosen(result)[0] == 'load, linear (F_Cl)'
    ((problem, _, state, weights),) = asked
    run = problem.observations[0]
    load = rigid_part(true_robot, run.q, run.dq, run.ddq).T
    links = StandardParameters(without.standard_parameters, true_robot.model.n).links
    off = [np.linalg.norm(load_torque(problem.model, run, some) - load, axis=1) for some in (links, state.links)]
    # the first two joints have their rotors' inertia in that of the links
    assert np.all(off[1][2:] < 0.8 * off[0][2:]) and np.linalg.norm(off[1][2:]) < 0.4 * np.linalg.norm(off[0][2:])
    assert np.all(weights.sigma[1:3] < 0.5 * without.solution.sigma[1:3])


def test_hysteresis_is_found_and_written_as_maxwell_slip(record, true_robot):
    runs = [record(seed, 'hysteresis') for seed in (21, 22)]
    settings = IdentificationSettings(rest_speed=1e-4, position_cutoff=90.0, parallel_cutoff=30.0, decimation=3)
    result = identify(true_robot.model, runs, settings=settings)
    assert any('hysteresis of 0.003' in name for name in chosen(result))
    friction = Arm.from_description(None, result.description).friction
    assert friction.maxwell_slip is not None
    share = (friction.maxwell_slip.stiffness * friction.maxwell_slip.limits)[:3, 1]
    assert share == pytest.approx(0.6, abs=0.15)


@pytest.mark.parametrize('share', [0.0, 0.2, 1.0])
@pytest.mark.parametrize('width', WIDTHS)
def test_hysteresis_is_described_as_fitted(width, share):
    """(1 − share) sgn ω + share H, with ω of the last step: no other way to reverse than the data were fitted with."""
    joint = {'friction': {}}
    add_hysteresis(joint, width, share)
    assert ('maxwell_slip' in joint['friction']) == (share > 0.0)
    if share > 0.0:
        theta = 0.01 * np.sin(2 * np.pi * np.arange(400)[:, None] / 200)
        fitted = (1.0 - share) * np.sign(np.diff(theta, axis=0, prepend=theta[:1])) + share * slip_of(theta, width)
        described = MaxwellSlip.from_dicts([joint['friction']['maxwell_slip']])
        np.testing.assert_allclose(described.run(theta), fitted, atol=1e-6)


def test_validation_recordings_are_never_looked_at(record, true_robot):
    runs = [record(41, 'load, linear')]
    first, second = (identify(true_robot.model, runs, validation) for validation in ([], [record(42, 'nothing')]))
    assert np.array_equal(first.solution.chi, second.solution.chi)
