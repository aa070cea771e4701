"""Friction described without hysteresis."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.arm.reading import NO_PRESLIDING
from joint_dynamics.identification.selection.candidate_terms import WIDTHS
from joint_dynamics.joint import REVERSAL, FrictionModel, MaxwellSlip
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


def test_only_joints_without_hysteresis_turn_over_within_it(make_arm):
    """A description has operators for the joints they were chosen for; the others slip at once, in batch as sgn θ̇."""
    lengths = np.array([1e-3, NO_PRESLIDING, 3e-3, NO_PRESLIDING, NO_PRESLIDING, 5e-4])
    arm = make_arm(
        FrictionModel({'F_C0': np.ones(6)}, MaxwellSlip(6, lengths, limits=[0.5, 1.0], stiffness=[1.0, 0.5]))
    )
    found, (remark,) = with_reversal(arm)
    assert f'of {", ".join(arm.joint_names[j] for j in (1, 3, 4))} in' in remark
    slip = found.friction.maxwell_slip
    widths = [table.tolist() for table in slip.presliding.tables]
    assert widths == [[1e-3], [REVERSAL], [3e-3], [REVERSAL], [REVERSAL], [5e-4]]
    np.testing.assert_array_equal(slip.limits, arm.friction.maxwell_slip.limits)
    np.testing.assert_array_equal(slip.stiffness, arm.friction.maxwell_slip.stiffness)
    assert with_reversal(found) == (found, [])
