"""Stiffness with its jumps, and payload, written out with plain numbers: equal at every sample."""

import math
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.estimation import PayloadEstimator, StiffnessEstimator
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture(scope='module')
def arm():
    return RobotModel.load(ur5e_urdf())


def test_the_payload_is_the_weighted_and_regularised_batch_solution(arm):
    """A = Σ λ^age w² WᵀW, the prior's inverse variances on its diagonal; deviations by what is left over."""
    rng = np.random.default_rng(8)
    period, memory, noise, samples = 0.05, 2.0, np.array([2.0, 2.0, 1.0, 0.5, 0.5, 0.25]), 80
    estimator = PayloadEstimator(
        arm.rigid_body(), period, memory=memory, noise=noise, largest=5.0, reach=0.2, friction=(0.4, 2.0), known=0.3
    )
    A, b, yy, weight, motion = np.zeros((22, 22)), np.zeros(22), 0.0, 0.0, 0.0
    # pinocchio's XX XY YY XZ YZ ZZ as XX XY XZ YY YZ ZZ, then first moments and mass
    order = [-6, -5, -3, -4, -2, -1, -9, -8, -7, -10]
    for k in range(samples):
        q, dq, ddq, coulomb, omega = rng.uniform(-2, 2, (5, 6))
        slipping = rng.random(6) < 0.7
        full = pinocchio.computeJointTorqueRegressor(arm.pinocchio, arm.pinocchio.createData(), q, dq, ddq)
        torque = full[:, -10:-6] @ [2.0, 0.1, -0.2, 0.3] + 0.2 * coulomb + 0.7 * omega + rng.normal(0, 0.3, 6) * noise
        if k % 20 == 19:
            torque[3] = np.nan
        estimator.update(q, dq, ddq, torque, coulomb, omega, slipping)
        if slipping.any() and k % 20 != 19:
            W = np.hstack([full[:, order], np.diag(coulomb), np.diag(omega)]) * (slipping / noise)[:, None]
            y, forget = torque * slipping / noise, 1 - period / memory
            A, b, yy, weight = forget * A + W.T @ W, forget * b + W.T @ y, forget * yy + y @ y, forget * weight + 1
            motion += period
    assert estimator.excitation == pytest.approx(motion, rel=1e-12)
    prior = np.diag(1.0 / np.array([*[0.2] * 6, 1.0, 1.0, 1.0, 5.0, *[0.4] * 6, *[2.0] * 6]) ** 2)
    share = period / 0.1
    solution = np.linalg.solve(share * A + prior, share * b)
    # what the friction beside it costs counts as left over
    friction = np.diag(np.where(np.arange(22) < 10, 0.0, np.diag(prior)))
    rest = share * (yy - 2 * solution @ b) + solution @ (share * A + friction) @ solution
    variance = (rest + 10.0) / (share * weight * 6 + 10.0)
    covariance = np.linalg.inv(share * A / variance + prior)
    shown = [9, 6, 7, 8]
    np.testing.assert_allclose(estimator.inertial, solution[:10], rtol=1e-8)
    np.testing.assert_allclose(estimator.parameters, solution[shown], rtol=1e-8)
    np.testing.assert_allclose(estimator.covariance, covariance[np.ix_(shown, shown)], rtol=1e-7)
    assert estimator.mass == estimator.parameters[0]
    np.testing.assert_array_equal(estimator.first_moments, estimator.parameters[1:])
    assert estimator.mass_deviation == pytest.approx(math.sqrt(covariance[9, 9]), rel=1e-7)
    # known when its deviation is less than a share of it, or than 0.1 kg
    assert not estimator.known
    for share, known in ((2.0, True), (1e-9, estimator.mass_deviation < 0.1)):
        estimator.known_share = share * estimator.mass_deviation / estimator.mass
        assert estimator.judge() == estimator.known == known
    estimator.reset()
    assert not estimator.parameters.any() and estimator.excitation == 0 and not estimator.known
    np.testing.assert_allclose(estimator.covariance, np.diag([25.0, 1.0, 1.0, 1.0]), rtol=1e-9)


def test_the_jump_detector_is_as_written_out(textbook):
    """Sums over the samples between two checks, usual and present level, the covariance opened where it jumps."""
    rng = np.random.default_rng(9)
    n, period, scale, hold, window, share, mu = 2, 2e-3, np.array([1e-3, 2e-3]), 0.02, 0.1, 0.3, 0.995
    estimator = StiffnessEstimator(
        n, 2, period=period, scale=scale, mu=mu, hold=hold, change_share=share, change_window=window, noise=0.2,
        initial_covariance=100.0, initial_coefficients=[[1e4, 1e9], [2e4, 0.0]],
    )  # fmt: skip
    stride, length, floor = round(0.005 / period), round(window / period), 0.2**2
    alpha = np.array([[10.0, 1.0], [40.0, 0.0]])
    P = [100.0 * np.eye(2)] * n
    one = [
        SimpleNamespace(anchor=np.inf, still=round(hold / period), fresh=True, sums=np.zeros(3), seen=0.0, short=0.0,
                        level=0.0, long=floor, usual=0.0, excited=0.0, changes=0)
        for _ in range(n)
    ]  # fmt: skip
    t = np.arange(3000) * period
    phi = np.stack([1.2e-3 * np.sin(5 * t), 2e-3 * np.sin(3 * t)], axis=1) + rng.normal(0, 1e-6, (len(t), n))
    phi[1500:1600] = phi[1500]
    y = np.stack([1.2e4 * phi[:, 0] + 8e8 * phi[:, 0] ** 3, 2e4 * phi[:, 1]], axis=1) + rng.normal(0, 0.3, phi.shape)
    y[2000:, 0] *= 0.4
    phi[300, 0], y[301, 1], phi[302, 1] = np.nan, 2e9, 3.0
    allowed = rng.random(phi.shape) < 0.95
    for k in range(len(t)):
        error = estimator.update(phi[k], y[k], allowed[k])
        for j, s in enumerate(one):
            if k % stride == 0:
                sane = abs(phi[k, j]) < 1e3 * scale[j]
                if sane and abs(phi[k, j] - s.anchor) >= 0.02 * scale[j]:
                    s.anchor, s.still = phi[k, j], 0
                else:
                    s.still += stride
                s.fresh = s.still <= round(hold / period)
                count, squares, level = s.sums
                s.seen, s.excited, s.sums = s.seen + count, s.excited + period * count, np.zeros(3)
                s.short += (squares - count * s.short) / min(max(s.seen, 1.0), length)
                s.level += (level - count * s.level) / min(max(s.seen, 1.0), length)
                slow = min(count / min(max(s.seen, 1.0), 20.0 * length), 1.0)
                s.usual += slow * (s.level - s.usual)
                s.long += slow * (min(max(s.short, floor), 2.0 * s.long) - s.long)
                if count and s.seen >= length and s.short > max(share**2 * s.level, 9.0 * s.long):
                    P[j] = P[j] + (np.outer(alpha[j], alpha[j]) + np.diag((0.3 * alpha[j]) ** 2)) / floor
                    values, vectors = np.linalg.eigh(P[j] / 100.0)
                    P[j] = 100.0 * vectors @ np.diag(np.minimum(values, 1.0)) @ vectors.T
                    s.short = s.level = s.seen = 0.0
                    s.changes += 1
            active = 0.2 * scale[j] <= abs(phi[k, j]) < 1e3 * scale[j] and abs(y[k, j]) < 1e9
            active = bool(active and s.fresh and allowed[k, j])
            assert estimator.excited[j] == active
            if active:
                x = phi[k, j] / scale[j]
                P[j], alpha[j], expected, weighed = textbook(
                    np.array([x, x**3]), y[k, j], P[j], alpha[j], mu, 0.0, True
                )
                s.sums += [1.0, weighed, y[k, j] ** 2]
                assert error[j] == pytest.approx(expected, rel=1e-6, abs=1e-9)
            else:
                assert error[j] == 0.0
        np.testing.assert_array_equal(estimator.reopened, [s.changes for s in one])
    assert [s.changes for s in one] == [1, 0]
    unit = scale[:, None] ** np.array([1, 3])
    np.testing.assert_allclose(estimator.coefficients, alpha / unit, rtol=1e-6)
    np.testing.assert_allclose(estimator.covariance, [P[j] / np.outer(unit[j], unit[j]) for j in range(n)], rtol=1e-6)
    np.testing.assert_allclose(estimator.noise, [math.sqrt(s.long) for s in one], rtol=1e-6)
    np.testing.assert_allclose(estimator.excitation, [s.excited for s in one], rtol=1e-9)
    expected = [np.sqrt(np.diag(P[j]) * s.long) / unit[j] for j, s in enumerate(one)]
    np.testing.assert_allclose(estimator.standard_deviation, expected, rtol=1e-6)
    reliable = [s.excited >= 2.0 and s.long <= 0.2 * s.usual for s in one]
    np.testing.assert_array_equal(estimator.reliable, reliable)
    assert estimator.reliable[1]
    estimator.reset()
    np.testing.assert_allclose(estimator.coefficients, [[1e4, 1e9], [2e4, 0.0]], rtol=1e-12)
    assert not (estimator.reopened.any() or estimator.excitation.any() or estimator.excited.any())
    np.testing.assert_allclose(estimator.noise, 0.2, rtol=1e-12)


def test_without_gate_and_novelty_a_standstill_teaches_too():
    """`ordinary` is the batch solution, whatever the order of the samples: none is left out, however often it comes."""
    rng = np.random.default_rng(10)
    phi = np.repeat([0.3e-3, -1e-6, 0.0, 1e-3], [400, 5, 5, 400])
    tau = 2e4 * phi + 1e9 * phi**3 + rng.normal(0, 0.1, phi.size)
    estimator = StiffnessEstimator.ordinary(1, scale=1e-3, hold=0.01, initial_covariance=1e6)
    assert (estimator.mu, estimator.delta) == (1.0, 0.0)
    for one, torque in zip(phi, tau, strict=True):
        estimator.update([one], [torque])
        assert estimator.excited[0]
    x = phi / 1e-3
    W = np.stack([x, x**3], axis=1)
    batch = np.linalg.solve(W.T @ W + 1e-6 * np.eye(2), W.T @ tau)
    np.testing.assert_allclose(estimator.coefficients[0], batch / [1e-3, 1e-9], rtol=1e-6)
    assert not estimator.changes.any()
    # said otherwise, it is otherwise
    gated = StiffnessEstimator.ordinary(1, scale=1e-3, gate=0.5e-3, mu=0.9)
    gated.update([0.3e-3], [6.0])
    assert not gated.excited[0] and gated.mu == 0.9
