"""The momentum observer finds the push, with the signs of the equations."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.estimation import MomentumObserver


def falling(arm, push, seconds=1.0, period=1e-3):
    """A frictionless arm moved by torques (gravity, a swing), pushed in the middle by `push` (n,) N·m along q."""
    body, data = arm.pinocchio, arm.pinocchio.createData()
    q, dq = np.array([0.2, -1.2, 1.0, -1.0, -1.3, 0.2]), np.zeros(6)
    for k in range(int(seconds / period)):
        tau = pinocchio.computeGeneralizedGravity(body, data, q) + np.array([3.0, 2.0, 1.0, 0.3, 0.2, 0.1]) * np.sin(
            6 * k * period
        )
        yield tau, q, dq
        outside = push if k > seconds / period / 2 else 0.0
        ddq = pinocchio.aba(body, data, q, dq, tau + outside)
        dq = dq + period * ddq
        q = q + period * dq


def test_momentum_observer_sees_a_push_and_nothing_else(arm):
    push = np.array([4.0, -6.0, 3.0, 0.5, -0.4, 0.2])
    observer = MomentumObserver(arm.rigid_body(), 1e-3, 40.0)
    seen = np.array([observer.update(tau, q, dq).copy() for tau, q, dq in falling(arm, push, 0.7)])
    assert np.abs(seen[:350]).max() < 0.1
    # τ_ext is what the links give to their surroundings: a push in the direction of q is negative.
    assert seen[450] == pytest.approx(-push * (1 - np.exp(-0.1 * 40)), abs=0.25)
    assert seen[640] == pytest.approx(-push, abs=0.25)


def test_momentum_observer_keeps_going_over_broken_values(arm):
    observer = MomentumObserver(arm.rigid_body(), 1e-3)
    for k, (tau, q, dq) in enumerate(falling(arm, np.zeros(6), 0.2)):
        observer.update(np.full(6, np.nan) if k == 50 else tau, q, dq)
    assert np.abs(observer.external).max() < 0.5


def test_the_observer_solves_its_implicit_step(arm):
    """r⁺ put into the equations of the model, discretised backwards: nothing is left."""
    rng = np.random.default_rng(7)
    period, gain = 2e-3, 25.0
    observer = MomentumObserver(arm.rigid_body(), period, gain)
    model, data = arm.pinocchio, arm.pinocchio.createData()
    expected = None
    for _ in range(5):
        q, dq, torque = rng.uniform(-1, 1, (3, 6))
        r = observer.update(torque, q, dq).copy()
        p = pinocchio.crba(model, data, q) @ dq
        if expected is None:
            np.testing.assert_array_equal(r, np.zeros(6))
            expected = p
            continue
        C = pinocchio.computeCoriolisMatrix(model, data, q, dq)
        free = C.T @ dq - pinocchio.computeGeneralizedGravity(model, data, q)
        expected = expected + period * (torque + free - r)
        np.testing.assert_allclose(r, gain * (expected - p), rtol=1e-9, atol=1e-9)
    before = observer.update([np.inf] * 6, q, dq).copy()
    observer.reset()
    assert before.any() and not observer.external.any()
