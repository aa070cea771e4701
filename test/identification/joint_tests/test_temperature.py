"""Friction against temperature."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.temperature import TemperatureSettings, identify_temperature
from joint_dynamics.joint import AbsoluteTemperatureFriction, FrictionModel


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
    base = (
        FrictionModel(
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
        if with_map
        else None
    )
    result = identify_temperature(data, TemperatureSettings(T_0=joint.T_0), base)
    assert result.reliable
    for name in ('F_T1', 'F_T2'):
        assert abs(result.parameters[name].value / getattr(joint, name) - 1) < 0.03
    # The absolute form says the same; its constant makes it vanish at T0 (up to the F_T0 found there).
    absolute = AbsoluteTemperatureFriction(**result.quality['absolute_form'])
    residue = result.parameters['F_T0'].value if with_map else 0.0
    assert np.isclose(absolute.factor(joint.T_0), residue, atol=1e-9)
    assert set(result.document['friction']['parameters']) >= {'F_T1', 'F_T2', 'T_0', 'T_min', 'T_max'}


def test_cubic_term_is_dropped_where_it_cannot_be_told(make_joint, motions, says):
    joint = make_joint(F_T2=0.0, seed=1)
    result = identify_temperature(warm_up(joint, motions, [30, 34, 38, 42]))
    assert 'F_T2' not in result.parameters
    says(
        r'the T⁻³ term, \S+ ± \S+, cannot be told from zero over (29|30)\.\d to 4[45]\.\d °C; dropped', result.warnings
    )
    assert abs(result.parameters['F_T1'].value / joint.F_T1 - 1) < 0.03


def test_too_small_a_span_is_flagged(make_joint, motions, says):
    result = identify_temperature(warm_up(make_joint(), motions, [30.0], span=0.02), TemperatureSettings(cubic=False))
    assert not result.reliable
    says(
        r'F_T1 = \S+ ± \S+ N·m·√\(s/rad\)/°C cannot be told from zero: the temperature spans only 0\.\d+ °C, or '
        'friction does not depend on it',
        result.reasons,
    )


def test_conflicting_references_and_missing_temperature_are_refused(recordings, make_joint, motions):
    _, data = recordings
    with pytest.raises(JointDynamicsError, match='T_0'):
        identify_temperature(data, TemperatureSettings(T_0=20.0), FrictionModel({'F_C0': 1.0, 'T_0': 30.0}))
    with pytest.raises(JointDynamicsError, match='T_min'):
        identify_temperature(data, TemperatureSettings(T_min=-1.0))
    from dataclasses import replace

    with pytest.raises(JointDynamicsError, match='temperature'):
        identify_temperature([replace(item, temperature=None) for item in data])


def test_what_a_test_of_the_temperature_tells(recordings, tells):
    joint, data = recordings
    result = identify_temperature(data, TemperatureSettings(T_0=joint.T_0))
    units = {'F_T1': 'N·m·√(s/rad)/°C', 'F_T2': 'N·m·√(s/rad)·°C³', 'T_0': '°C'}
    axes = 'temperature T [°C]', 'f_T / (sgn(ω)√|ω|) [N·m·√(s/rad)]'
    plot = 'joint: friction against temperature', *axes, [('constant speeds', 'points'), ('fit', 'line')]
    tells(result, 'temperature', units, plot)
