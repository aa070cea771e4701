"""Settings as parameters: the thesis's preset is the thesis's settings.

Estimator and feedforward agree on the region of α.
"""

from pathlib import Path

import pytest
import yaml

from joint_dynamics.control.friction import ALPHA_BOUNDS, friction_parameters
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
