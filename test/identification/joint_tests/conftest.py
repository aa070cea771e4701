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

"""A real-looking joint to identify.

Its own physics in velocity form, its own integrator, encoders of 2^19 and 2^20 counts, noisy current.

Nothing of joint_dynamics.joint makes the signals. The hysteresis has eighteen operators in the velocity form of
Maxwell-slip (stick: dh = k ω dt; slip: dh = sgn(ω) C (ν − h) dt) on a virgin curve of another shape than the polynomial
laws.
"""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.plateaus import SteadyRows
from joint_dynamics.joint import FrictionModel
from joint_dynamics.recording import Recording

RATE = 1000.0


@numba.njit
def velocity_form(theta, substeps, nu, k, width, slope, attraction):
    """Normalised hysteresis h(t) along θ, from rest; width 𝓑 and its slope d𝓑/dθ are given at the samples."""
    out = np.zeros(theta.size)
    h = np.zeros(nu.size)
    slipping = np.zeros(nu.size)
    for n in range(1, theta.size):
        dtheta = (theta[n] - theta[n - 1]) / substeps
        for _ in range(substeps):
            sign = np.sign(dtheta)
            for i in range(nu.size):
                if slipping[i] != 0 and slipping[i] != sign:
                    slipping[i] = 0
                if slipping[i] == 0:
                    h[i] += (k[i] / width[n] - h[i] * slope[n] / width[n]) * dtheta
                    if abs(h[i]) >= nu[i]:
                        h[i] = np.sign(h[i]) * nu[i]
                        slipping[i] = sign if np.sign(h[i]) == sign else 0
                else:
                    h[i] += min(1.0, attraction / substeps) * (sign * nu[i] - h[i])
        out[n] = h.sum()
    return out


@dataclass
class Joint:
    """The truth. Units of the joint side, as in the models."""

    F_C: float = 6.0
    F_C1: float = 1.2e-3
    F_S: float = 7.5
    V_S: float = 0.05
    mu: float = 0.9
    F_V1: float = 14.0
    F_V2: float = -4.0
    F_V3: float = 0.7
    F_T1: float = -0.09
    F_T2: float = 2.5e3
    T_0: float = 30.0
    B: float = 0.9
    stiffness: tuple = (1.6e4, 4.0e9)
    damping: float = 25.0
    error: tuple = (2.5e-4, 1.2e-4, 0.8e-4)
    backlash: float = 6e-4
    swing: float = 0.35
    noise: float = 0.3
    ripple: float = 0.1
    temperature_noise: float = 0.05
    link_counts: int = 2**20
    motor_counts: int = 2**19
    gain: float = 12.0
    operators: int = 18
    seed: int = 0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)

    def speed_map(self):
        """What a friction test knows of it before load and temperature count."""
        names = ('F_S', 'V_S', 'mu', 'F_V1', 'F_V2', 'F_V3', 'T_0')
        return FrictionModel({'F_C0': self.F_C, **{name: getattr(self, name) for name in names}})

    def virgin(self, x):
        return 1 - (1 - np.minimum(x, 1) ** 0.35) ** 2

    def hysteresis_constants(self):
        nodes = np.r_[0.0, np.geomspace(2e-3, 1, self.operators)]
        heights = self.virgin(nodes)
        slopes = np.append(np.diff(heights) / np.diff(nodes), 0.0)
        k = slopes[:-1] - slopes[1:]
        return k * nodes[1:], k

    def kinematic_error(self, theta):
        return sum(a * np.sin((n + 1) * theta + n) for n, a in enumerate(self.error))

    def width(self, theta):
        return self.backlash * (1 + self.swing * np.cos(theta - 0.7) + 0.15 * np.sin(3 * theta))

    def width_slope(self, theta):
        return self.backlash * (-self.swing * np.sin(theta - 0.7) + 0.45 * np.cos(3 * theta))

    def hysteresis(self, theta):
        nu, k = self.hysteresis_constants()
        return velocity_form(theta, 4, nu, k, self.width(theta), self.width_slope(theta), 0.9)

    def elastic(self, tau):
        """Deformation under a torque, by bisection of the cubic."""
        low, high = np.full(np.shape(tau), -0.1), np.full(np.shape(tau), 0.1)
        for _ in range(80):
            middle = 0.5 * (low + high)
            above = self.stiffness[0] * middle + self.stiffness[1] * middle**3 > tau
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return low

    def friction(self, theta, omega, tau_J, T):
        H = self.hysteresis(theta - self.kinematic_error(theta))
        speed = np.abs(omega)
        dry = self.F_C + self.F_C1 * tau_J**2 + (self.F_S - self.F_C) * np.exp(-((speed / self.V_S) ** self.mu))
        warm = self.F_T1 * (T - self.T_0) + self.F_T2 * (1 / T**3 - 1 / self.T_0**3)
        viscous = omega * (self.F_V1 + self.F_V2 * speed + self.F_V3 * speed**2)
        return dry * H + viscous + np.sign(omega) * np.sqrt(speed) * warm, H

    def record(self, theta, *, load=None, temperature=None, known_load=True, name='simulated', load_error=0.0):
        """Recording of the joint driven along theta (N,) rad at 1 kHz, against the load torque load (N,) N·m."""
        theta = np.asarray(theta, dtype=float)
        omega = np.gradient(theta, 1 / RATE)
        alpha = np.gradient(omega, 1 / RATE)
        tau_J = np.zeros_like(theta) if load is None else load
        T = np.full_like(theta, self.T_0) if temperature is None else np.broadcast_to(temperature, theta.shape)
        f, H = self.friction(theta, omega, tau_J, T)
        q = theta - self.kinematic_error(theta) - self.width(theta) * H - self.elastic(tau_J)
        noise = self.ripple * np.sin(202 * theta) + self.noise * self.rng.standard_normal(theta.size)
        torque = self.B * alpha + f + tau_J + noise

        def encoder(x, counts):
            return np.round(x * counts / (2 * np.pi)) * 2 * np.pi / counts

        measured_T = T + self.temperature_noise * self.rng.standard_normal(theta.size)
        return Recording(
            ('joint',), np.arange(theta.size) / RATE, encoder(q, self.link_counts)[:, None],
            theta=encoder(theta, self.motor_counts)[:, None], current=(torque / self.gain)[:, None],
            temperature=np.round(measured_T * 10)[:, None] / 10, name=name,
            load_torque=None if load is None or not known_load else (tau_J * (1 + load_error))[:, None],
        )  # fmt: skip

    def data(self, theta, **more):
        """The recording as the tests take it."""
        return joint_data(self.record(theta, **more), 'joint', drive_gains={'joint': self.gain})


def trapezoids(speeds, hold=1.2, acceleration=8.0, start=0.0):
    """θ(t) of one run per speed (signed), from rest to rest."""
    pieces = []
    for speed in speeds:
        ramp = max(2, int(abs(speed) / acceleration * RATE))
        up = np.linspace(0, speed, ramp + 1)
        pieces.append(np.concatenate([up, np.full(int(hold * RATE), speed), up[::-1], np.zeros(100)]))
    return start + np.cumsum(np.concatenate(pieces)) / RATE


def reciprocating(turn=1.0, forward=0.025 * np.pi, back=0.025 * np.pi / 3, acceleration=0.8, start=0.0):
    """Slow reversals: four phases ±a per stroke pair, net forward − back, until `turn` turns are done.

    At rest at every reversal.
    """
    strokes, travelled, pieces = [], 0.0, []
    while travelled < turn * 2 * np.pi:
        strokes += [forward, -back]
        travelled += forward - back
    here = start
    for stroke in strokes:
        half = np.sqrt(abs(stroke) / acceleration)
        t = np.arange(1, int(round(2 * half * RATE)) + 1) / RATE
        half = t[-1] / 2
        a = abs(stroke) / half**2
        s = np.where(t <= half, 0.5 * a * t**2, abs(stroke) - 0.5 * a * (2 * half - t) ** 2)
        pieces.append(here + np.sign(stroke) * s)
        here = pieces[-1][-1]
    return np.concatenate([[start], *pieces])


@pytest.fixture(scope='session')
def make_joint():
    return Joint


@pytest.fixture(scope='session')
def motions():
    """The motions of the tests: trapezoids(speeds), reciprocating(turns)."""

    return SimpleNamespace(trapezoids=trapezoids, reciprocating=reciprocating, rate=RATE)


@pytest.fixture(scope='session')
def signals():
    def make(q, theta, *, tau=None, tau_J=None, **more):
        """Data of one joint at 1 kHz."""
        omega = np.gradient(theta, 1e-3)
        time, alpha = 1e-3 * np.arange(len(q)), np.gradient(omega, 1e-3)
        return JointData('j', 'run', time, 1000.0, q, theta, omega, alpha, 10.0, True, tau, tau_J, **more)

    return make


@pytest.fixture(scope='session')
def reversing():
    """θ, the place in the play −1 … 1 and its half width, of a joint that goes to and fro through a turn and a bit."""
    t = 1e-3 * np.arange(12000)
    theta = 0.6 * t + 0.35 * np.sin(6.0 * t)
    width, place = 5e-4, np.zeros(len(t))
    for k in range(1, len(t)):
        place[k] = np.clip(place[k - 1] + (theta[k] - theta[k - 1]) / width, -1.0, 1.0)
    return theta, place, width


@pytest.fixture(scope='session')
def of_speed():
    def make(omega, *, rate=200.0, tau=None, tau_J=None, temperature=None, q=None):
        """A joint that turns with ω (N,) rad/s."""
        theta = np.concatenate([[0.0], np.cumsum(omega)[:-1]]) / rate
        time = np.arange(len(omega)) / rate
        alpha = np.gradient(omega, 1 / rate)
        sides = theta if q is None else q(theta, omega)
        return JointData(
            'j', 'run', time, rate, sides, theta, omega, alpha, 10.0, q is not None, tau, tau_J, temperature
        )

    return make


@pytest.fixture
def rows():
    """Two speeds in both directions over a load of both signs, at a temperature that rises."""
    rng = np.random.default_rng(4)
    speed = np.tile([0.2, -0.2, 0.5, -0.5], 30)
    torque = rng.uniform(-80.0, 90.0, 120)
    warmth = np.linspace(18.0, 44.0, 120) + rng.normal(size=120)
    return SteadyRows(speed, np.zeros(120), torque, warmth)


@pytest.fixture(scope='session')
def solved():
    """Return the least-squares values {name: number} of columns by name."""
    return lambda columns, y: dict(
        zip(columns, np.linalg.lstsq(np.stack(list(columns.values()), axis=1), y, rcond=None)[0], strict=True)
    )


@pytest.fixture(scope='session')
def rms():
    return lambda x: float(np.sqrt(np.mean(np.square(x))))


@pytest.fixture(scope='session')
def with_friction():
    def make(rows, y, seed=9, noise=0.05):
        rng = np.random.default_rng(seed)
        return SteadyRows(rows.speed, y + noise * rng.normal(size=len(y)), rows.load, rows.temperature)

    return make
