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

"""The extended Maxwell-slip friction model: proposition 1 with load, no jump, one code for samples and recordings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap

FULL = {
    'F_C0': 6.0, 'F_C1': 1e-3, 'F_S': 7.5, 'V_S': 0.05, 'mu': 0.8, 'F_V1': 4.0, 'F_V2': -0.6, 'F_V3': 0.1,
    'F_T1': -0.05, 'F_T2': 2e3,
}  # fmt: skip


def model(joints=1, **changes):
    backlash = PeriodicMap.stack(
        [PeriodicMap(1e-3 * (1 + 0.3 * np.cos(np.arange(60) * 2 * np.pi / 60 + j))) for j in range(joints)]
    )
    return FrictionModel({**FULL, **changes}, MaxwellSlip(joints, backlash), joints=joints)


def test_steady_slip_is_the_static_map():
    friction = model()
    for omega in (-1.5, -0.03, 0.2):
        theta = np.cumsum(np.full((400, 1), omega * 1e-3))
        friction.reset()
        f = friction.run(theta[:, None], omega, 30.0, 40.0)[-1]
        level = 6 + 1.5 * np.exp(-((abs(omega) / 0.05) ** 0.8)) + 1e-3 * 30**2
        warm = np.sqrt(abs(omega)) * (-0.05 * 15 + 2e3 * (40.0**-3 - 25.0**-3))
        viscous = 4 * omega - 0.6 * abs(omega) * omega + 0.1 * omega**3
        assert np.allclose(f, np.sign(omega) * (level + warm) + viscous)
        assert np.allclose(f, friction.static(omega, 30.0, 40.0))


@given(seed=st.integers(0, 2**31), rate=st.floats(1e-3, 1.0), load=st.floats(-100, 100))
@settings(max_examples=40, deadline=None)
def test_no_jump_at_zero_speed(seed, rate, load):
    # Between neighbouring samples f moves by no more than its slope allows, through every reversal, Stribeck term
    # included.
    rng = np.random.default_rng(seed)
    friction = model(mu=1.0, F_V2=0.0, F_V3=0.0)
    dt = 1e-5
    t = np.arange(4000) * dt
    omega = rate * np.sin(2 * np.pi * (40 + 20 * rng.random()) * t + rng.uniform(0, 6))
    theta = rng.uniform(-3, 3) + np.concatenate([[0.0], np.cumsum(0.5 * (omega[1:] + omega[:-1]) * dt)])
    f = friction.run(theta[:, None], omega[:, None], load)[:, 0]
    level = 7.5 + 1e-3 * load**2
    slope_H = friction.maxwell_slip.stiffness.sum() / friction.maxwell_slip.presliding.minimum * 1.01
    largest = level * slope_H * np.abs(np.diff(theta)) + (1.5 / 0.05 + 4) * np.abs(np.diff(omega)) + 1e-9
    assert np.all(np.abs(np.diff(f)) <= largest)
    # The static map of the same motion does jump.
    crossing = np.nonzero(np.diff(np.sign(omega)))[0]
    if crossing.size and rate < 0.05:
        assert np.max(np.abs(np.diff(friction.static(omega[:, None], load)[:, 0]))[crossing]) > 10


@given(seed=st.integers(0, 2**31), joints=st.integers(1, 7))
@settings(max_examples=20, deadline=None)
def test_recordings_and_single_samples_are_the_same_numbers(seed, joints):
    rng = np.random.default_rng(seed)
    whole = model(joints)
    single = whole.copy()
    theta = np.cumsum(rng.normal(0, 3e-4, (60, joints)), axis=0)
    omega, load = rng.normal(size=(2, 60, joints)) * [[[1.0]], [[50.0]]]
    temperature = rng.uniform(0, 60, (60, joints))
    f = whole.run(theta, omega, load, temperature)
    assert np.array_equal(
        f, np.array([single.step(*sample) for sample in zip(theta, omega, load, temperature, strict=True)])
    )


def test_springs_bound_the_energy_of_a_change_of_level():
    # f = F(τ_J) H is passive at any constant level. Stretched at a low level and released at a high one, it gives back
    # more than was put in: at most the difference of the levels times the energy of the springs at H = 1, 𝓑 Σ k_i
    # Δ_i²/2 per N·m (5e-5 J at 𝓑 = 1 mrad).
    friction = FrictionModel({'F_C0': 6.0, 'F_C1': 1e-3}, MaxwellSlip(1, 1e-3))
    slip = friction.maxwell_slip
    stored = 1e-3 * float(np.sum(slip.stiffness * slip.limits**2)) / 2
    out = np.linspace(0, 1e-3, 4000)
    theta = np.concatenate([out, out[::-1]])
    load = np.where(np.arange(theta.size) < out.size, 0.0, 100.0)
    f = friction.run(theta[:, None], 0.0, load[:, None])[:, 0]
    friction.reset()
    constant = friction.run(theta[:, None], 0.0, 0.0)[:, 0]

    def work(torque):
        same = np.diff(theta) != 0
        return float(np.sum((0.5 * (torque[1:] + torque[:-1]) * np.diff(theta))[same]))

    assert work(constant) > 0
    assert work(constant) - work(f) < 10.0 * stored * 1.01
    assert stored < 5e-5


def test_kinematic_error_corrects_the_angle():
    error = PeriodicMap(0.2 * np.cos(np.arange(24) * 2 * np.pi / 24))
    document = {'parameters': {'F_C0': 6.0}, 'maxwell_slip': {'operators': 4, 'presliding': 1e-3}}
    theta = 1.5 + 1e-3 * np.sin(np.linspace(0, 20, 400))
    corrected = FrictionModel.from_dict(document, error)
    plain = FrictionModel.from_dict(document)
    expected = plain.run((theta - error(theta))[:, None], 0.0)
    assert np.allclose(corrected.run(theta[:, None], 0.0), expected, atol=1e-9)
    assert not np.allclose(FrictionModel.from_dict(document).run(theta[:, None], 0.0), expected)


def test_temperature_part_is_zero_at_its_reference():
    friction = model(F_T0=0.4, T_0=30.0)
    assert np.array_equal(friction.static(0.5), friction.static(0.5, temperature=30.0))
    assert friction.static(0.5) - model().static(0.5) == pytest.approx(0.4 * np.sqrt(0.5))


HAMON = {
    'a_m': 1.2, 'b_m': 0.1, 'a_g': 0.8, 'b_g': 0.15, 'c_m': 4.0, 'd_m': 1.0, 'c_g': 3.0, 'd_g': 0.5, 'F_V': 2.0,
    'tau_off': 0.3, 'dq_s': 0.3,
}  # fmt: skip
USUAL = {'F_C0': 5.0, 'F_Cl': 0.1, 'F_C1': 2e-3, 'F_S': 7.0, 'V_S': 0.2, 'F_V1': 3.0, 'F_V2': 0.4, 'offset': 0.3}
WARM = {'F_T0': 0.4, 'F_T1': -0.05, 'F_T2': 2e3, 'T_0': 30.0}


def two(**quadrants):
    """The usual friction, and beside it a joint with quadrants; both with a temperature part."""
    return FrictionModel.from_dicts(
        [{'parameters': {**USUAL, **WARM}}, {'parameters': {**USUAL, **WARM}, 'quadrants': {**HAMON, **quadrants}}]
    )


@pytest.fixture
def states():
    """Speeds rad/s and loads N·m of both joints, of every sign; some at rest, some without load."""
    rng = np.random.default_rng(5)
    omega, load = rng.normal(scale=[[[1.0]], [[40.0]]], size=(2, 60, 2))
    omega[:5], load[3:8] = 0.0, 0.0
    return omega, load


def test_in_steady_slip_it_is_hamons_friction_beside_the_usual(states):
    omega, load = states
    friction = two()
    found = friction.static(omega, load, 37.0)
    warm = np.sign(omega) * np.sqrt(np.abs(omega)) * (0.4 - 0.05 * 7.0 + 2e3 * (37.0**-3 - 30.0**-3))
    # Without power there is no quadrant: half of each is taken then, see below.
    powered = (omega * load)[:, 1] != 0
    tau, speed = load[:, 1], omega[:, 1]
    E, motor = np.exp(-np.abs(speed) / 0.3), tau * speed > 0
    gain = np.where(motor, 1.2 + 0.1 * E, 0.8 - 0.15 * E) - 1
    dry = np.where(motor, 4.0 + E, 3.0 + 0.5 * E) * np.sign(speed)
    expected = gain * tau + dry + 2.0 * speed + 0.3 + warm[:, 1]
    np.testing.assert_allclose(found[powered, 1], expected[powered], atol=1e-12)
    alone = FrictionModel({**USUAL, **WARM}).static(omega[:, :1], load[:, :1], 37.0)
    np.testing.assert_allclose(found[:, :1], alone, atol=1e-12)


def test_between_the_quadrants_the_dry_part_goes_straight_over():
    """P⁺ = (1 + H sgn τ)/2 at any H."""
    friction, omega = two(), 0.1
    fade = np.exp(-omega / 0.3)
    for load in (-20.0, 0.0, 20.0):
        for H in (-1.0, -0.4, 0.0, 0.7, 1.0):
            motor = (1 + H * np.sign(load)) / 2
            expected = (motor * (1.2 + 0.1 * fade) + (1 - motor) * (0.8 - 0.15 * fade) - 1) * load + (
                motor * (4.0 + fade) + (1 - motor) * (3.0 + 0.5 * fade)
            ) * H
            assert friction.dry(H, omega, load)[1] == pytest.approx(expected, abs=1e-12)
            assert friction.dry(H, omega, load)[0] == pytest.approx(
                H * (5.0 + 0.1 * abs(load) + 2e-3 * load**2), abs=1e-12
            )
    speed = friction.speed_part(0.5, omega)
    root = np.sqrt(omega) * 0.4
    assert speed[1] == pytest.approx(2.0 * omega + 0.3 + root)
    assert speed[0] == pytest.approx(0.5 * 2.0 * np.exp(-0.5) + 3.0 * omega + 0.4 * omega**2 + root + 0.3)
    np.testing.assert_allclose(friction.torque(0.5, omega, 20.0), friction.dry(0.5, omega, 20.0) + speed)


def test_quadrants_go_round_as_documents():
    friction = two()
    assert 'quadrants' not in friction.to_dict(0)
    assert friction.to_dict(1)['quadrants'] == HAMON
    again = FrictionModel.from_dicts([friction.to_dict(0), friction.to_dict(1)])
    for name in HAMON:
        np.testing.assert_array_equal(again.quadrants[name], friction.quadrants[name])


def test_beyond_its_bounds_friction_is_that_at_them(states):
    omega, load = states
    held = two().bounded([10.0, 20.0], ([26.0, 29.0], [33.0, 31.0]))
    for temperature, at in ((60.0, [33.0, 31.0]), (5.0, [26.0, 29.0]), (30.0, [30.0, 30.0])):
        found = held.static(omega, load, temperature)
        inside = two().static(omega, np.clip(load, -10.0, 10.0), np.array(at))
        np.testing.assert_allclose(found[:, 0], inside[:, 0], atol=1e-12)
        # Hamon's load is the arm's to hold
        np.testing.assert_allclose(found[:, 1], two().static(omega, load, np.array(at))[:, 1], atol=1e-12)
    assert held.parameters['tau_max'].tolist() == [10.0, 20.0]
