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

"""Hamon's load-dependent friction: data with the parameters of his tables, and data without load dependence."""

import numpy as np
import pytest

from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.quadrants import (
    fit_quadrants,
    identify_quadrants,
    outside_stiction,
    quadrant_columns,
    usual_columns,
)
from joint_dynamics.joint import FrictionModel
from joint_dynamics.signals.filtering import central_difference, zero_phase_lowpass

RATE = 1000.0
G = 9.81
LENGTH = 1.277
NAMES = ('J', 'MX', 'MY', 'Ma')
# Joint 3 of a Stäubli RX130L, tables I and II of the paper; q̇_s = 0.03 rad/s.
TABLE_2 = {
    'a_m J': 32.42, 'a_m MX': 22.204, 'b_m MX': 1.621, 'a_m': 0.942, 'b_m': 0.24, 'a_g J': 29.294, 'a_g MX': 19.432,
    'b_g MX': 1.798, 'a_g': 0.915, 'b_g': 0.266, 'c_m': 21.152, 'c_g': 15.588, 'F_V': 48.139, 'off': 9.95,
}  # fmt: skip


def speeds():
    """Trapezoids up and down at six speeds, then two sines: about 70 s."""
    pieces = []
    for top in (0.02, 0.05, 0.1, 0.3, 0.6, 1.2):
        for side in (1, -1):
            ramp = np.linspace(0, top, int(top / 2.0 * RATE) + 2)
            pieces.append(side * np.r_[ramp, np.full(int(min(2.4 / top, 6) * RATE), top), ramp[::-1]])
    t = np.arange(0, 15, 1 / RATE)
    return np.concatenate([*pieces, 1.1 * np.sin(2 * np.pi * 0.15 * t), 0.4 * np.sin(2 * np.pi * 0.5 * t)])


def data(table, seed, noise=3.0, payloads=(0.0, 3.4584, 6.9168)):
    """Rigid columns, speed and torque, filtered and thinned to 50 Hz, of the pendulum with three payloads.

    Quantised angle, noisy torque.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for mass in payloads:
        dq = speeds()
        q = np.pi / 2 - 1.2 + rng.uniform(-0.2, 0.2) + np.cumsum(dq) / RATE
        ddq = np.gradient(dq, 1 / RATE)
        payload = mass * LENGTH * (LENGTH * ddq + G * np.cos(q))
        E = np.exp(-np.abs(dq) / 0.03)
        motor = (31 * ddq + 20.9 * G * np.cos(q) + payload) * dq > 0
        p = table
        up = p['a_m J'] * ddq + (p['a_m MX'] + p['b_m MX'] * E) * G * np.cos(q) + (p['a_m'] + p['b_m'] * E) * payload
        down = p['a_g J'] * ddq + (p['a_g MX'] - p['b_g MX'] * E) * G * np.cos(q) + (p['a_g'] - p['b_g'] * E) * payload
        tau = np.where(motor, up, down) + np.sign(dq) * np.where(motor, p['c_m'], p['c_g']) + p['F_V'] * dq + p['off']
        tau = tau + noise * rng.standard_normal(q.size)
        angle = zero_phase_lowpass(np.round(q * 2**19 / (2 * np.pi)) * 2 * np.pi / 2**19, 20, RATE)
        speed = central_difference(angle, RATE)
        acceleration = central_difference(speed, RATE)
        carried = mass * LENGTH * (LENGTH * acceleration + G * np.cos(angle))
        X = np.column_stack([acceleration, G * np.cos(angle), G * np.sin(angle), carried])
        keep = slice(500, -500, 20)
        rows.append((X[keep], speed[keep], zero_phase_lowpass(tau, 10, RATE)[keep]))
    return [np.concatenate(x) for x in zip(*rows, strict=True)]


@pytest.fixture(scope='module')
def loaded():
    return data(TABLE_2, 0)


def test_load_dependence_lowers_the_residual_by_a_third(loaded):
    fit = fit_quadrants(*loaded, NAMES)
    assert fit.gain_percent > 100 / 3
    outside = fit.judge(*data(TABLE_2, 10))
    assert 1 - outside['new'] / outside['usual'] > 1 / 3
    assert abs(fit.dq_s / 0.03 - 1) < 0.05
    for name, key in (
        ('a_m*J', 'a_m J'), ('a_m*MX', 'a_m MX'), ('a_m*Ma', 'a_m'), ('b_m*Ma', 'b_m'), ('a_g*J', 'a_g J'),
        ('a_g*MX', 'a_g MX'), ('a_g*Ma', 'a_g'), ('b_g*Ma', 'b_g'), ('c_m', 'c_m'), ('c_g', 'c_g'), ('F_V', 'F_V'),
        ('tau_off', 'off'),
    ):  # fmt: skip
        assert abs(fit.new[name] / TABLE_2[key] - 1) < 0.02, name
    # Without a payload's help these are collinear with d_m and d_g, and their deviations say so.
    for name, key in (('b_m*MX', 'b_m MX'), ('b_g*MX', 'b_g MX')):
        assert abs(fit.new[name] - TABLE_2[key]) < 3 * fit.new.deviation(name)


def test_motion_that_does_not_pass_the_vertical_is_refused(loaded):
    X, dq, tau = loaded
    part = X[:, 1] > 0
    with pytest.raises(NotReliableError):
        fit_quadrants(X[part], dq[part], tau[part], NAMES)


def test_from_recordings_with_a_known_load(make_joint, motions):
    truth = {'a_m': 1.08, 'b_m': 0.05, 'a_g': 0.93, 'b_g': 0.04, 'c_m': 4, 'd_m': 1, 'c_g': 3, 'd_g': 0.5, 'F_V': 12,
             'tau_off': 0.4, 'dq_s': 0.05}  # fmt: skip
    friction = FrictionModel({'F_C0': 0.0}, quadrants=truth)
    joint = make_joint(seed=2)
    runs = []
    for start in (0.0, 0.5, 1.0):
        theta = motions.trapezoids([0.04, 0.3, 1.2, -1.2, -0.3, -0.04] * 3, hold=1.6, start=start)
        load = 80 * np.cos(theta)
        omega = np.gradient(theta, 1e-3)
        joint.friction = lambda angle, w, tau_J, T: (friction.static(w, tau_J), np.sign(w))
        runs.append(joint.data(theta, load=load))
        assert np.any(load * omega > 0)
    result = identify_quadrants(runs)
    assert result.reliable
    assert result.quality['held_out_gain_percent'] > 100 / 3
    for name in ('a_m', 'a_g', 'F_V'):
        assert abs(result.parameters[name].value / truth[name] - 1) < 0.03
    assert set(result.document['friction']['quadrants']) == set(truth)


T = 1e-3 * np.arange(12000)


def test_columns_of_the_quadrants_one_sample_after_the_other():
    rng = np.random.default_rng(1)
    X, dq, tau = rng.normal(size=(40, 2)), rng.normal(size=40), rng.normal(size=40)
    dq[0] = 0.0
    usual, new = usual_columns(X, dq), quadrant_columns(X, dq, tau, 0.3)
    for k in range(40):
        s, E = np.sign(dq[k]), np.exp(-abs(dq[k]) / 0.3)
        np.testing.assert_allclose(usual[k], [*X[k], s, dq[k], 1.0])
        # a joint at rest counts as a motor
        motor = tau[k] * dq[k] >= 0
        own = [[x, x * E, 0, 0] if motor else [0, 0, x, -x * E] for x in X[k]]
        dry = [s, E * s, 0, 0] if motor else [0, 0, s, E * s]
        np.testing.assert_allclose(new[k], [*np.ravel(own), *dry, dq[k], 1.0])


def test_samples_outside_stiction_are_far_from_every_change():
    rng = np.random.default_rng(5)
    t = np.linspace(0, 20, 600)
    dq = np.sin(1.3 * t) * 0.5
    X = (20.0 * np.cos(2.1 * t) + 3.0)[:, None]
    tau = X[:, 0] + 2.0 * np.sign(dq) + 3.0 * dq + 0.5 + 0.1 * rng.normal(size=600)
    moving = np.abs(dq) > 0.05
    A = np.stack([X[:, 0], np.sign(dq), dq, np.ones(600)], axis=1)[moving]
    _, F_C, F_V, off = np.linalg.lstsq(A, tau[moving], rcond=None)[0]
    quadrant = [(np.sign(a), np.sign(b)) for a, b in zip(dq, tau, strict=True)]
    changes = [k for k in range(599) if quadrant[k] != quadrant[k + 1]]
    expected = []
    for k in range(600):
        beyond = moving[k] and abs(tau[k]) > abs(F_C) + abs(F_V) * abs(dq[k]) + abs(off)
        # the change lies between c and c + 1: so many samples on either side of it
        near = any(c - 6 < k <= c + 6 for c in changes)
        expected.append(bool(beyond and not near))
    np.testing.assert_array_equal(outside_stiction(X, dq, tau, 0.05, 6), expected)
    assert 50 < sum(expected) < 550


def test_load_quadrants_that_are_not_there(signals):
    rng = np.random.default_rng(6)
    theta = 1.5 * np.sin(0.9 * T) + 0.4 * np.sin(2.2 * T)
    load = 40.0 * np.cos(1.7 * T)
    omega = np.gradient(theta, 1e-3)
    tau = load + 4.0 * np.sign(omega) + 3.0 * omega + 0.2 * rng.normal(size=len(T))
    found = identify_quadrants([signals(theta, theta, tau=tau, tau_J=load)])
    gain = found.quality['held_out_gain_percent']
    [reason] = found.reasons
    assert f'{gain:.1f} %' in reason
    held = found.quality['held_out_residual_percent']
    assert gain == pytest.approx(100 * (1 - held['new'] / held['usual'])) and gain < 2.0
