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

"""Friction against load and against temperature."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests import load_temperature
from joint_dynamics.identification.joint_tests.load_temperature import LoadSettings, identify_load, identify_temperature
from joint_dynamics.identification.joint_tests.plateaus import SteadyRows
from joint_dynamics.joint import FrictionModel

RECORDING = SimpleNamespace(joint='j', name='run', load_source='recorded load', need=lambda *names: None)
QUADRATIC = LoadSettings(form='quadratic')


@pytest.fixture
def of_rows(monkeypatch):
    def make(identify, made, settings=None, base=None):
        """Identify a term of friction from given rows."""
        monkeypatch.setattr(load_temperature, 'steady_rows', lambda recordings, plateaus: made)
        return identify([RECORDING], settings, base)

    return make


def levels(rows):
    """Return a column of ones for each of the four speeds of `rows`."""
    return {f'level {speed}': (rows.speed == speed).astype(float) for speed in (-0.5, -0.2, 0.2, 0.5)}


# Load.


@pytest.fixture(scope='module')
def theta(motions):
    return motions.trapezoids([0.2, -0.2] * 2, hold=14.0)


def test_quadratic_load_comes_back_within_three_percent(make_joint, theta):
    joint = make_joint(seed=5)
    result = identify_load([joint.data(theta, load=90 * np.sin(theta))], base=joint.speed_map())
    assert result.reliable
    assert result.quality['form'] == 'quadratic'
    for name, truth in (('F_C0', joint.F_C), ('F_C1', joint.F_C1)):
        assert abs(result.parameters[name].value / truth - 1) < 0.03
    level = FrictionModel.from_dict(result.document['friction'])
    assert np.isclose(level.level(80.0), joint.F_C + joint.F_C1 * 80**2, rtol=0.02)
    assert result.document['friction']['parameters']['tau_max'] == pytest.approx(90, rel=0.01)


@pytest.mark.parametrize(('dependence', 'load'), [(0.0, 90.0), (1.2e-3, 1.0)])
def test_no_load_dependence_and_a_small_span_are_flagged(make_joint, theta, dependence, load):
    joint = make_joint(F_C1=dependence)
    result = identify_load([joint.data(theta, load=load * np.sin(theta))], QUADRATIC, joint.speed_map())
    assert any(reason.startswith('F_C1 = ') for reason in result.reasons)


def test_a_recording_without_load_torque_is_refused(make_joint, theta):
    with pytest.raises(JointDynamicsError):
        identify_load([make_joint().data(theta)])


@pytest.mark.parametrize(('form', 'name', 'power', 'size'), [
    ('quadratic', 'F_C1', 2, 2e-3), ('linear', 'F_Cl', 1, 0.1),
])  # fmt: skip
@pytest.mark.parametrize('known', [True, False])
def test_load_by_least_squares_of_its_columns(
    of_rows, rows, solved, rms, with_friction, form, name, power, size, known
):
    sign = np.sign(rows.speed)
    base = FrictionModel({'F_C0': 6.0, 'F_V1': 4.0, 'F_T1': -0.05, 'T_0': 30.0})
    speed_part = base.speed_part(sign[:, None], rows.speed[:, None], rows.temperature[:, None])[:, 0] if known else 0.0
    y = sign * (6.0 + size * np.abs(rows.load) ** power) + 0.03 * rows.load + 0.4 + (0.0 if known else rows.speed)
    made = with_friction(rows, y + speed_part)
    found = of_rows(identify_load, made, base=base if known else None)
    columns = {name: sign * np.abs(rows.load) ** power, 'gravity_error': rows.load}
    columns |= {'F_C0': sign, 'offset': np.ones(120)} if known else levels(rows)
    y = made.friction - speed_part
    fit = solved(columns, y)
    residual = y - sum(fit[key] * column for key, column in columns.items())
    expected = {key: value for key, value in fit.items() if not key.startswith('level')}
    assert {key: item.value for key, item in found.parameters.items()} == pytest.approx(expected, rel=1e-7)
    assert all(0 < item.std < 0.1 for item in found.parameters.values())
    assert (found.quality['form'], found.quality['rows'], found.reasons) == (form, 120, [])
    assert found.quality['residual_rms'] == pytest.approx(rms(residual), rel=1e-6)
    assert f'{100 * fit["gravity_error"]:+.1f} %' in found.warnings[0]
    document = {key: value for key, value in expected.items() if key in (name, 'F_C0')}
    part = found.document['friction']
    assert part['parameters'] == pytest.approx(document | {'tau_max': np.abs(rows.load).max()}, rel=1e-7)
    assert part['range'] == {'load': [rows.load.min(), rows.load.max()]}
    assert set(part['standard_deviations']) == set(document)


def test_load_in_one_direction_is_flagged(of_rows, rows, with_friction):
    part = rows.speed > 0
    one = SteadyRows(*(getattr(rows, key)[part] for key in ('speed', 'friction', 'load', 'temperature')))
    found = of_rows(identify_load, with_friction(one, 5.0 + 1e-3 * one.load**2), QUADRATIC)
    assert set(found.parameters) == {'F_C1'}
    assert len(found.reasons) == 1
    assert [*found.quality['residual_rms_by_form']] == ['quadratic']


def test_quadrants_are_a_form_of_the_load_test(monkeypatch):
    monkeypatch.setattr(load_temperature, 'identify_quadrants', lambda *given: given)
    assert identify_load([RECORDING], LoadSettings(form='quadrants')) == ([RECORDING],)


# Temperature.


def warm_up(joint, motions, temperatures, span=2.5):
    """Return recordings at three speeds in both directions, each a little warmer at its end."""
    theta = motions.trapezoids([0.3, -0.3, 1.0, -1.0, 2.5, -2.5])
    return [joint.data(theta, temperature=T + np.linspace(0, span, theta.size)) for T in temperatures]


@pytest.fixture(scope='module')
def recordings(make_joint, motions):
    joint = make_joint(seed=7)
    return joint, warm_up(joint, motions, np.linspace(9, 42, 10))


@pytest.mark.parametrize('with_map', [True, False])
def test_both_coefficients_come_back_within_three_percent(recordings, with_map):
    joint, data = recordings
    result = identify_temperature(data, base=joint.speed_map() if with_map else None)
    assert result.reliable
    for name in ('F_T1', 'F_T2'):
        assert abs(result.parameters[name].value / getattr(joint, name) - 1) < 0.03
    units = {'F_T1': 'N·m·√(s/rad)/°C', 'F_T2': 'N·m·√(s/rad)·°C³', 'T_0': '°C'}
    units |= {'F_T0': 'N·m·√(s/rad)'} if with_map else {}
    assert {name: item.unit for name, item in result.parameters.items()} == units


def test_an_insignificant_cubic_term_is_dropped(make_joint, motions):
    joint = make_joint(F_T2=0.0, seed=1)
    result = identify_temperature(warm_up(joint, motions, [30, 34, 38, 42]))
    assert 'F_T2' not in result.parameters
    assert any('T⁻³' in warning for warning in result.warnings)
    assert abs(result.parameters['F_T1'].value / joint.F_T1 - 1) < 0.03


def test_a_recording_without_temperature_is_refused(recordings):
    _, data = recordings
    with pytest.raises(JointDynamicsError):
        identify_temperature([replace(item, temperature=None) for item in data])


@pytest.mark.parametrize('known', [True, False])
def test_temperature_by_least_squares_of_its_columns(of_rows, rows, solved, rms, with_friction, known):
    rows = replace(rows, temperature=rows.temperature - 15.0)
    T = np.clip(rows.temperature, 5.0, 80.0)
    T_0, root = 20.0 if known else T.mean(), np.sign(rows.speed) * np.sqrt(np.abs(rows.speed))
    base = FrictionModel({'F_C0': 6.0, 'F_V1': 4.0, 'F_C1': 1e-3, 'T_0': T_0}) if known else None
    columns = {'F_T1': root * (T - T_0), 'F_T2': root * (1.0 / T**3 - 1.0 / T_0**3)}
    y = -0.2 * columns['F_T1'] + 4e3 * columns['F_T2'] + 0.3 * root
    columns |= {'F_T0': root} if known else levels(rows)
    described = base.static(rows.speed[:, None], rows.load[:, None])[:, 0] if known else 0.0
    made = with_friction(rows, y + described, noise=0.01)
    found = of_rows(identify_temperature, made, base=base)
    target = made.friction - described
    fit = solved(columns, target)
    residual = target - sum(fit[key] * column for key, column in columns.items())
    expected = {key: value for key, value in fit.items() if not key.startswith('level')} | {'T_0': T_0}
    assert {key: item.value for key, item in found.parameters.items()} == pytest.approx(expected, rel=1e-6)
    assert found.quality['residual_rms'] == pytest.approx(rms(residual), rel=1e-5)
    # below 5 °C
    assert len(found.warnings) == 1 and found.reasons == []
    part, spread = found.document['friction'], [rows.temperature.min(), rows.temperature.max()]
    assert part['parameters'] == pytest.approx(expected | {'T_min': 5.0, 'T_max': 80.0}, rel=1e-6)
    assert part['range'] == {'temperature': spread} == {'temperature': found.quality['temperature_range']}


def test_friction_that_rises_with_temperature_is_a_warning(of_rows, rows, with_friction):
    root = np.sign(rows.speed) * np.sqrt(np.abs(rows.speed))
    rising = with_friction(rows, root * 0.2 * (rows.temperature - 30.0) + np.sign(rows.speed) * 7.0)
    falling = with_friction(rows, root * -0.2 * (rows.temperature - 30.0) + np.sign(rows.speed) * 7.0)
    up, down = (len(of_rows(identify_temperature, each).warnings) for each in (rising, falling))
    assert up == down + 1


def test_a_term_lost_in_noise_is_flagged(of_rows, rows, with_friction):
    found = of_rows(identify_temperature, with_friction(rows, np.sign(rows.speed) * 7.0, noise=1.0))
    [reason] = found.reasons
    assert reason.startswith('F_T1 = ') and f'{np.ptp(rows.temperature):.2g} °C' in reason
