"""Coulomb and viscous friction by recursive least squares, where the joint moves."""

import numpy as np
import pytest

from joint_dynamics.estimation import CoulombViscousEstimator

PERIOD = 1e-3


def speed(seconds):
    """ω (N,) [rad/s] of a joint that goes to and fro."""
    t = np.arange(int(seconds / PERIOD)) * PERIOD
    return sum(a * np.sin(2 * np.pi * f * t + p) for a, f, p in ((1.2, 0.21, 0.0), (0.9, 0.37, 1.0), (0.7, 0.53, 2.0)))


def test_a_level_that_is_known_is_taken_and_excitation_is_the_time_in_motion():
    estimator = CoulombViscousEstimator(2, PERIOD, initial=[5.0, 1.0])
    estimator.set_coulomb(0, 8.0)
    assert estimator.parameters.tolist() == [[8.0, 1.0], [5.0, 1.0]]
    for omega in speed(1.0):
        estimator.update(np.zeros(2), np.array([omega, 0.0]))
    moving = np.abs(speed(1.0)) > estimator.omega_min[0]
    np.testing.assert_allclose(estimator.excitation, [moving.sum() * PERIOD, 0.0], rtol=1e-12)


def test_it_forgets_and_stays_bounded():
    estimator = CoulombViscousEstimator(1, PERIOD, memory=3.0)
    motion = speed(30.0)
    for k, omega in enumerate(motion):
        F_C = 6.0 if k < len(motion) // 2 else 9.0
        estimator.update([F_C * np.sign(omega) + 2.0 * omega], [omega])
    assert estimator.parameters[0] == pytest.approx([9.0, 2.0], abs=0.05)
    for _ in range(8000):
        estimator.update([5.0], [1.0])
        estimator.update([np.nan], [np.nan])
    assert np.isfinite(estimator.covariance).all()
    assert np.linalg.eigvalsh(estimator.covariance[0]).max() <= 1e4 * (1 + 1e-9)
    assert np.linalg.eigvalsh(estimator.covariance[0]).min() > 0


def test_it_is_the_textbooks_least_squares_where_it_moves(textbook):
    rng = np.random.default_rng(5)
    period, memory = 1e-2, 2.0
    estimator = CoulombViscousEstimator(
        2, period, memory=memory, initial=[4.0, 1.0], deviation=(2.0, 3.0), omega_min=[0.1, 0.2]
    )
    P, alpha, seen = [np.diag([4.0, 9.0])] * 2, [np.array([4.0, 1.0])] * 2, np.zeros(2)
    for k in range(40):
        omega, f = rng.uniform(-1, 1, 2), rng.normal(0, 5, 2)
        allowed = rng.random(2) < 0.8
        if k == 7:
            f[0] = np.nan
        if k == 9:
            omega[1] = 1e9
        error = estimator.update(f, omega, allowed)
        for j in range(2):
            active = [0.1, 0.2][j] < abs(omega[j]) < 1e9 and abs(f[j]) < 1e9 and allowed[j]
            assert estimator.excited[j] == active
            if not active:
                assert error[j] == 0.0
                continue
            psi = np.array([np.sign(omega[j]), omega[j]])
            seen[j] += 1
            P[j], alpha[j], expected, _ = textbook(psi, f[j], P[j], alpha[j], 1 - period / memory, 0.0, False)
            assert error[j] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(estimator.parameters, alpha, rtol=1e-9)
    np.testing.assert_allclose(estimator.covariance, P, rtol=1e-9)
    np.testing.assert_array_equal(estimator.seen, seen)
    # F_C = α1 F_C0, F_V = F_V1 + α2; a Coulomb friction of nothing divides by next to nothing
    scale, covariance = estimator.against(np.array([2.0, 0.0]), np.array([0.5, 0.25]))
    np.testing.assert_allclose(scale[:, 0], [alpha[0][0] / 2.0, alpha[1][0] / 1e-6], rtol=1e-9)
    np.testing.assert_allclose(scale[:, 1], [alpha[0][1] - 0.5, alpha[1][1] - 0.25], rtol=1e-9)
    for j, unit in enumerate(([0.5, 1.0], [1e6, 1.0])):
        np.testing.assert_allclose(covariance[j], P[j] * np.outer(unit, unit), rtol=1e-9)
    estimator.reset()
    np.testing.assert_array_equal(estimator.parameters, [[4.0, 1.0]] * 2)
    np.testing.assert_array_equal(estimator.covariance, [np.diag([4.0, 9.0])] * 2)
    assert not estimator.seen.any() and not estimator.excited.any()
    estimator.reset([1.0, 2.0])
    np.testing.assert_array_equal(estimator.predict(np.array([-2.0, 0.0])), [-5.0, 0.0])
