"""Payload by regression with friction beside it; health against a reference; the trend over runs."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import HealthMonitor, HealthThresholds, PayloadEstimator, trend
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.robot import PER_JOINT, RobotModel
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture(scope='module')
def arm():
    return RobotModel.load(ur5e_urdf())


def loaded_samples(arm, payload, scale, samples=300, seed=0, noise=0.2):
    """Torque that the unloaded model lacks, on random motion: payload, friction wrong by `scale`, noise.

    Computed by the batch regressor.
    """
    rng = np.random.default_rng(seed)
    q, dq, ddq = rng.uniform(-2, 2, (samples, 6)), rng.uniform(-1, 1, (samples, 6)), rng.uniform(-2, 2, (samples, 6))
    last = PER_JOINT * 5
    columns = [last + 9, last + 6, last + 7, last + 8]
    coulomb = np.sign(dq) * np.array([8, 8, 7, 2, 2, 2.0])
    torque = (
        arm.regressor(q, dq, ddq)[:, :, columns] @ payload
        + coulomb * scale[0]
        + dq * scale[1]
        + rng.normal(0, noise, q.shape)
    )
    return q, dq, ddq, torque, coulomb


@pytest.mark.parametrize('payload', [[7.5, 0.0, 0.0, 0.6], [0.8, 0.05, -0.02, 0.04], [0.0, 0.0, 0.0, 0.0]])
def test_payload_comes_back_beside_wrong_friction(arm, payload):
    estimator = PayloadEstimator(arm.rigid_body(), 0.1)
    for state in zip(*loaded_samples(arm, np.array(payload), (0.15, 0.4)), strict=True):
        q, dq, ddq, torque, coulomb = state
        estimator.update(q, dq, ddq, torque, coulomb, dq, np.abs(dq) > 0.05)
    deviation = np.sqrt(np.diag(estimator.covariance))
    error = np.abs(estimator.parameters - payload)
    assert estimator.mass == pytest.approx(payload[0], abs=0.05)
    assert np.all(error < 5 * deviation)
    assert estimator.mass_deviation < 0.05
    assert estimator.judge() and estimator.known


def test_standing_joints_teach_nothing(arm):
    estimator = PayloadEstimator(arm.rigid_body(), 0.1)
    zero = np.zeros(6)
    for _ in range(100):
        estimator.update(zero, zero, zero, np.full(6, 5.0), zero, zero, np.zeros(6, dtype=bool))
    assert estimator.excitation == 0
    assert estimator.mass == 0.0
    assert not estimator.judge() and not estimator.known


def test_another_payload_is_learnt_within_the_memory(arm):
    estimator = PayloadEstimator(arm.rigid_body(), 0.1, memory=5.0)
    for mass in (5.0, 2.0):
        for state in zip(*loaded_samples(arm, np.array([mass, 0, 0, 0.1 * mass]), (0.0, 0.0)), strict=True):
            estimator.update(*state, state[1], np.ones(6, dtype=bool))
        assert estimator.mass == pytest.approx(mass, rel=0.02)
    estimator.update(*(np.full(6, np.nan),) * 6, np.ones(6, dtype=bool))
    assert np.isfinite(estimator.parameters).all()


REFERENCE = TorsionalStiffness([[2e4, 3e9], [5e3, 1e8]])


def test_health_names_the_joint_and_the_change():
    monitor = HealthMonitor(REFERENCE)
    enough = np.full(2, 60.0)
    found = monitor.judge(
        stiffness=REFERENCE.coefficients * [[1.0], [0.85]],
        stiffness_excitation=enough,
        friction=np.array([1.02, 1.5]),
        friction_excitation=enough,
    )
    assert [item.status for item in found] == ['ok', 'error']
    assert found[1].reason == 'Coulomb friction +50 % against the reference'
    assert found[1].stiffness_ratio == pytest.approx(0.85)
    stiff_only = monitor.judge(stiffness=REFERENCE.coefficients * [[1.0], [0.85]], stiffness_excitation=enough)
    assert stiff_only[1].status == 'warning'
    assert 'stiffness -15 %' in stiff_only[1].reason


def test_health_compares_torques_not_coefficients():
    """Another split between the terms that gives the same torque over the working range is no wear."""
    phi = np.linspace(-1e-3, 1e-3, 41)
    W = np.stack([phi, phi**3], axis=1)
    other = np.linalg.lstsq(W[:, :1], TorsionalStiffness([2e4, 3e9]).torque(phi), rcond=None)[0]
    monitor = HealthMonitor(TorsionalStiffness([[2e4, 3e9]]))
    assert monitor.stiffness_ratios(np.array([[other[0], 0.0]]))[0] == pytest.approx(1.0, abs=0.02)


def test_a_change_that_wanders_about_its_threshold_is_decided_once():
    """Entered beyond 25 % by two deviations, left below 20 % by two: nothing in between is news."""
    monitor, enough = HealthMonitor(None), np.array([60.0])
    rng = np.random.default_rng(7)

    def status(change):
        return monitor.judge(
            friction=np.array([1.0 + change]), friction_deviation=np.array([0.01]), friction_excitation=enough
        )[0].status

    assert [status(0.25 + 0.04 * value) for value in rng.uniform(-1, 0.4, 200)] == ['ok'] * 200
    assert status(0.28) == 'warning'
    assert {status(0.25 + 0.04 * value) for value in rng.uniform(-1, 1, 200)} == {'warning'}
    assert status(0.43) == 'error'
    assert {status(0.38 + 0.04 * value) for value in rng.uniform(-1, 1, 200)} == {'error'}
    assert status(0.29) == 'warning'
    assert status(0.17) == 'ok'
    assert status(0.25) == 'ok'


def test_health_does_not_judge_what_it_does_not_know():
    monitor = HealthMonitor(None, thresholds=HealthThresholds(excitation=5.0))
    assert monitor.judge(stiffness=np.ones((1, 2)))[0].status == 'unknown'
    few = monitor.judge(friction=np.array([1.9]), friction_excitation=np.array([1.0]))
    assert few[0].status == 'unknown'
    assert 'not excited' in few[0].reason
    uncertain = monitor.judge(
        friction=np.array([1.5]), friction_deviation=np.array([0.2]), friction_excitation=np.array([60.0])
    )
    assert uncertain[0].status == 'ok'
    with pytest.raises(JointDynamicsError):
        monitor.judge()
    with pytest.raises(JointDynamicsError):
        HealthThresholds(stiffness=(0.3, 0.1))


def test_trend_has_a_slope_and_its_deviation():
    rng = np.random.default_rng(4)
    days = np.arange(40.0)
    slopes = []
    for _ in range(200):
        slope, deviation = trend(days, 1.0 - 0.002 * days + rng.normal(0, 0.01, days.size))
        slopes.append((slope, deviation))
    slopes = np.array(slopes)
    assert slopes[:, 0].mean() == pytest.approx(-0.002, abs=1e-4)
    assert slopes[:, 1].mean() == pytest.approx(slopes[:, 0].std(), rel=0.15)
    assert np.isnan(trend([0.0, 1.0], [1.0, 1.0])).all()
    with pytest.raises(JointDynamicsError):
        trend([0.0], [1.0, 2.0])
