"""Settings of an estimation: what they may be, the thesis's, and one region of α in estimator and feedforward."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from joint_dynamics.control.friction import ALPHA_BOUNDS, friction_parameters
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import EstimationSettings

PRESET = Path(__file__).parents[2] / 'config' / 'thesis' / 'estimator.yaml'


def test_preset_of_the_thesis():
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from joint_dynamics.nodes.estimator.parameters import PARAMETERS, settings_of

    values = {row.name: row.default for row in PARAMETERS}
    given = yaml.safe_load(PRESET.read_text(encoding='utf-8'))['/**/estimator']['ros__parameters']
    assert set(given) <= set(values)
    assert settings_of({**values, **given}) == EstimationSettings.thesis()
    assert settings_of(values) == EstimationSettings()


def test_estimator_and_feedforward_have_one_region_of_alpha():
    settings = EstimationSettings()
    assert (settings.friction_lower, settings.friction_upper) == ALPHA_BOUNDS
    assert {item.name: item.default for item in friction_parameters('none')}['viscous_share'] == settings.viscous_share


@pytest.mark.parametrize(
    'bad',
    [
        {'friction': 'magic'},
        {'stiffness_source': 'x'},
        {'stiffness_preset': 'x'},
        {'window': -1.0},
        {'window': float('inf')},
        {'friction_rate': (1.0, -1.0)},
        {'link_noise': float('nan')},
        {'payload_memory': float('nan')},
        {'stiffness_order': 0},
        {'friction_lower': (3.0, 0.0)},
        {'friction_lower': (0.4, 0.06)},
    ],
)
def test_settings_name_the_field_that_is_wrong(bad):
    with pytest.raises(JointDynamicsError, match=rf'\b{next(iter(bad))}(\[\d\])?: expected .*, found '):
        EstimationSettings(**bad)


def test_a_lower_bound_above_the_upper_is_refused_with_both():
    with pytest.raises(JointDynamicsError, match=r'friction_upper, \(2\.5, 0\.05\), found \(0\.4, 0\.1\)'):
        EstimationSettings(friction_lower=(0.4, 0.1))


def test_settings_that_are_allowed():
    EstimationSettings(payload_memory=np.inf, stiffness_memory=np.inf, temperature=-20.0, stiffness_order=1)
    EstimationSettings(friction_lower=(0.5, 0.05), friction_upper=(0.5, 0.05))
    thesis = EstimationSettings(
        window=0.1, taper=False, information=0.0, friction_upper=(1.5, 0.05), viscous_share=0.0,
        stiffness_preset='thesis',
    )  # fmt: skip
    assert EstimationSettings.thesis() == thesis
    assert EstimationSettings.thesis(window=0.2, taper=True) == replace(thesis, window=0.2, taper=True)
    assert replace(EstimationSettings(), omega_min=0.5) == EstimationSettings(omega_min=0.5)
