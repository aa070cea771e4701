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

"""Damping from a free oscillation, dominant inertia under a virtual spring.

Own integrator, encoders of 2^19 and 2^20 counts.
"""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.data import joint_data
from joint_dynamics.identification.joint_tests.oscillation import (
    DampingSettings,
    InertiaSettings,
    identify_damping,
    identify_inertia,
    oscillation_peaks,
)
from joint_dynamics.recording import Recording


def integrate(rate, x, seconds, substeps=4):
    """Runge and Kutta's fourth order, sampled at 1 kHz."""
    step, out = 1e-3 / substeps, [np.array(x, dtype=float)]
    for _ in range(int(seconds * 1000)):
        x = out[-1]
        for _ in range(substeps):
            k1 = rate(x)
            k2 = rate(x + step / 2 * k1)
            k3 = rate(x + step / 2 * k2)
            x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + step * k3))
        out.append(x)
    return np.array(out)


def encoder(x, counts):
    return np.round(x * counts / (2 * np.pi)) * 2 * np.pi / counts


def ringing(B=0.9, D=25.0, k=1.6e4, dry=0.0, seconds=0.4):
    def rate(s):
        return np.array([s[1], (-D * s[1] - k * s[0] - dry * np.tanh(s[1] / 1e-4)) / B])

    x = integrate(rate, [2e-3, 0.0], seconds)
    theta = encoder(x[:, :1] + 0.3, 2**19)
    return joint_data(
        Recording(('j',), np.arange(len(x)) / 1000, encoder(np.full_like(theta, 0.3), 2**20), theta=theta), 'j'
    )


def test_damping_comes_back_within_two_percent():
    result = identify_damping([ringing()], DampingSettings(inertia=0.9))
    assert result.reliable
    D = result.parameters['D']
    assert abs(D.value / 25 - 1) < 0.02
    assert abs(result.parameters['frequency'].value * 2 * np.pi / np.sqrt(1.6e4 / 0.9 - (25 / 1.8) ** 2) - 1) < 1e-3
    assert result.document['damping']['value'] == D.value


def test_dry_friction_is_not_taken_for_damping():
    result = identify_damping([ringing(D=0.0, dry=2.0)], DampingSettings(inertia=0.9))
    assert any(reason.startswith('recording: ') for reason in result.reasons)


def test_no_oscillation_or_no_inertia_is_refused():
    with pytest.raises(NotReliableError):
        identify_damping([ringing(D=400.0)], DampingSettings(inertia=0.9))
    with pytest.raises(JointDynamicsError):
        identify_damping([ringing()])


def swing(seed, compensation=(0.0, 0.0), I=1.3, spring=60.0, F_C=1.5, F_V=1.2, seconds=6.0):
    c, v = compensation

    def rate(s):
        return np.array([s[1], (-spring * s[0] - (F_C - c) * np.tanh(s[1] / 1e-3) - (F_V - v) * s[1]) / I])

    x = integrate(rate, [0.6, 0.0], seconds)
    noise = 0.3 * np.random.default_rng(seed).standard_normal(len(x))
    tau = -spring * x[:, 0] + c * np.sign(x[:, 1]) + v * x[:, 1] + noise
    return joint_data(Recording(('j',), np.arange(len(x)) / 1000, encoder(x[:, :1], 2**20), tau=tau[:, None]), 'j')


@pytest.mark.parametrize('compensation', [(0.0, 0.0), (1.2, 1.1), (1.65, 0.9)])
def test_inertia_with_friction_comes_back_within_one_percent(compensation):
    result = identify_inertia([swing(0, compensation)], InertiaSettings(spring=60.0))
    item = result.parameters['inertia']
    assert abs(item.value / 1.3 - 1) < 0.01
    assert abs(result.parameters['F_C'].value - 1.5) < 0.1
    units = {'inertia': 'kg·m²', 'inertia_from_period': 'kg·m²', 'F_C': 'N·m', 'F_V1': 'N·m·s/rad', 'period': 's'}
    assert {name: one.unit for name, one in result.parameters.items()} == units


def test_viscous_friction_makes_the_period_alone_wrong():
    result = identify_inertia([swing(1, F_V=6.0, F_C=0.0)], InertiaSettings(spring=60.0))
    truth = abs(result.parameters['inertia'].value / 1.3 - 1)
    alone = abs(result.parameters['inertia_from_period'].value / 1.3 - 1)
    assert truth < 0.01 < 0.05 < alone
    simple, fitted = (result.parameters[name].value for name in ('inertia_from_period', 'inertia'))
    # K_p T_n² / (4 π²)
    assert simple == pytest.approx(60.0 * (result.parameters['period'].value / (2 * np.pi)) ** 2)
    assert any(
        f'{simple:.4g} kg·m²' in text and f'{100 * abs(simple / fitted - 1):.0f} %' in text for text in result.warnings
    )


def test_no_swing_or_no_spring_is_refused():
    with pytest.raises(NotReliableError):
        identify_inertia([swing(0, F_C=12.0, seconds=2.0)], InertiaSettings(spring=60.0))
    with pytest.raises(JointDynamicsError):
        identify_inertia([swing(0, seconds=2.0)])


def test_recordings_weigh_by_their_deviations():
    runs, settings = [ringing(D=25.0), ringing(D=27.0, dry=0.02, seconds=0.3)], DampingSettings(inertia=0.9)
    alone = [identify_damping([one], settings).parameters for one in runs]
    rate, std = np.array([[one['decay_rate'].value, one['decay_rate'].std] for one in alone]).T
    assert abs(np.log(std[1] / std[0])) > 0.1
    value = identify_damping(runs, settings).parameters
    mean = np.sum(rate / std**2) / np.sum(1 / std**2)
    spread = max(np.sum(1 / std**2) ** -0.5, abs(rate[1] - rate[0]) / 2)
    np.testing.assert_allclose([value['decay_rate'].value, value['decay_rate'].std], [mean, spread], rtol=1e-9)
    np.testing.assert_allclose([value['D'].value, value['D'].std], [1.8 * mean, 1.8 * spread], rtol=1e-9)


T = 1e-3 * np.arange(12000)


def test_a_swing_on_a_virtual_spring(signals):
    data = signals(0.2 * np.sin(6.0 * T), 0.2 * np.sin(6.0 * T))
    # a chirp: its period changes along the recording
    phase = 4.0 * T + 0.25 * T**2
    x = 0.2 * np.sin(phase)
    found = identify_inertia([signals(x, x)], InertiaSettings(spring=36.0))
    assert found.quality['period_spread_percent'] > 5
    assert found.warnings
    steady = identify_inertia([data], InertiaSettings(spring=36.0))
    assert steady.parameters['inertia'].value == pytest.approx(1.0, rel=1e-3)
    assert steady.parameters['inertia_from_period'].value == pytest.approx(1.0, rel=1e-3)
    assert steady.parameters['period'].value == pytest.approx(2 * np.pi / 6.0, rel=1e-4)
    assert steady.quality['half_swings'] == 22 and steady.warnings == [] == steady.reasons
    noise = np.random.default_rng(4).normal(size=len(T))
    lost = signals(data.q, data.theta, tau=noise)
    found = identify_inertia([lost], InertiaSettings(spring=36.0))
    value = found.parameters['inertia']
    assert any(reason.startswith(f'inertia = {value.value:.4g} ± {value.std:.2g}') for reason in found.reasons)


def test_extrema_of_a_decay():
    t = np.arange(0.0, 3.0, 0.005)
    x = 2.0 * np.exp(-1.5 * t) * np.cos(2 * np.pi * 4.0 * t + 0.3) + 0.7
    time, size = oscillation_peaks(t, x, 0.05)
    exact = (np.arange(1, 40) * np.pi - 0.3 - np.arctan(1.5 / (8 * np.pi))) / (8 * np.pi)
    envelope = np.abs(2.0 * np.exp(-1.5 * exact) * np.cos(8 * np.pi * exact + 0.3))
    kept = envelope >= 0.05 * np.abs(x - 0.7).max()
    # the last tenth of the decay shifts the rest a little; extrema within half a sample
    assert abs(len(time) - kept.sum()) <= 1
    np.testing.assert_allclose(time, exact[: len(time)], atol=0.0026)
    np.testing.assert_allclose(size, envelope[: len(size)], atol=0.02)
    risen = np.where(t < 1.0, x, x + 1.0 * np.cos(2 * np.pi * 4.0 * t + 0.3))
    assert oscillation_peaks(t[: len(t) // 2], risen[: len(t) // 2], 0.05)[0].max() < 1.1
    assert [part.size for part in oscillation_peaks(t, np.zeros_like(t), 0.05)] == [0, 0]
