"""The UR5e that ships with the package."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ur5e_description, ur5e_urdf

HALF = np.pi / 2
#: Standard Denavit-Hartenberg table of the manufacturer: d, a, alpha.
DH = [
    (0.1625, 0.0, HALF),
    (0.0, -0.425, 0.0),
    (0.0, -0.3922, 0.0),
    (0.1333, 0.0, HALF),
    (0.0997, 0.0, -HALF),
    (0.0996, 0.0, 0.0),
]


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf(ur5e_urdf())


def test_it_has_the_kinematics_of_the_denavit_hartenberg_table(model):
    data, frame = model.pinocchio.createData(), model.pinocchio.getFrameId('tool0')
    for q in np.random.default_rng(1).uniform(-np.pi, np.pi, (20, 6)):
        # The manufacturer's base frame is turned by half a turn against base_link.
        pose = np.diag([-1.0, -1.0, 1.0, 1.0])
        for angle, (d, a, alpha) in zip(q, DH, strict=True):
            c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
            pose = pose @ np.array(
                [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
            )
        pinocchio.framesForwardKinematics(model.pinocchio, data, q)
        np.testing.assert_allclose(data.oMf[frame].homogeneous, pose, atol=1e-12)


def test_names_limits_and_masses(model):
    shoulder, wrist = ('shoulder_pan_joint', 'shoulder_lift_joint'), [f'wrist_{k}_joint' for k in (1, 2, 3)]
    assert model.joint_names == (*shoulder, 'elbow_joint', *wrist)
    np.testing.assert_allclose(model.limits.effort, [150, 150, 150, 28, 28, 28])
    np.testing.assert_allclose(model.limits.velocity, np.pi)
    np.testing.assert_allclose(model.limits.upper, [2 * np.pi, 2 * np.pi, np.pi, 2 * np.pi, 2 * np.pi, 2 * np.pi])
    np.testing.assert_allclose(model.parameters.reshape(6, 14)[:, 9], [3.761, 8.058, 2.846, 1.37, 1.3, 0.365])


def test_a_prefix_goes_before_every_name(model):
    prefixed = RobotModel.from_urdf(ur5e_description('left_'))
    assert prefixed.joint_names == tuple(f'left_{name}' for name in model.joint_names)
    np.testing.assert_array_equal(prefixed.parameters, model.parameters)
    assert 'link="base' not in ur5e_description('left_')
    np.testing.assert_array_equal(
        FlexibleJointRobot(ur5e_description('left_')).truth.position, FlexibleJointRobot().truth.position
    )


def test_every_link_can_exist(model):
    for body in list(model.pinocchio.inertias)[1:]:
        moments = np.linalg.eigvalsh(body.inertia)
        assert moments[0] > 0
        assert moments[0] + moments[1] >= moments[2]


def test_it_has_36_base_parameters_as_its_kind_has(model):
    assert len(model.base_parameters(INERTIAL).independent) == 36


def test_housings_keep_clear_of_each_other_at_home_and_touch_when_folded(model):
    geometry = pinocchio.buildGeomFromUrdf(model.pinocchio, str(ur5e_urdf()), pinocchio.GeometryType.COLLISION)
    parents = model.pinocchio.parents
    for a in range(geometry.ngeoms):
        for b in range(a):
            i, j = (geometry.geometryObjects[k].parentJoint for k in (a, b))
            if i != j and parents[i] != j and parents[j] != i:
                geometry.addCollisionPair(pinocchio.CollisionPair(b, a))
    data, shapes = model.pinocchio.createData(), geometry.createData()

    def clearance(q):
        pinocchio.computeDistances(model.pinocchio, data, geometry, shapes, np.asarray(q, dtype=float))
        return min(result.min_distance for result in shapes.distanceResults)

    assert clearance(FlexibleJointRobot().truth.position) > 0.02
    assert clearance([0, -HALF, 0, -HALF, 0, 0]) > 0.02
    assert clearance([0, -1.5, 3.0, -1.5, 0, 0]) < 0.0
