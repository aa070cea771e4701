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

"""Friction against load."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests import load
from joint_dynamics.identification.joint_tests.load import LoadSettings, identify_load
from joint_dynamics.identification.joint_tests.plateaus import SteadyRows
from joint_dynamics.identification.joint_tests.result import nrmse_percent
from joint_dynamics.joint import FrictionModel


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


def test_no_load_dependence_and_small_spans_are_flagged(make_joint, theta):
    none = make_joint(F_C1=0.0)
    result = identify_load(
        [none.data(theta, load=90 * np.sin(theta))], LoadSettings(form='quadratic'), none.speed_map()
    )
    assert any(reason.startswith('F_C1 = ') for reason in result.reasons)
    joint = make_joint()
    small = identify_load(
        [joint.data(theta, load=1.0 * np.sin(theta))], LoadSettings(form='quadratic'), joint.speed_map()
    )
    assert any(reason.startswith('F_C1 = ') for reason in small.reasons)


def test_without_a_load_there_is_nothing_to_fit(make_joint, theta):
    with pytest.raises(JointDynamicsError, match='load torque'):
        identify_load([make_joint().data(theta)])


RECORDING = SimpleNamespace(joint='j', name='run', load_source='recorded load', need=lambda *names: None)


@pytest.mark.parametrize('form', ['quadratic', 'linear'])
@pytest.mark.parametrize('known', [True, False])
def test_load_by_least_squares_of_its_columns(monkeypatch, rows, form, known, solved, rms, with_friction):
    sign, name, power = np.sign(rows.speed), *{'quadratic': ('F_C1', 2), 'linear': ('F_Cl', 1)}[form]
    base = FrictionModel({'F_C0': 6.0, 'F_V1': 4.0, 'F_T1': -0.05, 'T_0': 30.0}) if known else None
    size = {'quadratic': 2e-3, 'linear': 0.1}[form]
    y = sign * (6.0 + size * np.abs(rows.load) ** power) + 0.03 * rows.load + 0.4
    speed_part = np.zeros(120)
    if known:
        speed_part = base.speed_part(sign[:, None], rows.speed[:, None], rows.temperature[:, None])[:, 0]
    else:
        y = y + sign * np.where(np.abs(rows.speed) > 0.3, 2.0, 0.0)
    made = with_friction(rows, y + speed_part)
    monkeypatch.setattr(load, 'steady_rows', lambda recordings, plateaus: made)
    found = identify_load([RECORDING], LoadSettings(), base)
    y = made.friction - speed_part

    def columns(name, power):
        chosen = {'F_C0': sign, name: sign * np.abs(rows.load) ** power}
        if not known:
            chosen['level_1'] = sign * (np.abs(rows.speed) > 0.3)
        return chosen | {'offset': np.ones(120), 'gravity_error': rows.load}

    fit = solved(columns(name, power), y)
    residual = y - sum(fit[key] * column for key, column in columns(name, power).items())
    units = {'F_C0': 'N·m', name: 'N·m/(N·m)²' if power == 2 else '', 'gravity_error': '', 'offset': 'N·m'}
    assert {key: item.unit for key, item in found.parameters.items()} == units
    for key in units:
        assert found.parameters[key].value == pytest.approx(fit[key], rel=1e-8)
        assert 0 < found.parameters[key].std < 0.1
    quality = found.quality
    assert (quality['form'], quality['rows'], quality['load_source']) == (form, 120, 'recorded load')
    assert quality['load_range'] == [rows.load.min(), rows.load.max()]
    assert quality['residual_rms'] == pytest.approx(rms(residual), rel=1e-6)
    assert quality['fit_percent'] == pytest.approx(nrmse_percent(sign * y, sign * (y - residual)))
    for key, other in (('quadratic', ('F_C1', 2)), ('linear', ('F_Cl', 1))):
        one = solved(columns(*other), y)
        residual = y - sum(one[each] * column for each, column in columns(*other).items())
        assert quality['residual_rms_by_form'][key] == pytest.approx(rms(residual), rel=1e-6)
    assert found.reasons == [] and len(found.warnings) == (1 if known else 2)
    assert f'{100 * fit["gravity_error"]:+.1f} %' in found.warnings[0]
    document = {name: fit[name], 'tau_max': np.abs(rows.load).max()} | ({'F_C0': fit['F_C0']} if known else {})
    assert found.document['friction']['parameters'] == pytest.approx(document, rel=1e-8)
    assert found.document['friction']['range'] == {'load': [rows.load.min(), rows.load.max()]}
    assert set(found.document['friction']['standard_deviations']) == set(document) - {'tau_max'}
    (plot,) = found.plots
    level = sign * (y - sum(fit[key] * columns(name, power)[key] for key in fit if key not in ('F_C0', name)))
    for one, part in zip(plot.series, (sign > 0, sign < 0), strict=False):
        np.testing.assert_array_equal(one.x, rows.load[part])
        np.testing.assert_allclose(one.y, level[part], rtol=1e-7)
    line = plot.series[-1]
    np.testing.assert_allclose(line.x, np.linspace(rows.load.min(), rows.load.max(), 200))
    np.testing.assert_allclose(line.y, fit['F_C0'] + fit[name] * np.abs(line.x) ** power, rtol=1e-7)


def test_load_in_one_direction_and_without_an_error_of_its_own(monkeypatch, rows, with_friction):
    part = rows.speed > 0
    one = SteadyRows(*(getattr(rows, key)[part] for key in ('speed', 'friction', 'load', 'temperature')))
    made = with_friction(one, 5.0 + 1e-3 * one.load**2)
    monkeypatch.setattr(load, 'steady_rows', lambda recordings, plateaus: made)
    found = identify_load([RECORDING], LoadSettings(form='quadratic'))
    assert set(found.parameters) == {'F_C0', 'F_C1'}
    assert len(found.reasons) == 1
    assert [*found.quality['residual_rms_by_form']] == ['quadratic']
    made = with_friction(rows, np.sign(rows.speed) * (5.0 + 0.1 * np.abs(rows.load)))
    found = identify_load([RECORDING], LoadSettings(form='linear', gravity_error=False))
    assert set(found.parameters) == {'F_C0', 'F_Cl', 'offset'} and found.reasons == []
    monkeypatch.setattr(load, 'identify_quadrants', lambda *given: given)
    assert identify_load([RECORDING], LoadSettings(form='quadrants', dq_s=0.04)) == ([RECORDING], 0.04)
