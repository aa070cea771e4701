"""What goes where in the estimation of a whole arm: torques, weights and what every part is given, written out.

On signals without noise that no physics made; the parts are tested by themselves.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('numba', reason='the simulated robot is compiled by numba')

from dataclasses import replace

from joint_dynamics.arm import Validity
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.estimation.torques import TorqueFusion
from joint_dynamics.joint import FrictionModel, QuadrantFriction
from joint_dynamics.joint.stiffness import loads_of, lost_motion_share
from joint_dynamics.signals.state_estimator import StateEstimator

PERIOD, WARM = 2e-3, 41.0


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
    slip = arm.friction.maxwell_slip.without_kinematic_error()
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


def test_the_settings_temperature_stands_in_for_a_joint_that_was_never_measured(arm):
    signals = motion(arm, 60)
    measured = play(JointEstimator(arm, PERIOD), signals)
    assumed = play(JointEstimator(arm, PERIOD, EstimationSettings(temperature=WARM)), signals, temperature=np.nan)
    cold = play(JointEstimator(arm, PERIOD), signals, temperature=np.nan)
    np.testing.assert_array_equal(assumed.friction_torque, measured.friction_torque)
    assert (assumed.friction_torque != cold.friction_torque).all()
    assert np.isnan(assumed.temperature).all()
    assumed.set_temperature([20.0, *[np.nan] * (arm.n - 1)])
    np.testing.assert_array_equal(assumed.temperature, [20.0, *[np.nan] * (arm.n - 1)])


def test_every_torque_is_what_its_equation_says(arm):
    """Nothing learns: constant α, stiffness as described."""
    settings = EstimationSettings(friction='none', window=0.04)
    signals = motion(arm, 400)
    d, expected = smoothed(arm, signals, settings)
    estimator = JointEstimator(arm, PERIOD, settings)
    estimator.learning = False
    state = SimpleNamespace(torque=np.zeros(arm.n), spring=np.zeros(arm.n), link=np.zeros(arm.n), motion=0.0, seen=0)
    links = arm.standard.copy()
    links.rotor_inertia[:] = 0.0

    def watch(k):
        value, first, second = expected[k - 2 * d]
        np.testing.assert_allclose([estimator.q, estimator.dq, estimator.ddq], [value[0], first[0], second[0]])
        sides = [estimator.theta, estimator.omega, estimator.rotor_acceleration]
        np.testing.assert_allclose(sides, [value[2], first[2], second[2]])
        np.testing.assert_allclose([estimator.motor_torque, estimator.hysteresis], value[[1, 3]], atol=1e-12)
        link = arm.robot.inverse_dynamics(value[0], first[0], second[0], links.values)
        rotor = value[1] - arm.rotor_inertia * second[2]
        H, omega = value[3], first[2]
        dry = arm.friction.level(state.torque) * H
        friction = value[4] + 0.9 * dry + 0.02 * omega
        elastic = value[2] - value[0] - state.motion
        spring = arm.stiffness.torque(elastic) + arm.damping * (omega - first[0])
        by_motor = rotor - friction
        measured = by_motor + state.spring * (spring - by_motor)
        for name, wanted in (
            ('torque_link', link),
            ('rotor_torque', rotor),
            ('friction_torque', friction),
            ('friction_error', rotor - link - friction),
            ('torque_motor', by_motor),
            ('deformation', elastic),
            ('torque_spring', spring),
            ('external', measured - link),
            ('torque', measured - state.link * (measured - link)),
        ):
            np.testing.assert_allclose(getattr(estimator, name), wanted, rtol=1e-7, atol=1e-7, err_msg=name)
        # what the parts found in their turn counts from the next sample on
        state.torque, state.motion = estimator.torque, estimator.lost_motion.motion
        state.spring, state.link = estimator.spring_weight, estimator.link_weight
        state.seen += 1

    play(estimator, signals, watch)
    assert state.seen == 400 - 2 * d - estimator.filter.samples + 1
    assert 0.01 < estimator.spring_weight.mean() < 1 and 0.01 < estimator.link_weight.mean() < 1
    assert estimator.delay == pytest.approx(estimator.filter.delay + d * PERIOD)
    np.testing.assert_array_equal(estimator.temperature, np.full(arm.n, WARM))


@pytest.mark.parametrize('source', ['motor', 'link', 'fused'])
def test_every_part_takes_its_turn_with_what_it_is_due(arm, monkeypatch, source):
    """Four samples a turn at 500 Hz: stiffness, friction, contact, weights, one after the other."""
    settings = EstimationSettings(window=0.04, stiffness_source=source, torque_noise=1e-4)
    estimator = JointEstimator(arm, PERIOD, settings)
    given = {}
    for name, part in (('friction', estimator.friction), ('stiffness', estimator.stiffness),
                       ('detector', estimator.detector), ('lost', estimator.lost_motion)):  # fmt: skip
        update = part.update
        monkeypatch.setattr(
            part, 'update', lambda *values, name=name, update=update: (given.update({name: values}), update(*values))[1]
        )
    limit = arm.robot.limits.effort
    np.testing.assert_allclose(estimator.detector.floor, 0.008 * limit)
    turns = []

    def watch(k):
        e, lost = estimator, estimator.lost_motion
        turn = (k + 1) % 4
        taken = {0: ('lost', 'stiffness'), 1: ('friction',), 2: ('detector',), 3: ()}[turn]
        assert tuple(sorted(given)) == tuple(sorted(taken))
        if 'stiffness' in given:
            phi, torque, may = given['stiffness']
            np.testing.assert_array_equal(given['lost'], [e.theta, e.torque_link])
            np.testing.assert_allclose(phi, e.theta - e.q - lost.motion, rtol=0, atol=1e-15)
            measure = {'motor': e.torque_motor, 'link': e.torque_link, 'fused': e.torque}[source]
            np.testing.assert_allclose(torque, measure - arm.damping * (e.omega - e.dq), rtol=1e-9, atol=1e-9)
            clear = lost.uncertainty <= 0.3 * np.abs(phi)
            np.testing.assert_array_equal(may, (np.abs(e.omega) >= 0.01) & clear & (not e.contact.any()))
        elif 'friction' in given:
            residual, coulomb, omega, may = given['friction']
            np.testing.assert_allclose(
                residual, e.rotor_torque - e.torque_link - e.speed_friction, rtol=1e-9, atol=1e-9
            )
            np.testing.assert_array_equal(omega, e.omega)
            np.testing.assert_array_equal(may, np.full(arm.n, not e.contact.any()))
            assert np.abs(coulomb).max() > 1.0
        elif 'detector' in given:
            evidence, omega, adapted = given['detector']
            k_phi = e.stiffness.stiffness(e.deformation)
            np.testing.assert_allclose(evidence.motor, e.torque_motor - e.torque_link, rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(evidence.motor_deviation, e.fusion.motor_deviation)
            elastic = e.fusion.elastic
            spring = np.where(elastic, e.torque_spring - e.torque_link, evidence.motor)
            np.testing.assert_allclose(evidence.spring, spring, rtol=1e-9, atol=1e-9)
            wrong = np.sqrt((k_phi * (0.1 * lost.slack + lost.uncertainty)) ** 2 + (0.05 * e.torque_link) ** 2)
            np.testing.assert_allclose(evidence.spring_deviation, wrong * elastic, rtol=1e-9)
            np.testing.assert_allclose(evidence.lost, k_phi * lost.motion * elastic, rtol=1e-9)
            np.testing.assert_allclose(evidence.lost_uncertainty, k_phi * lost.uncertainty * elastic, rtol=1e-9)
            np.testing.assert_array_equal(evidence.elastic, elastic)
            np.testing.assert_array_equal(omega, e.omega)
            np.testing.assert_array_equal(adapted, e.friction.excitation > 15.0)
        else:
            weight, deviation = e.fusion.measured(e, e.coulomb_level)
            np.testing.assert_array_equal(e.spring_weight, weight)
            np.testing.assert_array_equal(e.external_deviation, deviation)
            np.testing.assert_array_equal(e.link_weight, e.fusion.link_weight(e, deviation))
        turns.append(turn)
        given.clear()

    play(estimator, motion(arm, 500, seed=1), watch)
    assert set(turns) == {0, 1, 2, 3} and estimator.fusion.elastic.all()
    # switched off, only the play is followed
    estimator.learning = False
    seen = set()
    before = estimator.friction.parameters, estimator.stiffness.coefficients
    play(estimator, motion(arm, 100, seed=2), lambda k: (seen.update(given), given.clear()))
    assert seen == {'lost', 'detector'}
    np.testing.assert_array_equal(estimator.friction.parameters, before[0])
    np.testing.assert_array_equal(estimator.stiffness.coefficients, before[1])


def test_a_contact_stops_the_learning_until_it_lasts(arm, monkeypatch):
    estimator = play(JointEstimator(arm, PERIOD, EstimationSettings(window=0.04)), motion(arm, 60))
    assert estimator.undisturbed().all()
    estimator.contact = np.arange(arm.n) == 2
    assert not estimator.undisturbed().any()
    monkeypatch.setattr(type(estimator.detector), 'lasting', property(lambda _: np.arange(arm.n) == 2))
    assert estimator.undisturbed().all()
    estimator.contact = np.isin(np.arange(arm.n), [2, 3])
    assert not estimator.undisturbed().any()
    estimator.reset_signals()
    assert not (estimator.contact.any() or estimator.torque.any() or estimator.external.any())
    np.testing.assert_array_equal(estimator.external_deviation, 1e6)


def test_what_the_backlash_may_be_off_by_reaches_the_lost_motion(arm):
    deviation = 1e-4 * np.arange(1.0, arm.n + 1)
    sure, unsure = (
        JointEstimator(replace(arm, backlash_deviation=one), PERIOD, EstimationSettings()) for one in (None, deviation)
    )
    # long enough at rest for the load's low-passes to have settled
    for _ in range(round(8.0 / PERIOD)):
        for estimator in (sure, unsure):
            estimator.update(np.full(arm.n, 0.3), np.zeros(arm.n), np.full(arm.n, 0.3))
    share = lost_motion_share(sure.torque_link[:, None] / loads_of(sure.effort_limit)).mean(axis=1)
    assert np.ptp(share) > 0.01
    np.testing.assert_allclose(
        unsure.lost_motion.uncertainty - sure.lost_motion.uncertainty, 2.0 * deviation * share, rtol=1e-6
    )


def test_weights_are_those_of_the_inverse_variances(arm):
    """One joint after the other, with and without learnt stiffness, backlash, friction; contact takes the link away."""
    rng = np.random.default_rng(2)
    settings = EstimationSettings(friction_noise=0.2, link_noise=0.07, deformation_noise=2e-5, omega_min=0.05)
    n, limit = arm.n, arm.robot.limits.effort
    described = np.arange(n) % 2 == 0
    rotors = np.arange(n) < 4
    base = replace(arm, stiffness_described=described, rotor_identifiable=rotors)
    for one in (base, replace(base, backlash=None), replace(base, backlash=None, friction=None)):
        fusion = TorqueFusion(one, settings)
        np.testing.assert_allclose(fusion.rotor_inertia_deviation, np.where(rotors, 0.0, 0.3 * arm.rotor_inertia))
        np.testing.assert_array_equal(fusion.motor_deviation, 1e6)
        assert not fusion.elastic.any()
        slope, variance, level = rng.uniform(1e3, 2e4, n), rng.uniform(0, 2, n), rng.uniform(1, 9, n)
        estimate = SimpleNamespace(
            omega=np.array([0.0, 0.1, -0.2, 0.3, 5.0, -5.0]),
            hysteresis=np.array([0.5, -0.5, 1.1, -1.0, 0.2, 1.0]),
            friction_model=one.friction,
            deformation=rng.normal(0, 1e-3, n),
            rotor_acceleration=rng.normal(0, 5, n),
            torque_link=rng.normal(0, 20, n),
            contact=np.arange(n) == 5,
            lost_motion=SimpleNamespace(slack=rng.uniform(0, 1e-3, n), uncertainty=rng.uniform(0, 1e-4, n)),
            stiffness=None,
        )
        # one term: its slope, and its variance at this deformation
        state = np.stack([variance / estimate.deformation**2, slope], axis=1)[:, :, None]
        estimate.stiffness = SimpleNamespace(quality=(np.arange(n) < 2, np.ones(n), state, np.ones(n)))
        weight, deviation = fusion.measured(estimate, level)
        link = fusion.link_weight(estimate, deviation)
        for j in range(n):
            floor = (0.002 * limit[j]) ** 2
            slip = min(abs(estimate.omega[j]) * 0.2 / 0.05, 1.0)
            if one.friction is not None:
                slip *= min(abs(estimate.hysteresis[j]), 1.0)
            motor = floor + ((0.2 + 0.5 * (1.0 - slip)) * level[j]) ** 2
            assert fusion.motor_deviation[j] == pytest.approx(math.sqrt(motor), rel=1e-9)
            if one.backlash is not None:
                lost = 0.1 * estimate.lost_motion.slack[j] + estimate.lost_motion.uncertainty[j]
            else:
                hint = 1e-9 if one.friction is None else one.friction.maxwell_slip.presliding.tables[j].max()
                lost = hint / (1.0 + (estimate.deformation[j] / hint) ** 2)
            elastic = described[j] or j < 2
            assert fusion.elastic[j] == elastic
            k, v = slope[j], variance[j]
            spring = floor + k**2 * (4e-10 + lost**2) + v + (0.0 if elastic else 1e12)
            rotor = (fusion.rotor_inertia_deviation[j] * estimate.rotor_acceleration[j]) ** 2
            share = (motor + rotor) / (motor + rotor + spring)
            assert weight[j] == pytest.approx(share, rel=1e-9)
            assert deviation[j] == pytest.approx(math.sqrt(share * spring), rel=1e-9)
            of_link = floor + (0.07 * estimate.torque_link[j]) ** 2 + rotor
            expected = 0.0 if j == 5 else deviation[j] ** 2 / (deviation[j] ** 2 + of_link)
            assert link[j] == pytest.approx(expected, rel=1e-9)
        estimate.stiffness = None
        weight, deviation = fusion.measured(estimate, level)
        assert not weight.any()
        np.testing.assert_array_equal(deviation, fusion.motor_deviation)


def test_an_estimator_of_the_motor_side_needs_its_angle(arm):
    with pytest.raises(JointDynamicsError, match='expected θ with every sample, found none'):
        JointEstimator(arm, PERIOD).update(np.zeros(arm.n), np.zeros(arm.n))


def test_learnt_coulomb_friction_is_the_level_that_weighs_the_motor(arm):
    estimator = JointEstimator(arm, PERIOD, EstimationSettings(friction='coulomb_viscous', window=0.04))
    levels = []

    def watch(k):
        estimate = estimator.friction_torque, estimator.torque, estimator.external_deviation
        assert np.isfinite(estimate).all()
        levels.append(estimator.coulomb_level.copy())

    play(estimator, motion(arm, 120), watch)
    assert not levels[0].any()
    np.testing.assert_array_equal(levels[-1], np.abs(estimator.friction.parameters[:, 0]))
    assert (levels[-1] > 0).all()


def test_friction_without_hysteresis_counts_at_the_load_of_the_sample_before_within_its_range(arm):
    """Of a described friction with load and quadrants, at the speed and load that it was checked at, none beyond."""
    inf, n = np.full(arm.n, np.inf), arm.n
    quadrants = QuadrantFriction(1.05, 0.02, 0.95, 0.01, 4.0, 1.0, 3.0, 0.5, 12.0, 0.4, 0.05)
    parameters = {**arm.friction.parameters, 'F_C1': np.full(n, 1e-3)}
    for more, limits in (
        ({}, None),
        ({}, Validity(np.full(n, 0.2), np.full(n, 15.0), -inf, np.full(n, WARM - 1.0))),
        ({'quadrants': vars(quadrants)}, Validity(np.full(n, 0.2), np.full(n, 15.0), -inf, inf)),
    ):
        model = FrictionModel(parameters, joints=n, **more)
        one = replace(arm, friction=model, validity=limits)
        estimator = JointEstimator(one, PERIOD, EstimationSettings(friction='none', window=0.04))
        before = [np.zeros(n)]

        def watch(k, estimator=estimator, before=before, limits=limits, model=one.friction):
            w, load = estimator.omega, before[-1]
            if limits is not None:
                w, load = np.clip(w, -0.2, 0.2), np.clip(load, -15.0, 15.0)
            dry = model.dry(np.sign(w), w, load)
            expected = 0.9 * dry + 0.02 * w + model.speed_part(np.sign(w), w, np.full(n, WARM))
            np.testing.assert_allclose(estimator.friction_torque, expected, rtol=1e-9, atol=1e-9)
            before.append(estimator.torque)

        play(estimator, motion(arm, 150), watch)
        held = np.abs(before).max(axis=0) > 15.0
        assert held.any()
        notes = estimator.watch.notes()
        assert bool(notes) == (limits is not None)
        assert any('°C' in note for note in notes) == (limits is not None and not more)
