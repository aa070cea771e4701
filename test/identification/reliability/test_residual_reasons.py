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

"""What residuals of the given explanation are a reason for."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.observations import ABOVE, filter_plan, observe, torque_noise
from joint_dynamics.identification.reliability.evidence import NormalEquations, effective_samples, gain
from joint_dynamics.identification.reliability.residual_reasons import residual_reasons
from joint_dynamics.robot import RobotModel

NAMES = ('a', 'b', 'c')


def hand_made(seed, torque):
    """Alternatives of three joints whose rows are made by hand: one parameter of load, Fv and Fc, one rotor each."""
    rng = np.random.default_rng(seed)
    samples, b = 800, 10
    rows = np.zeros((3, b, samples))
    speed = rng.normal(size=(3, samples))
    for j in range(3):
        rows[j, 0] = rng.normal(size=samples)
        rows[j, 1 + 3 * j : 4 + 3 * j] = speed[j], np.sign(speed[j]), rng.normal(size=samples)
    weight = np.where(rng.random((3, samples)) < 0.2, 0.3, 1.0)
    friction = [np.array([1 + 3 * j, 2 + 3 * j]) for j in range(3)]
    power = np.zeros((3, b))
    for j in range(3):
        power[j, friction[j]] = (rows[j, friction[j]] * speed[j] * weight[j] ** 2).sum(axis=1)
    normal = NormalEquations(rows, weight, friction, power, np.array([3, 6, 9]))
    tau = torque(rng, rows)
    given = normal.fit(tau)
    part = np.zeros(samples, dtype=int)
    left = normal.residuals(tau, given.chi)
    count = effective_samples(left, weight, part)
    found = alternatives(given, normal, tau, weight, NAMES, count)
    w = weight**2
    mean = (tau * w).sum(axis=1) / w.sum(axis=1)
    variation = [math.sqrt(sum(((tau[j] - mean[j]) * weight[j]) ** 2)) for j in range(3)]
    return found, np.sqrt((left**2).sum(axis=1)), variation


def alternatives(given, normal, tau, weight, names, count):
    power = ((tau * weight) ** 2).sum(axis=1)
    samples = SimpleNamespace(tau=tau, weight=weight, part=np.zeros(tau.shape[1], dtype=int))
    return SimpleNamespace(given=given, normal=normal, samples=samples, names=names, count=count, power=power)


def said(found, better):
    """Reasons without noise, and with no joint at the floor of its sensor."""
    return residual_reasons(found, better, np.zeros(3), np.zeros(3, dtype=bool))


def plain(rng, rows):
    chi = np.array([5.0, *np.tile([2.0, 1.0, 0.5], 3)])
    tau = np.einsum('jbs,b->js', rows, chi) + 3.0
    return tau + 0.1 * rng.normal(size=tau.shape) - 3.0


def test_sound_residuals_say_nothing():
    found, _, _ = hand_made(0, plain)
    assert said(found, None) == []
    assert said(found, found.given) == []


def test_unrelated_torque_is_named_in_percent():
    def torque(rng, rows):
        tau = plain(rng, rows)
        tau[1] = 4.0 * rng.normal(size=tau.shape[1]) + 20.0
        tau[2] = 0.0
        return tau

    found, residual, variation = hand_made(1, torque)
    reasons = said(found, None)
    (text,) = (reason.text for reason in reasons if reason.code == 'torque_unrelated')
    assert f'of its variation: b {100 * residual[1] / variation[1]:.0f} %)' in text
    # a better explanation that leaves little of it over takes it back; one that leaves as much does not
    share = found.given.unexplained * np.array([1.0, 0.01, 1.0])
    assert said(found, SimpleNamespace(unexplained=share)) == []
    assert [reason.text for reason in said(found, found.given)] == [text]


def test_a_joint_that_never_moves_may_hold_anything():
    def torque(rng, rows):
        tau = plain(rng, rows)
        tau[1] = 4.0 * rng.normal(size=tau.shape[1]) + 20.0
        return tau

    found, _, _ = hand_made(1, torque)
    assert any('variation: b ' in reason.text for reason in said(found, None))
    found.samples.weight[1] = 0.3
    assert said(found, None) == []


def test_more_left_over_than_friction_makes_is_said():
    """A residual of half the variation: more than a third of the friction, less than unrelated."""

    def torque(rng, rows):
        chi = np.array([0.5, *np.tile([0.05, 0.05, 0.5], 3)])
        tau = np.einsum('jbs,b->js', rows, chi)
        tau[0] += 4.0 * rows[0, 3] + 3.0 * rng.normal(size=tau.shape[1])
        tau[1:] += 0.2 * rng.normal(size=tau[1:].shape)
        return tau

    found, residual, variation = hand_made(2, torque)
    share = residual[0] / variation[0]
    assert 0.3 < share < 0.7
    (reason,) = said(found, None)
    assert reason.code == 'residual' and f'(a {100 * share:.0f} % of its variation)' in reason.text
    assert said(found, found.given) == []

    def rubbing(rng, rows):
        tau = torque(rng, rows)
        tau[0] += 9.2 * rows[0, 2] - 4.0 * rows[0, 3]
        return tau

    found, residual, variation = hand_made(2, rubbing)
    assert 0.3 < residual[0] / variation[0] < 1 / math.sqrt(1 + 3**2)
    assert said(found, None) == []


@pytest.mark.parametrize(('column', 'code', 'what'), [
    (4, 'friction_sign', 'friction that drives (b)'), (6, 'negative_inertia', 'rotor inertias below zero'),
])  # fmt: skip
def test_driving_friction_and_negative_inertias_are_named(column, code, what):
    def torque(rng, rows):
        chi = np.array([5.0, *np.tile([2.0, 1.0, 0.5], 3)])
        chi[column] = -0.6
        if column == 4:
            chi[5] = -0.2
        tau = np.einsum('jbs,b->js', rows, chi)
        return tau + 0.1 * rng.normal(size=tau.shape)

    found, _, _ = hand_made(3, torque)
    lost = gain(found.given, found.normal.free(found.samples.tau), found.count)
    assert lost > 20
    (reason,) = said(found, None)
    assert reason.code == code and reason.text.startswith(f'{what} would explain')
    assert f'(log-likelihood +{lost:.0f})' in reason.text and 'signs of efforts and positions' in reason.text
    assert said(found, found.given) == []


@pytest.fixture(scope='module')
def sensed(ur_table, true_robot_of):
    """An arm with torque sensors behind its gears: no rotor, hardly any friction; sampled slowly."""
    model = RobotModel.from_mdh(ur_table)
    robot = true_robot_of(model)
    robot.standard[:, 10], robot.standard[:, 11:13] = 0.0, 0.03 * robot.standard[:, 11:13]
    return model, robot.record(1, duration=25.0, rate=30.0, frequency=0.12)


def observations_of(recordings):
    plan = filter_plan(recordings, IdentificationSettings())
    return [observe(recording, plan) for recording in recordings], plan


def test_white_noise_is_found_within_its_scatter(sensed):
    """White noise far above the torque that is there: its share below the cut-off, 2 fc / rate."""
    _, recording = sensed
    size = 1000.0 * np.arange(1, 7)
    noisy = replace(recording, tau=recording.tau + size * np.random.default_rng(0).normal(size=recording.tau.shape))
    observations, plan = observations_of([noisy])
    expected = size * np.sqrt(2 * plan.parallel_cutoff / recording.rate)
    # The median of K periodogram values of an exponential law scatters by 1/(√K ln 2), that of a root by half of it; a
    # Hann window leaves two thirds of them independent.
    values = (2 / 3) * recording.samples * (0.5 - ABOVE * plan.parallel_cutoff / recording.rate)
    assert np.abs(np.log(torque_noise(observations) / expected)).max() < 4 * 0.5 / (np.sqrt(values) * np.log(2))


def test_noise_of_a_joint_with_hardly_any_torque_is_no_reason(sensed, told):
    """40 % of the first joint's torque in the band is noise: it was `residual`, as a slow Panda's was.

    A swinging torque of the same size, without relation to motion or friction, is one.
    """
    model, recording = sensed
    _, plan = observations_of([recording])
    size = 0.4 * recording.tau[:, 0].std()
    white = np.random.default_rng(0).normal(size=recording.samples) * np.sqrt(recording.rate / 2 / plan.parallel_cutoff)
    swinging = np.sqrt(2) * np.sin(2 * np.pi * 0.77 * recording.time)
    for extra, expected in ((white, []), (swinging, ['residual'])):
        tau = recording.tau.copy()
        tau[:, 0] += size * extra
        assert list(told(model, replace(recording, tau=tau))) == expected


@pytest.fixture
def told(checked):
    """Return the reasons against a recording: code -> text."""
    return lambda model, recording: {reason.code: reason.text for reason in checked(model, [recording]).reasons}
