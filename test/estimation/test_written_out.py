"""The learning parts joint by joint, written out with plain numbers from their equations: equal at every sample."""

import math
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.estimation import CoulombViscousEstimator, FrictionEstimator, FrictionObserver, MomentumObserver
from joint_dynamics.estimation.lost_motion import LostMotion
from joint_dynamics.estimation.recursive import RecursiveLeastSquares
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture(scope='module')
def arm():
    return RobotModel.load(ur5e_urdf())


@pytest.mark.parametrize('directional', [True, False])
@pytest.mark.parametrize(('forgetting', 'delta'), [(1.0, 0.0), (0.97, 0.0), (0.97, 1e-3)])
def test_recursive_least_squares_is_the_textbooks(textbook, directional, forgetting, delta):
    rng = np.random.default_rng(3)
    diagonal = np.array([[2.0, 5.0, 0.5], [1.0, 3.0, 4.0]])
    rls = RecursiveLeastSquares(
        2, 3, initial_covariance=diagonal, forgetting=forgetting, delta=delta, directional=directional
    )
    rls.reset(alpha=[0.3, -1.0, 2.0])
    np.testing.assert_array_equal(rls.P, [np.diag(row) for row in diagonal])
    P, alpha = list(rls.P.copy()), list(rls.alpha.copy())
    for _ in range(60):
        psi, y = rng.normal(size=(2, 3)), rng.normal(size=2)
        steps = [textbook(psi[j], y[j], P[j], alpha[j], forgetting, delta, directional) for j in range(2)]
        error, weighed = rls.step(psi, y, np.ones(2, dtype=bool))
        P, alpha = [step[0] for step in steps], [step[1] for step in steps]
        np.testing.assert_allclose(error, [step[2] for step in steps], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(weighed, [step[3] for step in steps], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(rls.P, P, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(rls.alpha, alpha, rtol=1e-7, atol=1e-12)
    # a joint that is held off, and its neighbour, in the same step
    before = rls.P.copy(), rls.alpha.copy()
    rls.step(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), np.array([0.0, 1.0]), np.array([False, True]))
    np.testing.assert_array_equal(rls.P[0], before[0][0])
    np.testing.assert_array_equal(rls.alpha[0], before[1][0])
    assert not np.allclose(rls.P[1], before[0][1]) and not np.allclose(rls.alpha[1], before[1][1])


def test_the_covariance_is_bounded_relative_to_its_start():
    """Eigenvalues of P in units of P(0): at most 1, at least 1e-14 of the largest; what is within is left alone."""
    start = np.array([[4.0, 9.0]])
    root = np.sqrt(start[0])
    unit = np.outer(root, root)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for values, bounded in (
        ([0.5, 0.25], [0.5, 0.25]),
        ([7.0, 0.25], [1.0, 0.25]),
        ([0.5, -0.1], [0.5, 0.5e-14]),
        ([0.5, 1e-20], [0.5, 0.5e-14]),
        ([1e-30, 1e-30], [1e-24, 1e-24]),
    ):
        rls = RecursiveLeastSquares(1, 2, initial_covariance=start)
        rls.P[0] = turn @ np.diag(values) @ turn.T * unit
        before = rls.P.copy()
        rls.bound()
        if values == bounded:
            np.testing.assert_array_equal(rls.P, before)
        # of the smaller one only what rounding of the larger one leaves
        expected = turn @ np.diag(bounded) @ turn.T * unit
        np.testing.assert_allclose(rls.P[0], expected, rtol=1e-9, atol=4e-15 * max(bounded) * unit.max())
        np.testing.assert_array_equal(rls.P[0], rls.P[0].T)


def test_the_adaptive_law_is_as_printed():
    """Gains by mean(Y²) every tenth sample, normalised step, clipped to the bounds; two joints, broken samples too."""
    rng = np.random.default_rng(4)
    n, period, memory, hold, information, omega_min = 2, 2e-3, 1.0, 0.02, 0.05, 0.05
    rate, floor = np.array([0.8, 0.5]), np.array([[0.3, 0.1], [0.2, 0.05]])
    lower, upper = np.array([0.5, -0.2]), np.array([1.4, 0.3])
    estimator = FrictionEstimator(
        n, period, rate=rate, initial=[0.45, 0.1], lower=lower, upper=upper, omega_min=omega_min, hold=hold,
        information=information, memory=memory, floor=floor,
    )  # fmt: skip
    alpha = np.tile([0.5, 0.1], (n, 1))
    np.testing.assert_array_equal(estimator.parameters, alpha)
    mean, seen, still, adapted = np.zeros((n, 4)), np.zeros(n), np.full(n, round(hold / period) + 1), np.zeros(n)
    gain, informative = np.zeros((n, 2)), [False] * n
    t = np.arange(4000) * period
    omega = np.stack([np.sin(3 * t) + 0.5 * np.sin(7 * t), 0.8 * np.sin(2 * t)], axis=1)
    omega[1000:1400] = 0.04
    coulomb = np.array([5.0, 3.0]) * np.tanh(omega / 0.1)
    friction = coulomb * [1.2, 2.0] + omega * 0.05 + rng.normal(0, 0.3, omega.shape)
    friction[500, 0] = np.inf
    friction[600, 1], coulomb[700, 0], omega[800, 1] = 1e9, np.nan, -np.inf
    allowed = rng.random(omega.shape) < 0.9
    for k in range(len(t)):
        error = estimator.update(friction[k], coulomb[k], omega[k], allowed[k])
        if k == 500:
            assert not estimator.moving[0]
        for j in range(n):
            Y, f = np.array([coulomb[k, j], omega[k, j]]), friction[k, j]
            expected = f - alpha[j] @ Y
            sane = bool(abs(expected) < 1e9 and np.isfinite(Y).all())
            if not sane:
                Y, expected = np.zeros(2), 0.0
            still[j] = 0 if abs(Y[1]) >= omega_min else still[j] + 1
            moving = sane and still[j] <= round(hold / period) and allowed[k, j]
            if moving:
                seen[j] += 1
                products = np.array([Y[0] ** 2, Y[1] ** 2, Y[0] * Y[1], expected**2])
                mean[j] += (products - mean[j]) / min(seen[j], memory / period)
            if k % 10 == 0:
                gain[j] = period * rate / np.maximum(mean[j, :2], floor[j])
                informative[j] = bool(
                    seen[j] >= 0.3 / period
                    and mean[j, 0] > 0
                    and 1 - abs(mean[j, 2]) / math.sqrt(mean[j, 0] * mean[j, 1]) >= information
                )
            active = moving and informative[j]
            if active:
                alpha[j] += gain[j] * Y * expected / (1 + gain[j] @ Y**2)
                alpha[j] = np.clip(alpha[j], lower, upper)
                adapted[j] += 1
            assert estimator.moving[j] == moving and estimator.excited[j] == active
            assert error[j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(estimator.parameters, alpha, rtol=1e-9)
        np.testing.assert_array_equal(estimator.informative, informative)
    np.testing.assert_allclose(estimator.noise, np.sqrt(mean[:, 3]), rtol=1e-9)
    np.testing.assert_allclose(estimator.excitation, adapted * period, rtol=1e-12)
    assert adapted.min() > 1000
    at_bound = (np.array(alpha) == lower) | (np.array(alpha) == upper)
    np.testing.assert_array_equal(estimator.saturated, at_bound)
    assert at_bound[1].all() and not at_bound[0].any()
    for j in range(n):
        weight = min(seen[j], memory / period) * period / 0.1 / mean[j, 3]
        matrix = np.array([[mean[j, 0], mean[j, 2]], [mean[j, 2], mean[j, 1]]])
        P = np.linalg.inv(np.diag(12.0 / (upper - lower) ** 2) + weight * matrix)
        np.testing.assert_allclose(estimator.covariance[j], P, rtol=1e-9)
    estimator.reset([9.0, -9.0])
    np.testing.assert_array_equal(estimator.parameters, [[1.4, -0.2]] * 2)
    assert estimator.saturated.all()
    estimator.reset([0.0, 0.1])
    np.testing.assert_array_equal(estimator.saturated, [[True, False]] * 2)
    assert not (estimator.excitation.any() or estimator.noise.any() or estimator.informative.any())


def test_least_squares_of_friction_is_the_textbooks_where_it_moves(textbook):
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


def test_lost_motion_is_as_written_out():
    rng = np.random.default_rng(6)
    period, limit = 8e-3, np.array([150.0, 250.0])

    def backlash(theta):
        return np.array([1e-3, 2e-3]) * (1.5 + np.sin(theta))

    def of(j, tau):
        return 0.5 / (1.0 + (tau / (0.01 * limit[j])) ** 2) + 0.5 / (1.0 + (tau / (0.04 * limit[j])) ** 2)

    deviation = np.array([0.0, 3e-4])
    lost = LostMotion(2, backlash, limit, period, deviation)
    theta, load = np.cumsum(rng.normal(0, 4e-4, (600, 2)), axis=0), np.cumsum(rng.normal(0, 0.6, (600, 2)), axis=0)
    state = [SimpleNamespace(place=0.0, spread=0.0, step=0.0, motion=0.0, known=False, loads=None) for _ in range(2)]
    for k in range(len(theta)):
        lost.update(theta[k], load[k])
        for j, one in enumerate(state):
            width = backlash(theta[k])[j]
            if k:
                one.place = min(max(one.place + (theta[k, j] - theta[k - 1, j]) / width, -1.0), 1.0)
            one.known = one.known or abs(one.place) >= 1.0
            one.loads = one.loads or [load[k, j]] * 2
            one.loads = [x + period / lag * (load[k, j] - x) for x, lag in zip(one.loads, (0.1, 0.3), strict=True)]
            left = [of(j, x) for x in (load[k, j], *one.loads)]
            one.spread = max(max(left) - min(left), (1 - period / 0.2) * one.spread)
            slack = left[1] * width
            one.step = max(abs(slack * one.place - one.motion), (1 - period / 0.05) * one.step)
            one.motion = slack * one.place
            uncertainty = (one.spread if one.known else 1.0) * width + one.step + 2.0 * max(left) * deviation[j]
            assert lost.motion[j] == pytest.approx(one.motion, rel=1e-9, abs=1e-18)
            assert lost.slack[j] == pytest.approx(slack, rel=1e-9)
            assert lost.uncertainty[j] == pytest.approx(uncertainty, rel=1e-9)
    assert all(one.known for one in state)
    # a period longer than what is remembered: the load itself, and nothing kept
    coarse = LostMotion(2, backlash, limit, 1.0)
    for k in range(3):
        coarse.update(theta[200 * k], load[200 * k])
    np.testing.assert_allclose(coarse.slack, backlash(theta[400]) * of(np.arange(2), load[400]), rtol=1e-12)
    lost.reset()
    assert not (lost.motion.any() or lost.slack.any() or lost.uncertainty.any())
    lost.update(theta[0], load[0])
    np.testing.assert_array_equal(lost.motion, 0.0)
    unknown = 2.0 * deviation * [of(j, load[0, j]) for j in range(2)]
    np.testing.assert_allclose(lost.uncertainty, backlash(theta[0]) + unknown, rtol=1e-12)


def test_where_there_is_no_play_it_stays_where_it_was():
    """Known over a part of the turn only: outside it no motion is lost, and back inside the play is as it was left."""
    load = np.zeros(3)

    def backlash(theta):
        return np.where(theta < 1.0, [1e-3, 2e-3, 4e-3], 0.0)

    lost = LostMotion(3, backlash, 100.0, 8e-3)
    for theta in (0.0, 5e-4):
        lost.update(np.full(3, theta), load)
    places = [0.5, 0.25, 0.125]
    np.testing.assert_allclose(lost.motion, np.multiply(places, [1e-3, 2e-3, 4e-3]), rtol=1e-12)
    for theta in (1.5, 1.6):
        lost.update(np.full(3, theta), load)
        assert not (lost.motion.any() or lost.slack.any())
    # to get back the joint turns by more than the play is wide, whatever stood there before
    lost.update(np.full(3, 1.6 - 1.0), load)
    np.testing.assert_allclose(lost.motion, [-1e-3, -2e-3, -4e-3], rtol=1e-12)
    # and where the step is within the play, from where it was left
    width = np.zeros(3)
    lost = LostMotion(3, lambda theta: width, 100.0, 8e-3)
    for theta, wide in ((0.0, 1e-3), (2.5e-4, 1e-3), (0.7, 0.0), (0.7, 0.0), (0.7 + 2.5e-4, 1e-3)):
        width = np.full(3, wide)
        lost.update(np.full(3, theta), load)
    np.testing.assert_allclose(lost.motion, 5e-4, rtol=1e-9)


def test_observers_solve_their_implicit_step(arm):
    """F̂⁺ and r⁺ put into the equations of the model, discretised backwards: nothing is left."""
    rng = np.random.default_rng(7)
    period, gain, inertia = 2e-3, 25.0, rng.uniform(0.1, 2.0, 6)
    friction, momentum = FrictionObserver(6, period, inertia, gain), MomentumObserver(arm.rigid_body(), period, gain)
    model, data = arm.pinocchio, arm.pinocchio.createData()
    omega_hat = expected = None
    for _ in range(5):
        q, dq, torque, drive, omega = rng.uniform(-1, 1, (5, 6))
        f, r = friction.update(drive, torque, omega).copy(), momentum.update(torque, q, dq).copy()
        p = pinocchio.crba(model, data, q) @ dq
        if omega_hat is None:
            np.testing.assert_array_equal([f, r], np.zeros((2, 6)))
            omega_hat, expected = omega, p
            continue
        omega_hat = omega_hat + period * (drive - torque - f) / inertia
        np.testing.assert_allclose(f, gain * inertia * (omega_hat - omega), rtol=1e-9, atol=1e-12)
        C = pinocchio.computeCoriolisMatrix(model, data, q, dq)
        free = C.T @ dq - pinocchio.computeGeneralizedGravity(model, data, q)
        expected = expected + period * (torque + free - r)
        np.testing.assert_allclose(r, gain * (expected - p), rtol=1e-9, atol=1e-9)
    for observer, broken in ((friction, ([np.nan] * 6, torque, omega)), (momentum, ([np.inf] * 6, q, dq))):
        before = observer.update(*broken).copy()
        observer.reset()
        assert before.any() and not (observer.friction if observer is friction else observer.external).any()
