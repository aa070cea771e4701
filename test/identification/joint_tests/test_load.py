"""Friction against load."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.load import LoadSettings, identify_load
from joint_dynamics.joint import FrictionModel


def base(joint):
    return FrictionModel(
        {
            'F_C0': joint.F_C,
            'F_S': joint.F_S,
            'V_S': joint.V_S,
            'mu': joint.mu,
            'F_V1': joint.F_V1,
            'F_V2': joint.F_V2,
            'F_V3': joint.F_V3,
            'T_0': joint.T_0,
        }
    )


@pytest.fixture(scope='module')
def theta(motions):
    return motions.trapezoids([0.2, -0.2] * 2, hold=14.0)


def test_quadratic_load_comes_back_within_three_percent(make_joint, theta):
    joint = make_joint(seed=5)
    result = identify_load([joint.data(theta, load=90 * np.sin(theta))], base=base(joint))
    assert result.reliable
    assert result.quality['form'] == 'quadratic'
    for name, truth in (('F_C0', joint.F_C), ('F_C1', joint.F_C1)):
        assert abs(result.parameters[name].value / truth - 1) < 0.03
    level = FrictionModel.from_dict(result.document['friction'])
    assert np.isclose(level.level(80.0), joint.F_C + joint.F_C1 * 80**2, rtol=0.02)
    assert result.document['friction']['parameters']['tau_max'] == pytest.approx(90, rel=0.01)


def test_linear_load_is_told_from_quadratic(make_joint, theta):
    joint = make_joint(F_C1=0.0)
    load = 90 * np.sin(theta)
    friction = joint.friction

    def linear(angle, omega, tau_J, T):
        f, H = friction(angle, omega, tau_J, T)
        return f + 0.08 * np.abs(tau_J) * H, H

    joint.friction = linear
    result = identify_load([joint.data(theta, load=load)], base=base(joint))
    assert result.quality['form'] == 'linear'
    assert abs(result.parameters['F_Cl'].value / 0.08 - 1) < 0.03


def test_error_of_the_load_itself_is_not_taken_for_friction(make_joint, theta, says):
    joint = make_joint(seed=6)
    data = [joint.data(theta, load=90 * np.sin(theta), load_error=0.03)]
    result = identify_load(data, base=base(joint))
    assert abs(result.parameters['gravity_error'].value + 0.03 / 1.03) < 2e-3
    says(r'the load torque itself is -2\.\d % off \(mass, or drive gain\); taken out of the friction', result.warnings)
    assert abs(result.parameters['F_C1'].value * 1.03**2 / joint.F_C1 - 1) < 0.03


def test_without_a_speed_map_the_level_stays_out_of_the_description(make_joint, theta, says, tells):
    joint = make_joint()
    result = identify_load([joint.data(theta, load=90 * np.sin(theta))])
    assert abs(result.parameters['F_C1'].value / joint.F_C1 - 1) < 0.03
    assert 'F_C0' not in result.document['friction']['parameters']
    says(
        'no friction description given: F_C0 is the friction without load at the slowest speed, viscous part included, '
        'and stays out of the description',
        result.warnings,
    )
    assert [form['form'] for form in result.quality['forms']] == ['quadratic', 'linear']
    for form, name in zip(result.quality['forms'], ('F_C1', 'F_Cl'), strict=True):
        assert set(form) == {'form', 'residual_rms', name, 'std'}


def test_no_load_dependence_and_small_spans_are_flagged(make_joint, theta, says):
    none = make_joint(F_C1=0.0)
    result = identify_load([none.data(theta, load=90 * np.sin(theta))], LoadSettings(form='quadratic'), base(none))
    lost = (
        r'F_C1 = \S+ ± \S+ N·m/\(N·m\)² cannot be told from zero: the load torque spans only {} N·m, or friction does '
        'not depend on it'
    )
    says(lost.format(r'(8\d|90)\S*'), result.reasons)
    joint = make_joint()
    small = identify_load([joint.data(theta, load=1.0 * np.sin(theta))], LoadSettings(form='quadratic'), base(joint))
    says(lost.format(r'(0\.\d+|1)'), small.reasons)


def test_one_direction_only_is_flagged(make_joint, motions, says):
    joint = make_joint()
    theta = motions.trapezoids([0.2], hold=15.0)
    result = identify_load([joint.data(theta, load=90 * np.sin(theta))], base=base(joint))
    says(
        'one direction only: friction that grows with load cannot be told from an error of the load torque',
        result.reasons,
    )


def test_without_a_load_there_is_nothing_to_fit(make_joint, theta):
    with pytest.raises(JointDynamicsError, match='load torque'):
        identify_load([make_joint().data(theta)])
    with pytest.raises(JointDynamicsError, match='form'):
        identify_load([make_joint().data(theta)], LoadSettings(form='cubic'))
