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

"""Connections within the estimation of a whole arm: torques, weights and the inputs of every part, written out.

On signals without noise that no physics made; the parts are tested by themselves.
"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Validity
from joint_dynamics.estimation import ContactDetector, EstimationSettings, JointEstimator
from joint_dynamics.estimation.change_test import KINEMATIC, SPRING
from joint_dynamics.estimation.estimator_factory import make_friction, make_stiffness
from joint_dynamics.estimation.spring import Spring
from joint_dynamics.estimation.torques import (
    Play,
    estimate_of,
    lost_motion_step,
    motor_variance,
    play_of,
    spring_variance,
    weigh,
)
from joint_dynamics.joint import MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.signals.state_estimator import StateEstimator

PERIOD = 2e-3  # s
WARM = 41.0  # °C


@pytest.fixture(scope='module')
def arm(worn_arm):
    return worn_arm


def motion(arm, samples, seed=0):
    """q, current, θ, (samples, n) each: sines of several frequencies, loaded as the links load it."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples)[:, None] * PERIOD
    q, theta = np.zeros((2, samples, arm.n))
    current = np.zeros((samples, arm.n))
    for _ in range(3):
        f, phase, size = rng.uniform(0.5, 3.0, arm.n), rng.uniform(0, 6, arm.n), rng.uniform(0.1, 0.4, arm.n)
        q += size * np.sin(f * t + phase)
        theta += 8e-4 * np.sin(2 * f * t + phase)
        current += 2.0 * np.sin(f * t + 0.3)
    return q, current, q + theta


def play(estimator, signals, watch=lambda k: None, temperature=WARM):
    estimator.set_temperature(np.full(estimator.n, temperature))
    for k in range(len(signals[0])):
        theta = signals[2][k] if estimator.motor_side else None
        if estimator.update(signals[0][k], signals[1][k], theta):
            watch(k)
    return estimator


def smoothed(arm, signals, settings, motor_side=True):
    """Samples by which F_v is late, and q, τ_m, θ, H, F_v, smoothed, with two derivatives, (samples, 3, 5, n)."""
    q, current, theta = signals
    motor = theta - arm.kinematic_error(theta) if motor_side else q
    own = arm.friction.maxwell_slip
    slip = MaxwellSlip(arm.n, own.presliding, limits=own.limits, stiffness=own.stiffness)
    H = np.array([slip.step(row) for row in motor])
    d = 2  # 3 ms before and after
    omega = np.zeros_like(motor)
    omega[d:-d] = (motor[2 * d :] - motor[: -2 * d]) / (2 * d * PERIOD)
    F_v = np.array([arm.friction.speed_part(h, w, np.full(arm.n, WARM)) for h, w in zip(H, omega, strict=True)])
    parts = np.stack([q, current * arm.drive_gain, motor, H, F_v], axis=1)
    smoother = StateEstimator(5 * arm.n, PERIOD, window=settings.window, taper=settings.taper)
    found = []
    for row in parts[d:-d]:
        smoother.update(row.ravel())
        found.append(np.stack([smoother.value, smoother.first, smoother.second]).reshape(3, 5, arm.n))
    return d, np.array(found)


def test_the_settings_give_an_unmeasured_temperature(arm):
    signals = motion(arm, 60)
    measured = play(JointEstimator(arm, PERIOD), signals)
    assumed = play(JointEstimator(arm, PERIOD, EstimationSettings(temperature=WARM)), signals, temperature=np.nan)
    cold = play(JointEstimator(arm, PERIOD), signals, temperature=np.nan)
    np.testing.assert_array_equal(assumed.friction_torque, measured.friction_torque)
    assert (assumed.friction_torque != cold.friction_torque).all()
    assert np.isnan(assumed.temperature).all()
    assumed.set_temperature([20.0, *[np.nan] * (arm.n - 1)])
    np.testing.assert_array_equal(assumed.temperature, [20.0, *[np.nan] * (arm.n - 1)])


def torques(arm, links, smooth, before):
    """Equations of every torque, by name, at smoothed signals (3, 5, n) and the results of the sample before."""
    value, first, second = smooth
    link = arm.robot.inverse_dynamics(value[0], first[0], second[0], links)
    rotor = value[1] - arm.rotor_inertia * second[2]
    H, omega = value[3], first[2]
    friction = value[4] + 0.9 * arm.friction.level(before.torque) * H + 0.02 * omega
    elastic = value[2] - value[0] - before.motion
    spring = arm.stiffness.torque(elastic) + arm.damping * (omega - first[0])
    by_motor = rotor - friction
    measured = by_motor + before.spring * (spring - by_motor)
    return {
        'torque_link': link, 'rotor_torque': rotor, 'friction_torque': friction,
        'friction_error': rotor - link - friction, 'torque_motor': by_motor, 'deformation': elastic,
        'torque_spring': spring, 'external': measured - link, 'torque': measured - before.link * (measured - link),
    }  # fmt: skip


def test_every_torque_is_what_its_equation_says(arm):
    """Nothing learns: constant α, stiffness as described."""
    settings, signals = EstimationSettings(friction='none', window=0.04), motion(arm, 400)
    d, expected = smoothed(arm, signals, settings)
    estimator = JointEstimator(arm, PERIOD, settings)
    estimator.learning = False
    state = SimpleNamespace(torque=np.zeros(arm.n), spring=np.zeros(arm.n), link=np.zeros(arm.n), motion=0.0, seen=0)
    links = arm.standard.copy()
    links.rotor_inertia[:] = 0.0

    def watch(k):
        for name, wanted in torques(arm, links.values, expected[k - 2 * d], state).items():
            np.testing.assert_allclose(getattr(estimator, name), wanted, rtol=1e-7, atol=1e-7, err_msg=name)
        # results of the parts count from the next sample on
        state.torque, state.motion = estimator.torque, estimator.lost_motion['motion'].copy()
        state.spring, state.link = estimator.spring_weight, estimator.link_weight
        state.seen += 1

    play(estimator, signals, watch)
    assert state.seen == 400 - 2 * d - estimator.filter.samples + 1
    assert 0.01 < estimator.spring_weight.mean() < 1 and 0.01 < estimator.link_weight.mean() < 1


def test_signals_are_smoothed_together_and_late_by_the_window(arm):
    settings, signals = EstimationSettings(friction='none', window=0.04), motion(arm, 400)
    d, expected = smoothed(arm, signals, settings)
    estimator = JointEstimator(arm, PERIOD, settings)

    def watch(k):
        value, first, second = expected[k - 2 * d]
        np.testing.assert_allclose([estimator.q, estimator.dq, estimator.ddq], [value[0], first[0], second[0]])
        sides = [estimator.theta, estimator.omega, estimator.rotor_acceleration]
        np.testing.assert_allclose(sides, [value[2], first[2], second[2]])
        np.testing.assert_allclose([estimator.motor_torque, estimator.hysteresis], value[[1, 3]], atol=1e-12)

    play(estimator, signals, watch)
    assert estimator.delay == pytest.approx(estimator.filter.delay + d * PERIOD)
    np.testing.assert_array_equal(estimator.temperature, np.full(arm.n, WARM))


class Parts:
    """The parts of an estimation by themselves, each with the inputs that its equations give at a sample."""

    def __init__(self, arm, settings):
        turn, limit = 4 * PERIOD, arm.robot.limits.effort
        self.arm, self.deviation, self.lost = arm, arm.kinematic_error_deviation, play_of(arm, limit, turn)
        self.friction, self.stiffness = make_friction(arm, settings, turn), make_stiffness(arm, settings, turn)
        self.detector = ContactDetector(arm.n, turn, floor=0.008 * limit, noise=1e-4 * limit)
        self.held_back, self.within = [], []

    def update(self, e, turn):
        """Let the part whose turn it is take the sample of the estimator e."""
        free = not self.detector.states['since'].any()
        if turn == 0:
            self.update_stiffness(e, free)
        elif turn == 1 and e.learning:
            residual = e.rotor_torque - e.torque_link - e.speed_friction
            self.friction.update(residual, e.coulomb_friction, e.omega, np.full(e.n, free))
        elif turn == 2:
            self.update_contact(e)

    def update_stiffness(self, e, free):
        """φ = θ − q − lost motion and τ_motor − D (ω − q̇); unknown, relative: half of the play and the map's error."""
        lost = self.lost
        for joint in zip(lost, e.theta, e.torque_link, self.arm.backlash(e.theta), strict=True):
            lost_motion_step(*joint)
        phi = e.theta - e.q - lost['motion']
        moving = (np.abs(e.omega) >= 0.01) & free
        of_play = 0.3 * lost['slack'] + lost['uncertainty']
        unknown = np.hypot(0.5 * of_play, self.deviation(e.theta)) / np.abs(phi)
        clear = unknown <= 0.3
        self.held_back.append(moving & ~clear & (of_play <= 0.6 * np.abs(phi)))
        self.within.append(moving & clear & (np.abs(phi) < 2.0 * self.arm.backlash(e.theta)))
        if e.learning:
            measure = e.torque_motor - self.arm.damping * (e.omega - e.dq)
            self.stiffness.update(phi, measure, np.where(moving, unknown, np.inf), e.reference_stiffness)

    def update_contact(self, e):
        """τ_motor − τ_link and τ_spring − τ_link with their deviations; shares of play and link that are taken off."""
        lost, elastic, motor = self.lost, e.elastic, e.torque_motor - e.torque_link
        k_phi = TorsionalStiffness(e.stiffness.coefficients, e.stiffness.reach).stiffness(e.deformation)
        unknown = np.hypot(0.1 * lost['slack'] + lost['uncertainty'], self.deviation(e.theta))
        wrong = np.hypot(k_phi * unknown, 0.05 * e.torque_link)
        by_spring = np.stack([np.where(elastic, e.torque_spring - e.torque_link, motor), wrong * elastic])
        taken_off = np.stack([k_phi * lost['motion'], k_phi * lost['uncertainty'], 0.05 * e.torque_link]) * elastic
        sides, adapted = np.stack([motor, e.motor_deviation]), self.friction.excitation > 15.0
        self.detector.update(sides, by_spring, taken_off, elastic, np.zeros(e.n, dtype=bool), e.omega, adapted)

    def check(self, e):
        """The estimator's parts have learnt the same."""
        np.testing.assert_allclose(e.lost_motion['uncertainty'], self.lost['uncertainty'], rtol=1e-9)
        np.testing.assert_allclose(e.stiffness.coefficients, self.stiffness.coefficients, rtol=1e-8)
        np.testing.assert_array_equal(e.stiffness.excited, self.stiffness.excited)
        np.testing.assert_allclose(e.stiffness.unknown, self.stiffness.unknown, rtol=1e-9)
        np.testing.assert_allclose(e.friction.parameters, self.friction.parameters, rtol=1e-9)
        np.testing.assert_allclose(e.detector.ratio, self.detector.ratio, rtol=1e-9)
        np.testing.assert_array_equal(e.contact, self.detector.contact)


def test_every_part_learns_in_its_turn(arm):
    """Four samples a turn at 500 Hz: stiffness, friction, contact, weights, one after the other."""
    settings = EstimationSettings(window=0.04, torque_noise=1e-4)
    deviation = PeriodicMap.stack([PeriodicMap([0.0, 1e-4, 3e-4])] * arm.n)
    arm = replace(arm, kinematic_error_deviation=deviation)
    estimator, parts, turns = JointEstimator(arm, PERIOD, settings), Parts(arm, settings), []
    np.testing.assert_allclose(estimator.detector.floor, 0.008 * arm.robot.limits.effort)

    def watch(k):
        turn, weights = (k + 1) % 4, (estimator.spring_weight, estimator.external_deviation, estimator.link_weight)
        parts.update(estimator, turn)
        parts.check(estimator)
        # weights change in their turn alone
        assert turn == 3 or not turns or all(map(np.array_equal, weights, turns[-1][1]))
        turns.append((turn, weights))

    play(estimator, motion(arm, 500, seed=1), watch)
    assert {turn for turn, _ in turns} == {0, 1, 2, 3} and estimator.elastic.all()
    assert np.any(parts.held_back) and np.any(parts.within) and parts.detector.ratio.max() >= 0.0
    assert parts.stiffness.excitation.max() > 0.1 and parts.friction.excitation.max() > 0.1
    # switched off, only play and error levels are followed
    estimator.learning, before = False, (estimator.friction.parameters, estimator.stiffness.coefficients)
    play(estimator, motion(arm, 100, seed=2), watch)
    np.testing.assert_array_equal(estimator.friction.parameters, before[0])
    np.testing.assert_array_equal(estimator.stiffness.coefficients, before[1])


def test_the_kinematic_error_counts_with_the_reference_stiffness(arm):
    """A map that was just learnt may be as wrong as that error made it; the mean of half a minute is not yet."""
    deviation = PeriodicMap.stack([PeriodicMap([1e-4])] * arm.n)
    arm, of_error = replace(arm, kinematic_error_deviation=deviation), []
    signals, settings = motion(arm, 400, seed=1), EstimationSettings(friction='none')
    for softer in (1.0, 0.2):
        estimator = play(JointEstimator(arm, PERIOD, settings), [part[:200] for part in signals])
        estimator.changes.begin_anew()
        estimator.stiffness.alpha[:] *= softer
        play(estimator, [part[200:] for part in signals])
        of_error.append(estimator.changes.blocks.information[:2, SPRING, :, KINEMATIC, KINEMATIC].sum(axis=0))
    assert (of_error[0] > 0.0).any()
    # a hundredth of the way to the learnt value in a quarter of a second
    np.testing.assert_allclose(of_error[1], of_error[0], rtol=0.05)


@pytest.mark.parametrize('window', [0.04, 0.042, 0.044, 0.046])
def test_before_the_play_is_followed_the_spring_weighs_nothing(arm, window):
    """In any turn after a gap: until θ is seen, it may be anywhere in any play."""
    settings, weights = EstimationSettings(window=window), []
    estimator = play(JointEstimator(arm, PERIOD, settings), motion(arm, 300))
    assert estimator.spring_weight.max() > 50 * 1e-3

    def watch(k):
        if np.isnan(estimator.lost_motion['theta']).any():
            weights.append(estimator.spring_weight)
            assert not estimator.contact.any()

    estimator.reset_signals()
    play(estimator, motion(arm, 300, seed=2), watch)
    assert weights and np.all(np.array(weights) < 1e-3)


def test_a_contact_stops_the_learning_until_it_lasts(arm):
    """Of all joints, once it is felt; one that lasts beyond the patience is a load that the model does not have."""
    signals = motion(arm, 300)
    for since, learns in ((1.0, False), (1e9, True)):
        estimator = play(JointEstimator(arm, PERIOD, EstimationSettings(window=0.04)), [part[:60] for part in signals])
        estimator.contact = np.arange(arm.n) == 2
        # a contact that nothing ends
        estimator.detector.states['over'][2], estimator.detector.states['learning'] = 1e9, np.inf
        estimator.detector.states['contact'][2], estimator.detector.states['since'][2] = True, since
        before = estimator.stiffness.excitation, estimator.friction.noise
        play(estimator, [part[60:] for part in signals])
        assert estimator.contact.tolist() == [j == 2 for j in range(arm.n)]
        after = estimator.stiffness.excitation, estimator.friction.noise
        assert [(new != old).any() for new, old in zip(after, before, strict=True)] == [learns, learns]
    estimator.reset_signals()
    assert not (estimator.contact.any() or estimator.torque.any() or estimator.external.any())
    np.testing.assert_array_equal(estimator.external_deviation, 1e6)


OMEGA = np.array([0.0, 0.1, -0.2, 0.3, 5.0, -5.0])  # rad/s
HYSTERESIS = np.array([0.5, 0.5, 1.1, 1.0, 0.2, 1.0])


def drawn_states(arm, settings, rng):
    """Estimate, play and spring of every joint, at random: the first two learnt, the last one in contact."""
    n = arm.n
    estimate, play, law = estimate_of(arm, settings), np.zeros(n, Play.dtype), np.zeros(n, Spring.dtype)
    estimate['coulomb_level'], estimate['deformation'] = rng.uniform(1, 9, n), rng.normal(0, 1e-3, n)
    estimate['torque_link'], estimate['contact'] = rng.normal(0, 20, n), np.arange(n) == 5
    play['slack'], play['uncertainty'] = rng.uniform(0, 1e-3, n), rng.uniform(0, 1e-4, n)
    law['reliable'] = np.arange(n) < 2
    return estimate, play, law


def written_motor_variance(estimate, floor, omega, hysteresis):
    """σ² = floor + ((0.1 + 0.5 (1 − slip)) F)², slip = min(|ω| 0.2/ω_min, 1) min(H, 1)."""
    slip = min(abs(omega) * 0.2 / 0.05, 1.0) * min(hysteresis, 1.0)
    return floor + ((0.1 + 0.5 * (1.0 - slip)) * estimate['coulomb_level']) ** 2


def written_spring_variance(arm, j, estimate, play, floor, slope, variance):
    """σ² = floor + k² (5 µrad² + lost²) + variance of the curve; without a described backlash lost is presliding's."""
    if arm.backlash is not None:
        lost = 0.1 * play['slack'] + play['uncertainty']
    else:
        hint = 1e-9 if arm.friction is None else arm.friction.maxwell_slip.presliding.tables[j].max()
        lost = hint / (1.0 + (estimate['deformation'] / hint) ** 2)
    return floor + slope**2 * (2.5e-11 + lost**2) + variance + (0.0 if estimate['elastic'] else 1e12)


def written_weights(motor, spring, rotor, of_link, contact):
    """Weights by inverse variances: of the spring, deviation of the external torque, of the link."""
    share = (motor + rotor) / (motor + rotor + spring) if spring < np.inf else 0.0
    deviation = math.sqrt(share * spring) if share else math.sqrt(motor)
    return share, deviation, 0.0 if contact else deviation**2 / (deviation**2 + of_link + rotor)


@pytest.mark.parametrize('missing', [{}, {'backlash': None}, {'backlash': None, 'friction': None}])
def test_weights_are_those_of_the_inverse_variances(arm, missing):
    """One joint after the other, with and without learnt stiffness, backlash, friction; contact takes the link away."""
    rng, n = np.random.default_rng(2), arm.n
    described, rotors = np.arange(n) % 2 == 0, np.arange(n) < 4
    arm = replace(arm, stiffness_described=described, rotor_identifiable=rotors, **missing)
    estimate, play, law = drawn_states(arm, EstimationSettings(omega_min=0.05), rng)
    slope, variance, acceleration = rng.uniform(1e3, 2e4, n), rng.uniform(0, 2, n), rng.normal(0, 5, n)
    of_rotor = (np.where(rotors, 0.0, 0.3 * arm.rotor_inertia) * acceleration) ** 2
    for j, now in enumerate(estimate):
        floor = (0.002 * arm.robot.limits.effort[j]) ** 2
        motor = motor_variance(now, OMEGA[j], HYSTERESIS[j])
        assert motor == pytest.approx(written_motor_variance(now, floor, OMEGA[j], HYSTERESIS[j]), rel=1e-9)
        spring = spring_variance(now, play[j], law[j], (slope[j], variance[j]))
        assert now['elastic'] == (described[j] or j < 2)
        expected = written_spring_variance(arm, j, now, play[j], floor, slope[j], variance[j])
        assert spring == pytest.approx(expected, rel=1e-9)
        of_link = floor + (0.05 * now['torque_link']) ** 2
        for doubted, side in ((False, spring), (True, spring), (False, np.inf)):
            weigh(now, motor, side, acceleration[j], doubted)
            expected = written_weights(motor, np.inf if doubted else side, of_rotor[j], of_link, j == 5)
            found = [now[name] for name in ('spring_weight', 'external_deviation', 'link_weight')]
            assert found == pytest.approx(expected, rel=1e-9)
            assert now['motor_deviation'] == pytest.approx(math.sqrt(motor), rel=1e-12)


@pytest.mark.parametrize('limits', [None, (0.2, 15.0, WARM - 1.0)])
def test_friction_is_bounded_by_its_validity(arm, limits):
    """At the speed and load of the previous sample, and none beyond those that it was checked at."""
    validity = limits and Validity(*(np.full(arm.n, one) for one in (*limits[:2], -np.inf, limits[2])))
    estimator = JointEstimator(
        replace(arm, validity=validity), PERIOD, EstimationSettings(friction='none', window=0.04)
    )
    model, before = arm.friction, [np.zeros(arm.n)]

    def watch(k):
        omega, load = estimator.omega, before[-1]
        if limits is not None:
            omega, load = np.clip(omega, -limits[0], limits[0]), np.clip(load, -limits[1], limits[1])
        dry = model.dry(estimator.hysteresis, omega, load)
        expected = estimator.speed_friction + 0.9 * dry + 0.02 * omega
        np.testing.assert_allclose(estimator.friction_torque, expected, rtol=1e-9, atol=1e-9)
        before.append(estimator.torque)

    play(estimator, motion(arm, 150), watch)
    assert (np.abs(before).max(axis=0) > 15.0).any()
    notes = estimator.watch.notes()
    assert bool(notes) == any('°C' in note for note in notes) == (limits is not None)
