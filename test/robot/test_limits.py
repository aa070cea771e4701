"""Units of turning and sliding joints, and the heads of columns with a row of each."""

import pytest

from joint_dynamics.robot.limits import column_unit, joint_unit


@pytest.mark.parametrize(
    ('turning', 'sliding'), [('N·m', 'N'), ('N·m/rad', 'N/m'), ('N·m·s/rad', 'N·s/m'), ('kg·m²', 'kg'), ('mrad', 'mm')]
)
def test_a_sliding_joint_has_lengths_for_angles_and_forces_for_torques(turning, sliding):
    assert joint_unit(turning, False) == turning and joint_unit(turning, True) == sliding
    assert column_unit(turning, [False, False]) == turning
    assert column_unit(turning, [True]) == sliding
    assert column_unit(turning, [True, False]) == column_unit(turning, [False, True]) == f'{turning} or {sliding}'
