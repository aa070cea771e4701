"""Stiffness from a force gauge, from locked current, and from motion on both sides."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.joint_tests.run import run_test
from joint_dynamics.identification.joint_tests.stiffness import StiffnessSettings, identify_stiffness
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness

LEVELS = np.r_[np.linspace(0, 120, 9), np.linspace(120, -120, 17), np.linspace(-120, 0, 9)]


def gauge(joint, levels=LEVELS, **more):
    """A standing joint pushed in steps of 0.4 s; the gauge has 0.5 N·m of noise."""
    load = gaussian_filter1d(np.repeat(levels, 400), 30)
    data = joint.data(np.full(load.size, 0.4), load=load, **more)
    return data if data.tau_J is None else replace(data, tau_J=load + 0.5 * joint.rng.standard_normal(load.size))


def test_force_gauge_gives_both_coefficients_within_two_percent(make_joint):
    for seed in range(3):
        joint = make_joint(seed=seed)
        result = identify_stiffness([gauge(joint)])
        assert result.reliable
        assert result.quality['source'] == 'load'
        for k in (0, 1):
            item = result.parameters[f'alpha_{k + 1}']
            assert abs(item.value / joint.stiffness[k] - 1) < 0.02
            assert abs(item.value - joint.stiffness[k]) < 4 * item.std
        assert TorsionalStiffness.from_dict(result.document['stiffness']).order == 2


def test_locked_current_gives_the_same_with_a_word_on_friction(make_joint, says):
    joint = make_joint(seed=3)
    result = identify_stiffness([gauge(joint, known_load=False)])
    assert result.quality['source'] == 'current'
    says('locked-rotor current: friction inside the joint counts as elastic torque', result.warnings)
    assert abs(result.parameters['alpha_1'].value / joint.stiffness[0] - 1) < 0.02
    assert abs(result.parameters['alpha_2'].value / joint.stiffness[1] - 1) < 0.02


@pytest.fixture(scope='module')
def moving(make_joint, motions):
    joint = make_joint(seed=4)
    maps = identify_hysteresis([joint.data(motions.reciprocating())], HysteresisSettings(methods=('lr_polynomial',)))
    part = maps.document
    t = np.arange(0, 20, 1e-3)
    theta = 1.2 * np.sin(2 * np.pi * 0.3 * t) + 0.3 * np.sin(2 * np.pi * 0.9 * t)
    load = 100 * np.sin(theta) + 8 * np.gradient(np.gradient(theta, 1e-3), 1e-3)
    return joint, joint.data(theta, load=load), part


def test_from_motion_on_the_link_side_within_two_percent(moving):
    joint, data, part = moving
    friction = FrictionModel.from_dict(part['friction'], part['kinematic_error'])
    error = PeriodicMap.from_dict(part['kinematic_error'])
    result = identify_stiffness([data], base=friction, kinematic_error=error)
    assert result.quality['source'] == 'link'
    for k in (0, 1):
        assert abs(result.parameters[f'alpha_{k + 1}'].value / joint.stiffness[k] - 1) < 0.02
    assert abs(result.parameters['lost_motion'].value - 1) < 0.05
    # What taking off the kinematic error alone leaves: the backlash, as large as the deformation itself.
    alone = identify_stiffness([data], kinematic_error=error)
    assert alone.quality['fit_percent'] < result.quality['fit_percent'] - 20


@pytest.mark.parametrize('width', [0.0, 1e-7])
def test_a_backlash_that_may_be_none_is_no_unit_of_lost_motion(moving, says, width):
    # `identify` writes the backlash with its deviation also where the recordings did not show any.
    _, data, part = moving
    described = {key: part[key] for key in ('friction', 'kinematic_error')}
    unsure = PeriodicMap.constant(width).to_dict() | {'standard_deviations': [5e-4]}
    without = run_test('stiffness', [data], StiffnessSettings(), described)
    with_it = run_test('stiffness', [data], StiffnessSettings(), described | {'backlash': unsure})
    says(r'joints\.\w+\.backlash: within two deviations of zero, taken as not measured', with_it.warnings)
    assert abs(without.parameters['lost_motion'].value - 1) < 0.05
    for name, item in without.parameters.items():
        assert with_it.parameters[name].value == item.value


def test_from_motion_on_the_motor_side(moving):
    joint, data, part = moving
    values = {
        'F_C0': joint.F_C,
        'F_C1': joint.F_C1,
        'F_S': joint.F_S,
        'V_S': joint.V_S,
        'mu': joint.mu,
        'F_V1': joint.F_V1,
        'F_V2': joint.F_V2,
        'F_V3': joint.F_V3,
        'T_0': joint.T_0,
    }
    friction = FrictionModel.from_dict({**part['friction'], 'parameters': values}, part['kinematic_error'])
    result = identify_stiffness(
        [replace(data, tau_J=None)],
        StiffnessSettings(source='motor', rotor_inertia=joint.B),
        friction,
        PeriodicMap.from_dict(part['kinematic_error']),
    )
    for k in (0, 1):
        assert abs(result.parameters[f'alpha_{k + 1}'].value / joint.stiffness[k] - 1) < 0.05
    with pytest.raises(JointDynamicsError, match='rotor_inertia'):
        identify_stiffness([data], StiffnessSettings(source='motor'), friction)


def test_load_in_one_direction_and_too_small_a_load_are_flagged(make_joint, says):
    joint = make_joint()
    one = identify_stiffness([gauge(joint, np.r_[np.linspace(0, 120, 12), np.linspace(120, 0, 12)])])
    says('loaded in one direction only: an offset of the encoders cannot be told from stiffness', one.reasons)
    small = identify_stiffness([gauge(joint, LEVELS / 60)])
    says(
        r'alpha_2 = \S+ ± \S+ N·m/rad\^3 cannot be told from zero: the load reaches only \S+ rad of deformation; a '
        'lower order may do',
        small.reasons,
    )


def test_bad_input_is_refused(make_joint):
    data = gauge(make_joint())
    with pytest.raises(JointDynamicsError, match='motor-side angle'):
        identify_stiffness([replace(data, two_sided=False)])
    with pytest.raises(JointDynamicsError, match='source'):
        identify_stiffness([data], StiffnessSettings(source='guess'))
    with pytest.raises(JointDynamicsError, match='expected a load torque, found none'):
        identify_stiffness([replace(data, tau_J=None, q=data.q + np.linspace(0, 1, data.samples))])


def test_what_a_test_of_the_stiffness_tells(make_joint, tells):
    result = identify_stiffness([gauge(make_joint())])
    units = {'alpha_1': 'N·m/rad', 'alpha_2': 'N·m/rad^3', 'phi_0': 'rad'}
    axes = 'deformation φ [rad]', 'torque [N·m]'
    tells(
        result,
        'stiffness',
        units,
        ('joint: torsional stiffness', *axes, [('measured (load)', 'points'), ('fit', 'line')]),
    )
    measured, fit = result.plots[0].series
    a, b = (result.parameters[f'alpha_{k}'].value for k in (1, 2))
    np.testing.assert_allclose(fit.y, a * fit.x + b * fit.x**3, rtol=1e-9, atol=1e-9)
    # Nothing moves, so nothing is damped: what is shown is the load itself.
    assert [measured.y.min(), measured.y.max()] == result.quality['torque_range']
    assert (
        [measured.x.min(), measured.x.max()]
        == result.quality['deformation_range']
        == result.document['stiffness']['range']
    )
    rest = measured.y - (a * measured.x + b * measured.x**3)
    assert np.sqrt(np.mean(rest**2)) == pytest.approx(result.quality['residual_rms'], rel=1e-6)
