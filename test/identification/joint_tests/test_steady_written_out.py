"""Friction against load, temperature and speed from steady rows put together by hand: every number by its formula."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests import friction, load, temperature
from joint_dynamics.identification.joint_tests.friction import FrictionSettings, identify_friction
from joint_dynamics.identification.joint_tests.friction_motion import identify_friction_from_motion
from joint_dynamics.identification.joint_tests.load import LoadSettings, identify_load
from joint_dynamics.identification.joint_tests.plateaus import Plateau, SteadyRows
from joint_dynamics.identification.joint_tests.quadrants import (
    fit_quadrants,
    outside_stiction,
    quadrant_columns,
    usual_columns,
)
from joint_dynamics.identification.joint_tests.regression import least_squares
from joint_dynamics.identification.joint_tests.result import nrmse_percent
from joint_dynamics.identification.joint_tests.slip_fit import fit_maxwell_slip
from joint_dynamics.identification.joint_tests.speed_map import MODELS, fit_speed_map
from joint_dynamics.identification.joint_tests.temperature import TemperatureSettings, identify_temperature
from joint_dynamics.joint import FrictionModel, PeriodicMap
from joint_dynamics.signals.filtering import zero_phase_lowpass

RECORDING = SimpleNamespace(joint='j', name='run', load_source='recorded load', need=lambda *names: None)


def refused(kind, call, *given, **more):
    """The sentence that a call is refused with."""
    with pytest.raises(kind) as told:
        call(*given, **more)
    return str(told.value)


def solved(columns, y):
    return dict(zip(columns, np.linalg.lstsq(np.stack(list(columns.values()), axis=1), y, rcond=None)[0], strict=True))


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


@pytest.fixture
def rows():
    """Two speeds in both directions over a load of both signs, at a temperature that rises."""
    rng = np.random.default_rng(4)
    speed = np.tile([0.2, -0.2, 0.5, -0.5], 30)
    torque = rng.uniform(-80.0, 90.0, 120)
    warmth = np.linspace(18.0, 44.0, 120) + rng.normal(size=120)
    return SteadyRows(speed, np.zeros(120), torque, warmth, np.zeros(120))


def with_friction(rows, y, seed=9, noise=0.05):
    rng = np.random.default_rng(seed)
    return SteadyRows(rows.speed, y + noise * rng.normal(size=len(y)), rows.load, rows.temperature, rows.theta)


# ---- load


@pytest.mark.parametrize('form', ['quadratic', 'linear'])
@pytest.mark.parametrize('known', [True, False])
def test_load_by_least_squares_of_its_columns(monkeypatch, rows, form, known):
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
    for told, other in zip(quality['forms'], (('F_C1', 2), ('F_Cl', 1)), strict=True):
        one = solved(columns(*other), y)
        left = y - sum(one[key] * column for key, column in columns(*other).items())
        assert told['form'] == ('quadratic' if other[1] == 2 else 'linear')
        assert told['residual_rms'] == pytest.approx(rms(left), rel=1e-6)
        assert told[other[0]] == pytest.approx(one[other[0]], rel=1e-8) and told['std'] > 0
    warnings = [
        f'the load torque itself is {100 * fit["gravity_error"]:+.1f} % off (mass, or drive gain); taken out of the '
        'friction'
    ]
    if not known:
        warnings.append(
            'no friction description given: F_C0 is the friction without load at the slowest speed, viscous part '
            'included, and stays out of the description'
        )
    assert found.reasons == [] and found.warnings == warnings
    document = {name: fit[name], 'tau_max': np.abs(rows.load).max()} | ({'F_C0': fit['F_C0']} if known else {})
    assert found.document['friction']['parameters'] == pytest.approx(document, rel=1e-8)
    assert found.document['friction']['range'] == {'load': [rows.load.min(), rows.load.max()]}
    assert set(found.document['friction']['standard_deviations']) == set(document) - {'tau_max'}
    (plot,) = found.plots
    assert (plot.title, plot.x_label, plot.y_label) == (
        'j: Coulomb level against load', 'load torque τ_J [N·m]', 'F(τ_J) [N·m]',
    )  # fmt: skip
    assert [(one.label, one.kind) for one in plot.series] == [
        ('ω > 0', 'points'), ('ω < 0', 'points'), (f'{form} fit', 'line'),
    ]  # fmt: skip
    level = sign * (y - sum(fit[key] * columns(name, power)[key] for key in fit if key not in ('F_C0', name)))
    for one, part in zip(plot.series, (sign > 0, sign < 0), strict=False):
        np.testing.assert_array_equal(one.x, rows.load[part])
        np.testing.assert_allclose(one.y, level[part], rtol=1e-7)
    line = plot.series[-1]
    np.testing.assert_allclose(line.x, np.linspace(rows.load.min(), rows.load.max(), 200))
    np.testing.assert_allclose(line.y, fit['F_C0'] + fit[name] * np.abs(line.x) ** power, rtol=1e-7)


def test_load_in_one_direction_and_without_an_error_of_its_own(monkeypatch, rows):
    part = rows.speed > 0
    one = SteadyRows(*(getattr(rows, key)[part] for key in ('speed', 'friction', 'load', 'temperature', 'theta')))
    made = with_friction(one, 5.0 + 1e-3 * one.load**2)
    monkeypatch.setattr(load, 'steady_rows', lambda recordings, plateaus: made)
    found = identify_load([RECORDING], LoadSettings(form='quadratic'))
    assert set(found.parameters) == {'F_C0', 'F_C1'}
    assert found.reasons == [
        'one direction only: friction that grows with load cannot be told from an error of the load torque'
    ]
    assert [entry['form'] for entry in found.quality['forms']] == ['quadratic']
    assert [series.label for series in found.plots[0].series] == ['ω > 0', 'quadratic fit']
    made = with_friction(rows, np.sign(rows.speed) * (5.0 + 0.1 * np.abs(rows.load)))
    found = identify_load([RECORDING], LoadSettings(form='linear', gravity_error=False))
    assert set(found.parameters) == {'F_C0', 'F_Cl', 'offset'} and found.reasons == []
    assert refused(JointDynamicsError, identify_load, [RECORDING], LoadSettings(form='quadrants')) == (
        "load: expected form auto, linear or quadratic, found 'quadrants'"
    )


# ---- temperature


@pytest.mark.parametrize('known', [True, False])
@pytest.mark.parametrize('cubic', [True, False])
def test_temperature_by_least_squares_of_its_columns(monkeypatch, rows, known, cubic):
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
    constant = -fit['F_T1'] * T_0 - cube / T_0**3 + (fit['F_T0'] if known else 0.0)
    expected = {'F_T1': constant, 'F_T2': fit['F_T1'], 'F_T3': cube}
    assert quality['absolute_form'] == pytest.approx(expected, rel=1e-6)
    assert found.warnings == ['temperatures outside [20, 40] °C were bounded'] and found.reasons == []
    document = found.document['friction']
    values = {name: fit[name] for name in names} | {'T_0': T_0, 'T_min': 20.0, 'T_max': 40.0}
    assert document['parameters'] == pytest.approx(values | ({'F_T0': fit['F_T0']} if known else {}), rel=1e-6)
    assert document['range'] == {'temperature': quality['temperature_range']}
    (plot,) = found.plots
    points, line = plot.series
    assert (plot.title, plot.x_label, plot.y_label, points.label, line.label, line.kind) == (
        'j: friction against temperature', 'temperature T [°C]', 'f_T / (sgn(ω)√|ω|) [N·m·√(s/rad)]',
        'constant speeds', 'fit', 'line',
    )  # fmt: skip

    def factor(t):
        return fit['F_T1'] * (t - T_0) + cube * (1 / t**3 - 1 / T_0**3)

    np.testing.assert_array_equal(points.x, T)
    np.testing.assert_allclose(points.y, factor(T) + residual / root, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(line.x, np.linspace(T.min(), T.max(), 200))
    np.testing.assert_allclose(line.y, factor(line.x), rtol=1e-5, atol=1e-7)


def test_what_is_odd_about_a_temperature_is_said(monkeypatch, rows):
    root = np.sign(rows.speed) * np.sqrt(np.abs(rows.speed))
    rising = with_friction(rows, root * 0.2 * (rows.temperature - 30.0) + np.sign(rows.speed) * 7.0)
    monkeypatch.setattr(temperature, 'steady_rows', lambda recordings, plateaus: rising)
    found = identify_temperature([RECORDING], TemperatureSettings(cubic=False))
    assert found.warnings == [
        'friction grows with temperature here; lubricants thin out: look for a drift of the torque, or of the load'
    ]
    # without a reference the mean is one
    assert found.parameters['T_0'].value == pytest.approx(rows.temperature.mean())
    base = FrictionModel({'F_C0': 6.0, 'T_0': 30.0})
    assert refused(JointDynamicsError, identify_temperature, [RECORDING], TemperatureSettings(T_0=31.5), base) == (
        'temperature: expected the T_0 of the friction description, 30 °C, found 31.5'
    )
    lost = with_friction(rows, np.sign(rows.speed) * 7.0, noise=1.0)
    monkeypatch.setattr(temperature, 'steady_rows', lambda recordings, plateaus: lost)
    found = identify_temperature([RECORDING], TemperatureSettings(cubic=False))
    value, span = found.parameters['F_T1'], np.ptp(rows.temperature)
    assert found.reasons == [
        f'F_T1 = {value.value:.4g} ± {value.std:.2g} {value.unit} cannot be told from zero: the temperature spans only '
        f'{span:.2g} °C, or friction does not depend on it'
    ]


# ---- plateaus


def plateaus(speeds, torque, *, std=0.02, **more):
    fields = {'load': None, 'temperature': None, 'recording': 'run', 'trend': 0.01}
    found = []
    for k, speed in enumerate(speeds):
        own = {name: value[k] if isinstance(value, list) else value for name, value in {**fields, **more}.items()}
        known = {name: own[name] for name in own if name in Plateau.__dataclass_fields__}
        found.append(plateau(speed=speed, torque=torque(speed), std=std, **known))
    return found


def plateau(**values):
    missing = {name: 1 for name in Plateau.__dataclass_fields__ if name not in values}
    return Plateau(**values, **missing)


def of_plateaus(monkeypatch, made, settings=None, base=None, source='none'):
    monkeypatch.setattr(friction, 'find_plateaus', lambda recordings, plateaus: made)
    return identify_friction([SimpleNamespace(joint='j', load_source=source)], settings, base)


SPEEDS = [0.1, -0.1, 0.4, -0.4, 1.0, -1.0, 1.7, -1.7]


def test_two_lines_one_per_direction(monkeypatch):
    """What stands beside the symmetric map is half the difference of the directions."""
    rng = np.random.default_rng(3)

    def torque(w):
        return (np.sign(w) * 7.0 + 3.0 * w if w > 0 else -5.0 + 2.0 * w) + 0.01 * rng.normal()

    made = plateaus(SPEEDS, torque)
    found = of_plateaus(monkeypatch, made, FrictionSettings(model='viscous'))
    w, y = np.array(SPEEDS), np.array([item.torque for item in made])
    for side, name in ((1, 'positive'), (-1, 'negative')):
        own = np.sign(w) == side
        F_V1, constant = np.polyfit(w[own], y[own], 1)
        assert found.parameters[f'F_C_{name}'].value == pytest.approx(side * constant, rel=1e-8)
        assert found.parameters[f'F_V1_{name}'].value == pytest.approx(F_V1, rel=1e-8)
        entry = found.document['friction']['directions'][name]
        assert entry['F_C'] == entry['F_S'] == found.parameters[f'F_C_{name}'].value
        assert entry['F_C_std'] == found.parameters[f'F_C_{name}'].std > 0
        assert entry['F_V1'] == found.parameters[f'F_V1_{name}'].value
        assert entry['F_V1_std'] == found.parameters[f'F_V1_{name}'].std > 0
        assert (found.parameters[f'F_C_{name}'].unit, found.parameters[f'F_V1_{name}'].unit) == ('N·m', 'N·m·s/rad')
    columns = np.stack([np.sign(w), w, np.ones(8), np.abs(w)], axis=1)
    fit = least_squares(columns, y, ['F_C', 'F_V1', 'offset', 'half'], in_time=False)
    assert found.quality['asymmetry_deviations'] == pytest.approx(abs(fit['offset']) / fit.deviation('offset'))
    symmetric = solved({'F_C': np.sign(w), 'F_V1': w, 'offset': np.ones(8)}, y)
    for name, value in symmetric.items():
        assert found.parameters[name].value == pytest.approx(value, rel=1e-6)
    assert found.document['friction']['parameters'] == pytest.approx(
        {'F_C0': symmetric['F_C'], 'F_V1': symmetric['F_V1'], 'offset': symmetric['offset']}, rel=1e-6
    )
    assert found.quality['points'][1] == {
        'speed': -0.1, 'torque': made[1].torque, 'std': 0.02, 'temperature': None, 'load': None, 'recording': 'run',
        'trend': 0.01,
    }  # fmt: skip
    assert (found.quality['plateaus'], found.quality['speeds'], found.quality['directions']) == (8, 4, 2)
    assert found.quality['speed_range'] == [0.1, 1.7]


def test_single_plateaus_and_few_speeds(monkeypatch):
    found = of_plateaus(monkeypatch, plateaus([0.3, -0.3], lambda w: 6.0 * np.sign(w) + 1.0 * (w > 0)))
    assert found.parameters['F_C'].value == pytest.approx(6.5) and found.quality['model'] == 'coulomb'
    assert found.parameters['F_C'].std == pytest.approx(0.02 / np.sqrt(2)) and found.parameters['F_C'].unit == 'N·m'
    assert found.quality['residual_rms'] == pytest.approx(0.5) and found.quality['parameters_allowed'] == 1
    assert found.reasons == [
        'one speed only (0.3 rad/s): Coulomb and viscous friction cannot be told apart, F_C is the whole friction at '
        'that speed'
    ]
    assert found.warnings == ['direction positive: 1 plateaus are too few for a fit of its own']
    settings = FrictionSettings(model='cubic')
    made = plateaus([0.3, -0.3, 0.6, -0.6], lambda w: 6.0 * np.sign(w))
    assert refused(JointDynamicsError, of_plateaus, monkeypatch, made, settings) == (
        'friction: expected plateaus at 4 speeds or more for the model cubic, found 2'
    )


def test_reasons_and_warnings_of_plateaus(monkeypatch):
    def torque(w):
        return 6.0 * np.sign(w) + 2.0 * w

    for source, text in (
        ('none', 'no load torque was subtracted (give --robot, or a column load)'),
        ('robot model', 'load torque from robot model'),
    ):
        trend = [0.01] * 7 + [-6.0]
        found = of_plateaus(
            monkeypatch, plateaus(SPEEDS, torque, trend=trend), FrictionSettings(model='viscous'), source=source
        )
        assert found.reasons == [
            f'the torque changes by 6 N·m along a plateau whose mean is -9.4 N·m: gravity is left in; {text}'
        ]
    warm = [20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 25.5]
    found = of_plateaus(monkeypatch, plateaus(SPEEDS, torque, temperature=warm), FrictionSettings(model='viscous'))
    assert found.warnings == ['the joint temperature spans 6.0 °C over the plateaus: part of it is in the speed map']
    assert found.document['friction']['range'] == {'speed': [0.1, 1.7], 'temperature': [20.0, 26.0]}
    assert found.document['friction']['parameters']['T_0'] == pytest.approx(np.mean(warm))
    cold = of_plateaus(monkeypatch, plateaus(SPEEDS, torque, temperature=[1.0] * 8), FrictionSettings(model='viscous'))
    assert cold.document['friction']['parameters']['T_0'] == 5.0 and cold.warnings == []


def test_known_parts_of_load_and_temperature_are_taken_off(monkeypatch):
    base = FrictionModel({'F_C0': 6.0, 'F_C1': 1e-3, 'F_T1': -0.1, 'T_0': 30.0})
    loads, warm = [50.0, -40.0, 30.0, 20.0, -60.0, 70.0, 10.0, 0.0], [35.0, 20.0, 30.0, 40.0, 25.0, 22.0, 33.0, 31.0]
    made = plateaus(SPEEDS, lambda w: 6.0 * np.sign(w) + 2.0 * w, load=loads, temperature=warm)
    found = of_plateaus(monkeypatch, made, FrictionSettings(model='viscous'), base)
    for item, told in zip(made, found.quality['points'], strict=True):
        side = np.sign(item.speed)
        known = side * 1e-3 * item.load**2 + side * np.sqrt(abs(item.speed)) * -0.1 * (item.temperature - 30.0)
        assert told['torque'] == pytest.approx(item.torque - known, rel=1e-9)


# ---- maps over speed, from plateaus and from motion


def test_maps_over_speed_that_cannot_be():
    w = np.array([0.1, 0.4, 1.0, -0.3])
    assert refused(JointDynamicsError, fit_speed_map, w, w, np.ones(4), 'magic', False) == (
        f"friction: expected model one of {', '.join(MODELS)}, found 'magic'"
    )
    assert refused(JointDynamicsError, fit_speed_map, w, w, np.ones(4), 'cubic', True) == (
        'friction: model cubic has 5 parameters: expected more plateaus than that, found 4'
    )
    few = np.array([0.1, 0.1, 0.1, -0.1, 0.4, 0.4])
    assert refused(JointDynamicsError, fit_speed_map, few, few, np.ones(6), 'cubic', False) == (
        'friction: model cubic has 4 parameters: expected more plateaus than that, found 6'
    )


@pytest.mark.parametrize('offset', [True, False])
def test_a_stribeck_map_comes_back_exactly(offset):
    """Without noise all of its parameters, their places, and no deviation to speak of; deviations weigh rows."""
    w = np.concatenate([np.geomspace(0.01, 2.0, 15), -np.geomspace(0.012, 1.9, 14)])
    s, v = np.sign(w), np.abs(w)
    y = s * (5.0 + 2.5 * np.exp(-((v / 0.08) ** 1.3))) + 3.0 * w - 0.8 * w * v + 0.2 * w**3 + (0.4 if offset else 0.0)
    std = np.linspace(0.01, 0.05, w.size)
    found = fit_speed_map(w, y, std, 'stribeck', offset)
    truth = {'F_C': 5.0, 'F_S': 7.5, 'V_S': 0.08, 'mu': 1.3, 'F_V1': 3.0, 'F_V2': -0.8, 'F_V3': 0.2}
    truth |= {'offset': 0.4} if offset else {}
    assert list(found.values) == list(truth) and found.at_bound == () and found.model == 'stribeck'
    for name, value in truth.items():
        assert found.values[name].value == pytest.approx(value, rel=2e-2, abs=1e-3)
    units = {'F_C': 'N·m', 'F_S': 'N·m', 'V_S': 'rad/s', 'mu': '', 'F_V1': 'N·m·s/rad', 'F_V2': 'N·m·s²/rad²',
             'F_V3': 'N·m·s³/rad³', 'offset': 'N·m'}  # fmt: skip
    assert {name: item.unit for name, item in found.values.items()} == {name: units[name] for name in truth}
    np.testing.assert_allclose(found.friction.torque(w[:, None])[:, 0], y - found.residual, rtol=1e-6, atol=1e-6)
    assert found.nrmse_percent == pytest.approx(nrmse_percent(y, y - found.residual)) and found.nrmse_percent > 99.9
    weight = 1.0 / np.maximum(std, np.median(std))
    squares = np.sum((found.residual * weight) ** 2) / np.mean(weight**2)
    free = len(truth)
    assert found.bic == pytest.approx(29 * np.log(max(squares / 29, 1e-300)) + free * np.log(29))


def test_deviations_of_a_map_are_those_of_its_jacobian():
    """Numerical derivatives of the torque by every parameter, weighted rows, the residual's own scale."""
    rng = np.random.default_rng(8)
    w = np.concatenate([np.geomspace(0.01, 2.0, 25), -np.geomspace(0.012, 1.9, 24)])

    def torque(F_C, F_S, V_S, mu, F_V1, offset):
        v = np.abs(w)
        return np.sign(w) * (F_C + (F_S - F_C) * np.exp(-((v / V_S) ** mu))) + F_V1 * w + offset

    y = torque(5.0, 8.0, 0.1, 1.1, 3.0, 0.3) + 0.05 * rng.normal(size=w.size)
    found = fit_speed_map(w, y, np.full(w.size, 0.05), 'stribeck_viscous', True)
    at = np.array([found.values[name].value for name in ('F_C', 'F_S', 'V_S', 'mu', 'F_V1', 'offset')])
    J = []
    for k in range(6):
        h = 1e-5 * max(abs(at[k]), 0.1)
        J.append((torque(*(at + h * np.eye(6)[k])) - torque(*(at - h * np.eye(6)[k]))) / (2 * h))
    J = np.stack(J, axis=1)
    variance = np.sum(found.residual**2) / (w.size - 6)
    std = np.sqrt(np.diag(np.linalg.inv(J.T @ J)) * variance)
    found_std = [found.values[name].std for name in ('F_C', 'F_S', 'V_S', 'mu', 'F_V1', 'offset')]
    np.testing.assert_allclose(found_std, std, rtol=1e-4)


def test_friction_from_any_motion_by_least_squares_of_its_rows():
    rng = np.random.default_rng(2)
    t = 1e-3 * np.arange(8000)
    omega = np.sin(1.7 * t) + 0.5 * np.sin(0.9 * t)
    alpha = 1.7 * np.cos(1.7 * t) + 0.45 * np.cos(0.9 * t)
    tau = 6.0 * np.sign(omega) + 4.0 * omega + 0.8 * alpha + 0.3 + 0.2 * rng.normal(size=t.size)
    data = SimpleNamespace(
        joint='j', rate=1000.0, cutoff=10.0, samples=8000, omega=omega, alpha=alpha, friction=lambda: tau,
        load_source='none',
    )  # fmt: skip
    found = identify_friction_from_motion([data], 0.05, bins=5)
    smooth = zero_phase_lowpass(tau, 10.0, 1000.0)

    def kept(step):
        index = np.arange(100, 7900, step)
        return index[np.abs(omega[index]) > 0.05]

    rows = kept(25)
    columns = {'F_C': np.sign(omega[rows]), 'F_V1': omega[rows], 'inertia': alpha[rows], 'offset': np.ones(rows.size)}
    fit = solved(columns, smooth[rows])
    residual = smooth[rows] - sum(fit[name] * column for name, column in columns.items())
    for name, value in fit.items():
        assert found.parameters[name].value == pytest.approx(value, rel=1e-8)
    quality = found.quality
    assert (quality['method'], quality['rows'], quality['directions']) == ('motion', rows.size, 2)
    assert quality['residual_rms'] == pytest.approx(rms(residual))
    assert quality['fit_percent'] == pytest.approx(nrmse_percent(smooth[rows], smooth[rows] - residual))
    speeds = np.abs(omega[rows])
    assert quality['speed_range'] == [speeds.min(), speeds.max()]
    dense, points = kept(2), []
    for side in (-1, 1):
        own = dense[np.sign(omega[dense]) == side]
        v = np.abs(omega[own])
        edges = np.linspace(v.min(), v.max(), 6)
        for low, high in pairwise(edges):
            inside = own[(v >= low) & ((v < high) | (high == edges[-1]))]
            if inside.size >= 3:
                spread = np.std(residual) / np.sqrt(max(1.0, inside.size / 10))
                std = np.hypot(spread, found.parameters['F_C'].std)
                mean = np.mean(smooth[inside] - fit['inertia'] * alpha[inside])
                points.append((omega[inside].mean(), mean, std, inside.size))
    assert len(quality['points']) == len(points) == 10
    for told, (speed, mean, std, count) in zip(quality['points'], points, strict=True):
        assert told == {
            'speed': pytest.approx(speed), 'torque': pytest.approx(mean), 'std': pytest.approx(std, rel=1e-6),
            'samples': count,
        }  # fmt: skip
    document = {'F_C0': fit['F_C'], 'F_V1': fit['F_V1'], 'offset': fit['offset']}
    assert found.document['friction']['parameters'] == pytest.approx(document)
    assert found.document['friction']['range'] == {'speed': quality['speed_range']}
    one = SimpleNamespace(**{**vars(data), 'omega': np.abs(omega) + 0.1})
    alone = identify_friction_from_motion([one], 0.05)
    assert set(alone.parameters) == {'F_C', 'F_V1', 'inertia'} and alone.quality['directions'] == 1
    assert alone.reasons[0] == (
        'one direction only: Coulomb friction cannot be told from a torque offset or an error in gravity'
    )
    fastest = np.sort(np.abs(omega[np.arange(100, 7900, 25)]))[-8]
    assert refused(NotReliableError, identify_friction_from_motion, [data], fastest) == (
        f'j moves faster than {fastest:g} rad/s in only 7 samples'
    )


# ---- quadrants and Maxwell-slip


def test_columns_of_the_quadrants_one_sample_after_the_other():
    rng = np.random.default_rng(1)
    X, dq, tau = rng.normal(size=(40, 2)), rng.normal(size=40), rng.normal(size=40)
    usual, new = usual_columns(X, dq), quadrant_columns(X, dq, tau, 0.3)
    for k in range(40):
        s, E = np.sign(dq[k]), np.exp(-abs(dq[k]) / 0.3)
        np.testing.assert_allclose(usual[k], [*X[k], s, dq[k], 1.0])
        motor = tau[k] * dq[k] > 0
        own = [[x, x * E, 0, 0] if motor else [0, 0, x, -x * E] for x in X[k]]
        dry = [s, E * s, 0, 0] if motor else [0, 0, s, E * s]
        np.testing.assert_allclose(new[k], [*np.ravel(own), *dry, dq[k], 1.0])


def test_samples_outside_stiction_are_far_from_every_change_and_beyond_the_friction():
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


def test_quadrants_and_slips_that_cannot_be_fitted():
    X, v = np.ones((9, 2)), np.ones(9)
    assert refused(JointDynamicsError, fit_quadrants, X, v, v, ('a',)) == (
        'quadrants: expected rigid (9, 1) and tau (9,), found (9, 2) and (9,)'
    )
    assert refused(NotReliableError, outside_stiction, X, 1e-3 * v, v, 5e-3, 8) == (
        'only 0 samples move faster than 0.005 rad/s: too few for the load-dependent model'
    )
    t = np.linspace(0, 40, 2000)
    dq, load_torque = np.sin(1.1 * t), 30.0 + 5.0 * np.sin(0.3 * t)
    for side, word in ((1.0, 'motor'), (-1.0, 'motor')):
        tau = side * load_torque + 2.0 * np.sign(dq)
        assert refused(NotReliableError, fit_quadrants, side * load_torque[:, None], dq, tau, ('load',)) == (
            f'the {word} quadrants are driven in one direction only (the motion does not pass the vertical): c_m, c_g '
            'and tau_off cannot be told apart'
        )
    assert refused(JointDynamicsError, fit_maxwell_slip, [], [], PeriodicMap.constant(1e-3), methods=('magic',)) == (
        "hysteresis: expected methods among static, law, lr_linear, lr_polynomial, nlr, found 'magic'"
    )


def test_columns_that_cannot_be_told_apart_are_named():
    rng = np.random.default_rng(1)
    W = rng.normal(size=(30, 3))
    W[:, 2] = 2.0 * W[:, 0]
    assert refused(NotReliableError, least_squares, W, W[:, 0], ('a', 'b', 'c')) == 'the data cannot tell apart a, c'
    W[:, 1] = 0.0
    assert refused(NotReliableError, least_squares, W, W[:, 0], ('a', 'b', 'c')) == 'no sample excites b'
    assert refused(JointDynamicsError, least_squares, W[:3], W[:3, 0], ('a', 'b', 'c')) == (
        'least squares: expected more than 3 rows for 3 parameters (a, b, c), found 3'
    )
