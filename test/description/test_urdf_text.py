"""An MDH robot as URDF text is the same robot."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from joint_dynamics.description.export import urdf_text
from joint_dynamics.robot import RobotModel


@pytest.mark.parametrize('table', ['ur_table', 'pa10_table', 'scara_table'])
def test_the_text_gives_the_same_torques(table, request):
    model = RobotModel.from_mdh(request.getfixturevalue(table))
    again = RobotModel.from_urdf(urdf_text(model))
    rng = np.random.default_rng(3)
    standard = rng.normal(size=len(model.parameter_names))
    states = model.random_states(5, rng)
    assert again.joint_names == model.joint_names
    np.testing.assert_allclose(
        again.inverse_dynamics(*states, standard), model.inverse_dynamics(*states, standard), atol=1e-9
    )


def test_limits_and_kinds_are_written(scara_table):
    model = RobotModel.from_mdh({**scara_table, 'velocity_limit_rad_s': [1.0, 2.0, 3.0, 4.0]})
    model.limits.lower[:], model.limits.upper[:] = [-1.0, -np.inf, 0.0, -2.0], [1.0, 3.0, 0.5, np.inf]
    text = urdf_text(model)
    again = RobotModel.from_urdf(text)
    kinds = [joint.get('type') for joint in ET.fromstring(text).findall('joint')]
    # half a bound is none: a revolute joint is then continuous
    assert kinds == ['revolute', 'continuous', 'prismatic', 'continuous']
    assert again.limits.lower.tolist() == [-1.0, -np.inf, 0.0, -np.inf]
    assert again.limits.upper.tolist() == [1.0, np.inf, 0.5, np.inf]
    assert again.limits.velocity.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert ET.fromstring(text).get('name') == 'mdh'
    model.pinocchio.name = ''
    assert ET.fromstring(urdf_text(model)).get('name') == 'robot'
