"""Observers: the friction observer finds the friction, the momentum observer the push.

With the signs of the equations.
"""

import numpy as np
import pinocchio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from joint_dynamics.estimation import FrictionObserver, MomentumObserver


@given(gain=st.floats(0.1, 1e5), period=st.floats(1e-4, 0.1), inertia=st.floats(0.01, 10.0))
@settings(max_examples=25, deadline=None)
def test_friction_observer_is_stable_and_right_for_every_gain(gain, period, inertia):
    assume(gain * period > 3e-3)
    observer = FrictionObserver(1, period, inertia, gain)
    friction, omega = 4.0, 0.3
    for _ in range(int(15 * (1 + 1 / (gain * period)))):
        motor = 10.0
        observer.update([motor], [2.0], [omega])
        # B ω̇ = K_τ i − τ_J − f
        omega += period * (motor - 2.0 - friction) / inertia
        if abs(omega) > 1e6:
            break
    assert observer.friction[0] == pytest.approx(friction, rel=1e-3)


def test_friction_observer_holds_on_broken_values():
    observer = FrictionObserver(2, 1e-3, 1.0)
    for _ in range(500):
        observer.update([3.0, 3.0], [0.0, 0.0], [0.0, 0.0])
    before = observer.friction.copy()
    observer.update([np.nan, 3.0], [0.0, 0.0], [0.0, 0.0])
    assert observer.friction[0] == before[0]
    assert np.isfinite(observer.friction).all()


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
