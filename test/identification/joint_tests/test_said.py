"""What tests of one joint refuse and say, in whole sentences, of signals that are put together here."""

import inspect
import re
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.damping import DampingSettings, identify_damping
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.joint_tests.inertia import InertiaSettings, identify_inertia
from joint_dynamics.identification.joint_tests.plateaus import PlateauSettings, steady_rows
from joint_dynamics.identification.joint_tests.quadrants import identify_quadrants, outside_stiction
from joint_dynamics.identification.joint_tests.result import JointTestResult, Value
from joint_dynamics.identification.joint_tests.run import JointPrior, merged_description, run_test
from joint_dynamics.identification.joint_tests.slip_fit import SlipData, fit_maxwell_slip
from joint_dynamics.identification.joint_tests.speed_map import fit_speed_map
from joint_dynamics.identification.joint_tests.stiffness import StiffnessSettings, identify_stiffness
from joint_dynamics.identification.joint_tests.temperature import TemperatureSettings
from joint_dynamics.identification.joint_tests.transmission import TransmissionSettings, identify_transmission
from joint_dynamics.joint import FrictionModel, PeriodicMap, polynomial_limits, polynomial_stiffness
from joint_dynamics.signals.filtering import zero_phase_lowpass

T = 1e-3 * np.arange(12000)


def signals(q, theta, *, tau=None, tau_J=None, **more):
    """Data of one joint at 1 kHz."""
    omega = np.gradient(theta, 1e-3)
    return JointData(
        'j', 'run', T[: len(q)], 1000.0, q, theta, omega, np.gradient(omega, 1e-3), 10.0, True, tau, tau_J, **more
    )


def refused(kind, call, *given, **more):
    """The sentence that a call is refused with."""
    with pytest.raises(kind) as told:
        call(*given, **more)
    return str(told.value)


# ---- stiffness


LOAD = 100.0 * np.sin(2.0 * T)


def pushed(a=2e4, b=0.0, load=LOAD, where=0.3, noise=1e-7, **more):
    """A standing joint under a load that changes slowly: φ of a φ + b φ³ = load."""
    phi = load / a
    for _ in range(60):
        phi = phi - (a * phi + b * phi**3 - load) / (a + 3 * b * phi**2)
    q = np.full(len(T), where)
    return signals(q, q + phi + noise * np.random.default_rng(0).normal(size=len(T)), tau_J=load, **more), phi


def test_stiffness_of_a_standing_joint_and_what_is_said_of_it():
    data, phi = pushed(b=2e8)
    found = identify_stiffness([data])
    assert found.parameters['alpha_1'].value == pytest.approx(2e4, rel=1e-3)
    assert found.parameters['alpha_2'].value == pytest.approx(2e8, rel=1e-2)
    assert found.reasons == [] and found.warnings == []
    assert (found.quality['source'], found.quality['moving']) == ('load', False)
    assert found.quality['deformation_range'] == pytest.approx([phi.min(), phi.max()], rel=0.02)
    assert found.quality['torque_range'] == pytest.approx([-100.0, 100.0], rel=0.02)
    assert found.quality['rows'] == len(range(51, 12000 - 51, 20)) and found.quality['fit_percent'] > 99.9
    assert (
        'damping' not in found.document and found.document['stiffness']['range'] == found.quality['deformation_range']
    )
    flat = identify_stiffness([data], StiffnessSettings(order=1, offset=False))
    assert list(flat.parameters) == ['alpha_1'] and 'phi_0' not in flat.parameters
    current, _ = pushed()
    locked = identify_stiffness([JointData(**{**vars(current), 'tau': LOAD, 'tau_J': None})])
    assert locked.quality['source'] == 'current'
    assert locked.warnings == ['locked-rotor current: friction inside the joint counts as elastic torque']


def test_a_stiffness_that_bends_over_and_a_load_in_one_direction():
    phi = 4e-3 * np.sin(2.0 * T)
    load = 2e4 * phi - 6e8 * phi**3
    q = np.full(len(T), 0.3)
    found = identify_stiffness([signals(q, q + phi + 1e-7 * np.random.default_rng(1).normal(size=len(T)), tau_J=load)])
    assert found.reasons == ['the fitted stiffness is negative within the range of the data']
    one, _ = pushed(load=60.0 + 50.0 * np.sin(2.0 * T))
    found = identify_stiffness([one], StiffnessSettings(order=1, offset=False))
    assert found.reasons == ['loaded in one direction only: an offset of the encoders cannot be told from stiffness']
    lost, _ = pushed(load=0.05 * np.sin(2.0 * T), noise=1e-5)
    found = identify_stiffness([lost], StiffnessSettings(order=1, offset=False))
    value = found.parameters['alpha_1']
    if abs(value.value) < 2 * value.std:
        assert found.reasons[0].startswith(f'alpha_1 = {value.value:.4g} ± {value.std:.2g} N·m/rad cannot be told')


def test_damping_of_a_moving_joint_goes_into_its_document():
    phi = 2e-3 * np.sin(3.0 * T) + 1e-3 * np.sin(7.0 * T)
    rate = 6e-3 * np.cos(3.0 * T) + 7e-3 * np.cos(7.0 * T)
    q = np.sin(0.7 * T)
    load = 2e4 * phi + 40.0 * rate + 0.05 * np.random.default_rng(2).normal(size=len(T))
    found = identify_stiffness([signals(q, q + phi, tau_J=load)], StiffnessSettings(order=1))
    assert found.quality['source'] == 'link' and found.quality['moving'] is True
    D = found.parameters['D']
    assert D.value == pytest.approx(40.0, rel=0.01) and D.unit == 'N·m·s/rad'
    assert found.document['damping'] == {
        'value': D.value, 'std': D.std, 'unit': 'N·m·s/rad', 'method': 'stiffness from motion',
    }  # fmt: skip


def test_stiffness_without_a_torque_to_compare_with():
    q = np.sin(T)
    bare = signals(q, q + 1e-3 * np.sin(2 * T), tau=LOAD)
    assert refused(JointDynamicsError, identify_stiffness, [bare]) == (
        'stiffness: expected a load torque, found none for a joint that moves: give --robot, a column load, or '
        'source: motor with a friction description'
    )
    start = 'stiffness: expected a friction description (--description) and rotor_inertia in kg·m² (--config), found '
    settings = StiffnessSettings(source='motor')
    assert refused(JointDynamicsError, identify_stiffness, [bare], settings) == start + 'no friction'
    known = FrictionModel({'F_C0': 5.0})
    assert refused(JointDynamicsError, identify_stiffness, [bare], settings, known) == start + 'no rotor_inertia'


def test_stiffness_from_the_motor_side_takes_rotor_and_friction_off():
    """K_τ i − B θ̈ − f: with the friction of the description the load comes back, and with it the stiffness."""
    load = 80.0 * np.sin(1.3 * T)
    q = 0.8 * np.sin(0.9 * T)
    theta = q + load / 2e4
    omega = np.gradient(theta, 1e-3)
    alpha = np.gradient(omega, 1e-3)
    friction = np.tanh(omega / 5e-3) * (5.0 + 1e-3 * load**2) + 4.0 * omega
    tau = load + 0.9 * alpha + friction + 0.01 * np.random.default_rng(3).normal(size=len(T))
    base = FrictionModel({'F_C0': 5.0, 'F_C1': 1e-3, 'F_V1': 4.0})
    found = identify_stiffness(
        [signals(q, theta, tau=tau)], StiffnessSettings(source='motor', rotor_inertia=0.9, order=1), base
    )
    assert found.parameters['alpha_1'].value == pytest.approx(2e4, rel=0.01) and found.quality['source'] == 'motor'


# ---- damping and inertia


def ringing(rate=8.0, frequency=20.0, amplitude=2e-3):
    x = amplitude * np.exp(-rate * T[:1500]) * np.cos(2 * np.pi * frequency * T[:1500])
    q = np.full(1500, 0.2)
    return signals(q, q + x)


def test_a_free_oscillation_and_what_is_said_of_it():
    found = identify_damping([ringing(), ringing(8.4)], DampingSettings(inertia=0.5))
    rate = found.parameters['decay_rate']
    assert rate.value == pytest.approx(8.2, rel=0.03) and rate.unit == '1/s'
    assert found.parameters['D'].value == pytest.approx(2 * 0.5 * rate.value)
    assert found.parameters['D'].std == pytest.approx(2 * 0.5 * rate.std)
    # of two recordings at least their own scatter
    assert rate.std >= 0.99 * 0.4 / 2
    assert found.parameters['frequency'].value == pytest.approx(20.0, rel=1e-3)
    assert found.quality['damping_ratio'] == pytest.approx(rate.value / (2 * np.pi * 20.0), rel=1e-3)
    assert (found.quality['inertia'], found.quality['recordings']) == (0.5, 2)
    assert found.document['damping'] == {
        'value': found.parameters['D'].value, 'std': found.parameters['D'].std, 'unit': 'N·m·s/rad',
        'method': 'free oscillation',
    }  # fmt: skip
    said = 'damping: expected the swinging inertia in kg·m² (inertia in --config, or rotor_inertia in --description), '
    assert refused(JointDynamicsError, identify_damping, [ringing()]) == said + 'found none'
    said = 'run: j: found 0 extrema of a decaying oscillation, expected at least 4'
    still = signals(np.zeros(1500), np.zeros(1500))
    assert refused(NotReliableError, identify_damping, [still], DampingSettings(inertia=0.5)) == said


def test_a_swing_on_a_virtual_spring_and_what_is_said_of_it():
    said = 'inertia: expected the stiffness of the virtual spring in N·m/rad (spring in --config), found none'
    data = signals(0.2 * np.sin(6.0 * T), 0.2 * np.sin(6.0 * T))
    assert refused(JointDynamicsError, identify_inertia, [data]) == said
    # a chirp: its period changes along the recording
    phase = 4.0 * T + 0.25 * T**2
    x = 0.2 * np.sin(phase)
    found = identify_inertia([signals(x, x)], InertiaSettings(spring=36.0))
    assert found.quality['period_spread_percent'] > 5
    assert 'the period changes along the recording: friction, not the spring alone, sets it' in found.warnings
    steady = identify_inertia([data], InertiaSettings(spring=36.0))
    assert steady.parameters['inertia'].value == pytest.approx(1.0, rel=1e-3)
    assert steady.parameters['inertia_from_period'].value == pytest.approx(1.0, rel=1e-3)
    assert steady.parameters['period'].value == pytest.approx(2 * np.pi / 6.0, rel=1e-4)
    assert steady.quality['half_swings'] == 22 and steady.warnings == [] == steady.reasons
    noise = np.random.default_rng(4).normal(size=len(T))
    lost = signals(data.q, data.theta, tau=noise)
    found = identify_inertia([lost], InertiaSettings(spring=36.0))
    value = found.parameters['inertia']
    assert (
        f'inertia = {value.value:.4g} ± {value.std:.2g} kg·m² cannot be told from zero: the oscillation is too weak'
        in found.reasons
    )


# ---- hysteresis and transmission


def reversing():
    """A joint that goes to and fro through a turn and a bit, with half a play of 5e-4 rad."""
    theta = 0.6 * T + 0.35 * np.sin(6.0 * T)
    width, place = 5e-4, np.zeros(len(T))
    for k in range(1, len(T)):
        place[k] = np.clip(place[k - 1] + (theta[k] - theta[k - 1]) / width, -1.0, 1.0)
    return theta, place, width


def test_maps_and_operators_are_told_field_by_field():
    theta, H, width = reversing()
    rng = np.random.default_rng(5)
    tau = 6.0 * H + 4.0 * np.gradient(theta, 1e-3) + 0.05 * rng.normal(size=len(T))
    data = signals(theta - width * H, theta, tau=tau)
    found = identify_hysteresis([data], HysteresisSettings(methods=('static', 'law', 'lr_polynomial'), points=60))
    assert set(found.parameters) == {'kinematic_error_amplitude', 'backlash_mean', 'F_C0'}
    assert [item.unit for item in found.parameters.values()] == ['rad', 'rad', 'N·m']
    assert found.parameters['backlash_mean'].value == pytest.approx(width, rel=0.02)
    assert found.parameters['F_C0'].value == pytest.approx(6.0, rel=0.05)
    quality = found.quality
    assert set(quality) == {
        'coverage', 'map_residual_rms', 'backlash_range', 'settled_samples', 'maxwell_slip', 'method',
    }  # fmt: skip
    assert quality['backlash_range'][0] <= width * 1.02 and quality['backlash_range'][1] >= width * 0.98
    assert [entry['method'] for entry in quality['maxwell_slip']] == ['static', 'law', 'lr_polynomial']
    for entry in quality['maxwell_slip']:
        assert set(entry) == {
            'method', 'estimation_percent', 'validation_percent', 'F_C', 'limits', 'stiffness',
        }  # fmt: skip
        assert (entry['limits'] is None) == (entry['method'] == 'static') == (entry['stiffness'] is None)
    slip = found.document['friction']['maxwell_slip']
    assert slip['operators'] == 4 and 'standard_deviations' not in slip['presliding']
    assert found.document['friction']['parameters'] == {'F_C0': found.parameters['F_C0'].value}
    assert found.document['friction']['standard_deviations'] == {'F_C0': found.parameters['F_C0'].std}
    titles = [(plot.title, plot.x_label, plot.y_label) for plot in found.plots]
    assert titles == [
        ('j: transmission deformation and kinematic error', 'motor angle θ [rad]', '[rad]'),
        ('j: backlash, half the width', 'motor angle θ [rad]', '[rad]'),
        ('j: hysteresis on validation data', 'corrected motor angle [rad]', 'friction torque [N·m]'),
    ]
    labels = [[one.label for one in plot.series] for plot in found.plots]
    assert labels[0] == ['φ, ω > 0', 'φ, ω < 0', 'kinematic error'] and labels[1] == ['half the difference', 'map']
    assert labels[2] == ['measured', quality['method'], 'static map']
    assert [one.kind for one in found.plots[2].series] == ['points', 'line', 'line']
    own = HysteresisSettings(methods=('law',), points=60, operators=3, r_Delta=3.0, r_k=1.5)
    law = identify_hysteresis([data], own)
    slip = dict(law.document['friction']['maxwell_slip'])
    slip.pop('presliding')
    assert slip == {'operators': 3, 'r_Delta': 3.0, 'r_k': 1.5}
    static = identify_hysteresis([data], HysteresisSettings(methods=('static',), points=60))
    assert 'F_C0' not in static.parameters and 'friction' not in static.document
    known = identify_hysteresis(
        [data], HysteresisSettings(methods=('law',), points=60), FrictionModel({'F_C0': 6.0, 'F_V1': 4.0})
    )
    assert known.document['friction']['parameters'] == {} == known.document['friction']['standard_deviations']


def test_hysteresis_that_cannot_be_found():
    theta, H, width = reversing()
    turned = signals(theta + width * H, theta)
    said = refused(NotReliableError, identify_hysteresis, [turned], HysteresisSettings(points=60))
    assert said.startswith('j: the backlash comes out as -0.000') and said.endswith(
        ' rad: the deformation is larger against the motion than with it; is the sign of theta or q right?'
    )
    wrong = signals(theta - width * H, theta, tau=-6.0 * H)
    assert refused(NotReliableError, identify_hysteresis, [wrong], HysteresisSettings(methods=('law',), points=60)) == (
        'hysteresis: the law fit finds no Coulomb friction in the torque'
    )
    assert refused(JointDynamicsError, fit_maxwell_slip, [], [], PeriodicMap.constant(1e-3), methods=('x', 'a')) == (
        "hysteresis: expected methods among static, law, lr_linear, lr_polynomial, nlr, found 'a'"
    )


def test_a_joint_that_is_hardly_loaded_or_deforms_the_wrong_way():
    theta = np.sin(0.8 * T) * 2.0
    load = 60.0 * np.sin(2.3 * T)
    q = theta + load / 2e4
    found = identify_transmission([signals(q, theta, tau_J=load)])
    (said,) = found.reasons
    assert re.fullmatch(
        r'the deformation does not follow the load \(\S+ rad/\(N·m\)\): is the sign of theta or q right\?', said
    )
    assert found.document == {}
    none = refused(NotReliableError, identify_transmission, [signals(theta, theta, tau_J=np.zeros(len(T)))])
    assert none.startswith('transmission: j: expected ') and none.endswith(' samples under load, found 0')
    good = identify_transmission([signals(theta - load / 2e4, theta, tau_J=load)], TransmissionSettings(harmonics=2))
    assert good.parameters['alpha_1'].value == pytest.approx(2e4, rel=0.02)
    assert good.document['stiffness']['method'] == 'from motion, with kinematic error and backlash'
    reach = good.document['stiffness']['range'][1]
    assert good.document['stiffness']['range'] == [-reach, reach] == good.quality['deformation_range']
    assert good.quality['torque_range'] == pytest.approx([-60.0, 60.0], rel=0.02)


def test_a_spring_that_stiffens_is_the_inverse_of_the_deformation():
    """φ = c₁ u − c₃ u³ of the load's share u; τ = α₁ φ + α₂ φ³ nearest to it over the loads that were there."""
    theta, u = np.sin(0.8 * T) * 2.0, np.sin(2.3 * T)
    phi = 3e-3 * u - 5e-4 * u**3
    found = identify_transmission([signals(theta - phi, theta, tau_J=60.0 * u)], TransmissionSettings(harmonics=2))
    grid = np.linspace(0.0, 1.0, 101)
    reach = 3e-3 * grid - 5e-4 * grid**3
    alpha = np.linalg.lstsq(np.stack([reach / 2.5e-3, (reach / 2.5e-3) ** 3], axis=1), 60.0 * grid, rcond=None)[0]
    expected = alpha / [2.5e-3, 2.5e-3**3]
    assert found.parameters['alpha_1'].value == pytest.approx(expected[0], rel=5e-3)
    assert found.parameters['alpha_2'].value == pytest.approx(expected[1], rel=3e-2)
    assert found.quality['deformation_range'][1] == pytest.approx(2.5e-3, rel=5e-3)


def test_defaults_of_the_fit_are_those_of_the_settings():
    given, settings = inspect.signature(fit_maxwell_slip).parameters, HysteresisSettings()
    for name in ('operators', 'r_Delta', 'r_k', 'methods', 'seed'):
        assert given[name].default == getattr(settings, name)
    theta, H, width = reversing()
    omega = np.gradient(theta, 1e-3)
    alpha = np.gradient(omega, 1e-3)
    run = SlipData(theta[3000:], omega[3000:], alpha[3000:], 6.0 * H[3000:] + 2.0 * omega[3000:], 0, 1.0)
    fit = fit_maxwell_slip([run], [run], PeriodicMap.constant(width), methods=('law',))['law']
    np.testing.assert_allclose(fit.limits, polynomial_limits(settings.operators, settings.r_Delta))
    np.testing.assert_allclose(fit.stiffness, polynomial_stiffness(fit.limits, settings.r_k))


def test_plateaus_at_rest_tell_nothing():
    rest = np.zeros(4)
    assert refused(NotReliableError, fit_speed_map, rest, np.ones(4), np.ones(4), 'coulomb', False) == (
        'no plateau tells F_C'
    )


def test_every_sample_counts_where_the_rate_is_low():
    """Five rows per period of the cut-off, and at 50 Hz and a cut-off of 10 Hz that is all of them."""
    t = 0.02 * np.arange(3000)
    theta = 1.5 * np.sin(0.9 * t) + 0.4 * np.sin(2.2 * t)
    load, omega = 40.0 * np.cos(1.7 * t), np.gradient(theta, 0.02)
    tau = load * (1.0 + 0.1 * np.sign(omega)) + 4.0 * np.sign(omega) + 3.0 * omega
    data = JointData('j', 'run', t, 50.0, theta, theta, omega, omega, 10.0, True, tau, load)
    found = identify_quadrants([data], dq_s=0.05)
    X, v, y = (zero_phase_lowpass(x, 10.0, 50.0)[:2000] for x in (load, omega, tau))
    assert found.quality['rows'] == outside_stiction(X[:, None], v, y, 5e-3, 8).sum() > 900


def test_load_quadrants_that_are_not_there():
    rng = np.random.default_rng(6)
    theta = 1.5 * np.sin(0.9 * T) + 0.4 * np.sin(2.2 * T)
    load = 40.0 * np.cos(1.7 * T)
    omega = np.gradient(theta, 1e-3)
    tau = load + 4.0 * np.sign(omega) + 3.0 * omega + 0.2 * rng.normal(size=len(T))
    found = identify_quadrants([signals(theta, theta, tau=tau, tau_J=load)], dq_s=0.05)
    gain = found.quality['held_out_gain_percent']
    assert found.reasons == [
        f'on data not used for the fit the residual falls by {gain:.1f} % only: no load dependence to be seen in the '
        'quadrants'
    ]
    held = found.quality['held_out_residual_percent']
    assert gain == pytest.approx(100 * (1 - held['new'] / held['usual'])) and gain < 2.0
    assert (found.quality['form'], found.parameters['dq_s'].value) == ('quadrants', 0.05)


# ---- what is known, and what becomes of a result


def test_settings_and_stretches_that_cannot_be():
    said = refused(JointDynamicsError, TemperatureSettings, T_min=40.0, T_max=30.0)
    assert said == 'joint.temperature.T_min: expected less than T_max, 30 °C, found 40.0'
    still = signals(np.zeros(12000), np.zeros(12000), tau=np.zeros(12000))
    settings = PlateauSettings()
    assert refused(NotReliableError, steady_rows, [still, still], settings) == (
        f'run, run: j has no stretch of constant speed of at least {settings.min_duration:g} s above '
        f'{settings.min_speed:g} rad/s'
    )
    assert refused(JointDynamicsError, run_test, 'friction', [], None) == (
        'friction: expected at least one recording, found none'
    )
    assert refused(JointDynamicsError, run_test, 'wobble', [SimpleNamespace(joint='j')], None) == (
        "expected a test of stiffness, friction, load, temperature, hysteresis, damping, inertia, found 'wobble'"
    )


def test_what_a_test_does_not_take_off_is_remarked():
    part = {
        'friction': {'parameters': {'F_C0': 5.0, 'F_V1': 2.0}, 'scale': [1.2, 0.1]},
        'validity': {'speed': 2.0},
        'backlash': {'constant': 3e-4},
        'rotor_inertia': {'value': 0.7},
        'stiffness': {'coefficients': [1e4, 1e7]},
    }
    part['backlash'] = PeriodicMap.constant(3e-4).to_dict() | {'standard_deviations': [2e-4]}
    known = JointPrior.of('j', part)
    assert known.remarks == (
        'joints.j.validity: stays as it is; the test may have gone further',
        'joints.j.backlash: within two deviations of zero, taken as not measured',
    )
    assert known.backlash is None and known.kinematic_error is None and known.rotor_inertia == 0.7
    assert known.friction.level()[0] == pytest.approx(6.0) and known.stiffness.coefficients.tolist() == [1e4, 1e7]
    sure = JointPrior.of('j', {'backlash': PeriodicMap.constant(3e-4).to_dict() | {'standard_deviations': [1e-4]}})
    assert sure.backlash is not None and sure.remarks == () and sure.rotor_inertia is None and sure.friction is None


def test_a_result_in_a_description():
    found = JointTestResult('load', 'j', {'F_C1': Value(1e-3, 1e-4, '')})
    found.document = {'friction': {'parameters': {'F_C1': 1e-3, 'tau_max': 50.0}}, 'damping': {'value': 3.0}}
    alone, warnings = merged_description(('i', 'j'), found, None)
    assert alone.document['joints'] == {'i': {}, 'j': {'damping': {'value': 3.0}}}
    assert [warning.partition(':')[0] for warning in warnings] == ['the friction is not in dynamics.yaml']
    quadrants = {
        'a_m': 1.0, 'b_m': 0.1, 'a_g': 0.9, 'b_g': 0.1, 'c_m': 4.0, 'd_m': 1.0, 'c_g': 3.0, 'd_g': 0.5, 'F_V': 5.0,
        'tau_off': 0.1, 'dq_s': 0.05,
    }  # fmt: skip
    given = DynamicsDescription(
        {
            'robot': {'joint_names': ['j']},
            'joints': {'j': {'friction': {'parameters': {'F_C0': 5.0}, 'quadrants': quadrants}}},
        }
    )
    description, warnings = merged_description(('j',), found, given)
    merged = description.document['joints']['j']
    assert merged['friction']['parameters'] == {'F_C0': 5.0, 'F_C1': 1e-3, 'tau_max': 50.0}
    assert merged['damping'] == {'value': 3.0}
    assert warnings == ['joints.j.friction.quadrants: still stand in the place of Coulomb and viscous friction']
    other = JointTestResult('load', 'k')
    assert refused(JointDynamicsError, merged_description, ('j',), other, given) == (
        'dynamics description: expected the joint k, found j'
    )
