"""Observers as linear systems, against scipy's solution of Lyapunov's equation."""

import numpy as np
import pytest
import scipy.linalg

from joint_dynamics.estimation.observers import FrictionObserver


@pytest.mark.parametrize('period', [1e-3, 4e-3])
@pytest.mark.parametrize('gain', [5.0, 30.0, 200.0])
def test_noise_of_the_friction_observer_solves_lyapunov(period, gain):
    """The energy of its response to one sample of torque is its variance under white noise of variance one.

    C P Cᵀ, P = A P Aᵀ + b bᵀ.
    """
    inertia = 0.7
    observer = FrictionObserver(1, period, inertia, gain)
    observer.update([0.0], [0.0], [0.0])
    response = []
    for k in range(int(40 / (gain * period)) + 50):
        response.append(observer.update([1.0 if k == 0 else 0.0], [0.0], [0.0])[0])
    # e⁺ = (e + T d/B)/(1 + T L), F̂ = L B e⁺, from the equations of the model
    A = np.array([[1.0 / (1.0 + period * gain)]])
    b = np.array([[period / inertia / (1.0 + period * gain)]])
    P = scipy.linalg.solve_discrete_lyapunov(A, b @ b.T)
    assert np.sum(np.square(response)) == pytest.approx((gain * inertia) ** 2 * P[0, 0], rel=1e-9)
