"""Friction described without hysteresis."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.arm.reversal import REVERSAL
from joint_dynamics.identification.selection.candidate_terms import WIDTHS
from joint_dynamics.joint import FrictionModel, MaxwellSlip
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture(scope='module')
def make_arm():
    robot = RobotModel.from_urdf(ur5e_urdf())
    return lambda friction: Arm(robot, friction=friction)


def test_it_turns_over_within_the_narrowest_width_that_identification_tries():
    assert min(WIDTHS) == REVERSAL


def test_what_is_described_stays(make_arm):
    for friction in (None, FrictionModel({'F_C0': np.ones(6)}, MaxwellSlip(6, 1e-3))):
        arm = make_arm(friction)
        found, remarks = with_reversal(arm)
        assert found is arm
        assert remarks == []


def test_friction_is_as_described_once_it_has_turned_over(make_arm):
    parameters = {'F_C0': np.arange(1.0, 7.0), 'F_V1': np.full(6, 3.0)}
    arm = make_arm(FrictionModel(parameters))
    found, (remark,) = with_reversal(arm)
    assert '0.0001 rad' in remark
    slip = found.friction.maxwell_slip
    slip.reset()
    for angle, expected in ((0.0, 0.0), (0.5 * REVERSAL, 0.5), (REVERSAL, 1.0), (9 * REVERSAL, 1.0)):
        np.testing.assert_allclose(slip.step(np.full(6, angle)), expected, atol=1e-12)
    # From slip one way to slip the other way it takes twice the angle.
    np.testing.assert_allclose(slip.step(np.full(6, 8 * REVERSAL)), 0.0, atol=1e-12)
    np.testing.assert_allclose(slip.step(np.full(6, 7 * REVERSAL)), -1.0, atol=1e-12)
    speed, load = np.full(6, 0.7), np.zeros(6)
    np.testing.assert_allclose(
        found.friction_torque(np.ones(6), speed, load), arm.friction_torque(np.ones(6), speed, load), rtol=1e-12
    )
