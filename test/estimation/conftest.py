"""A single joint computed backwards, from the link's motion to the current, for chapter 3 of the thesis; and a simulated robot.

Nothing here uses joint_dynamics.joint: elasticity, hysteresis and friction are written out anew.
"""
from types import SimpleNamespace

import numpy as np
import pytest

MOVES = {'v': np.pi, 'a': 12.0, 'distance': 2 * np.pi}


def bang_coast_bang(rng, seconds, period):
    """Acceleration (N,) of random moves, 30 to 100 % of the limits, with waits up to 1 s between them; jumps smoothed over 60 ms."""
    samples = int(seconds / period)
    acceleration = np.zeros(samples)
    k, q = 0, 0.0
    while k < samples:
        k += int(rng.uniform(0, 1) / period)
        v, a, distance = (rng.uniform(0.3, 1.0) * MOVES[name] for name in ('v', 'a', 'distance'))
        direction = -1.0 if q > 0 else 1.0
        ramp, coast = int(v / a / period), int(max(distance / v - v / a, 0.0) / period)
        move = direction * np.concatenate([np.full(ramp, a), np.zeros(coast), np.full(ramp, -a)])
        part = move[:max(samples - k, 0)]
        acceleration[k:k + part.size] = part
        k += move.size
        q += direction * distance
    w = np.hanning(int(0.06 / period) | 1)
    w /= w.sum()
    return np.convolve(np.convolve(acceleration, w, 'same'), w, 'same')


def hysteresis(theta, width=1e-3):
    """Four spring-slider pairs by their forces, sample by sample; normalised to ±1."""
    limit = np.array([(i / 4) ** 4 * width for i in (1, 2, 3, 4)])
    stiffness = np.array([16, 9, 4, 1]) / 30.0 / limit
    bend, out = np.zeros(4), np.empty(theta.size)
    previous = theta[0]
    for k, angle in enumerate(theta):
        bend = np.clip(bend + angle - previous, -limit, limit)
        previous = angle
        out[k] = stiffness @ bend
    return out


def make_joint(seed=0, seconds=35.0, period=1e-3, stiffness=(2e4, 3e9), noise=0.5, acceleration=None, offset=0.0):
    """A base joint as in thesis chapter 3: 3 kg·m² about a vertical axis, encoders of 2¹⁹ and 2²⁰ counts, friction of 8 N·m and viscous.

    acceleration (N,) instead of bang-coast-bang; offset N·m: constant torque of the link. Returns measured q, theta, motor_torque and true phi,
    torque, friction, dtheta, all (N,), and the constants.
    """
    rng = np.random.default_rng(seed)
    ddq = bang_coast_bang(rng, seconds, period) if acceleration is None else acceleration
    dq = np.cumsum(ddq) * period
    q = np.cumsum(dq) * period
    torque = 3.0 * ddq + offset
    k1, k3 = stiffness
    phi = torque / k1
    for _ in range(30):
        phi = phi - (k1 * phi + k3 * phi ** 3 - torque) / (k1 + 3 * k3 * phi ** 2)
    theta = q + phi
    dtheta = np.gradient(theta, period)
    H = hysteresis(theta)
    friction = H * (8.0 + np.exp(-np.abs(dtheta) / 0.1)) + 8.0 * dtheta - 0.6 * np.abs(dtheta) * dtheta
    motor = 2.5 * np.gradient(dtheta, period) + friction + torque + 20.0 * np.gradient(phi, period)
    link_count, motor_count = 2 * np.pi / 2 ** 19, 2 * np.pi / 2 ** 20
    return SimpleNamespace(
        time=np.arange(q.size) * period, period=period, q=np.round(q / link_count) * link_count, theta=np.round(theta / motor_count) * motor_count,
        motor_torque=motor + rng.normal(0, noise, q.size), phi=phi, torque=torque, friction=friction, dtheta=dtheta, hysteresis=H,
        stiffness=stiffness, inertia=2.5, damping=20.0)


@pytest.fixture(scope='session')
def joint():
    """Return `make_joint`, which computes joints."""
    return make_joint


@pytest.fixture(scope='session')
def bang_joint():
    return make_joint(seed=0)


def map_nrmse(coefficients, stiffness, reach):
    """NRMSE % [M3 eq 15] of the elastic torque over ±reach rad."""
    phi = np.linspace(-reach, reach, 201)
    truth = stiffness[0] * phi + stiffness[1] * phi ** 3
    estimate = sum(alpha * phi ** (2 * p + 1) for p, alpha in enumerate(coefficients))
    return 100.0 * (1.0 - np.linalg.norm(truth - estimate) / np.linalg.norm(truth - truth.mean()))


@pytest.fixture(scope='session')
def nrmse():
    """Return `map_nrmse`, the measure of a stiffness map."""
    return map_nrmse
