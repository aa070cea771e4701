"""An MDH robot as URDF text is the same robot."""
import numpy as np
import pytest

from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.urdf_text import urdf_text


@pytest.mark.parametrize('table', ['ur_table', 'pa10_table', 'scara_table'])
def test_the_text_gives_the_same_torques(table, request):
    model = RobotModel.from_mdh(request.getfixturevalue(table))
    again = RobotModel.from_urdf(urdf_text(model))
    rng = np.random.default_rng(3)
    standard = rng.normal(size=len(model.parameter_names))
    states = model.random_states(5, rng)
    assert again.joint_names == model.joint_names
    np.testing.assert_allclose(again.inverse_dynamics(*states, standard), model.inverse_dynamics(*states, standard), atol=1e-9)
