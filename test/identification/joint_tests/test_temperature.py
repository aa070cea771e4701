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

"""Friction against temperature."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests import temperature
from joint_dynamics.identification.joint_tests.result import nrmse_percent
from joint_dynamics.identification.joint_tests.temperature import TemperatureSettings, identify_temperature
from joint_dynamics.joint import FrictionModel


def warm_up(joint, motions, temperatures, span=2.5):
    theta = motions.trapezoids([0.3, -0.3, 1.0, -1.0, 2.5, -2.5])
    return [joint.data(theta, temperature=T + np.linspace(0, span, theta.size)) for T in temperatures]


@pytest.fixture(scope='module')
def recordings(make_joint, motions):
    joint = make_joint(seed=7)
    return joint, warm_up(joint, motions, np.linspace(9, 42, 10))


@pytest.mark.parametrize('with_map', [True, False])
def test_both_coefficients_come_back_within_three_percent(recordings, with_map):
    joint, data = recordings
    base = joint.speed_map() if with_map else None
    result = identify_temperature(data, TemperatureSettings(T_0=joint.T_0), base)
    assert result.reliable
    for name in ('F_T1', 'F_T2'):
        assert abs(result.parameters[name].value / getattr(joint, name) - 1) < 0.03
    units = {'F_T1': 'N·m·√(s/rad)/°C', 'F_T2': 'N·m·√(s/rad)·°C³', 'T_0': '°C'}
    units |= {'F_T0': 'N·m·√(s/rad)'} if with_map else {}
    assert {name: item.unit for name, item in result.parameters.items()} == units
    assert set(result.document['friction']['parameters']) >= {'F_T1', 'F_T2', 'T_0', 'T_min', 'T_max'}


def test_an_insignificant_cubic_term_is_dropped(make_joint, motions):
    joint = make_joint(F_T2=0.0, seed=1)
    result = identify_temperature(warm_up(joint, motions, [30, 34, 38, 42]))
    assert 'F_T2' not in result.parameters
    assert any('T⁻³' in warning for warning in result.warnings)
    assert abs(result.parameters['F_T1'].value / joint.F_T1 - 1) < 0.03


def test_conflicting_or_missing_temperatures_are_refused(recordings, make_joint, motions):
    _, data = recordings
    with pytest.raises(JointDynamicsError, match='T_0'):
        identify_temperature(data, TemperatureSettings(T_0=20.0), FrictionModel({'F_C0': 1.0, 'T_0': 30.0}))
    with pytest.raises(JointDynamicsError, match='temperature'):
        identify_temperature([replace(item, temperature=None) for item in data])


RECORDING = SimpleNamespace(joint='j', name='run', load_source='recorded load', need=lambda *names: None)


@pytest.mark.parametrize('known', [True, False])
@pytest.mark.parametrize('cubic', [True, False])
def test_temperature_by_least_squares_of_its_columns(monkeypatch, rows, known, cubic, solved, rms, with_friction):
    T_0, sign = 30.0, np.sign(rows.speed)
    root = sign * np.sqrt(np.abs(rows.speed))
    T = np.clip(rows.temperature, 20.0, 40.0)
    change = 1.0 / T**3 - 1.0 / T_0**3
    y = root * (-0.2 * (T - T_0) + (4e4 if cubic else 0.0) * change)
    base = FrictionModel({'F_C0': 6.0, 'F_V1': 4.0, 'F_C1': 1e-3, 'T_0': T_0}) if known else None
    if known:
        described = base.static(rows.speed[:, None], rows.load[:, None])[:, 0]
        y = y + 0.3 * root
    else:
        described = np.zeros(120)
        y = y + sign * (7.0 + 3.0 * np.abs(rows.speed)) + 0.2
    made = with_friction(rows, y + described, noise=0.01)
    monkeypatch.setattr(temperature, 'steady_rows', lambda recordings, plateaus: made)
    settings = TemperatureSettings(T_min=20.0, T_max=40.0, cubic=cubic, T_0=None if known else T_0)
    found = identify_temperature([RECORDING], settings, base)
    columns = {'F_T1': root * (T - T_0)} | ({'F_T2': root * change} if cubic else {})
    if known:
        columns['F_T0'] = root
    else:
        columns |= {f'level {speed}': (rows.speed == speed).astype(float) for speed in (-0.5, -0.2, 0.2, 0.5)}
    target = made.friction - described
    fit = solved(columns, target)
    residual = target - sum(fit[key] * column for key, column in columns.items())
    names = ['F_T1', 'F_T2'] if cubic else ['F_T1']
    for name in names + ['F_T0'] * known:
        assert found.parameters[name].value == pytest.approx(fit[name], rel=1e-6)
    assert list(found.parameters) == [*names, 'T_0'] + ['F_T0'] * known
    assert found.parameters['T_0'].value == T_0 and found.parameters['T_0'].std is None
    quality = found.quality
    assert quality['rows'] == 120
    assert quality['temperature_range'] == [rows.temperature.min(), rows.temperature.max()]
    assert quality['residual_rms'] == pytest.approx(rms(residual), rel=1e-5)
    assert quality['fit_percent'] == pytest.approx(nrmse_percent(made.friction, made.friction - residual), rel=1e-6)
    cube = fit['F_T2'] if cubic else 0.0
    assert found.reasons == []
    [warning] = found.warnings
    assert '[20, 40] °C' in warning
    document = found.document['friction']
    values = {name: fit[name] for name in names} | {'T_0': T_0, 'T_min': 20.0, 'T_max': 40.0}
    assert document['parameters'] == pytest.approx(values | ({'F_T0': fit['F_T0']} if known else {}), rel=1e-6)
    assert document['range'] == {'temperature': quality['temperature_range']}
    (plot,) = found.plots
    points, line = plot.series

    def factor(t):
        return fit['F_T1'] * (t - T_0) + cube * (1 / t**3 - 1 / T_0**3)

    np.testing.assert_array_equal(points.x, T)
    np.testing.assert_allclose(points.y, factor(T) + residual / root, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(line.x, np.linspace(T.min(), T.max(), 200))
    np.testing.assert_allclose(line.y, factor(line.x), rtol=1e-5, atol=1e-7)


def test_odd_temperatures_are_warned_of(monkeypatch, rows, with_friction):
    root = np.sign(rows.speed) * np.sqrt(np.abs(rows.speed))
    rising = with_friction(rows, root * 0.2 * (rows.temperature - 30.0) + np.sign(rows.speed) * 7.0)
    monkeypatch.setattr(temperature, 'steady_rows', lambda recordings, plateaus: rising)
    found = identify_temperature([RECORDING], TemperatureSettings(cubic=False))
    assert len(found.warnings) == 1
    # without a reference the mean is one
    assert found.parameters['T_0'].value == pytest.approx(rows.temperature.mean())
    base = FrictionModel({'F_C0': 6.0, 'T_0': 30.0})
    with pytest.raises(JointDynamicsError, match=r'30 °C, found 31\.5'):
        identify_temperature([RECORDING], TemperatureSettings(T_0=31.5), base)
    lost = with_friction(rows, np.sign(rows.speed) * 7.0, noise=1.0)
    monkeypatch.setattr(temperature, 'steady_rows', lambda recordings, plateaus: lost)
    found = identify_temperature([RECORDING], TemperatureSettings(cubic=False))
    [reason] = found.reasons
    assert reason.startswith('F_T1 = ') and f'{np.ptp(rows.temperature):.2g} °C' in reason
